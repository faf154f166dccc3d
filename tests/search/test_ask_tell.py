"""Searches whose leaves are evaluated by their caller: any order of answers, one digest."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import games
import search
from games.errors import InvalidInput
from search.ask_tell.search import SETTLED, AskTellSearch
from search.evaluator import EXTERNAL, Evaluator, load_evaluator, source_of_evaluator
from search.packing.arrays import Arrays, CorruptState
from search.players import player_of
from search.prepare import check_request, open_search
from search.request import SearchRequest
from search.result import SearchResult
from search.tree.arena import ROOT
from tests.games.common import JIT
from tests.waiting import PATIENCE_S

HASHED = f"{Path(__file__).with_name('hashed_evaluator.py')}:kind=probabilities"
COUNTING = Path(__file__).with_name("counting_evaluator.py")
SIMULATIONS = 300 if JIT else 80

KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "one at a time": {"lanes": 1},
    "more lanes than moves": {"lanes": 32},
    "batches": {"lanes": 3, "batch": 4},
    "solver": {"solver": True, "moves": ("a1", "b2")},
    "virtual loss": {"in_flight": "virtual-loss"},
    "temperature": {"policy_temperature": 1.7},
    "no multiple of the lanes": {"lanes": 32, "simulations": 75},
}


def request_of(**asked: Any) -> SearchRequest:
    given = {"game": "tictactoe", "lanes": 4, "simulations": SIMULATIONS, "seed": 1, "strategy": "leaf"}
    return SearchRequest(**{**given, "evaluator": EXTERNAL, **asked})


class Caller:
    """Answers as the evaluator file does, and counts how often it is asked for each leaf."""

    def __init__(self, game: str = "tictactoe") -> None:
        self.evaluator: Evaluator = load_evaluator(HASHED, source_of_evaluator(HASHED), games.load(game))
        self.asked: list[str] = []

    def answer(self, leaf: search.Leaf) -> tuple[float, Any]:
        values, policies = self.evaluator.evaluate(leaf.state[None].copy())
        return float(values[0]), policies[0][leaf.codes]

    def tell(self, opened: AskTellSearch, leaf: search.Leaf) -> None:
        self.asked.append(leaf.id)
        value, policy = self.answer(leaf)
        if leaf.number % 2:
            opened.tell(leaf.id, value, dict(zip(leaf.legal, policy.tolist(), strict=True)))
        else:
            opened.tell(leaf.id, value, policy)

    def run(self, opened: AskTellSearch, draw: random.Random, most: int, turns: float = np.inf) -> None:
        """Answer in random order, so many turns long, with up to ``most`` leaves asked for at a time."""
        held: list[search.Leaf] = []
        while not opened.done and turns > 0:
            turns -= 1
            held += opened.ask(draw.randint(1, most))
            assert held, "a search that is not over has leaves"
            draw.shuffle(held)
            for _ in range(draw.randint(1, len(held))):
                self.tell(opened, held.pop())


def with_a_file(request: SearchRequest) -> SearchResult:
    """The search with an evaluator file that gives the answers of `Caller`, one leaf a job by default."""
    values = {name: getattr(request, name) for name in request.__dataclass_fields__}
    return search.run(SearchRequest(**{**values, "evaluator": HASHED, "batch": request.batch or 1}))


@pytest.mark.parametrize("kind", KINDS)
def test_the_digest_is_that_of_an_evaluator_file_in_whatever_order_answers_come(kind: str) -> None:
    request = request_of(**KINDS[kind])
    expected = with_a_file(request)
    for seed, most in enumerate((1, 3, 1000)):
        caller, opened = Caller(), search.open(request)
        caller.run(opened, random.Random(seed), most)
        result = opened.result()
        assert result.digest == expected.digest
        assert (result.stopped_by, result.simulations) == (expected.stopped_by, expected.simulations)
        assert result.answer == expected.answer
        assert len(caller.asked) == len(set(caller.asked)) >= result.playouts
        assert opened.ask(5) == []


def test_a_leaf_says_what_it_is() -> None:
    opened = search.open(request_of(moves=("b2",)))
    [root] = opened.ask(10)
    assert (root.number, root.moves, root.player) == (0, (), 1)
    assert root.legal == ("a1", "b1", "c1", "a2", "c2", "a3", "b3", "c3")
    assert root.codes.tolist() == [0, 1, 2, 3, 5, 6, 7, 8]
    opened.tell(root.id, 0.0, {"c3": 1.0})
    [leaf] = opened.ask(10)
    game = games.load("tictactoe")
    state = game.initial_state()
    game.play_text(state, ["b2", "c3"])
    assert (leaf.moves, leaf.player, leaf.state.tolist()) == (("c3",), 0, state.tolist())
    assert leaf.position == game.format_position(state)
    with pytest.raises(ValueError, match="read-only"):
        leaf.state[0] = 1


def test_leaves_that_are_out_are_at_most_the_lanes_and_the_root_comes_alone() -> None:
    opened = search.open(request_of(game="gomoku:size=5", lanes=6))
    [root] = opened.ask(100)
    assert root.number == 0
    assert opened.ask(100) == []
    opened.tell(root.id, 0.0)
    out = opened.ask(100)
    assert [leaf.number for leaf in out] == [1, 2, 3, 4, 5, 6]
    opened.tell(out[2].id, 0.0)
    opened.tell(out[1].id, 0.0)
    assert opened.ask(100) == []
    opened.tell(out[0].id, 0.0)
    assert [leaf.number for leaf in opened.ask(100)] == [7, 8, 9]


def test_a_position_in_flight_is_asked_for_once() -> None:
    # Nine moves and more lanes: the others lead to positions that are out already.
    opened = search.open(request_of(lanes=32))
    opened.tell(opened.ask()[0].id, 0.0)
    out = opened.ask(100)
    assert len(out) == 9
    assert len({leaf.state.tobytes() for leaf in out}) == 9
    assert search.open(request_of(lanes=32)).result().move is None


def test_threads_ask_and_tell_at_once() -> None:
    request = request_of(lanes=8)
    caller, opened = Caller(), search.open(request)
    caller.tell(opened, opened.ask()[0])

    def work(seed: int) -> None:
        draw = random.Random(seed)
        while not opened.done:
            for leaf in opened.ask(draw.randint(1, 3), wait_s=PATIENCE_S):
                opened.tell(leaf.id, *caller.answer(leaf))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert opened.done
    assert opened.result().digest == with_a_file(request).digest


def test_the_same_answer_again_changes_nothing_and_another_is_an_error() -> None:
    request = request_of()
    caller, opened = Caller(), search.open(request)
    told: dict[str, tuple[float, Any]] = {}
    draw = random.Random(3)
    while not opened.done:
        for leaf in opened.ask(2):
            told[leaf.id] = caller.answer(leaf)
            opened.tell(leaf.id, *told[leaf.id])
            old = draw.choice([*told])
            opened.tell(old, *told[old])
            before = opened.result().digest
            for value, policy in ((0.123, told[old][1]), (told[old][0], None), (7.0, None), (0.0, 0.5)):
                with pytest.raises(InvalidInput, match="has another answer") as caught:
                    opened.tell(old, value, policy)
                assert (caught.value.field, caught.value.value) == ("id", old)
            assert opened.result().digest == before
    assert opened.result().digest == with_a_file(request).digest
    first = next(iter(told))
    opened.tell(first, *told[first])


def test_leaves_without_an_answer_are_asked_again_after_the_deadline() -> None:
    now = [100.0]
    request = request_of(game="gomoku:size=5")
    caller, draw = Caller("gomoku:size=5"), random.Random(4)
    opened = search.open(request, deadline_s=10.0, clock=lambda: now[0])
    lost: list[search.Leaf] = []
    while not opened.done:
        for leaf in opened.ask(3):
            if draw.random() < 0.2:
                lost.append(leaf)
            else:
                caller.tell(opened, leaf)
        if draw.random() < 0.1 and lost:
            # It comes after all, late, and perhaps for the second time.
            caller.tell(opened, draw.choice(lost))
        now[0] += 3.0
    result = opened.result()
    assert result.digest == with_a_file(request).digest
    assert result.jobs_retried > 0


def test_a_deadline_hands_out_the_same_leaf_and_only_when_it_has_passed() -> None:
    now = [0.0]
    opened = search.open(request_of(game="gomoku:size=5"), deadline_s=10.0, clock=lambda: now[0])
    opened.tell(opened.ask()[0].id, 0.0)
    first, second = opened.ask(2)
    assert (first.number, second.number) == (1, 2)
    now[0] = 5.0
    assert [leaf.number for leaf in opened.ask(2)] == [3, 4]
    opened.tell(second.id, 0.5)
    now[0] = 9.9
    assert opened.ask(5) == []
    now[0] = 10.0
    assert [leaf.number for leaf in opened.ask(5)] == [1]
    now[0] = 15.0
    assert [leaf.number for leaf in opened.ask(5)] == [3, 4]
    now[0] = 20.0
    assert [leaf.number for leaf in opened.ask(5)] == [1]


def test_the_time_of_a_search_ends_with_it() -> None:
    now = [5.0]
    opened = search.open(request_of(simulations=2), clock=lambda: now[0])
    for _ in range(2):
        now[0] += 1.5
        opened.tell(opened.ask()[0].id, 0.0)
    now[0] = 1000.0
    assert opened.result().elapsed_s == 3.0
    again = AskTellSearch(
        open_search(request_of(simulations=2), external=True),
        clock=lambda: now[0],
        state=opened.state(),
        elapsed_s=opened.elapsed_s,
    )
    now[0] = 2000.0
    assert (again.result().elapsed_s, again.result().stopped_by) == (3.0, "simulations")


def test_asking_waits_for_an_answer_and_not_longer_than_allowed() -> None:
    opened = search.open(request_of(game="gomoku:size=5", lanes=1))
    [root] = opened.ask()
    assert opened.ask(wait_s=0.01) == []
    timer = threading.Timer(0.05, opened.tell, (root.id, 0.0))
    timer.start()
    assert [leaf.number for leaf in opened.ask(wait_s=PATIENCE_S)] == [1]
    timer.join()


def test_a_wait_ends_with_a_deadline_and_with_the_search() -> None:
    opened = search.open(request_of(game="gomoku:size=5", lanes=1, simulations=2), deadline_s=0.05)
    [root] = opened.ask()
    assert [leaf.id for leaf in opened.ask(wait_s=PATIENCE_S)] == [root.id]
    opened.tell(root.id, 0.0)
    [last] = opened.ask()
    timer = threading.Timer(0.01, opened.tell, (last.id, 0.0))
    timer.start()
    while not opened.done:
        assert {leaf.id for leaf in opened.ask(wait_s=PATIENCE_S)} <= {last.id}
    timer.join()


def continued(opened: AskTellSearch, request: SearchRequest) -> AskTellSearch:
    """The search with the other's state, through arrays that share no memory with it."""
    arrays = {name: array.copy() for name, array in opened.state().items()}
    search = open_search(request, external=True)
    return AskTellSearch(search, state=arrays, stopped_by=opened.stopped_by)


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_that_is_continued_again_and_again_ends_as_one_without_a_break(kind: str) -> None:
    request = request_of(**KINDS[kind])
    caller, opened, draw = Caller(), search.open(request), random.Random(6)
    breaks = 0
    while not opened.done:
        caller.run(opened, draw, 8, turns=draw.randint(1, 3))
        answered = set(caller.asked)
        opened = continued(opened, request)
        breaks += not opened.done
        # What was told is not asked for again; what was out has its id.
        out = [leaf.id for leaf in opened.ask(1000)]
        assert not answered & set(out)
        assert opened.done or out
        opened = continued(opened, request)
    result, expected = opened.result(), with_a_file(request)
    assert result.digest == expected.digest
    assert len(caller.asked) == len(set(caller.asked)) == result.playouts
    assert result.playouts + result.recalled == expected.playouts
    assert result.resumed >= breaks > 2


