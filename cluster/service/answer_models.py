"""Models of the API's answers. The fields of a result have the names of `banyan search --json`."""

from __future__ import annotations

from dataclasses import MISSING, fields
from operator import not_
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic.dataclasses import dataclass

from cluster.observe.progress import Figures, WorkerView
from cluster.service.request_models import SearchBody
from search.result import STOPPED_BY, Answer, SearchResult

DESCRIBED = ConfigDict(use_attribute_docstrings=True)
"""Configuration of models with dataclasses as fields: their attribute docstrings become descriptions."""
State = Literal["queued", "running", "done", "cancelled", "failed"]


_SCHEMAS = TypeAdapter(list[SearchResult | Figures], config=DESCRIBED).json_schema(mode="serialization")


def fields_of(kind: type) -> dict[str, Any]:
    """The fields of a dataclass, as `create_model` takes them, with the texts below them as descriptions.

    An `Answer` among them is replaced by its own fields.
    """
    told, kinds = _SCHEMAS["$defs"][kind.__name__]["properties"], get_type_hints(kind)
    found: dict[str, Any] = {}
    for each in fields(kind):
        if kinds[each.name] is Answer:
            found |= fields_of(Answer)
        elif each.name in told:
            default = ... if each.default is MISSING else each.default
            text = told[each.name].get("description")
            found[each.name] = kinds[each.name], Field(default, description=text, **each.metadata)
    return found


if TYPE_CHECKING:
    Result = BaseModel
    PartialResult = BaseModel
else:
    Result = create_model(
        "Result",
        __config__=DESCRIBED,
        __doc__="The result of a search that has ended.",
        **fields_of(SearchResult)
        | {
            "game": (str, Field(description="The game with all its options.")),
            "stopped_by": (Literal[STOPPED_BY], ...),
        },
    )
    PartialResult = create_model(
        "PartialResult",
        __config__=DESCRIBED,
        __doc__="The current state of a running search; fields have the names of a result.",
        partial=(Literal[True], Field(description="Always true; false in a final event.")),
        id=(str, ...),
        **fields_of(Answer)
        | fields_of(Figures)
        | {
            "workers": (
                list[WorkerView],
                Field(description="Workers of the pool, which all searches share."),
            )
        },
    )


class Point(BaseModel):
    """The rates of one step of the history."""

    time: float = Field(description="The end of the step, in seconds since 1970.")
    rates: list[tuple[str, float, float]] = Field(
        description="Of each search that grew: id, simulations/s, playouts/s. `others`: the sum of others."
    )


class Mark(BaseModel):
    """A worker that came or went; lost: its process died or hangs, left: given back, or its machine went."""

    time: float
    worker: int = Field(description="Its slot.")
    machine: str
    change: Literal["joined", "lost", "left"]
    reason: str


@dataclass(frozen=True, config=DESCRIBED)
class WorkerNow(WorkerView):
    """A worker in the last seconds."""

    busy: Annotated[float, Field(description="Recent share of time spent in jobs, in [0, 1].")]

    machine: str = Field(description="A name for people; empty before its first process is ready.")
    pid: int = Field(description="The id of its process there; 0 before the first.")
    since: float = Field(description="Since when it is alive, or is not.")
    search: str | None = Field(description="The search whose jobs it runs; of several, it ran most of these.")
    search_since: float | None = Field(description="Since when it runs them.")
    simulations_per_s: float = Field(description="Recent rate.")
    strip: list[int] | None = Field(
        default=None,
        exclude_if=not_,
        description="The last minute: per cent of each second in jobs; -1: no process, -2: starting, -3: not "
        "observed, or given back. Not in a tick.",
    )
    cores: list[int] | None = Field(
        default=None,
        exclude_if=not_,
        description="Per cent of each of these seconds in which its jobs had a core. Not in a tick.",
    )


class Now(BaseModel):
    """What the server does now."""

    simulations_per_s: float
    playouts_per_s: float
    searches_running: int
    running: list[str] = Field(
        description="The searches, analyses, and measurements of speedup, that workers run."
    )
    searches_waiting: int
    jobs_waiting: int = Field(description="Jobs that wait for a worker.")
    jobs_in_flight: int = Field(description="Jobs without a result, those that wait included.")
    results_waiting: int = Field(description="Results whose merge waits for the result of an earlier job.")
    merge_lag_s: float = Field(description="Age of the oldest of these.")
    merge_ms: float | None = Field(description="Mean time of a merge in the last step; null without one.")
    merging: list[int] | int = Field(
        description="Per cent of each second of the last minute in which results were merged; in a tick, of "
        "the last second."
    )
    duplicates: float | None = Field(description="Share of new nodes that several lanes have made.")
    unobserved_samples: int = Field(description="Assigned simulations that are not merged yet.")
    tree_bytes: int = Field(description="Bytes of the shared trees.")
    worker_tree_bytes: int = Field(description="Bytes of the largest tree that a worker has reported.")


