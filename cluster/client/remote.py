"""`banyan search --server`: a search on a service, with the output of a local search."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

import games
from cluster.client.client import Client
from cluster.client.remote_progress import RemoteProgress, Searched, answer_there
from cluster.launch import BEFORE_THE_SEARCH, Output, launch, print_result
from cluster.observe.progress import LINE_S
from cluster.system import terminal
from cluster.system.interruption import INTERRUPTED
from games.errors import InvalidInput, counted
from games.game import Game, State
from search.coordinator import SearchFailed
from search.options import knobs_of
from search.prepare import root_position
from search.request import DEFAULT_MEMORY_MB, SearchRequest
from search.result import SearchResult

OF_EVALUATORS = frozenset(knob.name for knob in knobs_of(SearchRequest) if not knob.option.api)
"""Fields of a request that the API has not: an evaluator is a file, and would be run."""


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
    """Search there and show the answer; the exit status. Raises InvalidInput, SearchFailed, ServiceError."""
    with launch(output, BEFORE_THE_SEARCH) as started, Client(url, token) as client:
        submitted = client.submit(body_of(request))
        search_id, before = submitted["id"], submitted["searches_before"]
        started.watch(_Remote(client, search_id))
        # What the server has accepted is right; programs may ask for games that only the server has.
        searched = None if output.json else _searched(request)
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
        _show(searched, final["result"], output)
        if final["state"] == "cancelled":
            started.status = INTERRUPTED
    return started.status


def body_of(request: SearchRequest) -> dict[str, Any]:
    """The request as JSON for the API; memory_mb is omitted if it has its default.

    Raises InvalidInput (field ``evaluator``).
    """
    if request.evaluator is not None:
        raise InvalidInput(
            "evaluator", request.evaluator, "none with --server: a service does not run clients' files"
        )
    body = {name: value for name, value in asdict(request).items() if name not in OF_EVALUATORS}
    body["moves"] = list(request.moves)
    if request.first_play_urgency == math.inf:
        body["first_play_urgency"] = None
    if not body.pop("stop_when_full") and request.memory_mb == DEFAULT_MEMORY_MB:
        del body["memory_mb"]
    return body


def result_of(values: Mapping[str, Any], game: Game, root_state: State) -> SearchResult:
    """The SearchResult with the fields of `--json`."""
    answer = answer_there(values, game, root_state)
    names = {field.name for field in fields(SearchResult)} - {"answer", "moves"}
    plain = {name: values[name] for name in names}
    return SearchResult(answer=answer, moves=tuple(values["moves"]), **plain)


def _searched(request: SearchRequest) -> Searched:
    game = games.load(request.game)
    return Searched(request, game, root_position(request, game))


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
    with RemoteProgress(console, searched, enabled=output.progress) as progress:
        for event in client.events(search_id):
            if event.data.get("state") != "queued":
                begun()
            if event.final:
                return event.data
            if event.name == "progress":
                progress(event.data)
    raise AssertionError("events end with the final one")


def _show(searched: Searched | None, values: dict[str, Any], output: Output) -> None:
    if searched is None:
        terminal.print_json(values)
        return
    print_result(searched, result_of(values, searched.game, searched.root_state), output)