def test_answers_from_before_a_break_are_known_after_it() -> None:
    request = request_of(game="gomoku:size=5", lanes=4)
    opened = search.open(request)
    [root] = opened.ask()
    opened.tell(root.id, 0.5)
    first, _, third = opened.ask(3)
    opened.tell(third.id, 0.25)
    again = continued(opened, request)
    again.tell(root.id, 0.5)
    again.tell(third.id, 0.25)
    for told in (root, third):
        with pytest.raises(InvalidInput, match="has another answer"):
            again.tell(told.id, 0.4)
    # A client from before the break answers, and nobody has to be asked again.
    again.tell(first.id, 0.0)
    assert [leaf.number for leaf in again.ask(100)] == [2, 4, 5]


def test_an_answer_from_before_a_break_counts_for_its_own_position_alone() -> None:
    """An earlier state goes on with other answers: numbers come again, for other positions."""
    request = request_of(game="gomoku:size=5", lanes=4)
    opened = search.open(request)
    opened.tell(opened.ask()[0].id, 0.0, [1.0 + move for move in range(25)])
    again = continued(opened, request)
    seen: tuple[dict[int, str], dict[int, str]] = ({}, {})
    for run, ids, value, most in ((opened, seen[0], 0.0, 60), (again, seen[1], 0.9, 40)):
        while len(ids) < most:
            ids |= {leaf.number: leaf.id for leaf in run.ask(100)}
            if len(ids) < most:
                for leaf_id in ids.values():
                    run.tell(leaf_id, value)
    digest, others = again.result().digest, set(seen[0].values()) - set(seen[1].values())
    for leaf_id in others:
        with pytest.raises(InvalidInput, match=f"^id: '{leaf_id}'"):
            again.tell(leaf_id, 0.0)
    assert again.result().digest == digest
    assert len(others) > 30


