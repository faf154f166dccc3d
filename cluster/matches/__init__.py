"""Matches: games between two players on all workers, their records and their statistics."""
