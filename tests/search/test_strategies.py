"""Without a cluster: the request decides the statistics, whatever becomes of the jobs."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
from games.rng import new_stream
from search.job import GROW_STREAM, LaneJob
from search.plan import SHORTEST_JOB_S
from search.prepare import open_search
from search.request import MAX_LANES, MAX_SIMULATIONS, STRATEGIES, SearchRequest
from search.strategies import for_workers, plan_search
from search.strategies.tree import (
    MAX_INCREMENT_ROWS,
    MAX_SNAPSHOT_ROWS,
    MIN_INCREMENT_ROWS,
    MIN_SNAPSHOT_ROWS,
)
from search.summary import digest, digest_of
from search.tree.arena import NODES, ROOT, children_of
from search.tree.merge import snapshot
from search.worker import Worker
from tests.games.common import JIT
from tests.search.common import (
    ChaosExecutor,
    assert_visits_add_up,
    digest_of_search,
    grow,
    nodes_of,
    run_search,
    undisturbed,
)
from tests.search.goldens import FILE, KINDS, golden_digest

SIMULATIONS = 2001 if JIT else 201

GAMES: list[dict[str, Any]] = [
    {"game": "tictactoe"},
    {"game": "tictactoe", "moves": ("a1", "b1")},
    {"game": "gomoku:size=5", "moves": ("c3",)},
]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> dict[str, Any]:
    return KINDS[request.param]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: " ".join((game["game"], *game.get("moves", ()))))
def test_chaos_changes_nothing(kind: dict[str, Any], game: dict[str, Any]) -> None:
    undisturbed(SearchRequest(**game, **kind, simulations=SIMULATIONS, seed=3), range(4 if JIT else 1))


@pytest.mark.parametrize("simulations", [1, 2, 3, 7, 50, 101, 333])
def test_the_root_has_exactly_the_simulations_asked_for(kind: dict[str, Any], simulations: int) -> None:
    request = SearchRequest("gomoku:size=5", **kind, simulations=simulations, seed=2)
    result, session = run_search(request)
    assert result.stopped_by == "simulations"
    assert result.simulations == simulations
    assert session.search.strategy.unobserved == 0
    root = nodes_of(session.search.strategy.tree)
    assert root.visits == simulations
    assert sum(child.visits for child in root.children) == simulations
    assert sum(child.visits for child in result.answer.children) == simulations
    assert_visits_add_up(root)


@given(
    strategy=st.sampled_from(STRATEGIES),
    spec=st.sampled_from(["tictactoe", "gomoku:size=20", "gomoku:size=5"]),
    lanes=st.integers(1, 65_536),
    simulations=st.one_of(st.integers(1, 5000), st.integers(1, 2_000_000_000)),
    rounds=st.one_of(st.none(), st.integers(1, 1_000_000)),
    batch=st.one_of(st.none(), st.integers(1, 65_536)),
    playouts=st.one_of(st.none(), st.integers(1, 65_536)),
)
@settings(max_examples=400)
def test_jobs_add_up_to_the_budget(
    strategy: str,
    spec: str,
    lanes: int,
    simulations: int,
    rounds: int | None,
    batch: int | None,
    playouts: int | None,
) -> None:
    request = SearchRequest(
        spec,
        strategy=strategy,
        lanes=lanes,
        simulations=simulations,
        rounds=rounds,
        batch=batch,
        playouts_per_leaf=playouts,
    )
    game = games.load(spec)
    plan = plan_search(request, game)
    assert plan.lanes == min(lanes, simulations)
    assert plan.jobs == plan.lanes * plan.rounds <= simulations
    shortest, longest = simulations // plan.jobs, -(-simulations // plan.jobs)
    last = plan.jobs - 1
    assert {plan.size(index) for index in (0, last // 3, last)} <= {shortest, longest}
    if plan.jobs <= 3000:
        assert sum(plan.size(index) for index in range(plan.jobs)) == simulations
    if strategy == "leaf" and batch is not None:
        assert longest <= batch * plan.playouts_per_leaf
    if strategy == "tree" and rounds is not None:
        assert plan.rounds == min(rounds, simulations // plan.lanes)


def test_no_job_of_a_budget_in_seconds_is_too_short_or_outlives_it() -> None:
    game, request = games.load("gomoku"), SearchRequest("gomoku", lanes=48, seconds=4.8)
    timed = plan_search(request, game)
    assert timed.job_s(1, 0.0015, 1.0) == 0.0015
    assert timed.job_s(1, 0.0, 1.0) == SHORTEST_JOB_S
    root = replace(request, strategy="root")
    assert plan_search(root, game).job_s(1, 9.0, 1.0) == pytest.approx(0.1 / 32)
    assert plan_search(replace(root, simulations=48_000, seconds=None), game).rounds == 1


@pytest.mark.parametrize(
    ("simulation_ms", "lanes", "simulations", "leaves"),
    [
        # Enough for calls.
        (5, 16, 10_000_000, 1),
        (5, 64, 10_000_000, 2),
        (5, 512, 1_000_000_000, 20),
        (100, 64, 102_400, 1),
        (100, 2048, 1_000_000_000, 4),
        # No more in flight than the root of the budget.
        (5, 64, 8_000, 1),
        (5, 512, 1_000_000, 1),
        (5, 512, 1_100_000, 2),
        (100, 2048, 655_360, 1),
    ],
)
def test_leaf_has_several_leaves_in_a_job_where_a_simulation_is_shorter_than_the_calls_of_all_lanes(
    simulation_ms: float, lanes: int, simulations: int, leaves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = games.load("tictactoe")
    monkeypatch.setattr(type(game), "nominal_simulations_per_s", 1000 / simulation_ms)
    request = SearchRequest("tictactoe", strategy="leaf", lanes=lanes, simulations=simulations)
    plan = plan_search(request, game)
    assert plan.playouts_per_leaf == 1
    assert plan.size(0) in (leaves - 1, leaves)
    assert max(plan.size(index) for index in range(0, plan.jobs, max(7, plan.jobs // 10_000))) == leaves


@pytest.mark.parametrize(
    ("lanes", "simulations", "playouts", "leaves"),
    [
        (16, 16_000, None, 1),
        (16, 10_000_000, None, 49),
        (64, 10_000_000, None, 12),
        (1024, 10_000_000, None, 1),
        (16, 10_000_000, 4, 12),
        (16, 16_000, 32, 1),
        # Not more than fit into memory.
        (2, 10**10, None, 8192),
    ],
)
def test_leaf_has_no_more_in_flight_in_a_quick_game_than_costs_no_strength(
    lanes: int, simulations: int, playouts: int | None, leaves: int
) -> None:
    """One leaf a job, or a quarter of the root of the budget: in seconds, of what one core would make."""
    game = games.load("gomoku")
    request = SearchRequest(
        "gomoku", strategy="leaf", lanes=lanes, simulations=simulations, playouts_per_leaf=playouts
    )
    plan = plan_search(request, game)
    assert plan.job_size == leaves * plan.playouts_per_leaf
    assert plan.size(0) <= plan.job_size
    seconds = simulations / game.nominal_simulations_per_s
    assert plan_search(replace(request, simulations=None, seconds=seconds), game).job_size == plan.job_size


@pytest.mark.parametrize(
    ("game", "budget", "lanes"),
    [
        ("gomoku", {"simulations": 799_999}, 1),
        ("gomoku", {"simulations": 800_000}, 16),
        ("gomoku", {"simulations": 16 * 8_000_000}, 16),
        ("gomoku", {"simulations": 64 * 8_000_000}, 64),
        ("gomoku", {"simulations": 10**12}, 1024),
        ("gomoku", {"seconds": 9.0}, 1),
        ("gomoku", {"seconds": 9.0, "strategy": "root"}, 16),
        ("gomoku", {"stop_when_full": True}, 16),
        ("gomoku", {"simulations": 100, "strategy": "root"}, 16),
        ("gomoku", {"simulations": 100, "lanes": 4}, 4),
        # Rules that may be far slower than they state: a lane could take hours.
        ("chinese_checkers", {"simulations": 100}, 16),
    ],
)
def test_lanes_follow_from_the_work(game: str, budget: dict[str, Any], lanes: int) -> None:
    plan = plan_search(SearchRequest(game, **budget), games.load(game))
    assert plan.lanes == lanes
    if lanes == 1 and plan.is_fixed:
        assert plan.jobs == 1


@pytest.mark.parametrize(
    ("budget", "lanes"),
    [
        ({"seconds": 9.0}, 8),
        ({"seconds": 9.0, "lanes": 3}, 3),
        ({"seconds": 9.0, "strategy": "root"}, None),
        ({"seconds": 0.19}, None),
        ({"simulations": 10**9}, None),
        ({"stop_when_full": True}, None),
    ],
)
def test_by_the_clock_lanes_follow_from_the_workers(budget: dict[str, Any], lanes: int | None) -> None:
    request = SearchRequest("gomoku", **budget)
    assert for_workers(request, 4).lanes == lanes
    assert for_workers(request, 1) == request
    assert for_workers(request, 4, most=5).lanes == (5 if lanes == 8 else lanes)


def test_by_the_clock_there_are_more_rounds_where_they_cost_little() -> None:
    plan = plan_search(SearchRequest("gomoku", lanes=8, seconds=3.2), games.load("gomoku"))
    on_four_cores = [plan.job_s(4, 9.0, serial_s) for serial_s in (0.0, 0.001, 0.002, 0.004, 1.0)]
    # 128 rounds, which last 8 times as long as what they cost, down to 32.
    assert on_four_cores == pytest.approx([0.0125, 0.0125, 0.0125, 0.016, 0.05])
    exactly = plan_search(SearchRequest("gomoku", lanes=8, rounds=200, seconds=3.2), games.load("gomoku"))
    assert exactly.job_s(4, 9.0, 1.0) == pytest.approx(0.008)


@pytest.mark.parametrize(
    ("lanes", "lane_s", "rounds"),
    [
        # One lane learns nothing from them; its jobs have a second.
        (1, 0.01, 1),
        # One for each lane, within limits.
        (48, 0.01, 48),
        (64, 0.01, 64),
        (1024, 0.01, 64),
        (1, 3.0, 3),
        (1, 150.0, 150),
        (16, 0.63, 32),
        (16, 1.55, 51),
        (16, 5.0, 128),
        (16, 30.0, 200),
        (48, 2.99, 99),
        (256, 5.0, 64),
        (256, 12.1, 100),
    ],
)
def test_there_are_more_rounds_where_jobs_are_long_enough(lanes: int, lane_s: float, rounds: int) -> None:
    game = games.load("gomoku")
    simulations = round(lanes * lane_s * game.nominal_simulations_per_s)
    request = SearchRequest("gomoku", strategy="tree", lanes=lanes, simulations=simulations)
    assert plan_search(request, game).rounds == rounds
    # What is asked for is what there is.
    assert plan_search(replace(request, rounds=40), game).rounds == 40


@pytest.mark.parametrize("game", ["gomoku:size=19", "thud"])
def test_the_moves_of_the_root_are_known_however_many_there_are(game: str) -> None:
    request = SearchRequest(game, lanes=2, rounds=2, simulations=4_000)
    plan = plan_search(request, games.load(game))
    assert plan.increment_rows > games.load(game).max_moves > 256


def test_the_longer_jobs_are_the_more_travels() -> None:
    """Within limits, and of increments the less the more lanes there are."""
    game = games.load("gomoku")
    request = SearchRequest("gomoku", strategy="tree", lanes=16, rounds=32)

    def rows(**asked: Any) -> tuple[int, int]:
        plan = plan_search(replace(request, **asked), game)
        return plan.snapshot_rows, plan.increment_rows

    found = [rows(simulations=10**k) for k in range(3, 12)]
    assert found == sorted(found)
    assert found[0] == (MIN_SNAPSHOT_ROWS, max(MIN_INCREMENT_ROWS, 2 * game.max_moves))
    assert found[-1] == (MAX_SNAPSHOT_ROWS, MAX_INCREMENT_ROWS)
    # A job of a tenth of a second, and what is given where sizes are not fixed.
    assert rows(simulations=int(0.1 * game.nominal_simulations_per_s) * 16 * 32) == (100_000, 7_812)
    timed: dict[str, Any] = {"simulations": None, "seconds": 10.0}
    assert rows(**timed) == (150_000, 11_718)
    assert rows(**timed, lanes=64)[1] == 2_929
    # No more than has room in the memory.
    assert rows(**timed, memory_mb=64)[0] == 2**17


@pytest.mark.slow
def test_lanes_know_all_of_a_tree_that_a_snapshot_holds() -> None:
    request = SearchRequest("gomoku:size=9", strategy="tree", lanes=4, simulations=40_000 if JIT else 2000)
    _, session = run_search(request)
    state = session.search.strategy.state()
    assert int(state["min_visits"][0]) == 2


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("root", {"lanes": 6}),
        ("root", {"exploration": 0.9}),
        ("root", {"first_play_urgency": 0.3}),
        ("tree", {"share_visits": 40}),
        ("tree", {"rounds": 9}),
        ("tree", {"lanes": 6}),
        ("leaf", {"in_flight": "virtual-loss"}),
        ("leaf", {"batch": 2}),
        ("leaf", {"playouts_per_leaf": 2}),
        ("leaf", {"lanes": 6}),
        *((kind, {"seed": 2}) for kind in KINDS),
    ],
)
def test_what_the_request_says_changes_the_statistics(kind: str, changes: dict[str, Any]) -> None:
    request = {"game": "gomoku:size=5", "simulations": 900 if JIT else 300, "seed": 1, **KINDS[kind]}
    assert digest_of_search(**request) != digest_of_search(**{**request, **changes})


@pytest.mark.parametrize(
    "changes",
    [{"final_move": "secure"}, {"memory_mb": 500}, {"stop_when_full": True}],
    ids=lambda changes: next(iter(changes)),
)
def test_what_only_reads_or_limits_them_does_not(kind: dict[str, Any], changes: dict[str, Any]) -> None:
    request = {"game": "gomoku:size=5", "simulations": 300 if JIT else 100, "seed": 1, **kind}
    assert digest_of_search(**request) == digest_of_search(**{**request, **changes})


@pytest.mark.parametrize(
    ("game", "moves", "position"),
    [
        ("tictactoe", ("a3", "b2"), "x../.o./... x"),
        ("tictactoe", ("b2",), ".../.x./... o"),
        ("gomoku:size=7", ("c3", "d4", "c4"), "7/7/7/2xo3/2x4/7/7 o"),
    ],
)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_position_is_the_same_however_it_is_given(
    game: str, moves: tuple[str, ...], position: str, strategy: str
) -> None:
    common: dict[str, Any] = {
        "game": game,
        "strategy": strategy,
        "lanes": 3,
        "simulations": 300 if JIT else 100,
        "seed": 5,
    }
    assert digest_of_search(**common, moves=moves) == digest_of_search(**common, position=position)
    transposed = (*moves[2:], *moves[1:2], *moves[:1]) if len(moves) == 3 else moves
    assert digest_of_search(**common, moves=transposed) == digest_of_search(**common, position=position)
    split: dict[str, Any] = {
        "position": games.load(game).format_position(games.load(game).initial_state()),
        "moves": moves,
    }
    assert digest_of_search(**common, **split) == digest_of_search(**common, position=position)


def test_lanes_vote_for_what_they_have_visited_most() -> None:
    lanes, each = 7, 60
    request = SearchRequest(
        "gomoku:size=5",
        strategy="root",
        lanes=lanes,
        simulations=lanes * each,
        seed=6,
        exploration=0.5,
        final_move="vote",
    )
    result, session = run_search(request, ChaosExecutor(1), workers=3)
    votes: Counter[int] = Counter()
    for lane in range(lanes):
        root = nodes_of(grow("gomoku:size=5", each, stream=new_stream(6, GROW_STREAM, lane, 0)))
        votes[min(root.children, key=lambda child: (-child.visits, child.move)).move] += 1
    children = session.search.strategy.root_children()
    assert {child.move: child.votes for child in children if child.votes} == votes
    assert len(votes) > 1
    game = session.search.game
    most = max(votes.values())
    winners = [game.format_move(session.search.root_state, m) for m, count in votes.items() if count == most]
    assert result.answer.best_move in winners


def test_root_with_one_lane_is_the_sequential_search() -> None:
    request = SearchRequest("tictactoe", strategy="root", lanes=1, simulations=500, seed=4, exploration=0.5)
    _, session = run_search(request)
    alone = grow("tictactoe", 500, stream=new_stream(4, GROW_STREAM, 0, 0))
    reported, _ = snapshot(alone, session.search.context.report_visits, 10_000)
    assert digest_of(reported) == digest(session.search.strategy.tree)


def test_a_round_starts_from_the_merge_of_all_before_it() -> None:
    search = open_search(SearchRequest("tictactoe", lanes=2, rounds=5, simulations=200, seed=1))
    strategy, worker = search.strategy, Worker()
    visits_at_start = []
    while strategy.issued < 10:
        jobs = []
        while strategy.ready:
            jobs.append(strategy.next_job(20))
        for job in jobs:
            assert isinstance(job, LaneJob)
            visits_at_start.append(int(job.snapshot.statistics.visits[0]))
            if strategy.absorb(job, worker.run(search.context, job)):
                strategy.end_round()
    assert visits_at_start == [0, 0, 40, 40, 80, 80, 120, 120, 160, 160]


SMALL: dict[str, dict[str, Any]] = {
    # A lane of `root` has 218 slots, the shared tree of `tree` 21,845, the tree of `leaf` 43,690.
    "root": {"strategy": "root", "lanes": 100, "simulations": 100 * 240, "game": "tictactoe"},
    "tree": {"strategy": "tree", "lanes": 4, "rounds": 50, "simulations": 40_000, "game": "gomoku:size=5"},
    "leaf": {
        "strategy": "leaf",
        "lanes": 4,
        "playouts_per_leaf": 1,
        "simulations": 80_000,
        "game": "gomoku:size=5",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("small", SMALL)
def test_a_full_memory_is_searched_on(small: str) -> None:
    if not JIT and small != "root":
        pytest.skip("too many simulations for plain Python")
    request = SearchRequest(**SMALL[small], memory_mb=1, seed=1)
    result, session = run_search(request)
    assert result.tree_full
    assert result.stopped_by == "simulations"
    assert result.simulations == request.simulations
    tree = session.search.strategy.tree
    assert tree.visits[ROOT] == request.simulations
    assert sum(int(tree.visits[child]) for child in children_of(tree, ROOT)) == request.simulations
    slots = len(tree.visits) + session.search.context.tree_slots * (request.lanes if small == "root" else 1)
    assert slots * 24 <= 2**20
    chaos, _ = run_search(request, ChaosExecutor(1)) if JIT else (result, None)
    assert chaos.digest == result.digest


@pytest.mark.skipif(not JIT, reason="too many simulations for plain Python")
@pytest.mark.parametrize("small", SMALL)
def test_a_full_memory_may_end_the_search(small: str) -> None:
    # The lanes of `root` are all full only when they have all simulations of a budget.
    unbounded: dict[str, Any] = {"simulations": None, "seconds": 3600.0} if small == "root" else {}
    request = SearchRequest(**SMALL[small] | unbounded, memory_mb=1, seed=1, stop_when_full=True)
    result, session = run_search(request)
    assert result.stopped_by == "memory"
    assert 0 < result.simulations < (request.simulations or MAX_SIMULATIONS)
    assert session.search.strategy.tree.visits[ROOT] == result.simulations
    assert result.answer.best_move is not None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_lanes_of_tree_hardly_ever_make_the_same_node(seed: int) -> None:
    """Each grows other subtrees, but for the first rounds, in which there is nothing to be cut yet."""
    request = SearchRequest("gomoku:size=5", lanes=4, rounds=40, simulations=800, seed=seed)
    strategy = run_search(request)[1].search.strategy
    assert 0 <= strategy.duplicates < 0.15 * strategy.created
    assert strategy.tree.counts[NODES] - 1 <= strategy.created - strategy.duplicates


@pytest.mark.skipif(not JIT, reason="too many simulations for plain Python")
def test_more_is_anticipated_than_a_tree_can_count() -> None:
    """Visits expected of others are int32 in the tree, and must not run over."""
    size = 2**15 + 1
    search = open_search(SearchRequest("battleship", lanes=MAX_LANES, simulations=MAX_LANES * size, rounds=1))
    assert (MAX_LANES - 1) * (size + 1) > 2**31
    result = Worker().run(search.context, search.strategy.next_job(size))
    assert result.added is not None
    assert result.simulations == result.added.visits[ROOT] == size


@pytest.mark.parametrize("kind_name", KINDS)
def test_the_digest_is_the_one_that_is_written_down(kind_name: str) -> None:
    """Compiled and uncompiled code are held together by this. See tests/search/goldens.py."""
    assert golden_digest(kind_name) == json.loads(FILE.read_text())[kind_name]


def test_only_strategies_and_requests_know_a_strategy_by_its_name() -> None:
    compared = re.compile(r"\bstrategy (==|!=|in|not in) *[\"'({\[A-Z]")
    root = Path(__file__).parents[2]
    own = {root / "search/request.py", *(root / "search/strategies").iterdir()}
    own.add(root / "search/players/morris_agent.py")  # An option of the same name.
    found = [
        f"{file.relative_to(root)}: {line.strip()}"
        for package in ("games", "search", "cluster")
        for file in sorted((root / package).rglob("*.py"))
        if file not in own
        for line in file.read_text(encoding="utf-8").splitlines()
        if compared.search(line) and "for strategy in" not in line
    ]
    assert found == []
