"""What clients may send. Values are checked once more, and for sense, where a `SearchRequest` is made."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SkipValidation,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from cluster.analysis.queries import CONTROL
from cluster.service.limits import Limits
from games.errors import InvalidInput, did_you_mean
from games.spec import Options, is_path, parse_spec
from search.options import LOWEST, Knob, knobs_of
from search.players.presets import NAMES, STRONGEST
from search.request import DEFAULT_MEMORY_MB, SearchRequest, request_of
from search.tree.arena import MAX_CHILDREN

PRIORITIES = (-10, 10)
EXAMPLE: dict[str, Any] = {
    "game": "gomoku:size=9",
    "moves": ["e5", "d5"],
    "simulations": 20_000,
    "lanes": 8,
    "seed": 7,
}
MOVE_EXAMPLE: dict[str, Any] = {"moves": ["a7", "g7"], "player": "best", "seconds": 0.5}
EVALUATOR_HELP = (
    "Strategy leaf: `external` if clients evaluate the leaves (`GET leaves`, `POST evaluations`), with PUCT "
    "in the tree and a budget in simulations. null: playouts."
)
VERSION_HELP = (
    "With an external evaluator: its name and version, such as model-7b-2. The server keeps the answers, and "
    "asks no search with this version for a position that has one. null: answers are not kept."
)
EVALUATION_EXAMPLE: dict[str, Any] = {
    "evaluations": [{"id": "0-9f86d081884c7d65", "value": 0.25, "policy": {"e5": 0.75, "d5": 0.25}}]
}
ANALYSIS_EXAMPLE: dict[str, Any] = {
    "game": "gomoku:size=9",
    "simulations": 2000,
    "positions": [
        {"id": "a", "moves": ["e5", "d5"], "analyzeTurns": [0, 1, 2]},
        {"id": "b", "maxVisits": 500},
    ],
}
CONTINUES_HELP = (
    "The id of one of the latest searches that have ended, equal to this one but for `simulations`, "
    "`seconds`, `memory_mb`, `seed`, `priority`, and further `moves`: this one begins with the visits that "
    "it left (`kept_visits` of the result; 0 with `allow`, `avoid` or `least_visits`). null: with none."
)
MOST_POSITIONS = 10_000
"""Largest number of positions of an analysis."""
MOST_EVALUATIONS = 1024
"""Largest number of evaluations in a request."""
SHORTEST_S = 0.001
POSITION_EXAMPLE: dict[str, Any] = {"moves": ["f6", "g7"]}


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise PydanticCustomError("one_line", "one line of text")
    return text


Text = Annotated[str, Field(max_length=20_000), AfterValidator(_one_line)]
"""A position, or a game with its options."""
Moves = Annotated[list[Annotated[str, Field(min_length=1, max_length=64)]], Field(max_length=2000)]
Probability = Annotated[float, Field(ge=0)]
Policy = (
    Annotated[dict[str, Probability], Field(max_length=MAX_CHILDREN)]
    | Annotated[list[Probability], Field(max_length=MAX_CHILDREN)]
)


Query = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "properties": {name: {"description": accepted} for name, (_, accepted) in CONTROL.items()},
            "required": ["id"],
        }
    ),
]
"""A query of an analysis, which `cluster.analysis.queries` checks."""


class Strict(BaseModel):
    """A model that refuses unknown fields, values of other types, and numbers that are not finite."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _names_that_are(cls, values: Any) -> Any:
        """Raises InvalidInput for an unknown field."""
        for name, value in values.items() if isinstance(values, dict) else ():
            if name not in cls.model_fields:
                raise InvalidInput(
                    name, value, f"a field of this object{did_you_mean(name, cls.model_fields)}"
                )
        return values


