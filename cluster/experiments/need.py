"""What a row of a table needs to have run: a match, or units of a count."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from cluster.experiments.counts import COUNTS, SAMPLES
from cluster.experiments.table import Row
from cluster.matches.game import MakePlayer, MatchContext
from cluster.matches.launch import MatchRequest, open_match
from games.errors import InvalidInput
from search.players import player_of


@dataclass(frozen=True)
class MatchNeed:
    """So many games of a match."""

    context: MatchContext
    units: int

    @property
    def key(self) -> str:
        """A name that no other match has, however many games."""
        context = self.context
        return _key(
            context.game.partition(":")[0],
            (context.game, *context.players, context.seed, context.opening_plies),
        )


@dataclass(frozen=True)
class CountNeed:
    """So many units of what is counted; each is a function of the arguments and its number."""

    name: str
    arguments: str
    """As JSON, the seed among them."""
    units: int

    @property
    def key(self) -> str:
        """A name that no other count has."""
        return _key(self.name, (self.name, self.arguments))


Need = MatchNeed | CountNeed


def need_of(row: Row, seed: int, make_player: MakePlayer = player_of) -> Need:
    """What a row needs. Raises InvalidInput, for a game or a player that cannot be made among others."""
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
    context, _ = open_match(request, make_player)
    return MatchNeed(context, num_games)


def _key(word: str, identity: tuple[object, ...]) -> str:
    digest = hashlib.sha256("\n".join(map(str, identity)).encode()).hexdigest()
    return f"{re.sub('[^a-z0-9]+', '-', word.lower()).strip('-')}-{digest[:16]}"
