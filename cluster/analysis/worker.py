"""What a worker does with positions: the whole search of one after the other, and the answers to queries."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import games
from cluster.analysis.queries import Position, refusal
from cluster.runtime.jobset import Unit, UnitDone
from games.errors import InvalidInput
from search.job import DividedJob
from search.prepare import Search, open_search
from search.request import SearchRequest
from search.result import Answer, SearchResult, imagined, line_texts
from search.run_inline import run_inline
from search.summary import PV_VISITS, principal_variation
from search.worker import Worker


@dataclass(frozen=True)
class Analysed:
    """What the positions of one engine have in common."""

    game: str
    """The game's full spec."""
    source: str | None
    """The text of the game file, for workers on machines without the file; None for other games."""
    defaults: SearchRequest
    """What queries leave open."""

    @cached_property
    def _fingerprint(self) -> str:
        return repr((self.game, self.source, self.defaults))

    def key(self, position: Position) -> str:
        """16 hex digits that identify all that the answer of a position depends on."""
        asked = json.dumps({**position.query, "analyzeTurns": position.turn}, sort_keys=True)
        return hashlib.sha256(f"{self._fingerprint}\n{asked}".encode()).hexdigest()[:16]

    def open(self, position: Position) -> Search:
        """The search of a position. Raises InvalidInput with the name of a field of the query."""
        return open_search(position.request(self.defaults), source=self.source, whole_spec=self.game)


class AnalysisWorker(Worker):
    """Runs the jobs of searches, and whole searches of short ones: each is a unit with a position."""

    def __init__(self) -> None:
        super().__init__()
        self._alone = Worker()
        """Runs the jobs of short searches."""

    def prepare(self, context: Any) -> None:
        """Compile or load the kernels of a search, or those of most queries."""
        if not isinstance(context, Analysed):
            super().prepare(context)
            return
        try:
            self._alone.prepare(context.open(Position({"id": ""}, 0)).context)
        except InvalidInput:
            # Of the defaults alone no search can be made: queries say the rest, or are refused.
            games.load(context.game, context.source, tried=False)

    def run(self, context: Any, job: Any) -> Any:
        """The result of a job of a search; or the final answer of a position, as a line of JSON."""
        if not isinstance(context, Analysed):
            return super().run(context, job)
        assert isinstance(job, Unit)
        began_s = time.perf_counter()
        found = self._analyse(context, job.what)
        simulations = found.get("rootInfo", {}).get("visits", 0)
        return UnitDone(job.index, json.dumps(found), time.perf_counter() - began_s, simulations)

    def together(self, context: Any, jobs: Sequence[Any], threads: int, sent: bool) -> DividedJob | None:
        return None if isinstance(context, Analysed) else super().together(context, jobs, threads, sent)

    def _analyse(self, context: Analysed, position: Position) -> dict[str, Any]:
        try:
            search = context.open(position)
            coordinator, elapsed_s = run_inline(search, time.perf_counter, self._alone)
        except InvalidInput as error:
            return refusal(position, error)
        return answer_to(position, search, coordinator.result(elapsed_s))


def answer_to(position: Position, search: Search, result: SearchResult) -> dict[str, Any]:
    """The final answer of a position that was searched."""
    return {
        **during(position, search, result.answer, result.simulations),
        "isDuringSearch": False,
        "stoppedBy": result.stopped_by,
        "seed": result.seed,
        "digest": result.digest,
    }


def during(position: Position, search: Search, answer: Answer, simulations: int) -> dict[str, Any]:
    """The answer of a position at this moment of its search; values are those of the player to move."""
    game, state, tree = search.game, imagined(search), search.strategy.tree
    best = answer.best_move
    codes = {game.format_move(state, move): move for move in game.legal_moves(state)}
    infos: list[dict[str, Any]] = []
    for child in sorted(answer.children, key=lambda child: child.move != best):
        line = list(answer.pv) if child.move == best else [child.move]
        if child.move != best and child.visits >= PV_VISITS:
            moves = principal_variation(tree, game, state, codes[child.move])
            line = list(line_texts(game, state, moves))
        infos.append(
            {
                "move": child.move,
                "order": len(infos),
                "visits": child.visits,
                **_worth(child.value, answer),
                "pv": line,
            }
        )
    root = {"currentPlayer": game.name_of(int(game.calls.current_player(state))), "visits": simulations}
    root |= _worth(answer.value, answer)
    return {**position.named, "isDuringSearch": True, "moveInfos": infos, "rootInfo": root}


def _worth(value: float, answer: Answer) -> dict[str, float]:
    """A value, and the share of wins that it is where values lie in [-1, 1]."""
    return {"value": value, "winrate": (1.0 + value) / 2.0} if answer.is_share else {"value": value}
