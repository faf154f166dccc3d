"""Games between players, on all workers: played, kept, counted."""
