"""The metrics of a service, from its counters and its present state; described in
cluster/observe/METRICS.md."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.observe.metrics import Family, counter, gauge, histogram
from cluster.runtime.worker_state import WorkerState
from cluster.service.searches import Searches


def families(searches: Searches) -> Iterator[Family]:
    """All metric families with their present values."""
    figures, pool = searches.figures, searches.pool
    open_now = {"queued": searches.num_waiting, "running": searches.num_running}
    with figures.lock:
        yield gauge("banyan_open_searches", "Searches that are not over.", open_now, "state")
        yield counter(
            "banyan_accepted_searches_total", "Searches accepted.", figures.accepted_searches, *GAME
        )
        text = "Searches that are over, by final state."
        yield counter("banyan_finished_searches_total", text, figures.ended_searches, *GAME, "state")
        yield counter("banyan_game_simulations_total", "Simulations merged.", figures.simulations, *GAME)
        yield counter("banyan_game_playouts_total", "Playouts of searches.", figures.playouts, *GAME)
        durations = figures.search_durations
        yield histogram("banyan_search_duration_seconds", "Duration of searches.", durations, "game")
        yield counter("banyan_refused_requests_total", "Refused requests.", figures.refusals, "reason")
        labels = ("method", "route", "status")
        yield counter("banyan_http_requests_total", "Answered HTTP requests.", figures.requests, *labels)
        name, text = "banyan_http_request_duration_seconds", "Time until the answer begins."
        yield histogram(name, text, figures.request_durations, "route")
        yield gauge("banyan_event_streams", "Open event streams.", figures.streams)
    yield gauge("banyan_waiting_jobs", "Jobs that wait for a worker.", pool.jobs_waiting)
    yield gauge("banyan_ready_pools", "1 while there is a worker.", float(pool.ready))
    given_back = sum(worker.state is WorkerState.GIVEN_BACK for worker in pool.workers)
    yield gauge("banyan_given_back_workers", "Workers ended because they were idle.", given_back)
    yield counter("banyan_pool_restarts_total", "Restarts of the executor.", pool.renewals)
    yield counter("banyan_server_restarts_total", "Restarts of the server after a crash.", figures.restarts)


GAME = ("game", "strategy")
