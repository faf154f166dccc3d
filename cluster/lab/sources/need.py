"""Needs: the units that a row of a table requires (games of a match, or units of a count)."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from cluster.lab.sources.counts import COUNTS, SAMPLES
from cluster.lab.sources.table import Row
from cluster.matches.game import MatchContext
from cluster.matches.launch import MatchRequest, open_match
from games.errors import InvalidInput


@dataclass(frozen=True)
class MatchNeed:
    """A number of games of a match."""

    context: MatchContext
    units: int

    @property
    def key(self) -> str:
        """A unique name of the match, independent of the number of games."""
        context = self.context
        return _key(
            context.game.partition(":")[0],
            (context.game, *context.players, context.seed, context.opening_plies),
        )


@dataclass(frozen=True)
class CountNeed:
    """A number of units of a count; each depends only on the arguments and its number."""

    name: str
    arguments: str
    """Arguments as JSON, including the seed."""
    units: int

    @property
    def key(self) -> str:
        """A unique name of the count, independent of the number of units."""
        return _key(self.name, (self.name, self.arguments))


Need = MatchNeed | CountNeed


def need_of(row: Row, seed: int) -> Need:
    """The need of a row. Raises InvalidInput, for example if its game or a player cannot be created."""
    details = dict(row.details)
    num_games = details.pop("games", 1)
    if row.measure in COUNTS or row.measure in SAMPLES:
        arguments = json.dumps({**details, "seed": seed}, sort_keys=True, default=str)
        return CountNeed(row.measure, arguments, num_games if row.measure in SAMPLES else 1)
    for name in ("game", "a"):
        if name not in details:
            raise InvalidInput("table", row.name, f"a row with {name}")
    a, b = details["a"], details.get("b", details["a"])
    request = MatchRequest(details["game"], a, b, num_games, seed, details.get("opening_plies", 0))
    context, _ = open_match(request)
    return MatchNeed(context, num_games)


def _key(word: str, identity: tuple[object, ...]) -> str:
    digest = hashlib.sha256("\n".join(map(str, identity)).encode()).hexdigest()
    return f"{re.sub('[^a-z0-9]+', '-', word.lower()).strip('-')}-{digest[:16]}"