class SearchBase(Strict):
    """A search: a position, a budget, and how to search. With `simulations` and `seed` the answer is the same
    however many workers there are, and whatever else they do."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})
    asks_for: ClassVar[type[SearchRequest]] = SearchRequest

    game: Text = Field(min_length=1, description="A game, with options if it has any: `gomoku:size=15`.")
    moves: Moves = []
    position: Text | None = None
    strategy: Text = "tree"
    priority: int = Field(
        default=0,
        ge=PRIORITIES[0],
        le=PRIORITIES[1],
        description="Searches of a higher priority begin, and get workers, before searches of a lower one.",
    )
    continues: Annotated[str, Field(max_length=64)] | None = Field(default=None, description=CONTINUES_HELP)

    def request(self, limits: Limits) -> SearchRequest:
        """The request of this search. Raises InvalidInput."""
        values = self.model_dump(exclude={"priority", "continues", "positions"})
        values["moves"] = tuple(self.moves)
        if values.get("evaluator") is not None:
            if values["seconds"] is not None:
                raise InvalidInput("seconds", values["seconds"], "null with an external evaluator")
            if values["simulations"] is None:
                raise InvalidInput("simulations", None, "a number with an external evaluator")
        request = request_of(values, self.asks_for)
        if values["memory_mb"] is None:
            request = replace(request, memory_mb=min(DEFAULT_MEMORY_MB, limits.memory_mb))
        request = limits.within(request)
        # A search that may fill its memory ends all the same.
        return request if request.simulations or request.seconds else replace(request, seconds=limits.seconds)

    def fingerprint(self) -> str:
        """A text that is equal for bodies that ask for the same."""
        return hashlib.sha256(json.dumps(self.model_dump(), sort_keys=True).encode()).hexdigest()


def body_model(kind: type[SearchRequest]) -> type[SearchBase]:
    """The body that asks for a search of this kind: a field for each option that the API takes."""
    fields: dict[str, Any] = {knob.name: _field(knob) for knob in knobs_of(kind) if knob.option.api}
    fields["evaluator"] = (Literal["external"] | None, Field(default=None, description=EVALUATOR_HELP))
    fields["evaluator_version"] = (Text | None, Field(default=None, description=VERSION_HELP))
    model = create_model("SearchBody", __base__=SearchBase, __doc__=SearchBase.__doc__, **fields)
    model.asks_for = kind
    return model


def _field(knob: Knob) -> tuple[Any, Any]:
    """Type and field of an option. Bounds and choices are only described; `SearchRequest` checks them."""
    told: dict[str, Any] = {"enum": [*knob.option.choices]} if knob.option.choices else {}
    default: Any = knob.asked_default
    if knob.option.bounds is not None and knob.option.bounds[0] != LOWEST:
        told = dict(zip(("minimum", "maximum"), knob.option.bounds, strict=True))
    if default == math.inf:
        # JSON has no infinity.
        default = None
    plain: Any = Moves if knob.kind is tuple else Text if knob.kind is str else knob.kind
    if told:
        plain = Annotated[plain, Field(json_schema_extra=told)]
    unset = f" null: {knob.option.unset}." if knob.option.unset and default is None else ""
    field = Field(default=[] if knob.kind is tuple else default, description=f"{knob.option.help}{unset}")
    return plain | None if default is None else plain, field


if TYPE_CHECKING:
    SearchBody = SearchBase
else:
    SearchBody = body_model(SearchRequest)


class AnalysisBody(SearchBody):
    """Many positions of a game that are searched alike. The other fields are defaults, as in a search."""

    # What a query may have is stored as it came: so may infinity be.
    model_config = ConfigDict(
        json_schema_extra={"examples": [ANALYSIS_EXAMPLE]}, ser_json_inf_nan="constants"
    )

    positions: list[Query] = Field(
        min_length=1,
        max_length=MOST_POSITIONS,
        description="Queries as `banyan analyze` reads them: an `id`, the moves so far, and what differs "
        "from the defaults.",
    )
    evaluator: None = Field(default=None, description="null: workers do all of a search.")
    continues: None = Field(default=None, description="null: each begins with nothing.")


class PositionBody(Strict):
    """A position: the start of the game, or `position`, and then `moves`."""

    model_config = ConfigDict(json_schema_extra={"examples": [POSITION_EXAMPLE]})

    moves: Moves = Field(default=[], description="In the game's notation.")
    position: Text | None = Field(
        default=None, description="A position as an answer contains it; null: the start."
    )
    deal: int | None = Field(
        default=None,
        ge=0,
        lt=2**63,
        description="Seed of the hidden fleets, with which moves must agree, or of the episode where starts "
        "differ. Not together with `position`.",
    )
    show: Literal[0, 1] | None = Field(
        default=None, description="The player whose hidden information is shown, if `deal` is given."
    )
    fleet: Moves | None = Field(
        default=None,
        description="With `deal` and `show`: where that player places the own ships, in order: `a1e1`; "
        "`random` at the end places the rest. While some are missing, `placing` names the next.",
    )
    draws: int = Field(
        default=0, ge=0, le=1000, description="Number of determinizations for `chances`; 0: no chances."
    )


class MoveBody(PositionBody):
    """A position, and the player that is asked for its move there. A player that sees what is hidden needs
    `deal`."""

    model_config = ConfigDict(json_schema_extra={"examples": [MOVE_EXAMPLE]})

    player: Text = Field(
        default=STRONGEST,
        description="Who is asked: best, the strongest player known for the game; plain, UCT with random "
        "playouts; another preset; or a player with options, as in `banyan play`: `flat:seconds=2`.",
    )
    seconds: float | None = Field(
        default=None,
        ge=SHORTEST_S,
        description="CPU time for the move of a preset; null: 1, or what the options of a player say. The "
        "server has a limit.",
    )
    seed: int = Field(
        default=0,
        ge=0,
        lt=2**63,
        description="Decides between moves that are equally good, and what chance brings.",
    )

    def check(self, limits: Limits) -> None:
        """Raise InvalidInput (``seconds``, ``player``, player option NAME) for a player that names a file, or
        for a larger budget than the server allows for a move."""
        longest_s = min(limits.move_seconds, limits.seconds)
        given = [("seconds", self.seconds, longest_s)]
        if self.player not in NAMES:
            if self.seconds is not None:
                raise InvalidInput("seconds", self.seconds, "null beside a player: its options have it")
            spec = parse_spec(self.player, "player")
            if is_path(name := spec.options.get("evaluator", "")):
                raise InvalidInput("player option evaluator", name, "an evaluation of the game, not a file")
            options = Options(spec, "player")
            given = [
                ("player option seconds", options.number("seconds"), longest_s),
                ("player option simulations", options.integer("simulations"), limits.simulations),
                ("player option memory", options.integer("memory"), limits.memory_mb),
            ]
        for field, value, most in given:
            if value is not None and not value <= most:
                raise InvalidInput(field, value, f"at most {most:,g} for a move on this server")


class SpeedupBody(Strict):
    """A measurement of speedup on the workers of the server."""

    game: Text = Field(min_length=1, description="A game, with options if it has any: `gomoku:size=15`.")
    strategies: list[Literal["root", "tree", "leaf"]] = Field(
        default=["root", "tree"], min_length=1, max_length=3
    )
    workers: int | None = Field(
        default=None, ge=1, description="The largest number of workers that is measured; null: all."
    )
    seconds: float | None = Field(
        default=None,
        ge=10,
        description="About how long it takes, without searches that compile the game and choose the budget; "
        "null: 120, or the server's limit.",
    )


class Evaluation(Strict):
    """The answer to a leaf."""

    id: str = Field(description="The id of the leaf.", max_length=64)
    value: float = Field(ge=-1, le=1, description="Expected return of the player to move at the leaf.")
    policy: Policy | None = Field(
        default=None,
        description="Probabilities of the legal moves: by move (0 for moves that are left out), or in the "
        "order of `legal`. They need not add up to 1. null: all moves are equally likely.",
    )


class EvaluationsBody(Strict):
    """Answers to leaves of a search, in any order."""

    model_config = ConfigDict(json_schema_extra={"examples": [EVALUATION_EXAMPLE]})

    evaluations: list[SkipValidation[Evaluation]] = Field(
        min_length=1, max_length=MOST_EVALUATIONS, description="Each is taken or refused by itself."
    )
