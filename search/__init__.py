"""Search: trees, the loop, strategies, merging. Knows games, and nothing of networks."""
