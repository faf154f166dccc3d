"""Checkpoints of searches in files."""
