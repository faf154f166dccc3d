"""Strategies of users, as files that are complete."""
