"""Compilation of generic kernels with the rules of one game."""
