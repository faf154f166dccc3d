"""Display of running searches: progress, metrics, the answer."""
