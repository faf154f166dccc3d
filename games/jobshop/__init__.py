"""Job-shop scheduling: dispatch the operations of jobs to machines so that the last one ends early."""

from games.jobshop.game import JobShop

__all__ = ["JobShop"]
