"""A search that is kept in a file, and goes on from it: what is kept, and what is refused."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from cluster.checkpoint.checkpoint import (
    SHARE,
    Keeper,
    Opened,
    begun,
    read_arrays,
    read_checkpoint,
    read_description,
    write_archive,
)
from cluster.runtime.session import Session
from cluster.runtime.tasks import code_of_searches
from games.errors import InvalidInput
from search.request import SearchRequest
from tests.cluster.searches import (
    REQUESTS,
    Stop,
    alone,
    keep_after,
    never,
    session_of,
    unchanged,
)
from tests.search.common import ChaosExecutor
from tests.waiting import Clock


def changed(path: Path, **description: Any) -> None:
    """Change what a checkpoint says of its search, under a seal that fits."""
    write_archive(path, read_description(path) | description, read_arrays(path))


@pytest.mark.slow
@pytest.mark.parametrize("name", REQUESTS)
def test_a_search_goes_on_with_results_that_wait_and_jobs_that_are_out(name: str, tmp_path: Path) -> None:
    path = tmp_path / "search.ckpt"
    calm = alone(REQUESTS[name])
    waited = 0
    for seed in range(6):
        before = keep_after(path, REQUESTS[name], 3 + 2 * seed, ChaosExecutor(seed, workers=4))
        arrays = read_arrays(path)
        waited += before.coordinator.results_waiting
        checkpoint = read_checkpoint(path)
        assert checkpoint.request == REQUESTS[name]
        assert checkpoint.warnings == []
        again = checkpoint.open()
        assert again.coordinator.state().keys() == arrays.keys()
        after = session_of(again, ChaosExecutor(seed + 50)).run()
        assert unchanged(after) == unchanged(calm)
        assert after.resumed == 1
        assert after.jobs_retried >= before.coordinator.counters.jobs_retried
    assert waited > 0


@pytest.mark.slow
def test_a_search_with_a_budget_in_seconds_goes_on_for_the_time_that_is_left(tmp_path: Path) -> None:
    path = tmp_path / "search.ckpt"
    request = SearchRequest("gomoku:size=5", strategy="root", lanes=2, seconds=4.0, rounds=1_000_000)
    clock = Clock()
    keeper = Keeper(path, 1.0, warn=never, clock=lambda: 0.0)
    session = session_of(begun(request), clock=clock)

    def interrupt(running: Session) -> None:
        keeper(running)
        clock.now_s += 0.5
        if running.elapsed_s > 2.5:
            raise Stop

    with pytest.raises(Stop):
        session.run((interrupt,))
    opened = read_checkpoint(path).open()
    simulations = opened.coordinator.counters.simulations
    assert opened.elapsed_s == 2.0
    assert 0 < simulations < session.coordinator.counters.simulations
    clock.now_s = 1000.0

    def wait(_: Session) -> None:
        clock.now_s += 0.5

    result = session_of(opened, clock=clock).run((wait,))
    assert result.stopped_by == "seconds"
    # The clock goes on once more after the last job, and once at the end.
    assert result.elapsed_s == 4.5
    assert clock.now_s == 1000.0 + 2.0 + 2 * 0.5
    assert result.simulations > simulations


@pytest.mark.slow
def test_checkpoints_come_as_often_as_asked_and_at_the_end(tmp_path: Path) -> None:
    clock = Clock()
    keeper = Keeper(tmp_path / "a.ckpt", 5.0, warn=never, clock=lambda: 0.0)
    session = session_of(begun(REQUESTS["tree"]), clock=clock)
    keeper.begin(Opened(session.coordinator))
    session.started_s = 0.0
    counts = []
    for clock.now_s in (0.0, 4.9, 5.0, 5.1, 9.9, 10.2, 30.0, 31.0):
        keeper(session)
        counts.append(keeper.written)
    assert counts == [1, 1, 2, 2, 2, 3, 4, 4]
    session.coordinator.stop("cancelled")
    session.finished_s = 31.0
    keeper(session)
    assert keeper.written == 5
    assert read_checkpoint(tmp_path / "a.ckpt").stopped_by is None


@pytest.mark.slow
def test_lanes_of_root_hand_in_their_trees_between_two_checkpoints(tmp_path: Path) -> None:
    path = tmp_path / "a.ckpt"
    clock = Clock()
    request = SearchRequest("gomoku:size=5", strategy="root", lanes=1, seconds=1000.0, rounds=1_000_000)
    keeper = Keeper(path, 8.0, warn=never, clock=lambda: 0.0)
    pieces = []

    def watch(running: Session) -> None:
        keeper(running)
        clock.now_s += 1.0
        if keeper.written > len(pieces):
            pieces.append(read_arrays(path)["lane_pieces"].tolist())
        if keeper.written == 3:
            raise Stop

    with pytest.raises(Stop):
        session_of(begun(request), clock=clock).run((watch,))
    (none,), (some,), (more,) = pieces
    assert 0 == none < some < more
    coordinator = read_checkpoint(path).open().coordinator
    assert [tree.pieces for tree in coordinator.search.context.begun] == [more]


@pytest.mark.slow
def test_a_large_checkpoint_is_written_less_often(tmp_path: Path) -> None:
    """Writing takes 2 s by this clock, so that it comes every 2 s / SHARE and not every second."""
    clock, spent = Clock(), Clock()

    def writing() -> float:
        spent.now_s += 2.0
        return spent.now_s

    keeper = Keeper(tmp_path / "a.ckpt", 1.0, warn=never, clock=writing)
    session = session_of(begun(REQUESTS["tree"]), clock=clock)
    session.started_s = 0.0
    for clock.now_s in range(101):
        keeper(session)
    assert keeper.written == 1 + int(100 * SHARE / 2.0)


@pytest.mark.slow
def test_a_checkpoint_that_cannot_be_written_stops_no_search(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    lines: list[str] = []
    keeper = Keeper(folder / "a.ckpt", 0.001, warn=lines.append)
    folder.rmdir()
    result = session_of(begun(REQUESTS["tree"])).run((keeper,))
    assert result.stopped_by == "simulations"
    assert lines
    assert all("the checkpoint could not be written: No such file or directory" in line for line in lines)
    with pytest.raises(InvalidInput, match=r"checkpoint: .*a file that can be written"):
        keeper.begin(begun(REQUESTS["tree"]))


@pytest.mark.parametrize("every_s", [0.0, -1.0, float("nan"), float("inf")])
def test_how_often_must_be_a_time(every_s: float, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="checkpoint_every"):
        Keeper(tmp_path / "a.ckpt", every_s, warn=never)


DESCRIPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"request": None}, "says request"),
    ({"request": {}}, "a search of a game"),
    ({"request": {"game": 5}}, "a search of a game"),
    ({"request": {"game": "gomoku", "lanes": 2.5}}, "lanes: 2.5 is not accepted"),
    ({"request": {"game": "gomoku", "lanes": True}}, "lanes: True is not accepted"),
    ({"request": {"game": "gomoku", "lanes": 0}}, "from 1 to"),
    ({"request": {"game": "gomoku", "moves": "f6"}}, "whose moves is not 'f6'"),
    ({"request": {"game": "gomoku", "moves": [6]}}, "whose moves is not"),
    ({"request": {"game": "gomoku", "depth": 5}}, "without 'depth'"),
    ({"request": {"game": "gomoku", "strategy": "lief"}}, "root, tree, leaf, or a class in a file"),
    ({"game_source": 7}, "says game_source"),
    ({"elapsed_s": "long"}, "says elapsed_s"),
    ({"elapsed_s": -1.0}, "elapsed time is 0 or more"),
    ({"elapsed_s": float("nan")}, "elapsed time is 0 or more"),
    ({"stopped_by": "cancelled"}, "stopped by simulations"),
    ({"stopped_by": 3}, "says stopped_by"),
    ({"code": None}, "says code"),
    ({"banyan": None}, "says banyan"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("description", "reason"), DESCRIPTIONS, ids=lambda value: None)
def test_a_description_that_cannot_be_is_refused(
    description: dict[str, Any], reason: str, kept: Path
) -> None:
    changed(kept, **description)
    with pytest.raises(InvalidInput, match=reason) as refused:
        read_checkpoint(kept)
    assert (refused.value.field, refused.value.value) == ("file", str(kept))


@pytest.mark.slow
def test_a_state_of_another_search_is_refused(kept: Path, tmp_path: Path) -> None:
    for name, request in REQUESTS.items():
        if name != "tree":
            other = tmp_path / f"{name}.ckpt"
            keep_after(other, request, 4)
            write_archive(other, read_description(kept), read_arrays(other))
            with pytest.raises(InvalidInput, match="a sound checkpoint"):
                read_checkpoint(other).open()


def test_jobs_that_are_not_those_of_the_request_are_refused(kept: Path) -> None:
    request = read_description(kept)["request"]
    for wrong in ({"simulations": 90}, {"lanes": 2}, {"rounds": 2}):
        changed(kept, request=request | wrong)
        with pytest.raises(InvalidInput, match="a sound checkpoint"):
            read_checkpoint(kept).open()


@pytest.mark.parametrize(("place", "value"), [(0, 1), (0, -1), (2, -5), (7, 2**62 + 1)])
def test_counters_that_cannot_be_are_refused(place: int, value: int, kept: Path) -> None:
    arrays = read_arrays(kept)
    arrays["counters"][place] = value
    write_archive(kept, read_description(kept), arrays)
    with pytest.raises(InvalidInput, match="a sound checkpoint"):
        read_checkpoint(kept).open()


def test_a_checkpoint_of_0_1_0_has_a_counter_less(kept: Path) -> None:
    arrays = read_arrays(kept)
    for sound in (True, False):
        arrays["counters"] = arrays["counters"][:-1]
        write_archive(kept, read_description(kept), arrays)
        with nullcontext() if sound else pytest.raises(InvalidInput, match="a sound checkpoint"):
            assert read_checkpoint(kept).open().coordinator.counters.recalled == 0


def test_other_code_is_mentioned_and_does_not_stop_anybody(kept: Path) -> None:
    assert len(code_of_searches()) == 16
    changed(kept, code="0" * 16, banyan="0.0.9")
    checkpoint = read_checkpoint(kept)
    (line,) = checkpoint.warnings
    assert "Banyan 0.0.9" in line
    assert checkpoint.open().coordinator.counters.resumed == 1


def test_a_checkpoint_without_newer_fields_of_a_request_has_their_defaults(kept: Path) -> None:
    request = read_description(kept)["request"]
    del request["final_move"]
    changed(kept, request=request)
    assert read_checkpoint(kept).request == REQUESTS["tree"]


def test_checkpoints_are_small(tmp_path: Path) -> None:
    """A few bytes a node: the arena's room is not in it."""
    path = tmp_path / "a.ckpt"
    request = SearchRequest("gomoku:size=5", strategy="tree", simulations=20_000, memory_mb=2000)
    session = session_of(begun(request))
    session.run((Keeper(path, 1000.0, warn=never),))
    nodes = session.coordinator.tree_nodes
    assert nodes > 3000
    assert path.stat().st_size < 8 * nodes + 20_000
