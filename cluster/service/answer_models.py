"""What clients get. Names of a result's fields are those of `banyan search --json`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from cluster.service.request_models import SearchBody

State = Literal["queued", "running", "done", "cancelled", "failed"]
CHILD = {"move": "f5", "visits": 6143, "value": 0.31}


class Child(BaseModel):
    move: str
    visits: int
    value: float = Field(description="Mean return in [-1, 1] of the player to move.")


class Result(BaseModel):
    """The answer of a search that has ended."""

    game: str = Field(description="With all its options.")
    moves: list[str]
    position: str | None
    to_move: str
    strategy: str
    lanes: int
    seed: int
    workers: int
    executor: str
    best_move: str | None = Field(description="null if nothing was searched.")
    value: float = Field(description="Of the best move: mean return in [-1, 1] of the player to move.")
    pv: list[str] = Field(description="The best line.")
    children: list[Child] = Field(description="Most visited first.")
    simulations: int
    playouts: int
    tree_nodes: int
    tree_full: bool
    jobs: int
    jobs_retried: int
    resumed: int = Field(description="How often it went on from a checkpoint.")
    elapsed_s: float
    simulations_per_s: float | None
    stopped_by: Literal["simulations", "seconds", "memory", "proven", "cancelled"]
    digest: str = Field(description="SHA-256 of the merged statistics.")


class WorkerView(BaseModel):
    """What one worker does."""

    slot: int
    state: Literal["starting", "idle", "busy", "late"]
    busy: float = Field(description="The share of the last seconds that it spent in jobs, in [0, 1].")
    jobs: int
    restarts: int


class Progress(BaseModel):
    """A running search as it stands: names as in a result."""

    partial: Literal[True] = Field(description="A final answer says false.")
    id: str
    best_move: str | None
    value: float
    pv: list[str]
    children: list[Child]
    simulations: int
    playouts: int
    tree_nodes: int
    jobs: int
    jobs_in_flight: int
    jobs_retried: int
    results_waiting: int = Field(description="Results of jobs that wait for an earlier one to be merged.")
    merges: int
    merge_s: float = Field(description="Time that merging took, all together.")
    workers: list[WorkerView] = Field(description="Of the pool, which other searches use too.")
    elapsed_s: float
    simulations_per_s: float = Field(description="Lately.")
    budget_used: float = Field(description="The share of the budget that is used up, in [0, 1].")


class SearchError(BaseModel):
    """Why a search failed, as a problem says it."""

    model_config = ConfigDict(extra="allow")

    title: str
    detail: str


class SearchView(BaseModel):
    """A search: what was asked, how it stands, what came of it."""

    id: str = Field(examples=["5f0c6a4e9b7d4e7a8f1f3f0c2b9d6e11"])
    state: State
    priority: int
    request: SearchBody = Field(description="With its defaults.")
    created_at: str = Field(examples=["2026-11-21T12:00:00.000Z"])
    started_at: str | None
    finished_at: str | None
    searches_before: int | None = Field(
        description="How many are to begin before it; null if it does not wait."
    )
    progress: Progress | None = Field(description="While it runs.")
    result: Result | None = Field(description="When it is done, or cancelled after it began.")
    error: SearchError | None = Field(description="When it has failed.")


class SearchPage(BaseModel):
    """Searches, the latest first."""

    searches: list[SearchView]
    next: str | None = Field(description="For `after` in the next request; null at the end.")


class FinalEvent(BaseModel):
    """The data of the last event."""

    partial: Literal[False]
    id: str
    state: Literal["done", "cancelled", "failed"]
    result: Result | None
    error: SearchError | None


class Option(BaseModel):
    name: str
    default: str | int
    accepted: str


class GameSummary(BaseModel):
    """A game, its options and how a move looks, as `banyan games --json` says it."""

    name: str
    options: list[Option]
    example_moves: list[str]


class GameView(GameSummary):
    game: str = Field(description="With all its options.")
    players: list[str] = Field(description="What the first and the second are called.")
    hidden_information: bool = Field(description="Whether there is anything that a player does not see.")
    max_plies: int
    evaluators: list[str]


class GameList(BaseModel):
    games: list[GameSummary]


class DrawnCell(BaseModel):
    text: str
    owner: Literal[0, 1] | None = Field(
        description="Whose piece it is: of the first player 0, of the second 1."
    )
    last: bool = Field(description="Whether the last move was made here.")


class DrawnBoard(BaseModel):
    """A grid, row 0 on top."""

    rows: list[list[DrawnCell]]
    row_labels: list[str]
    column_labels: list[str]
    lines: list[tuple[tuple[int, int], tuple[int, int]]] = Field(
        description="What joins two cells, each row and column, where pieces move along lines."
    )


class PositionView(BaseModel):
    """A position, as whoever moves may see it."""

    game: str
    moves: list[str]
    position: str = Field(description="In one line, to be sent again. What is hidden is not in it.")
    to_move: str | None = Field(description="null if the game is over.")
    player: Literal[0, 1] | None
    legal_moves: list[str]
    cells: dict[str, tuple[int, int]] = Field(
        description="Where the board shows a legal move: row and column."
    )
    over: bool
    returns: list[float] | None = Field(
        description="Of the first and the second player, when the game is over."
    )
    outcome: str | None = Field(description="How it ended, in words.")
    board: DrawnBoard
    secret: DrawnBoard | None = Field(description="What the player in `show` sees and the other does not.")
    chances: list[list[float | None]] | None = Field(
        description="For each drawn cell: the share of draws in which something hidden is there."
    )
    drawing: str = Field(description="The board as text.")


class Version(BaseModel):
    banyan: str
    api: str
    ray: str
    numba: str
    python: str


class Health(BaseModel):
    status: str
    detail: str | None = None


class ProblemView(BaseModel):
    """Problem details (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    field: str | None = Field(default=None, description="What the problem is with.")
    value: Any = Field(default=None, description="What was sent.")
    accepted: str | None = Field(default=None, description="What would have been accepted.")
