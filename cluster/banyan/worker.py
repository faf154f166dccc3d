"""The class of the actors that run jobs, under a name that workers can import.

Ray sends worker processes the name of this module, not its code, so Banyan must be installed there. Importing
this module imports `banyan` first, which makes sure that the other packages are Banyan's.
"""

from __future__ import annotations

from cluster.workers.host import Actor


class Banyan(Actor):
    """An actor. Its process is shown as ``ray::Banyan``."""
