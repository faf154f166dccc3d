"""Searches whose leaves are evaluated by their caller: ask for leaves, tell what they are worth."""
