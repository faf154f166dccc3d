"""Live progress of a search on a server, drawn like that of a local search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from cluster.observe.progress import LINE_S, LiveArea, line_of
from cluster.observe.search_view import Figures, SearchView, WorkerSight
from cluster.runtime.worker_state import WorkerState
from cluster.system import terminal
from games.game import Game, State
from search.request import SearchRequest
from search.result import Answer, BestLine, ChildResult

if TYPE_CHECKING:
    from rich.console import Console


OF_FIGURES, OF_WORKERS = ([field.name for field in fields(each)] for each in (Figures, WorkerSight))
NO_WORKERS = "no worker of the server is ready: they start with the first search, and again after a rest"


@dataclass(frozen=True)
class Searched:
    """The data of a search that are needed to draw its progress and its answer."""

    request: SearchRequest
    game: Game
    root_state: State


class RemoteProgress(LiveArea):
    """Context manager around the events of one search, which draws them."""

    def __init__(self, console: Console, searched: Searched | None, *, enabled: bool) -> None:
        """``searched`` None: without the game, only lines of text are shown."""
        super().__init__(console, enabled=enabled, drawable=searched is not None)
        self._searched = searched
        self._due_s = LINE_S

    def __call__(self, data: Mapping[str, Any]) -> None:
        """Draw the data of a progress event; the server determines how often they arrive."""
        if self._live is not None and self._searched is not None:
            from cluster.observe.progress_view import view

            self._live.update(view(view_there(self._searched, data), self._console), refresh=True)
        elif self._lines_wanted and data["elapsed_s"] >= self._due_s:
            self._due_s = data["elapsed_s"] + LINE_S
            figures = figures_there(data)
            if not figures.jobs and not any(worker.state.ready for worker in figures.workers):
                waited = terminal.duration(figures.elapsed_s)
                print(f"banyan: {waited}, {NO_WORKERS}", file=self._console.file, flush=True)
                return
            share = self._searched is not None and self._searched.game.is_two_player
            answer = Answer(data["best_move"], data["value"], tuple(data["pv"]), (), is_share=share)
            print(line_of(figures, answer), file=self._console.file, flush=True)


def answer_there(values: Mapping[str, Any], game: Game, root_state: State) -> Answer:
    """The Answer with the fields of `--json` or of a progress event."""
    children = tuple(
        ChildResult(
            child["move"],
            child["visits"],
            child["value"],
            game.cells_of(game.parse_move(root_state, child["move"])),
        )
        for child in values["children"]
    )
    line, scores = values.get("best_line"), values.get("values")
    return Answer(
        values["best_move"],
        values["value"],
        tuple(values["pv"]),
        children,
        best_line=None if line is None else BestLine(line["value"], tuple(line["moves"])),
        values=None if scores is None else tuple(scores),
        is_share=game.is_two_player,
        players=() if scores is None else game.player_names,
    )


def figures_there(data: Mapping[str, Any]) -> Figures:
    """The figures of a progress event."""
    workers = [
        WorkerSight(**{**{name: each[name] for name in OF_WORKERS}, "state": WorkerState(each["state"])})
        for each in data["workers"]
    ]
    return Figures(**{name: data[name] for name in OF_FIGURES} | {"workers": workers})


def view_there(searched: Searched, data: Mapping[str, Any]) -> SearchView:
    """The view of a search on a server, made from the data of a progress event."""
    return SearchView(
        game=searched.game,
        root_state=searched.root_state,
        request=searched.request,
        place="on the server",
        answer=answer_there(data, searched.game, searched.root_state),
        figures=figures_there(data),
    )
