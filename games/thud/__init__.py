"""Thud: dwarfs against trolls."""
