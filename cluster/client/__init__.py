"""Clients of the HTTP service, and the command that uses them."""

from cluster.client.client import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]
