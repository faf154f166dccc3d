"""Strength by an exact judge: the moves that searches choose in positions of known value."""
