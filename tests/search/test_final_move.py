"""Which move is played when the search is over."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from games import InvalidInput
from search.request import FINAL_MOVES, SearchRequest
from search.run_inline import run
from search.summary import Child, choose
from tests.search.common import run_search, undisturbed
from tests.search.goldens import KINDS

STEADY = Child(move=1, visits=100, value=0.5)
BRIGHT = Child(move=2, visits=4, value=0.9)
SOUND = Child(move=3, visits=90, value=0.55)
CHILDREN = [STEADY, BRIGHT, SOUND]
TIED = [Child(move=move, visits=10, value=value) for move, value in ((7, 0.1), (5, 0.2), (3, 0.2))]


BOTH = Child(move=4, visits=200, value=0.95)
OFTEN, SELDOM = Child(move=4, visits=10, value=0.1, votes=3), Child(move=5, visits=50, value=0.2, votes=2)


@pytest.mark.parametrize(
    ("children", "rule", "expected"),
    [
        # The most visited, the most valued, and the best lower bound: value - 1 / sqrt(visits), which is
        # 0.5 - 0.1, 0.9 - 0.5, 0.55 - 0.105.
        (CHILDREN, "robust", STEADY),
        (CHILDREN, "max", BRIGHT),
        (CHILDREN, "secure", SOUND),
        # Both, or else the robust one.
        ([*CHILDREN, BOTH], "robust-max", BOTH),
        (CHILDREN, "robust-max", STEADY),
        # Votes go before visits.
        ([OFTEN, SELDOM], "vote", OFTEN),
        ([replace(OFTEN, votes=2), SELDOM], "vote", SELDOM),
        # Forced visits count for a better move alone, and value is value.
        ([replace(STEADY, forced=True), SOUND, BRIGHT], "robust", SOUND),
        ([replace(BOTH, forced=True), SOUND], "robust", replace(BOTH, forced=True)),
        ([STEADY, replace(BRIGHT, forced=True)], "robust", STEADY),
        ([replace(STEADY, forced=True)], "robust", replace(STEADY, forced=True)),
        ([replace(OFTEN, forced=True), SELDOM], "vote", SELDOM),
        ([STEADY, replace(BRIGHT, forced=True)], "max", replace(BRIGHT, forced=True)),
        # Ties go to the more visited, the better, and the lower move.
        (TIED, "robust", TIED[2]),
        (TIED, "robust-max", TIED[2]),
        ([Child(1, 5, 0.2), Child(2, 6, 0.2)], "max", Child(2, 6, 0.2)),
        ([Child(2, 5, 0.2), Child(1, 5, 0.2)], "max", Child(1, 5, 0.2)),
        ([Child(2, 5, 0.2), Child(1, 5, 0.2)], "secure", Child(1, 5, 0.2)),
    ],
)
def test_each_rule_has_its_move(children: list[Child], rule: str, expected: Child) -> None:
    assert choose(children, rule) == expected


@pytest.mark.parametrize("rule", FINAL_MOVES)
def test_wins_go_before_all_and_losses_after_all(rule: str) -> None:
    """Of several wins, or if all lose, the most visited."""
    wins = [Child(move=move, visits=move, value=1.0, won=True) for move in (2, 5, 3)]
    assert choose([*CHILDREN, wins[0]], rule) == wins[0]
    assert choose([*CHILDREN, *wins], rule) == wins[1]
    loss = Child(move=8, visits=1000, value=-1.0, lost=True)
    longest = Child(move=9, visits=2000, value=-1.0, lost=True)
    assert choose([loss, Child(1, 1, -0.9)], rule).move == 1
    assert choose([loss, longest], rule) == longest


@given(
    st.lists(
        st.builds(
            Child,
            move=st.integers(0, 100),
            visits=st.integers(1, 50),
            value=st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]),
        ),
        min_size=1,
        unique_by=lambda child: child.move,
    ),
    st.sampled_from(FINAL_MOVES),
    st.randoms(use_true_random=False),
)
def test_the_order_of_the_children_does_not_matter(children: list[Child], rule: str, draw: object) -> None:
    shuffled = children.copy()
    draw.shuffle(shuffled)  # type: ignore[attr-defined]
    assert choose(children, rule) == choose(shuffled, rule)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind]["strategy"] != "leaf"])
def test_a_search_that_stops_early_has_the_move_of_the_whole_one(kind: str) -> None:
    """There the second player must block the column d, and the first completes a four."""
    for moves in (("d", "a", "d", "a", "d"), ("d", "a", "d", "a", "d", "g")):
        request = SearchRequest("connect_four", moves=moves, simulations=3000, seed=5, **KINDS[kind])
        early, whole = undisturbed(replace(request, early_stop=True)), run_search(request)[0]
        assert early.move == whole.move
        assert early.move == "d" or "urgency" in kind
        assert early.stopped_by == "decided" or request.solver
        assert early.simulations < 3000
        best, *others = sorted((child.visits for child in early.children), reverse=True)
        assert request.solver or best - max(others) > 3000 - early.simulations


def test_in_seconds_what_is_left_is_estimated() -> None:
    moves = ("d", "a", "d", "a", "d", "g")
    for strategy in ("root", "tree", "leaf"):
        request = SearchRequest("connect_four", moves=moves, seconds=2.0, strategy=strategy, lanes=1)
        # One lane of tree has few jobs by itself.
        result = run(replace(request, early_stop=True, rounds=16 if strategy == "tree" else None))
        assert (result.move, result.stopped_by) == ("d", "decided")
        assert 0.9 < result.elapsed_s < 2.0


def test_only_visits_decide_early() -> None:
    with pytest.raises(InvalidInput, match=r"^final_move: .*robust with early_stop"):
        SearchRequest("tictactoe", early_stop=True, final_move="max")
    with pytest.raises(
        InvalidInput, match=r"^strategy: .*root or tree with early_stop, or a budget in seconds"
    ):
        SearchRequest("tictactoe", early_stop=True, strategy="leaf", simulations=100)
