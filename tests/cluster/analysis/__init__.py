"""Tests of the analysis engine."""
