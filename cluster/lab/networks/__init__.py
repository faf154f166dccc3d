"""Example of an evaluator: a small network for gomoku."""
