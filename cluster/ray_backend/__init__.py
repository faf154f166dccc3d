"""Workers on Ray. Ray itself is imported by host.py only."""
