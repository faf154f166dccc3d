"""Clients of the HTTP service, and the command that uses them."""
