"""Helpers of the tests of search: trees as plain values, whole searches, and an executor that misbehaves."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

import games
from cluster.runtime.session import Session
from cluster.runtime.tasks import Event, Executor, JobDone, JobLost, Task
from cluster.workers.inline import InlineExecutor
from games import Game
from games.compile.specialise import cached_njit, specialise
from games.game import State
from games.rng import Stream, new_stream
from search.coordinator import Coordinator
from search.features import RANDOM, Features
from search.job import Context
from search.kernel.backup import reset_outlook
from search.kernel.engine import engine_of
from search.kernel.lazy_snapshot import Base, base_of, begin_tree, unfold
from search.kernel.params import NO_CUT, SearchParams
from search.kernel.uct import best_child
from search.kernel.workspace import VALUE
from search.players import Choice, Observation, player_of
from search.prepare import open_search
from search.request import SearchRequest
from search.result import SearchResult
from search.tree.arena import (
    LAZY,
    NODES,
    PLAIN_LAYOUT,
    ROOT,
    Tree,
    children_of,
    new_tree,
    num_children,
    proof_of,
)
from search.tree.merge import Statistics
from search.worker import Worker
from tests.fake_executor import Fake
from tests.search.naive import NaiveSearch, Node

KNOBS = SearchParams(
    exploration=1.0,
    first_play_urgency=math.inf,
    solver=False,
    anticipated=0,
    virtual_loss=False,
    share=0,
    num_shares=1,
    implicit=0.0,
    widening=0,
    paired=1,
    playout_plies=NO_CUT,
    first_policy=RANDOM,
    second_policy=RANDOM,
    cpuct_base=19_652.0,
    fpu_reduction=0.2,
)

_CONSTANTS = {"SCORED": False, "EVALUATED": False}
pick = specialise((best_child,), games.load("tictactoe"), _CONSTANTS, compiled=True)["best_child"]
"""`best_child` of two players without an evaluator, for callers in Python."""


def nodes_of(tree: Tree, node: int = ROOT) -> Node:
    """The tree as objects, siblings in the order of their slots."""
    hidden = len(tree.available) > 1 and node != ROOT
    return Node(
        move=int(tree.move[node]),
        visits=int(tree.visits[node]),
        total_value=float(tree.total_value[node]),
        unobserved=int(tree.unobserved[node]),
        proof=proof_of(tree, node),
        prior=float(tree.prior[node]) if len(tree.prior) > 1 else 0.0,
        available=int(tree.available[node]) if hidden else 0,
        children=[nodes_of(tree, child) for child in children_of(tree, node)],
    )


def assert_visits_add_up(node: Node) -> None:
    """What is not in a node's children was its own: one visit when it was made, more where nothing grew."""
    assert node.visits >= 1
    assert node.unobserved == 0
    assert abs(node.total_value) <= node.visits
    assert sum(child.visits for child in node.children) <= node.visits
    for child in node.children:
        assert_visits_add_up(child)


def position(game: Game, moves: str = "") -> State:
    """The position after so many moves."""
    state = game.initial_state()
    game.play_text(state, moves.split())
    return game.canonical(state)


def grow(
    spec: str,
    simulations: int,
    seed: int = 0,
    *,
    stream: Stream | None = None,
    moves: str = "",
    params: SearchParams = KNOBS,
    tree: Tree | None = None,
) -> Tree:
    """A tree (a new one if none is given) grown by a sequential search."""
    game = games.load(spec)
    engine = engine_of(game)
    if tree is None:
        tree = new_tree(PLAIN_LAYOUT.capacity_for(2**26, simulations))
    stream = new_stream(seed) if stream is None else stream
    engine.simulate(tree, params, position(game, moves), simulations, stream, engine.new_workspace())
    return tree


def agreed(
    game: Game,
    params: SearchParams,
    simulations: int,
    seed: int,
    root_state: State | None = None,
    features: Features | None = None,
    stages: int = 1,
) -> Node:
    """The tree on which kernels and naive search agree after each stage of so many simulations."""
    features = features or Features(hidden=game.hidden_information, chosen=len(params.wanted) > 0)
    engine, root = engine_of(game, features), game.initial_state() if root_state is None else root_state
    tree, work = engine.new_tree(engine.capacity_for(2**26, stages * simulations)), engine.new_workspace()
    reset_outlook(work)
    stream, naive = new_stream(seed), NaiveSearch(game, root, new_stream(seed), features)
    for _ in range(stages):
        done = engine.simulate(tree, params, root, simulations, stream, work)
        assert done == naive.simulate(params, simulations)
        assert nodes_of(tree) == naive.root
    assert tree.counts[NODES] == naive.root.count()
    if game.has_lines:
        assert (work.best[VALUE], work.best_line[1 : 1 + work.best_line[0]].tolist()) == naive.best
    if game.num_players > 2:
        assert work.totals.tolist() == naive.totals
    return naive.root


