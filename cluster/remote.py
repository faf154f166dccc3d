"""`banyan search --server`: the search of somebody else's service, shown as one of our own."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import games
from cluster import terminal
from cluster.client import Client
from cluster.coordinator import SearchFailed
from cluster.interruption import INTERRUPTED, Interruption
from cluster.launch import BEFORE_THE_SEARCH, Output, print_result
from cluster.progress import LINE_S, line_of
from games.errors import InvalidInput
from games.game import Game, State
from search.opening import root_position
from search.request import DEFAULT_MEMORY_MB, SearchRequest
from search.result import Answer, ChildResult, SearchResult

OF_EVALUATORS = frozenset({"evaluator", "exploration_base", "urgency_reduction", "policy_temperature"})
"""Fields of a request that the API has not: an evaluator is a file, and would be run."""


@dataclass(frozen=True)
class Searched:
    """What was searched, as far as it takes to show the answer."""

    request: SearchRequest
    game: Game
    root_state: State


class _Remote:
    """The search to whoever may cancel it."""

    def __init__(self, client: Client, search_id: str) -> None:
        self._client, self._id = client, search_id

    def cancel(self) -> None:
        # From a signal handler, while this very thread reads from the same server.
        threading.Thread(target=self._client.cancel, args=(self._id,), daemon=True).start()


def search_at(url: str, token: str | None, request: SearchRequest, output: Output) -> int:
    """Search there and show the answer; the exit status. Raises InvalidInput, SearchFailed, ServiceError."""
    errors = terminal.stderr_console(output.colour)
    interruption = Interruption()
    interruption.install()
    try:
        with Client(url, token) as client:
            search_id = client.submit(body_of(request))["id"]
            interruption.watch(_Remote(client, search_id))
            final = _follow(client, search_id, output)
        if final["state"] == "failed":
            raise SearchFailed(final["error"]["detail"])
        if final["result"] is None:
            errors.print(BEFORE_THE_SEARCH)
            return INTERRUPTED
        _show(request, final["result"], output)
        return INTERRUPTED if final["state"] == "cancelled" else 0
    except KeyboardInterrupt:
        errors.print(BEFORE_THE_SEARCH)
        return INTERRUPTED
    finally:
        interruption.uninstall()


def body_of(request: SearchRequest) -> dict[str, Any]:
    """The request as the API has it; what nobody asked for is left to the server.

    Raises InvalidInput (evaluator).
    """
    if request.evaluator is not None:
        raise InvalidInput(
            "evaluator", request.evaluator, "none with --server, which runs no files of others"
        )
    body = {name: value for name, value in asdict(request).items() if name not in OF_EVALUATORS}
    body["moves"] = list(request.moves)
    if request.first_play_urgency == math.inf:
        body["first_play_urgency"] = None
    if not body.pop("stop_when_full") and request.memory_mb == DEFAULT_MEMORY_MB:
        del body["memory_mb"]
    return body


def result_of(values: Mapping[str, Any], game: Game, root_state: State) -> SearchResult:
    """The result as an object, from the fields of `--json`."""
    children = tuple(
        ChildResult(
            child["move"],
            child["visits"],
            child["value"],
            game.cells_of(game.parse_move(root_state, child["move"])),
        )
        for child in values["children"]
    )
    answer = Answer(values["best_move"], values["value"], tuple(values["pv"]), children)
    names = {field.name for field in fields(SearchResult)} - {"answer", "moves"}
    plain = {name: values[name] for name in names}
    return SearchResult(answer=answer, moves=tuple(values["moves"]), **plain)


def _follow(client: Client, search_id: str, output: Output) -> dict[str, Any]:
    """The data of the final event; lines of progress until then."""
    due_s = LINE_S
    for event in client.events(search_id):
        if event.final:
            return event.data
        if event.name == "progress" and output.progress and event.data["elapsed_s"] >= due_s:
            data = event.data
            line = line_of(
                data["elapsed_s"],
                data["simulations"],
                data["simulations_per_s"],
                data["jobs"],
                data["jobs_retried"],
                Answer(data["best_move"], data["value"], tuple(data["pv"]), ()),
            )
            print(line, file=terminal.stderr_console(output.colour).file, flush=True)
            due_s = data["elapsed_s"] + LINE_S
    raise AssertionError("events end with the final one")


def _show(request: SearchRequest, values: dict[str, Any], output: Output) -> None:
    if output.json:
        terminal.print_json(values)
        return
    game = games.load(request.game)
    root_state = root_position(request, game)
    print_result(Searched(request, game, root_state), result_of(values, game, root_state), output)
