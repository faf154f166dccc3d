"""Battleship: two hidden fleets."""
