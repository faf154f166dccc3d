"""What a measurement of strength by an exact judge consists of: its positions and its players."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import games
from cluster.lab.exact.moves import MAX_POSITIONS, MoveContext
from cluster.lab.exact.positions import SharpPosition
from cluster.lab.strength.strength import (
    Cell,
    StrengthRequest,
    cells_of,
    check_player,
    describe_request,
    ladder,
    player_spec,
    read_options,
    read_strategies,
    refuse_others,
)
from games.errors import InvalidInput
from games.game import Game
from search.players import Player, player_of
from search.request import MAX_SIMULATIONS

MAX_TRIES = 1_000


@dataclass(frozen=True)
class ExactRequest:
    """The request of a measurement; its figures depend on nothing else, apart from CPU times."""

    budgets: tuple[StrengthRequest, ...]
    """Game, strategies, lanes, budget, options and seed, once for each budget; no games are played."""
    positions: int = 2000
    hard: int | None = None
    """Only positions in which a sequential search with so many simulations loses something; None: all."""
    tries: int = 1
    """Moves that each search chooses in each position, with different seeds."""

    @property
    def searches(self) -> StrengthRequest:
        """The request of the first budget."""
        return self.budgets[0]

    @property
    def lane_simulations(self) -> tuple[int, ...]:
        """Simulations of a move for each lane; empty if the budget is a total."""
        return tuple(each.simulations for each in self.budgets if each.simulations is not None)

    def __post_init__(self) -> None:
        """Raises InvalidInput (positions, hard, tries)."""
        if not 1 <= self.positions <= MAX_POSITIONS:
            raise InvalidInput("positions", self.positions, f"a whole number from 1 to {MAX_POSITIONS:,}")
        if self.hard is not None and not 1 <= self.hard <= MAX_SIMULATIONS:
            raise InvalidInput("hard", self.hard, f"simulations, from 1 to {MAX_SIMULATIONS:,}")
        if not 1 <= self.tries <= MAX_TRIES:
            raise InvalidInput("tries", self.tries, f"a whole number from 1 to {MAX_TRIES:,}")


@dataclass(frozen=True)
class ExactPlan:
    """The players of a measurement, without its positions."""

    request: ExactRequest
    game: Game
    source: str | None
    """The text of the game file; None for other games."""
    cells: tuple[Cell, ...]
    """The parallel searches."""
    budgets: tuple[int, ...]
    """Simulations of the sequential searches, ascending; the totals of all cells are among them."""
    specs: tuple[str, ...]
    """Player specs: of the budgets, then of the cells."""

    @property
    def simulations(self) -> tuple[int, ...]:
        """Simulations of a move of each player."""
        return (*self.budgets, *(cell.total_simulations for cell in self.cells))

    def contexts(self, positions: list[SharpPosition]) -> list[MoveContext]:
        """A context for each player."""
        texts = tuple(position.text for position in positions)
        seed = self.request.searches.seed
        return [MoveContext(self.game.spec, self.source, spec, texts, seed) for spec in self.specs]

    @property
    def identity(self) -> dict[str, Any]:
        """What a move depends on, apart from its player and its number."""
        source = None if self.source is None else hashlib.sha256(self.source.encode()).hexdigest()
        request = self.request
        return {
            "game": self.game.spec,
            "source": source,
            "seed": request.searches.seed,
            "hard": request.hard,
            "options": request.searches.options if request.hard else None,
        }

    def describe(self) -> dict[str, Any]:
        """The plan as JSON."""
        found = describe_request(self.request.searches, self.game)
        if len(self.request.budgets) > 1:
            found["simulations_per_lane"] = [*self.request.lane_simulations]
        return found | {"judge": "exact", "hard": self.request.hard, "tries": self.request.tries}

    def short_search(self) -> Player | None:
        """The player that chooses hard positions; None if all sharp positions are taken."""
        if self.request.hard is None:
            return None
        options = read_options(self.request.searches.options)
        return player_of(player_spec(math.log2(self.request.hard), options, None), self.game)


def make_plan(request: ExactRequest) -> ExactPlan:
    """Check the request and create each player once.

    Raises InvalidInput (game, strategies, lanes, simulations, total, options, seed).
    """
    searches = request.searches
    source = games.source_of_spec(searches.game)
    game = games.load(searches.game, source)
    refuse_others(game)
    if not game.is_two_player or game.has_chance:
        raise InvalidInput("judge", "exact", f"games: {game.name} is {game.form}")
    if game.hidden_information:
        raise InvalidInput("judge", "exact", f"games: something is hidden in {game.name}")
    if not 0 <= searches.seed < 2**63:
        raise InvalidInput("seed", searches.seed, "a whole number from 0 to 2**63 - 1")
    options = read_options(searches.options)
    every = [cell for budget in request.budgets for cell in cells_of(budget)]
    # Ordered by strategy, then by budget, then by lanes.
    strategies = read_strategies(searches.strategies)
    every.sort(key=lambda cell: strategies.index(cell.strategy))
    cells = tuple({cell.name: cell for cell in every if not cell.is_sequential}.values())
    if not cells:
        raise InvalidInput("lanes", searches.lanes[0], "more than one lane, or more than root alone")
    budgets = tuple(sorted({*ladder(cells), *(cell.total_simulations for cell in cells)}))
    specs = [player_spec(math.log2(budget), options, None) for budget in budgets]
    for spec in specs:
        check_player(spec, game, None)
    for cell in cells:
        specs.append(player_spec(cell.name, options, cell))
        check_player(specs[-1], game, cell)
    return ExactPlan(request, game, source, cells, budgets, tuple(specs))
