"""Checks that a game keeps to the contract of `Game`: `banyan check`, and the trial before each search."""
