"""Shared parts of reports: tables, plots, files, the description of the machine, and doubts about figures."""
