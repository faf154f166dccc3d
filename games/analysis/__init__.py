"""Exact analysis of a game: solving it, counting its move sequences (perft), its graph of positions."""

from games.analysis.solving import solve

__all__ = ["solve"]
