"""`banyan search --server`: a search on a service, with the output of a local search."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from pydantic import TypeAdapter

import games
from cluster.client.client import Client
from cluster.launch import Output, launch, print_result
from cluster.observe.progress import ON_SERVER, Figures, Sample
from cluster.observe.view import LINE_S, Progress
from cluster.system import terminal
from cluster.system.interruption import INTERRUPTED
from games.errors import counted, refuse_if_any
from search.coordinator import SearchFailed
from search.options import is_class, knobs_of
from search.prepare import Searched, root_position
from search.request import DEFAULT_MEMORY_MB, IN_HOUSE, SearchRequest
from search.result import Answer, SearchResult

OF_EVALUATORS = frozenset(knob.name for knob in knobs_of(SearchRequest) if not knob.option.api)
FIGURES, ANSWER, RESULT = TypeAdapter(Figures), TypeAdapter(Answer), TypeAdapter(SearchResult)
"""Validate the parts of events and of results, and make them objects."""


class _Remote:
    """A search on a server as something that a signal can cancel."""

    def __init__(self, client: Client, search_id: str) -> None:
        self._client, self._id = client, search_id

    def cancel(self) -> None:
        # In a thread, because the signal handler interrupts a thread that is reading from the server.
        threading.Thread(target=self._client.cancel, args=(self._id,), daemon=True).start()

    @property
    def cancel_noted(self) -> bool:
        """Always true: no rule of a game runs in this process, so nothing can block it."""
        return True


def search_at(url: str, token: str | None, request: SearchRequest, output: Output) -> int:
    """Search on the service at ``url`` and show the answer; returns the exit status.

    Raises InvalidInput, SearchFailed, ServiceError.
    """
    with launch(output) as started, Client(url, token) as client:
        submitted = client.submit(body_of(request))
        search_id, before = submitted["id"], submitted["searches_before"]
        started.watch(_Remote(client, search_id))
        # What the server has accepted is right; programs may ask for games that only the server has.
        searched = None
        if not output.json:
            game = games.load(request.game)
            searched = Searched(request, game, root_position(request, game))
        behind = (
            f"behind {counted(before, 'search', 'searches')}" if before else "for its workers to be ready"
        )
        notice = threading.Timer(LINE_S, started.say, [f"the search waits on the server, {behind}"])
        notice.daemon = True
        started.stack.callback(notice.cancel)
        if output.progress:
            notice.start()
        final = _follow(client, search_id, searched, output, notice.cancel)
        if final["state"] == "failed":
            raise SearchFailed(final["error"]["detail"])
        if final["result"] is None:
            raise KeyboardInterrupt
        if searched is None:
            terminal.print_json(final["result"])
        else:
            print_result(searched, result_of(final["result"], searched), output)
        if final["state"] == "cancelled":
            started.status = INTERRUPTED
    return started.status


def body_of(request: SearchRequest) -> dict[str, Any]:
    """The request as JSON for the API; memory_mb is omitted if it has its default.

    Raises InvalidInput (field ``evaluator``, ``strategy``).
    """
    there = "with --server: a service does not run clients' files"
    refuse_if_any("evaluator", request.evaluator, [(request.evaluator is not None, f"none {there}")])
    refuse_if_any("strategy", request.strategy, [(is_class(request.strategy), f"{IN_HOUSE} {there}")])
    body = {name: value for name, value in asdict(request).items() if name not in OF_EVALUATORS}
    body["moves"] = list(request.moves)
    if request.first_play_urgency == math.inf:
        body["first_play_urgency"] = None
    if not body.pop("stop_when_full") and request.memory_mb == DEFAULT_MEMORY_MB:
        del body["memory_mb"]
    return body


def answer_there(values: Mapping[str, Any], searched: Searched | None) -> Answer:
    """The Answer with the fields of `--json` or of a progress event. ``searched`` None: without cells."""
    answer = ANSWER.validate_python(values)
    if searched is None:
        return replace(answer, is_share=False)
    game, state = searched.game, searched.root_state
    children = (
        replace(child, cell=game.cells_of(game.parse_move(state, child.move))) for child in answer.children
    )
    return replace(answer, children=tuple(children), is_share=game.is_two_player)


def sample_there(data: Mapping[str, Any], searched: Searched | None) -> Sample:
    """The sample of a progress event."""
    return Sample(FIGURES.validate_python(data), answer_there(data, searched), ON_SERVER)


def result_of(values: Mapping[str, Any], searched: Searched) -> SearchResult:
    """The SearchResult with the fields of `--json`."""
    return RESULT.validate_python({**values, "answer": answer_there(values, searched)})


def _follow(
    client: Client,
    search_id: str,
    searched: Searched | None,
    output: Output,
    begun: Callable[[], None],
) -> dict[str, Any]:
    """Show progress until the final event; returns the data of that event.

    ``begun`` is called when the search waits no more.
    """
    console = terminal.stderr_console(output.colour)
    with Progress(console, enabled=output.progress, drawable=searched is not None) as progress:
        for event in client.events(search_id):
            if event.data.get("state") != "queued":
                begun()
            if event.final:
                return event.data
            if event.name == "progress":
                # The server determines how often they arrive.
                progress.show(searched, event.data["elapsed_s"], partial(sample_there, event.data, searched))
    raise AssertionError("events end with the final one")
