"""What a measurement of strength compares: parallel searches with sequential ones.

A parallel search is a strategy with a number of lanes. It is compared with the sequential searches that have
the budget of one of its lanes, and that of all lanes together. Sequential searches with all budgets in
between are the curve that converts a result to a strength speedup. What a result is depends on the judge: the
scores of games (`games.py`), or the exact values of moves (`exact.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import games
from cluster.lab.strength.fit import Side
from cluster.lab.strength.moves import MAX_POSITIONS
from games.errors import InvalidInput
from games.spec import Spec, parse_spec
from search.options import check, is_class, knobs_of, option, option_of
from search.players import Player, player_of
from search.request import IN_HOUSE, MAX_LANES, MAX_SIMULATIONS, STRATEGIES, SearchRequest

GAMES, EXACT = "games", "exact"
"""The judges, and the groups of the options that only one of them has."""
MAX_PAIRS, MAX_TRIES = 500_000, 1_000
APART = 2
"""Doublings between two budgets of the curve that play each other. With fewer, more games are needed to
measure the gain of a doubling; with more, one side wins nearly all games."""
ABOVE = 1
"""Doublings by which the curve exceeds the largest total: a search may be better than its total."""
SEQUENTIAL = Spec("sequential", {})
RESERVED = ("strategy", "lanes", "simulations", "seconds", "preset")
"""Options of uct that users cannot set, because the measurement sets them."""


@dataclass(frozen=True)
class StrengthRequest:
    """The request of a measurement; its figures depend on nothing else, apart from CPU times."""

    game: str
    strategies: str
    """Strategies as on the command line, see `read_strategies`."""
    lanes: tuple[int, ...]
    simulations: tuple[int, ...] = ()
    """Simulations of a move for each lane, once for each budget; empty if ``total`` is given."""
    total: int | None = None
    """Simulations of a move for all lanes together; None if ``simulations`` is given."""
    options: str = ""
    """Options of uct for all searches, such as ``c=0.5,final_move=max``."""
    seed: int = option_of(SearchRequest, "seed", 0, accepted="a whole number from 0 to 2**63 - 1")
    judge: str = GAMES
    pairs: int | None = option(
        None, help="Pairs of each match; None: the default of `games.py`.", group=GAMES, bounds=(1, MAX_PAIRS)
    )
    total_pairs: int | None = option(
        None, help="Pairs of a match at equal totals; None: `pairs`.", group=GAMES, bounds=(1, MAX_PAIRS)
    )
    opening_plies: int | None = option(
        None, help="Random plies at the beginning of a pair; None: `Game.opening_plies`.", group=GAMES
    )
    scores_only: bool = option(False, help="Whether only matches at equal totals are played.", group=GAMES)
    positions: int | None = option(
        None,
        help="Number of positions in which all searches move; None: the default of `exact.py`.",
        group=EXACT,
        bounds=(1, MAX_POSITIONS),
        accepted=f"a whole number from 1 to {MAX_POSITIONS:,}",
    )
    hard: int | None = option(
        None,
        help="Only positions in which a sequential search with so many simulations loses; None: all.",
        group=EXACT,
        bounds=(1, MAX_SIMULATIONS),
        accepted=f"simulations, from 1 to {MAX_SIMULATIONS:,}",
    )
    tries: int | None = option(
        None,
        help="Moves that each search chooses in each position, with different seeds; None: one.",
        group=EXACT,
        bounds=(1, MAX_TRIES),
        accepted=f"a whole number from 1 to {MAX_TRIES:,}",
    )

    def __post_init__(self) -> None:
        """Raises InvalidInput for an unknown judge, for fields of another one, and for a wrong number."""
        accepted = {
            GAMES: "nothing without --judge exact",
            EXACT: "nothing with --judge exact, which plays no games",
        }
        if self.judge not in accepted:
            raise InvalidInput("judge", self.judge, " or ".join(accepted))
        for knob in knobs_of(StrengthRequest):
            is_others = knob.option.group in accepted.keys() - {self.judge}
            if is_others and getattr(self, knob.name) not in (None, False):
                raise InvalidInput(knob.name, getattr(self, knob.name), accepted[self.judge])
        if self.judge == GAMES and len(self.simulations) > 1:
            budgets = ",".join(map(str, self.simulations))
            raise InvalidInput("simulations", budgets, "one number without --judge exact")
        check(self)


@dataclass(frozen=True)
class Cell:
    """A search: a strategy with a number of lanes, or the sequential search with a budget."""

    strategy: Spec
    """Name of the strategy, and options for this search only; SEQUENTIAL for the sequential search."""
    lanes: int
    lane_simulations: int
    total_simulations: int

    @classmethod
    def sequential(cls, simulations: int) -> Cell:
        """The sequential search with this budget."""
        return cls(SEQUENTIAL, 1, simulations, simulations)

    @property
    def is_parallel(self) -> bool:
        """Whether it is none of the sequential searches that make the curve."""
        return self.strategy.name != SEQUENTIAL.name

    @property
    def name(self) -> str:
        if not self.is_parallel:
            return f"sequential-{self.total_simulations}"
        return f"{self.strategy} {self.lanes}x{self.lane_simulations}"

    @property
    def side(self) -> Side:
        """The search as `fit` takes it."""
        return self.name if self.is_parallel else math.log2(self.total_simulations)

    @property
    def is_sequential(self) -> bool:
        """Whether it equals the sequential search: one tree that grows without interruption."""
        return self.lanes == 1 and self.strategy.name == "root"

    def to_json(self) -> dict[str, Any]:
        """The search as JSON."""
        return {
            "strategy": str(self.strategy),
            "lanes": self.lanes,
            "simulations_per_lane": self.lane_simulations,
            "total_simulations": self.total_simulations,
        }


class Searches:
    """The searches of a request, in which all that judges have in common is checked."""

    def __init__(self, request: StrengthRequest) -> None:
        """Load the game. Raises InvalidInput (game, strategies, lanes, simulations, total, options)."""
        self.request = request
        self.source = games.source_of_spec(request.game)
        """The text of the game file; None for other games."""
        self.game = game = games.load(request.game, self.source)
        if game.num_players != 2:
            plan = " (banyan plan measures players of a problem of one player)" * (game.num_players == 1)
            raise InvalidInput("game", game.spec, f"a game of two players, not {game.form}{plan}")
        self.options = read_options(request.options)
        """Options of uct for all searches."""
        self.strategies = read_strategies(request.strategies)
        self.lanes = sorted(set(request.lanes))
        self.cells = [
            _cell(strategy, lanes, simulations, request.total)
            for strategy in self.strategies
            for simulations in request.simulations or (None,)
            for lanes in self.lanes
        ]
        """The parallel searches, ordered by strategy, then by budget, then by lanes."""
        if all(cell.is_sequential for cell in self.cells):
            raise InvalidInput("lanes", request.lanes[0], "more than one lane, or more than root alone")

    @property
    def is_map(self) -> bool:
        """Whether a lane has several budgets."""
        return len(self.request.simulations) > 1

    @property
    def ladder(self) -> list[int]:
        """The budgets of the curve: doublings from the smallest lane's budget to ABOVE the largest total.

        Raises InvalidInput (simulations) if the largest budget is too large.
        """
        low = min(cell.lane_simulations for cell in self.cells)
        top = max(cell.total_simulations for cell in self.cells)
        doublings = max(APART, math.ceil(math.log2(top / low) - 1e-9) + ABOVE)
        if low << doublings > MAX_SIMULATIONS:
            accepted = f"at most {MAX_SIMULATIONS >> doublings} on this many lanes"
            raise InvalidInput("simulations", low, accepted)
        return [low << step for step in range(doublings + 1)]

    def player(self, cell: Cell) -> tuple[str, Player]:
        """The spec of a search, and its player.

        Raises InvalidInput (``strategies`` or ``options``, followed by the name of the option).
        """
        own = {"simulations": str(cell.total_simulations)}
        if cell.is_parallel:
            # The player's defaults are sequential: one lane, one tree.
            own = {"strategy": cell.strategy.name, "lanes": str(cell.lanes), **own}
        spec = str(Spec("uct", {**own, **self.options, **cell.strategy.options}))
        try:
            return spec, player_of(spec, self.game)
        except InvalidInput as error:
            prefix = "player option"
            if not error.field.startswith(prefix):
                raise
            key = error.field.removeprefix(prefix).strip()
            is_own = (key or error.value) in cell.strategy.options
            field = f"{'strategies' if is_own else 'options'} {key}".strip()
            raise InvalidInput(field, error.value, error.accepted) from None

    def title(self, observations: str) -> str:
        """The title of a measurement: game, budget, options, what was observed, and seed."""
        request = self.request
        numbers = ", ".join(f"{each:,}" for each in request.simulations or (request.total,))
        plural = "s" * (request.simulations != (1,))
        whose = "each lane" if request.simulations else "all lanes together"
        budget = f"{numbers} simulation{plural} a move for {whose}"
        options = f", {request.options}" if request.options else ""
        return f"{self.game.spec}: {budget}{options}, {observations}, seed {request.seed}"

    def describe(self) -> dict[str, Any]:
        """The searches as JSON."""
        request = self.request
        each = [*request.simulations] if self.is_map else next(iter(request.simulations), None)
        return {
            "game": self.game.spec,
            "strategies": [*map(str, self.strategies)],
            "lanes": self.lanes,
            "simulations_per_lane": each,
            "total_simulations": request.total,
            "options": request.options,
            "seed": request.seed,
        }


def read_strategies(text: str) -> list[Spec]:
    """The strategies in a text: ``root,tree,leaf``, or with options of uct ``tree,tree:rounds=8,solver=no``.

    Raises InvalidInput (strategies).
    """
    parts: list[str] = []
    for item in text.split(","):
        # An item "key=value" without a name is a further option of the preceding strategy.
        if parts and "=" in item and ":" not in item:
            parts[-1] += f"{',' if ':' in parts[-1] else ':'}{item}"
        else:
            parts.append(item)
    specs = [_strategy_spec(part) for part in parts]
    for spec in specs:
        if spec.name not in STRATEGIES and not is_class(spec.name):
            raise InvalidInput("strategies", spec.name, f"a list of {IN_HOUSE}, ./mine.py:Mine")
        _not_reserved("strategies", spec.options)
    if len({str(spec) for spec in specs}) < len(specs):
        raise InvalidInput("strategies", text, "each strategy once")
    return specs


def _strategy_spec(text: str) -> Spec:
    """A strategy, which may be a class in a file, with its options. Raises InvalidInput (strategies)."""
    # The name of the class is part of that of the strategy.
    match = re.fullmatch(r"\s*(.+\.py:\w+)(.*)", text)
    spec = parse_spec(text if match is None else f"uct{match[2]}", "strategies", paths=True)
    return spec if match is None else Spec(match[1], spec.options)


def read_options(text: str) -> Mapping[str, str]:
    """The options in a text ``key=value,key=value``. Raises InvalidInput (options)."""
    options = parse_spec(f"uct:{text}", "options", paths=True).options if text else {}
    _not_reserved("options", options)
    return options


def _not_reserved(field: str, options: Mapping[str, str]) -> None:
    for key in options:
        if key in RESERVED:
            raise InvalidInput(field, key, f"options of uct but {', '.join(RESERVED)}")


def _cell(strategy: Spec, lanes: int, simulations: int | None, total: int | None) -> Cell:
    """Raises InvalidInput (lanes, simulations, total)."""
    if not 1 <= lanes <= MAX_LANES:
        raise InvalidInput("lanes", lanes, f"whole numbers from 1 to {MAX_LANES}")
    if (simulations is None) == (total is None):
        raise InvalidInput("simulations", simulations, "either --simulations, for each lane, or --total")
    if simulations is not None:
        if not 1 <= simulations <= MAX_SIMULATIONS // lanes:
            accepted = f"a whole number from 1 to {MAX_SIMULATIONS // lanes}"
            raise InvalidInput("simulations", simulations, accepted)
        return Cell(strategy, lanes, simulations, lanes * simulations)
    assert total is not None
    if not lanes <= total <= MAX_SIMULATIONS:
        raise InvalidInput("total", total, f"a whole number from {lanes} (the lanes) to {MAX_SIMULATIONS}")
    return Cell(strategy, lanes, round(total / lanes), total)
