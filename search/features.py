"""The forms of the search loop: what a search may need that a plain one has not got.

Each combination is compiled apart, so that a plain search pays for none of it.
"""

from __future__ import annotations

from typing import NamedTuple


class Features(NamedTuple):
    """What the kernels of one search can do."""

    hidden: bool = False
    """Search information sets: the root is a view, each simulation starts with a determinization of it."""
    steered: bool = False
    """Playouts that are cut, or whose players have a policy (search/playouts.py)."""
    thinking: bool = False
    """Steered, with players in playouts who look ahead by minimax."""
    widened: bool = False
    """Nodes whose moves come in by priority, the more the more often it is visited (search/widening.py)."""
    paired: bool = False
    """Hidden, with each determinization searched by several moves of the root (information_sets.py)."""
    evaluated: bool = False
    """Nodes keep what the game's evaluation says of them (search/heuristics.py)."""
    decisive: bool = False
    """A move that wins at once is the only one that a node tries."""
    wide: bool = False
    """Visits are counted in 64 bits: nodes take 4 bytes more."""

    priors: bool = False
    """An evaluator's policies steer selection: PUCT (search/puct.py)."""


PLAIN = Features()

WIDENED = PAIRED = EVALUATED = DECISIVE = PRIORS = False
"""Features.widened and the like as the kernels see them; `search.engine` binds them."""