BAD_STATES: dict[str, Callable[[Arrays], None]] = {
    "no answers": lambda arrays: arrays.pop("ask_tell.values") and None,
    "a value out of range": lambda arrays: arrays["ask_tell.values"].fill(2.0),
    "a prior that is no number": lambda arrays: arrays["ask_tell.priors"].fill(np.nan),
    "another number of simulations": lambda arrays: arrays["counters"].fill(7),
    "answers to leaves to come": lambda arrays: arrays.update({"ask_tell.told": np.ones(99, np.uint64)}),
    "a leaf without priors": lambda arrays: arrays["ask_tell.sizes"].fill(0),
    "priors of other moves": lambda arrays: arrays.update(
        {"ask_tell.sizes": arrays["ask_tell.sizes"] - 1, "ask_tell.priors": arrays["ask_tell.priors"][1:]}
    ),
}


@pytest.mark.parametrize("kind", BAD_STATES)
def test_a_damaged_state_is_refused(kind: str) -> None:
    opened = search.open(request_of(game="gomoku:size=5", lanes=4))
    opened.tell(opened.ask()[0].id, 0.5)
    opened.tell(opened.ask(3)[1].id, 0.25)
    arrays = {name: array.copy() for name, array in opened.state().items()}
    BAD_STATES[kind](arrays)
    fresh = open_search(request_of(game="gomoku:size=5", lanes=4), external=True)
    with pytest.raises(CorruptState):
        AskTellSearch(fresh, state=arrays)


