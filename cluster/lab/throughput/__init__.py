"""Measurements of throughput: `banyan benchmark` and `banyan speedup`."""
