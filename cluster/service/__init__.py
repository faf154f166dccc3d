"""Searches for others: an HTTP API over one pool of workers. See README.md."""