@pytest.mark.parametrize(
    ("told", "field", "accepted"),
    [
        (("99-0123456789abcdef", 0.0), "id", "the id of a leaf that was handed out"),
        (("1-0123456789abcdef", 0.0), "id", "1 is another position now"),
        ((1, 0.0), "id", "the id of a leaf that was handed out"),
        (("1", 0.0), "id", "the id of a leaf that was handed out"),
        ((True, 0.0), "id", "the id of a leaf that was handed out"),
        ((None, 1.5), "value", "a number from -1 to 1"),
        ((None, float("nan")), "value", "a number from -1 to 1"),
        ((None, "0.5"), "value", "a number from -1 to 1"),
        ((None, None), "value", "a number from -1 to 1"),
        ((None, True), "value", "a number from -1 to 1"),
        ((None, 10**400), "value", "a number from -1 to 1"),
        ((None, 0.0, {"z9": 1.0}), "policy", "legal moves of leaf 1-"),
        ((None, 0.0, {"\ud800": 1.0}), "policy", "legal moves of leaf 1-"),
        ((None, 0.0, {"b1": -0.1}), "policy", "probabilities of at least 0"),
        ((None, 0.0, {"b1": float("nan")}), "policy", "probabilities of at least 0"),
        ((None, 0.0, {"b1": float("inf")}), "policy", "probabilities of at least 0"),
        ((None, 0.0, {"b1": "1"}), "policy", "probabilities of at least 0"),
        ((None, 0.0, {"b1": 0.0}), "policy", "not all 0"),
        ((None, 0.0, {}), "policy", "not all 0"),
        ((None, 0.0, [1.0] * 7), "policy", "or 8 numbers in order"),
        ((None, 0.0, np.ones((8, 1))), "policy", "or 8 numbers in order"),
        ((None, 0.0, [[1.0]] * 8), "policy", "probabilities of at least 0"),
        ((None, 0.0, [[]] * 8), "policy", "probabilities of at least 0"),
        ((None, 0.0, [1e308] * 8), "policy", "probabilities"),
        ((None, 0.0, "b1"), "policy", "or 8 numbers in order"),
        ((None, 0.0, 0.5), "policy", "or 8 numbers in order"),
    ],
    ids=str,
)
def test_an_answer_that_makes_no_sense_is_refused_and_its_leaf_is_handed_out_at_once(
    told: tuple[Any, ...], field: str, accepted: str
) -> None:
    """Once for each refusal, and no job is run again for it."""
    opened = search.open(request_of(lanes=1), deadline_s=1e6)
    opened.tell(opened.ask()[0].id, 0.0, {"a1": 1.0})
    [leaf] = opened.ask(1)
    assert (leaf.number, leaf.moves) == (1, ("a1",))
    before = opened.result()
    for _ in range(2):
        with pytest.raises(InvalidInput) as caught:
            opened.tell(told[0] or leaf.id, *told[1:])
        assert caught.value.field == field
        assert accepted in caught.value.accepted
        assert [each.id for each in opened.ask(9)] == [leaf.id] * (field != "id")
    assert opened.ask(9) == []
    assert opened.result().digest == before.digest
    opened.tell(leaf.id, 0.0)
    assert opened.result().jobs_retried == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [*product(("n", "wait_s", "deadline_s"), (-1, float("nan"), "3", None)), *product("n", (0, 1.5, True))],
)
def test_a_number_that_makes_no_sense_is_refused(field: str, value: Any) -> None:
    call: Callable[..., object] = search.open(request_of()).ask
    if field == "deadline_s":
        call = partial(search.open, request_of())
    accepted = "a whole number from 1" if field == "n" else ""
    with pytest.raises(InvalidInput, match=f"^{field}: .*{accepted}"):
        call(**{field: value})


