"""The matches that measure the strength of parallel searches. They depend on the request alone.

Each parallel search (a strategy with a number of lanes) plays two sequential ones: with the budget of one of
its lanes, and with that of all lanes together. Sequential searches play each other at all budgets in between;
this gives the curve that converts a score to a strength speedup (`strength_fit.py`).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import games
from cluster.lab.strength.strength_fit import Player
from cluster.matches.game import MatchContext, start_of
from games.errors import InvalidInput
from games.game import Game
from games.spec import Spec, parse_spec
from search.players import player_of
from search.request import ALL_STRATEGIES, MAX_LANES, MAX_SIMULATIONS

CURVE, LANE, TOTAL = "sequential", "equal lane", "equal total"
"""Kinds of matches."""
APART = 2
"""Doublings between two budgets of the curve that play each other. With fewer, more games are needed to
measure the gain of a doubling; with more, one side wins nearly all games."""
ABOVE = 1
"""Doublings by which the curve exceeds the largest total: a search may be better than its total."""
MAX_PAIRS = 500_000
RESERVED = ("strategy", "lanes", "simulations", "seconds", "preset")
"""Options of uct that users cannot set, because the measurement sets them."""


@dataclass(frozen=True)
class StrengthRequest:
    """The request of a measurement; the games depend on nothing else."""

    game: str
    strategies: str
    """Strategies as on the command line, see `read_strategies`."""
    lanes: tuple[int, ...]
    simulations: int | None = None
    """Simulations of a move for each lane; None if ``total`` is given."""
    total: int | None = None
    """Simulations of a move for all lanes together; None if ``simulations`` is given."""
    pairs: int = 100
    total_pairs: int | None = None
    """Pairs of a match of kind TOTAL; None: the value of ``pairs``."""
    options: str = ""
    """Options of uct for all searches, such as ``c=0.5,final_move=max``."""
    seed: int = 0
    opening_plies: int | None = None
    """Random plies at the beginning of a pair; None: Game.opening_plies."""
    scores_only: bool = False
    """Whether only matches at equal totals are played."""

    def pairs_of(self, kind: str) -> int:
        """Number of pairs of a match of this kind (CURVE, LANE or TOTAL)."""
        return self.pairs if kind != TOTAL or self.total_pairs is None else self.total_pairs


@dataclass(frozen=True)
class Cell:
    """A parallel search: a strategy with a number of lanes."""

    strategy: Spec
    """Name of the strategy, and options for this search only."""
    lanes: int
    lane_simulations: int
    total_simulations: int

    @property
    def name(self) -> str:
        return f"{self.strategy} {self.lanes}x{self.lane_simulations}"

    @property
    def is_sequential(self) -> bool:
        """Whether it equals the sequential search: one tree that grows without interruption."""
        return self.lanes == 1 and self.strategy.name == "root"


@dataclass(frozen=True)
class Meeting:
    """One match of a measurement."""

    kind: str
    """CURVE, LANE or TOTAL."""
    a: Player
    b: Player
    """A sequential search as the binary logarithm of its simulations, or a parallel one by its Cell.name."""
    context: MatchContext
    pairs: int
    cell: Cell | None = None
    """The parallel search that plays as A; None if A is sequential."""

    @property
    def folder(self) -> str:
        """A folder name, unique among the meetings of this measurement."""
        return re.sub(r"[^\w=.,-]+", "-", f"{_called(self.a)}-against-{_called(self.b)}")


@dataclass(frozen=True)
class Plan:
    """All matches of a measurement."""

    request: StrengthRequest
    game: Game
    cells: tuple[Cell, ...]
    """Parallel searches, ordered by strategy, then by lanes."""
    meetings: tuple[Meeting, ...]
    """Matches, the most expensive first."""

    @property
    def budgets(self) -> list[int]:
        """Budgets of the sequential searches, ascending."""
        sides = {side for meeting in self.meetings for side in (meeting.a, meeting.b)}
        return sorted(simulations_of(side) for side in sides if isinstance(side, float))


def refuse_others(game: Game) -> None:
    """Raise InvalidInput (field ``game``) for a problem that two players do not play against each other."""
    if game.num_players != 2:
        instead = (
            " (banyan plan measures players of a problem of one player)" if game.num_players == 1 else ""
        )
        raise InvalidInput("game", game.spec, f"a game of two players, not {game.form}{instead}")


def make_plan(request: StrengthRequest) -> Plan:
    """Check the request, create each player once, and plan the matches.

    Raises InvalidInput (game, strategies, lanes, simulations, total, pairs, total_pairs, options, seed,
    opening_plies).
    """
    source = games.source_of_spec(request.game)
    game = games.load(request.game, source)
    refuse_others(game)
    for name in ("pairs", "total_pairs"):
        number = getattr(request, name)
        if number is not None and not 1 <= number <= MAX_PAIRS:
            raise InvalidInput(name, number, f"a whole number from 1 to {MAX_PAIRS}")
    if not 0 <= request.seed < 2**63:
        raise InvalidInput("seed", request.seed, "a whole number from 0 to 2**63 - 1")
    plies = game.opening_plies if request.opening_plies is None else request.opening_plies
    if not 0 <= plies <= game.max_plies:
        raise InvalidInput("opening_plies", plies, f"a whole number from 0 to {game.max_plies}")
    options = read_options(request.options)
    cells = cells_of(request)

    def meeting(kind: str, a: Player, b: Player, cell: Cell | None = None) -> Meeting:
        specs = tuple(player_spec(side, options, cell) for side in (a, b))
        for spec in specs:
            check_player(spec, game, cell)
        seed = _seed_of(request.seed, *specs)
        context = MatchContext(game.spec, source, (specs[0], specs[1]), seed, plies)
        return Meeting(kind, a, b, context, request.pairs_of(kind), cell)

    meetings = []
    for cell in cells:
        if cell.is_sequential:
            continue
        if not request.scores_only and cell.lanes > 1:
            meetings.append(meeting(LANE, cell.name, math.log2(cell.lane_simulations), cell))
        meetings.append(meeting(TOTAL, cell.name, math.log2(cell.total_simulations), cell))
    if not meetings:
        raise InvalidInput("lanes", request.lanes[0], "more than one lane, or more than root alone")
    if not request.scores_only:
        rungs = ladder(cells)
        meetings += [
            meeting(CURVE, math.log2(high), math.log2(low))
            for low, high in zip(rungs, rungs[APART:], strict=False)
        ]
    meetings.sort(key=_cost, reverse=True)
    start_of(meetings[0].context, game, 0)
    return Plan(request, game, cells, tuple(meetings))


def cells_of(request: StrengthRequest) -> tuple[Cell, ...]:
    """The parallel searches, ordered by strategy, then by lanes.

    Raises InvalidInput (strategies, lanes, simulations, total).
    """
    return tuple(
        _cell(request, strategy, lanes)
        for strategy in read_strategies(request.strategies)
        for lanes in sorted(set(request.lanes))
    )


def ladder(cells: tuple[Cell, ...]) -> list[int]:
    """The budgets of the curve: doublings from the smallest lane to ABOVE the largest total."""
    low = min(cell.lane_simulations for cell in cells)
    top = max(cell.total_simulations for cell in cells)
    doublings = max(APART, math.ceil(math.log2(top / low) - 1e-9) + ABOVE)
    if low << doublings > MAX_SIMULATIONS:
        raise InvalidInput("simulations", low, f"at most {MAX_SIMULATIONS >> doublings} on this many lanes")
    return [low << step for step in range(doublings + 1)]


def read_strategies(text: str) -> list[Spec]:
    """``root,tree,leaf``; each may have options of uct: ``tree,tree:rounds=8,solver=no,root``.

    Raises InvalidInput (strategies).
    """
    parts: list[str] = []
    for item in text.split(","):
        # An item "key=value" without a name is a further option of the preceding strategy.
        if parts and "=" in item and ":" not in item:
            parts[-1] += f"{',' if ':' in parts[-1] else ':'}{item}"
        else:
            parts.append(item)
    specs = [parse_spec(part, "strategies", paths=True) for part in parts]
    for spec in specs:
        if spec.name not in ALL_STRATEGIES:
            raise InvalidInput("strategies", spec.name, "a list of " + ", ".join(ALL_STRATEGIES))
        _not_reserved("strategies", spec.options)
    if len({str(spec) for spec in specs}) < len(specs):
        raise InvalidInput("strategies", text, "each strategy once")
    return specs


def read_options(text: str) -> Mapping[str, str]:
    """``key=value,key=value``; raises InvalidInput (options)."""
    options = parse_spec(f"uct:{text}", "options", paths=True).options if text else {}
    _not_reserved("options", options)
    return options


def simulations_of(side: float) -> int:
    """The budget in simulations of a sequential search."""
    return round(2**side)


def _not_reserved(field: str, options: Mapping[str, str]) -> None:
    for key in options:
        if key in RESERVED:
            raise InvalidInput(field, key, f"options of uct but {', '.join(RESERVED)}")


def _cell(request: StrengthRequest, strategy: Spec, lanes: int) -> Cell:
    if not 1 <= lanes <= MAX_LANES:
        raise InvalidInput("lanes", lanes, f"whole numbers from 1 to {MAX_LANES}")
    if (request.simulations is None) == (request.total is None):
        raise InvalidInput(
            "simulations", request.simulations, "either --simulations, for each lane, or --total"
        )
    if request.simulations is not None:
        if not 1 <= request.simulations <= MAX_SIMULATIONS // lanes:
            accepted = f"a whole number from 1 to {MAX_SIMULATIONS // lanes}"
            raise InvalidInput("simulations", request.simulations, accepted)
        return Cell(strategy, lanes, request.simulations, lanes * request.simulations)
    assert request.total is not None
    if not lanes <= request.total <= MAX_SIMULATIONS:
        raise InvalidInput(
            "total", request.total, f"a whole number from {lanes} (the lanes) to {MAX_SIMULATIONS}"
        )
    return Cell(strategy, lanes, round(request.total / lanes), request.total)


def player_spec(side: Player, options: Mapping[str, str], cell: Cell | None) -> str:
    """The player spec of one side: of a sequential search by its budget, or of ``cell``."""
    if isinstance(side, float):
        # The player's defaults are sequential: one lane, one tree.
        return str(Spec("uct", {"simulations": str(simulations_of(side)), **options}))
    assert cell is not None
    own = {
        "strategy": cell.strategy.name,
        "lanes": str(cell.lanes),
        "simulations": str(cell.total_simulations),
    }
    return str(Spec("uct", {**own, **options, **cell.strategy.options}))


def check_player(spec: str, game: Game, cell: Cell | None) -> None:
    """Make the player once; raises InvalidInput (strategies or options, and which)."""
    try:
        player_of(spec, game)
    except InvalidInput as error:
        prefix = "player option"
        if not error.field.startswith(prefix):
            raise
        key = error.field.removeprefix(prefix).strip()
        own = cell is not None and (key or error.value) in cell.strategy.options
        field = f"{'strategies' if own else 'options'} {key}".strip()
        raise InvalidInput(field, error.value, error.accepted) from None


def _seed_of(seed: int, *specs: str) -> int:
    """The seed of one match: openings differ between matches, and do not depend on the other matches."""
    text = "\n".join((str(seed), *specs))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def _called(side: Player) -> str:
    return f"sequential-{simulations_of(side)}" if isinstance(side, float) else side


def _cost(meeting: Meeting) -> int:
    """Simulations that a move of each side costs, added."""
    sides = [simulations_of(side) for side in (meeting.a, meeting.b) if isinstance(side, float)]
    return sum(sides) + (meeting.cell.total_simulations if meeting.cell is not None else 0)


def describe(plan: Plan) -> dict[str, Any]:
    """The plan as JSON."""
    request = plan.request
    return describe_request(request, plan.game) | {
        "pairs": request.pairs,
        "total_pairs": request.pairs_of(TOTAL),
        "opening_plies": plan.meetings[0].context.opening_plies,
    }


def describe_request(request: StrengthRequest, game: Game) -> dict[str, Any]:
    """The searches of a request as JSON, without the games that they play."""
    return {
        "game": game.spec,
        "strategies": [str(spec) for spec in read_strategies(request.strategies)],
        "lanes": sorted(set(request.lanes)),
        "simulations_per_lane": request.simulations,
        "total_simulations": request.total,
        "options": request.options,
        "seed": request.seed,
    }