def seen_in(game: Game, state: State, past: tuple[int, ...] | None = None) -> Observation:
    """What the player to move is shown."""
    mover = int(game.calls.current_player(state))
    return Observation(game, game.observation(state, mover), mover, tuple(game.legal_moves(state)), past)


def seen_at(spec: str, begin: str = "") -> Observation:
    """What the player to move is shown after so many moves, or in a position (with a /)."""
    game = games.load(spec)
    state = game.parse_position(begin) if "/" in begin else game.initial_state()
    past = () if "/" in begin else tuple(game.play_text(state, begin.split()))
    return seen_in(game, state, None if game.hidden_information or "/" in begin else past)


def chosen(player: str, spec: str, begin: str = "", seed: int = 1) -> tuple[str, Choice]:
    """The legal move that a player chooses there, as text, and the whole answer."""
    seen = seen_at(spec, begin)
    choice = player_of(player, seen.game).choose(seen, seed)
    assert choice.move in seen.legal
    return seen.game.format_move(seen.state, choice.move), choice


def restored(statistics: Statistics) -> Tree:
    """A tree that starts from the snapshot, all of it unfolded."""
    tree = new_tree(max(100_000, 2 * len(statistics.visits)))
    unfold_all(tree, base_of(statistics), KNOBS)
    return tree


@cached_njit
def unfold_all(tree: Tree, base: Base, params: SearchParams) -> None:
    """Begin the tree, and unfold every node, breadth first."""
    begin_tree(tree, base, params)
    places = np.zeros(len(base.first_children), dtype=np.int32)
    following = 1
    for row in range(len(places)):
        node = places[row]
        if tree.shape[node] & LAZY != 0:
            unfold(tree, node, base, params)
            for slot in range(num_children(tree, node)):
                places[following] = tree.children[node] + slot
                following += 1


def run_search(
    request: SearchRequest, executor: Executor | None = None, workers: int = 1
) -> tuple[SearchResult, Session]:
    """The whole search, inline if no executor is given."""
    search = open_search(request)
    executor = executor or InlineExecutor()
    executor.open(search.context)
    session = Session(Coordinator(search, workers), executor)
    return session.run(), session


def undisturbed(request: SearchRequest, seeds: Iterable[int] = (1,), workers: int = 3) -> SearchResult:
    """The result of a search, which no chaos changes."""
    calm, _ = run_search(request)
    lost = 0
    for seed in seeds:
        chaos = ChaosExecutor(seed)
        result, session = run_search(request, chaos, workers)
        for name in ("digest", "answer", "simulations", "playouts", "jobs", "tree_nodes", "stopped_by"):
            assert getattr(result, name) == getattr(calm, name), name
        assert result.jobs_retried <= chaos.lost
        if result.stopped_by == "simulations":
            assert session.coordinator.counters.late_results <= chaos.repeated + chaos.lost
        lost += chaos.lost
    assert lost > 0 or calm.jobs < 40
    assert calm.jobs_retried == 0
    return calm


def digest_of_search(executor: Executor | None = None, workers: int = 1, **request: Any) -> str:
    """The digest of the search."""
    return run_search(SearchRequest(**request), executor, workers)[0].digest


class ChaosExecutor(Fake):
    """Several workers that take jobs in any order, forget what they kept, and lose or repeat results."""

    name = "chaos"

    def __init__(self, seed: int, workers: int = 3) -> None:
        self._draw = random.Random(seed)
        self._context: Context | None = None
        self._workers = [Worker() for _ in range(workers)]
        self.num_workers = workers
        self._queue: list[Task] = []
        self._late: list[Event] = []
        self._losses: Counter[int] = Counter()
        self.lost = 0
        self.repeated = 0

    def open(self, context: Context) -> None:
        self._context = context

    def submit(self, tasks: Iterable[Task]) -> None:
        self._queue.extend(tasks)

    def wait(self, timeout_s: float) -> list[Event]:
        events = [self._run_one() for _ in range(self._draw.randint(0, 4)) if self._queue]
        if self._late and self._draw.random() < 0.5:
            events.append(self._late.pop(self._draw.randrange(len(self._late))))
        self._draw.shuffle(events)
        return events

    def drop(self) -> None:
        self._queue.clear()

    def close(self) -> None:
        self._queue.clear()

    def _run_one(self) -> Event:
        assert self._context is not None
        job = self._queue.pop(self._draw.randrange(len(self._queue))).job
        place = self._draw.randrange(len(self._workers))
        if self._draw.random() < 0.1:
            self._workers[place] = Worker()
        done = JobDone(self._workers[place].run(self._context, job))
        chance = self._draw.random()
        if chance < 0.15 and self._losses[job.index] < 3:
            self._losses[job.index] += 1
            self.lost += 1
            if self._draw.random() < 0.5:
                self._late.append(done)
            return JobLost(job.index, "chaos")
        if chance > 0.9:
            self.repeated += 1
            self._late.append(done)
        return done
