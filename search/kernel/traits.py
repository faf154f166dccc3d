"""Constants that cut the kernels to what a search needs: those of plain UCT with two players, as they stand.

`search.kernel.wiring` binds the constants of a game and its `search.features.Features` before it compiles.
Numba removes the branches that they exclude, so that a search pays only for what it uses.
"""

from __future__ import annotations

SCORED = False
"""Whether a node's value is that of the move that leads to it: its reward and what follows, or from three
players on the score of who moves at its parent (search/kernel/backup.py)."""
LINES = False
"""`Game.has_lines`: whether the best line that was found is kept."""
STEPWISE = False
"""Whether playouts of one player note their moves, or discount what comes later (`Rules.rollout`)."""
CUTS = False
"""Whether `Rules.cut_rollout` stands for random playouts of a limited length."""
PAIRED = WIDENED = EVALUATED = DECIDES = PRIORS = STEERED = THINKS = LEARNT = False
"""`search.features.Features` of these names, DECIDES: decisive, THINKS: thinking; HIDDEN is one of
games/compile/rule_stubs.py. None may be called as anything that a kernel's module has."""
KNOWN = False
"""Whether positions are those of search/kernel/known.py."""

LEAF = -1
"""The answer of a selection where a simulation goes no further."""
CHANCE_CODE = 255
"""`games.rules.CHANCE` among the movers of a path."""
