"""Fault campaigns: long runs of searches and services while processes, links and machines fail."""
