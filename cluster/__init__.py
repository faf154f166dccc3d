"""The cluster: coordinator, executors, metrics, and the command line. The only layer that knows machines."""
