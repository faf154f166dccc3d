"""The HTTP service: an API for searches on one pool of workers. See README.md."""
