"""The answer of a search, final or as it stands: what people and programs get to see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from search.final_move import choose
from search.opening import Search
from search.summary import digest, principal_variation

STOPPED_BY = ("simulations", "seconds", "memory", "proven", "cancelled")


@dataclass(frozen=True)
class ChildResult:
    move: str
    visits: int
    value: float
    """Mean return in [-1, 1] of the player to move."""
    cell: tuple[int, int] | None = None
    """Where the drawn board shows the move: (row, column), row 0 on top."""


@dataclass(frozen=True)
class Answer:
    """What the merged statistics say."""

    best_move: str | None
    """None only when nothing has been searched yet."""
    value: float
    """Of the best move: mean return in [-1, 1] of the player to move."""
    pv: tuple[str, ...]
    children: tuple[ChildResult, ...]
    """Most visited first."""


@dataclass(frozen=True)
class SearchResult:
    """One finished search, in the fields of `--json`."""

    game: str
    moves: tuple[str, ...]
    position: str | None
    to_move: str
    strategy: str
    lanes: int
    seed: int
    workers: int
    executor: str
    answer: Answer
    simulations: int
    playouts: int
    tree_nodes: int
    tree_full: bool
    jobs: int
    jobs_retried: int
    resumed: int
    """How often the search went on from a checkpoint."""
    elapsed_s: float
    """Of all its parts, as far as checkpoints know of them."""
    stopped_by: str
    digest: str

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            "game": self.game,
            "moves": list(self.moves),
            "position": self.position,
            "to_move": self.to_move,
            "strategy": self.strategy,
            "lanes": self.lanes,
            "seed": self.seed,
            "workers": self.workers,
            "executor": self.executor,
            "best_move": self.answer.best_move,
            "value": self.answer.value,
            "pv": list(self.answer.pv),
            "children": [
                {"move": child.move, "visits": child.visits, "value": child.value}
                for child in self.answer.children
            ],
            "simulations": self.simulations,
            "playouts": self.playouts,
            "tree_nodes": self.tree_nodes,
            "tree_full": self.tree_full,
            "jobs": self.jobs,
            "jobs_retried": self.jobs_retried,
            "resumed": self.resumed,
            "elapsed_s": round(self.elapsed_s, 6),
            "simulations_per_s": round(self.simulations / self.elapsed_s, 1) if self.elapsed_s > 0 else None,
            "stopped_by": self.stopped_by,
            "digest": self.digest,
        }


def answer(search: Search) -> Answer:
    """What the shared tree says at this moment."""
    game, state = search.game, search.root_state
    visited = [child for child in search.strategy.root_children() if child.visits > 0]
    if not visited:
        return Answer(None, 0.0, (), ())
    best = choose(visited, search.request.final_move)
    line = principal_variation(search.strategy.tree, game, state, best.move)
    texts = []
    position = state.copy()
    for move in line:
        texts.append(game.format_move(position, move))
        game.calls.play(position, move)
    return Answer(
        best_move=game.format_move(state, best.move),
        value=best.value,
        pv=tuple(texts),
        children=tuple(
            ChildResult(game.format_move(state, c.move), c.visits, c.value, game.cells_of(c.move))
            for c in visited
        ),
    )


def result(
    search: Search,
    *,
    workers: int,
    executor: str,
    simulations: int,
    playouts: int,
    tree_full: bool,
    jobs_retried: int,
    resumed: int,
    elapsed_s: float,
    stopped_by: str,
) -> SearchResult:
    """The final result of a search; the other figures are the coordinator's."""
    strategy = search.strategy
    return SearchResult(
        game=search.game.spec,
        moves=search.request.moves,
        position=search.request.position,
        to_move=search.game.player_names[int(search.game.calls.current_player(search.root_state))],
        strategy=search.request.strategy,
        lanes=search.request.lanes,
        seed=search.request.seed,
        workers=workers,
        executor=executor,
        answer=answer(search),
        simulations=simulations,
        playouts=playouts,
        tree_nodes=strategy.tree_nodes(),
        tree_full=tree_full,
        jobs=strategy.absorbed,
        jobs_retried=jobs_retried,
        resumed=resumed,
        elapsed_s=elapsed_s,
        stopped_by=stopped_by,
        digest=digest(strategy.tree),
    )
