"""Measurements of throughput: `banyan benchmark`, `banyan speedup` and `banyan tune`."""
