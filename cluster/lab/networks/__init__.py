"""Example of an evaluator: a small network for gomoku, and the program that trains it."""
