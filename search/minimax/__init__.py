"""Minimax and alpha-beta search to a fixed depth, and traces of their trees."""
