"""Exact analysis of a game: solving it, counting its move sequences (perft), its graph of positions."""
