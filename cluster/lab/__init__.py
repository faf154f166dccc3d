"""Everything that measures. Only commands import it, and the service for its measurements of speedup."""
