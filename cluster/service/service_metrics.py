"""The metrics of a service, from its counters and its present state; described in
cluster/observe/METRICS.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cluster.observe.metrics import Family
from cluster.runtime.worker_state import WorkerState
from cluster.service.searches import Searches


def families(searches: Searches) -> Iterator[Family]:
    """All metric families with their present values."""
    figures, pool = searches.figures, searches.pool
    open_now = {"queued": searches.num_waiting, "running": searches.num_running}
    with figures.lock:
        yield _gauges("banyan_open_searches", "Searches that are not over.", _by(("state",), open_now))
        text = "Searches accepted."
        yield _counters("banyan_accepted_searches_total", text, _by(GAME, figures.accepted_searches))
        text = "Searches that are over, by final state."
        yield _counters("banyan_finished_searches_total", text, _by((*GAME, "state"), figures.ended_searches))
        text = "Simulations merged."
        yield _counters("banyan_game_simulations_total", text, _by(GAME, figures.simulations))
        text = "Playouts of searches."
        yield _counters("banyan_game_playouts_total", text, _by(GAME, figures.playouts))
        durations = [({"game": game}, value) for game, value in figures.search_durations.items()]
        text = "Duration of searches."
        yield Family("banyan_search_duration_seconds", "histogram", text, list(durations))
        text = "Refused requests."
        yield _counters("banyan_refused_requests_total", text, _by(("reason",), figures.refusals))
        text = "Answered HTTP requests."
        yield _counters(
            "banyan_http_requests_total", text, _by(("method", "route", "status"), figures.requests)
        )
        routes = [({"route": route}, value) for route, value in figures.request_durations.items()]
        text = "Time until the answer begins."
        yield Family("banyan_http_request_duration_seconds", "histogram", text, list(routes))
        yield _gauges("banyan_event_streams", "Open event streams.", [({}, figures.streams)])
    yield _gauges("banyan_waiting_jobs", "Jobs that wait for a worker.", [({}, pool.jobs_waiting)])
    yield _gauges("banyan_ready_pools", "1 while there is a worker.", [({}, float(pool.ready))])
    given_back = sum(worker.state is WorkerState.GIVEN_BACK for worker in pool.workers)
    text = "Workers ended because they were idle."
    yield _gauges("banyan_given_back_workers", text, [({}, given_back)])
    renewals: list[tuple[dict[str, str], float]] = [({}, pool.renewals)]
    yield _counters("banyan_pool_restarts_total", "Restarts of the executor.", renewals)
    restarts: list[tuple[dict[str, str], float]] = [({}, figures.restarts)]
    yield _counters("banyan_server_restarts_total", "Restarts of the server after a crash.", restarts)


GAME = ("game", "strategy")


def _by(labels: tuple[str, ...], counts: Mapping[Any, float]) -> list[tuple[dict[str, str], float]]:
    return [
        (dict(zip(labels, key if isinstance(key, tuple) else (key,), strict=True)), value)
        for key, value in counts.items()
    ]


def _counters(name: str, text: str, samples: list[tuple[dict[str, str], float]]) -> Family:
    return Family(name, "counter", text, list(samples))


def _gauges(name: str, text: str, samples: list[tuple[dict[str, str], float]]) -> Family:
    return Family(name, "gauge", text, list(samples))
