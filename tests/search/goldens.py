"""The searches whose digests are kept in golden_digests.json.

When the algorithm has changed on purpose: ``python -m tests.search.goldens`` writes them anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.search.common import digest_of_search
from tests.search.forms import COMPILED, problem

FILE = Path(__file__).with_name("golden_digests.json")

KINDS: dict[str, dict[str, Any]] = {
    "root": {"strategy": "root", "lanes": 5},
    "root with solver": {"strategy": "root", "lanes": 5, "solver": True},
    "tree": {"strategy": "tree", "lanes": 5, "rounds": 8},
    "tree with solver": {"strategy": "tree", "lanes": 4, "solver": True},
    "tree with urgency": {"strategy": "tree", "lanes": 3, "first_play_urgency": 0.4},
    "leaf": {"strategy": "leaf", "lanes": 5},
    "leaf, one by one": {"strategy": "leaf", "lanes": 7, "batch": 1, "playouts_per_leaf": 3},
    "leaf, virtual loss": {"strategy": "leaf", "lanes": 4, "in_flight": "virtual-loss"},
    "leaf with solver": {"strategy": "leaf", "lanes": 3, "solver": True, "playouts_per_leaf": 1},
}
"""The strategies with their options, as all tests of strategies use them."""


def golden_digest(kind: str) -> str:
    """301 simulations of gomoku:size=5 after c3: the same compiled or not, on any machine."""
    return digest_of_search(
        game="gomoku:size=5", moves=("c3",), simulations=301, seed=7, exploration=0.5, **KINDS[kind]
    )


PROBLEMS = {
    f"{form}, {kind}": {"game": problem(form, 3), **KINDS[kind]}
    for form in COMPILED
    for kind in ("tree", "leaf, one by one")
}
"""Searches of problems beyond two players and a return at the end."""


def golden_digest_of_problem(name: str) -> str:
    """201 simulations of a random problem: the same compiled or not, on any machine."""
    return digest_of_search(simulations=201, seed=7, **PROBLEMS[name])


def write() -> None:
    """Write the digests anew."""
    digests = {kind: golden_digest(kind) for kind in KINDS}
    digests |= {name: golden_digest_of_problem(name) for name in PROBLEMS}
    FILE.write_text(json.dumps(digests, indent=2) + "\n")


if __name__ == "__main__":
    write()
