"""What clients may send. Values are checked once more, and for sense, where a `SearchRequest` is made."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from cluster.service.limits import Limits
from games.errors import InvalidInput
from search.request import DEFAULT_MEMORY_MB, DEFAULT_SECONDS, SearchRequest

PRIORITIES = (-10, 10)
EXAMPLE: dict[str, Any] = {
    "game": "gomoku:size=9",
    "moves": ["e5", "d5"],
    "simulations": 20_000,
    "lanes": 8,
    "seed": 7,
}
POSITION_EXAMPLE: dict[str, Any] = {"moves": ["f6", "g7"]}

Move = Annotated[str, Field(min_length=1, max_length=64)]


class Strict(BaseModel):
    """No other fields, no other types, and numbers that are."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class SearchBody(Strict):
    """A search: a position, a budget, and how to search. With `simulations` and `seed` the answer is the same
    however many workers there are, and whatever else they do."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    game: str = Field(min_length=1, description="A game, with options if it has any: `gomoku:size=15`.")
    moves: list[Move] = Field(default=[], description="Moves from the start, or from `position`.")
    position: str | None = Field(default=None, description="A position as `/positions` gives it back.")
    strategy: Literal["root", "tree", "leaf"] = Field(default="tree", description="What is shared.")
    lanes: int = Field(default=16, ge=1, description="Logical streams of the search, whatever runs them.")
    simulations: int | None = Field(
        default=None, ge=1, description="The budget: exactly so many. The answer can be had again."
    )
    seconds: float | None = Field(
        default=None, ge=0.001, description="Or so long, from when it begins to run. 5 if no budget is given."
    )
    memory_mb: int | None = Field(
        default=None, ge=1, description="The most that its trees take. As the only budget: until it is used."
    )
    seed: int = Field(default=0, ge=0, lt=2**63, description="Of all that is random.")
    priority: int = Field(
        default=0,
        ge=PRIORITIES[0],
        le=PRIORITIES[1],
        description="Searches of a higher one begin, and get workers, before all others.",
    )
    exploration: float | None = Field(
        default=None, description="C of UCT; null: 0.35, where something is hidden 0.7."
    )
    exploration_scale: Literal["fixed", "spread"] | None = Field(
        default=None, description="What C is multiplied with: nothing, or the spread of values."
    )
    first_play_urgency: float | None = Field(
        default=None, description="The value at which an untried move competes; null tries all first."
    )
    implicit_minimax: float = Field(default=0.0, description="root: share of the minimax of evaluations.")
    bias: float = Field(default=0.0, description="root: progressive bias.")
    decisive: bool = Field(default=False, description="A move that wins at once is the only one tried.")
    widening: int | None = Field(default=None, description="Moves that a node begins with; null: all.")
    paired: int = Field(default=1, description="Moves of the root that search each draw of what is hidden.")
    playout_plies: int | None = Field(
        default=None, description="Plies after which a playout is cut; null: none."
    )
    playout_policy: str = Field(default="random", max_length=40, description="How playouts move.")
    solver: bool = Field(
        default=False, description="Propagate proven results, and stop when the root is proven."
    )
    final_move: Literal["robust", "max", "robust-max", "secure", "vote"] = Field(
        default="robust", description="How the move is chosen."
    )
    hidden_information: Literal["ismcts", "determinized"] = Field(
        default="ismcts", description="How to search where something is hidden."
    )
    share_visits: int = Field(default=2, description="tree: nodes with fewer visits share no children.")
    rounds: int | None = Field(
        default=None, description="tree: how often lanes share; null: by the budget and their number."
    )
    anticipation: float = Field(
        default=1.0, description="tree: visits expected of each other lane for one's own."
    )
    perturbation: float = Field(default=0.0, description="tree: standard errors by which a lane moves means.")
    lane_exploration: float = Field(
        default=1.0, description="tree: the share of C that a lane explores with."
    )
    staleness: int | None = Field(
        default=None, description="tree: rounds that a lane lags behind; null: by the budget, 0 with rounds."
    )
    in_flight: Literal["unobserved", "virtual-loss"] = Field(
        default="unobserved", description="leaf: what a visit in flight counts as."
    )
    batch: int | None = Field(default=None, description="leaf: leaves a job; null: by the budget.")
    playouts_per_leaf: int | None = Field(
        default=None, description="leaf: playouts from each; null: by the cost."
    )

    def request(self, limits: Limits) -> SearchRequest:
        """What the search is asked to do. Raises InvalidInput."""
        check_text(self.game, "game", limits)
        check_text(self.position, "position", limits)
        check_moves(self.moves, limits)
        values = self.model_dump(exclude={"priority", "moves", "seconds", "memory_mb", "first_play_urgency"})
        urgency, memory_mb, seconds = self.first_play_urgency, self.memory_mb, self.seconds
        unlimited = self.simulations is None and seconds is None
        if unlimited and memory_mb is None:
            seconds = DEFAULT_SECONDS
        request = SearchRequest(
            **values,
            moves=tuple(self.moves),
            seconds=seconds,
            memory_mb=min(DEFAULT_MEMORY_MB, limits.memory_mb) if memory_mb is None else memory_mb,
            stop_when_full=unlimited and memory_mb is not None,
            first_play_urgency=math.inf if urgency is None else urgency,
        )
        request = limits.within(request)
        # A search that may fill its memory ends all the same.
        return request if request.simulations or request.seconds else replace(request, seconds=limits.seconds)

    def fingerprint(self) -> str:
        """The same for bodies that ask for the same."""
        return hashlib.sha256(json.dumps(self.model_dump(), sort_keys=True).encode()).hexdigest()


class PositionBody(Strict):
    """A position: the start of the game, or `position`, and then `moves`."""

    model_config = ConfigDict(json_schema_extra={"examples": [POSITION_EXAMPLE]})

    moves: list[Move] = Field(default=[], description="In the game's notation.")
    position: str | None = Field(default=None, description="As an answer gave it; null: the start.")
    deal: int | None = Field(
        default=None,
        ge=0,
        lt=2**63,
        description="Deal what is hidden by this number, and let moves be true to it; with no `position`.",
    )
    show: Literal[0, 1] | None = Field(
        default=None, description="The player whose secret is shown, if anything was dealt."
    )
    draws: int = Field(
        default=0, ge=0, le=1000, description="Draws of what is hidden, for `chances`; 0: none are told."
    )

    def check(self, limits: Limits) -> None:
        """Raises InvalidInput for more than is taken."""
        check_text(self.position, "position", limits)
        check_moves(self.moves, limits)


def check_text(text: str | None, field: str, limits: Limits) -> None:
    """Raises InvalidInput for a text that is too long, or not one line."""
    if text is not None and (len(text) > limits.text or not text.isprintable()):
        raise InvalidInput(field, text, f"one line of at most {limits.text} characters")


def check_moves(moves: list[str], limits: Limits) -> None:
    """Raises InvalidInput for too many."""
    if len(moves) > limits.moves:
        raise InvalidInput("moves", f"{len(moves)} moves", f"at most {limits.moves} moves")


def body_of(values: dict[str, Any]) -> SearchBody:
    """A body that was kept."""
    return SearchBody.model_validate(values)