@pytest.mark.parametrize(
    ("asked", "field", "accepted"),
    [
        ({"evaluator": None}, "evaluator", "external"),
        ({"evaluator": HASHED}, "evaluator", "external"),
        ({"strategy": "tree"}, "strategy", "leaf with an evaluator"),
        ({"simulations": None, "seconds": 1.0}, "seconds", "stop asking"),
        ({"game": "battleship"}, "evaluator", "none with battleship"),
        ({"evaluator": "external:size=3"}, "evaluator", "an evaluator file such as ./net.py"),
    ],
    ids=str,
)
def test_a_search_that_is_not_for_callers_is_refused(
    asked: dict[str, Any], field: str, accepted: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        search.open(request_of(**asked))
    assert caught.value.field == field
    assert accepted in caught.value.accepted


def test_a_search_that_runs_by_itself_has_no_external_evaluator() -> None:
    for run in (search.run, open_search, check_request):
        with pytest.raises(InvalidInput, match="evaluator: 'external' is not accepted; expected a file"):
            run(request_of())
    with pytest.raises(InvalidInput, match="an evaluator file such as"):
        player_of("uct:evaluator=external", games.load("tictactoe"))
    # A service may offer it: it reads no file.
    assert open_search(request_of(), files=False, external=True).game.name == "tictactoe"


def test_finished_games_are_not_handed_out() -> None:
    game = games.load("tictactoe")
    opened = search.open(request_of(moves=("a1", "b1", "a2", "b2", "c1"), lanes=3))
    asked = 0
    while not opened.done:
        for leaf in opened.ask(2):
            assert not game.calls.is_terminal(leaf.state.copy())
            opened.tell(leaf.id, 0.0)
            asked += 1
    result = opened.result()
    assert result.simulations == SIMULATIONS
    assert result.playouts == asked < SIMULATIONS


def test_a_search_whose_leaves_are_all_finished_ends_by_itself() -> None:
    # One move is left, and it ends the game.
    moves = ("a1", "b1", "c1", "a2", "b2", "a3", "c2", "c3")
    for simulations, further in (50, 0), (2 * SETTLED + 50, 2), (None, 3):
        opened = search.open(request_of(moves=moves, simulations=simulations))
        [root] = opened.ask(100)
        opened.tell(root.id, 0.0)
        # No call takes long, however many finished games there are.
        assert [opened.ask(wait_s=0.0 if opened.done else 1e-9) for _ in range(further)] == [[]] * further
        assert opened.done == (simulations is not None)
        assert (opened.result().move, opened.result().simulations > 49) == ("b3", True)


def test_a_proven_search_is_over_and_takes_late_answers() -> None:
    opened = search.open(request_of(moves=("a1", "b1", "a2", "b2"), solver=True, lanes=3))
    [root] = opened.ask()
    opened.tell(root.id, 0.0, {"c3": 0.4, "c1": 0.3, "b3": 0.2, "a3": 0.1})
    late: list[search.Leaf] = []
    while not opened.done:
        late += opened.ask(10)
        opened.tell(late.pop(0).id, -0.5)
    result = opened.result()
    assert (result.move, result.value, result.stopped_by) == ("a3", 1.0, "proven")
    for leaf in late:
        opened.tell(leaf.id, 0.25)
    assert opened.result().digest == result.digest
    assert opened.ask(3) == []
    assert continued(opened, opened.search.request).result().stopped_by == "proven"


@pytest.mark.slow
def test_a_full_memory_ends_a_search_that_has_no_other_budget() -> None:
    asked = {"game": "gomoku:size=12", "memory_mb": 1, "lanes": 8}
    request = request_of(**asked, simulations=None, stop_when_full=True)
    opened = search.open(request)
    while not opened.done:
        for leaf in opened.ask(5):
            opened.tell(leaf.id, 0.0)
    result = opened.result()
    assert (result.stopped_by, result.tree_full) == ("memory", True)
    assert result.simulations == opened.search.strategy.tree.visits[ROOT] > 50
    # With a budget the search goes on in the full tree.
    opened = search.open(request_of(**asked, simulations=400))
    Caller("gomoku:size=12").run(opened, random.Random(2), 8)
    assert opened.result().digest == with_a_file(opened.search.request).digest
    assert (opened.result().simulations, opened.result().tree_full) == (400, True)


def test_a_search_without_a_budget_goes_on_for_as_long_as_it_is_asked() -> None:
    opened = search.open(request_of(simulations=None, lanes=2, batch=3))
    Caller().run(opened, random.Random(1), 4, turns=100)
    assert not opened.done
    assert opened.ask(1)
    result = opened.result()
    assert (result.stopped_by, result.executor) == ("cancelled", "external")
    assert result.simulations > 100


class Positions(Caller):
    """Answers by the position, whatever moves led to it."""

    def __init__(self, log: Path) -> None:
        super().__init__()
        self.log, spec = log, f"{COUNTING}:log={log}"
        self.evaluator = load_evaluator(spec, source_of_evaluator(spec), games.load("tictactoe"))


@pytest.mark.parametrize(
    "kind", ["plain", "one at a time", "batches", "temperature", "more lanes than moves"]
)
def test_with_a_store_each_position_is_asked_for_once_and_later_never(kind: str, tmp_path: Path) -> None:
    request = request_of(**{"evaluator_version": "1", **KINDS[kind]})
    caller, plain = Positions(tmp_path / "log"), search.open(request)
    caller.run(plain, random.Random(1), 5)
    plainly = len(caller.asked)
    caller.log.write_text("")
    first = search.open(request, evaluations=tmp_path / "kept")
    caller.run(first, random.Random(2), 5)
    asked = caller.log.read_text().split()
    assert len(asked) == len(set(asked)) == first.result().playouts
    assert len(asked) <= plainly - (kind == "one at a time")
    second = search.open(request, evaluations=tmp_path / "kept")
    assert (second.done, second.ask(9), second.result().playouts) == (True, [], 0)
    assert first.result().digest == second.result().digest == plain.result().digest
    other = replace(request, evaluator_version="2")
    assert not search.open(other, evaluations=tmp_path / "kept").done


def test_a_store_needs_to_know_who_evaluates(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        search.open(request_of(), evaluations=tmp_path / "kept")
    assert caught.value.field == "evaluator_version"
