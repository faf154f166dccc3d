"""Measurements of one question each, run as `python -m cluster.lab.studies.NAME`."""