class ClusterMoment(BaseModel):
    time: float = Field(description="Of the sample, in seconds since 1970, as all times.")
    ready: bool = Field(description="Whether there is a worker.")
    marks: list[Mark] = Field(description="At most 2,000, the oldest first; in a tick, the new ones.")
    now: Now
    searches: dict[str, dict[str, str]] = Field(
        description="Game and strategy of the searches that are mentioned, by id; in a tick, the new ones."
    )


class Cluster(ClusterMoment):
    """Workers and throughput of the last minutes."""

    started: float = Field(description="When the server was started.")
    executor: str
    span_s: int = Field(description="Seconds of the history.")
    step_s: int = Field(description="Seconds of one of its points.")
    strip_s: int = Field(description="Seconds of a strip.")
    history: list[Point]
    workers: list[WorkerNow]


class Tick(ClusterMoment):
    """What has changed in `Cluster` within a second; lists of numbers are by slot."""

    point: Point | None = Field(description="A new point of the history, if a step is over.")
    strips: list[int] = Field(description="The last second.")
    cores: list[int]
    rates: list[float] = Field(description="`simulations_per_s`.")
    busy: list[float]
    changed: list[WorkerNow] = Field(description="Workers that are new, or of which more has changed.")


class SearchError(BaseModel):
    """Why a search failed, in the form of problem details (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    title: str
    detail: str


class SearchView(BaseModel):
    """A search: its request, state and result."""

    id: str = Field(examples=["5f0c6a4e9b7d4e7a8f1f3f0c2b9d6e11"])
    state: State | Literal["unreadable"] = Field(
        description="unreadable: the record is of another version or damaged; `error` gives the reason."
    )
    priority: int
    request: SearchBody | None = Field(description="The request with all defaults; null if it is unreadable.")
    created_at: str = Field(examples=["2026-11-21T12:00:00.000Z"])
    started_at: str | None
    finished_at: str | None
    searches_before: int | None = Field(
        description="Number of searches that begin before this one; null if it is not waiting."
    )
    progress: PartialResult | None = Field(description="Present while the search runs.")
    result: Result | None = Field(description="Present if the search is done, or cancelled after it began.")
    error: SearchError | None = Field(description="Present if the search has failed or is unreadable.")


class SearchPage(BaseModel):
    """A page of searches, the latest first."""

    searches: list[SearchView]
    next: str | None = Field(description="Value of `after` for the next page; null on the last page.")


class AnalysisView(BaseModel):
    """An analysis: its state, and how far it is."""

    id: str
    state: State
    priority: int
    game: str = Field(description="The game with all its options.")
    positions: int = Field(description="Number of positions, each of which gets one answer.")
    answered: int = Field(description="Number of answers so far.")
    created_at: str
    started_at: str | None
    finished_at: str | None
    error: SearchError | None = Field(description="Present if the analysis has failed.")


class AnalysisList(BaseModel):
    analyses: list[AnalysisView]


class AnalysisResults(BaseModel):
    """Answers of an analysis in the order in which they were found."""

    state: State
    next: int | None = Field(description="Value of `after` for the next page; null if there will be none.")
    results: list[dict[str, Any]] = Field(
        description="Each with `id`, `turnNumber`, and `moveInfos` and `rootInfo`, or `error`, as `banyan "
        "analyze` writes it."
    )


CurvePoint = tuple[float, float | None, float]


class Curve(BaseModel):
    """Value and rate of a search from its beginning until now or its end."""

    points: list[CurvePoint] = Field(
        description="From the beginning, at most 240: elapsed seconds, value (null: no best move), recent "
        "simulations/s."
    )


class LeafView(BaseModel):
    """A leaf that waits for its evaluation."""

    id: str = Field(
        description="The number of the simulation that selected it (0: the searched position), and a hash of "
        "the position."
    )
    moves: list[str] = Field(description="From the searched position to the leaf.")
    position: str = Field(description="The position as one line.")
    player: Literal[0, 1] = Field(description="Who moves; the value is from this player's viewpoint.")
    to_move: str = Field(description="The name of this player.")
    legal: list[str] = Field(description="The legal moves.")
    codes: list[int] = Field(description="The codes of the legal moves.")
    state: list[int | float] = Field(description="The game's state array.")


class LeafList(BaseModel):
    """Leaves of a search, none if all are out, or if the search waits or is over."""

    id: str
    state: State = Field(description="The state of the search: if it is over, no more leaves will come.")
    leaves: list[LeafView]


class Refusal(BaseModel):
    """An evaluation that was not taken."""

    index: int = Field(description="Its place in the request, from 0.")
    id: Any
    field: str
    value: Any
    accepted: str


class Taken(BaseModel):
    """Which evaluations were taken, and which were refused."""

    id: str
    state: State
    taken: int = Field(description="Evaluations that were taken, or had been before.")
    refused: list[Refusal] = Field(description="Evaluations that were not taken, with the reasons.")
    leaves: list[LeafView] = Field([], description="If `n` asked for some: leaves to evaluate next.")


class FinalEvent(BaseModel):
    """The data of the final event."""

    partial: Literal[False]
    id: str
    state: Literal["done", "cancelled", "failed"]
    result: Result | None
    error: SearchError | None


class GameOption(BaseModel):
    name: str
    default: str | int
    accepted: str


class GameSummary(BaseModel):
    """A game with its options and examples of moves, as in `banyan games --json`."""

    name: str
    num_players: int
    rewards: bool = Field(description="Whether moves have rewards, in any range; else a return at the end.")
    chance: bool = Field(description="Whether there is chance.")
    options: list[GameOption]
    example_moves: list[str]
    opponent: str = Field(
        description="The player that plays it best, as far as is known: `uct` is a search.",
        examples=["alphabeta"],
    )
    opponents: list[str] = Field(description="Players that can play it, by name.")


class PlayerSummary(BaseModel):
    name: str
    description: str = Field(description="With options, of which the reference has all.")
    source: str = Field(description="The document whose program it is; empty if it is none of a document.")


class GameView(GameSummary):
    game: str = Field(description="The game with all its options.")
    players: list[str] = Field(description="Names of the players.")
    hidden_information: bool = Field(description="Whether something is hidden from a player.")
    open_loop: bool = Field(description="Whether what is hidden is what chance will bring, and nothing else.")
    max_plies: int
    evaluators: list[str]
    best: dict[str, bool | int | float | str] = Field(
        description="Fields of a search with which it plays the game best; for all others the defaults."
    )


class GameList(BaseModel):
    games: list[GameSummary]
    players: list[PlayerSummary]
    workers: str = Field(description="How the workers share their machines with other programs.")


class DrawnCell(BaseModel):
    text: str
    owner: int | None = Field(description="Owner of the piece: 0 the first player, 1 the second player.")
    last: bool = Field(description="Whether the last move was made here.")
    colour: int | None = Field(
        description="Of a piece: red, green, blue, yellow, violet, cyan, orange, white; from 8 tiles of 2048."
    )


class DrawnBoard(BaseModel):
    """A drawn board: a grid with row 0 on top."""

    rows: list[list[DrawnCell]]
    row_labels: list[str]
    column_labels: list[str]
    lines: list[tuple[tuple[int, int], tuple[int, int]]] = Field(
        description="Lines between pairs of cells (row, column), for games where pieces move along lines."
    )
    slanted: bool = Field(
        description="Whether each row begins half a cell further to the right than the row above, as in Hex."
    )


class PositionView(BaseModel):
    """A position as the player to move sees it."""

    game: str
    moves: list[str]
    position: str = Field(
        description="The position as one line, for later requests, without hidden information."
    )
    to_move: str | None = Field(
        description="`chance` where chance moves: any outcome may then be played. null if the game is over."
    )
    player: int | None = Field(ge=-1, description="Who moves: a player, from 0, or -1 for chance.")
    legal_moves: list[str]
    cells: dict[str, tuple[int, int]] = Field(
        description="By legal move: the (row, column) of the board where it is shown."
    )
    over: bool
    returns: list[float] | None = Field(description="The return of each player, if the game is over.")
    scores: list[float] | None = Field(
        default=None,
        exclude_if=not_,
        description="With rewards: what each player has got so far; else left out.",
    )
    outcomes: dict[str, float] | None = Field(
        default=None,
        exclude_if=not_,
        description="Where chance moves: the probability of each outcome; else left out.",
    )
    outcome: str | None = Field(description="The outcome as text, if the game is over.")
    board: DrawnBoard
    secret: DrawnBoard | None = Field(description="What only the player given in `show` sees.")
    placing: str | None = Field(
        description="The ship that is placed next in `fleet`; `legal_moves` are then its places. null: none."
    )
    chances: list[list[float | None]] | None = Field(
        description="For each cell: the share of draws in which something hidden is on it."
    )
    drawing: str = Field(description="The board as text.")


class MoveView(BaseModel):
    """A player's move, and what the player says about the position."""

    game: str
    player: str = Field(
        description="The player with its options, as in `banyan match`; `chance` where chance moves.",
        examples=["alphabeta:seconds=1"],
    )
    move: str
    value: float | None = Field(
        description="Of the player to move: expected return in [-1, 1], or what is to come of rewards."
    )
    simulations: int = Field(description="0 for a player that makes none.")
    nodes: int = Field(description="Visited positions, or nodes of the tree.")
    thought: str = Field(description="What the player did, for people.")
    cpu_s: float


class Version(BaseModel):
    banyan: str
    api: str
    ray: str
    numba: str
    python: str


class Health(BaseModel):
    status: str
    detail: str | None = None
