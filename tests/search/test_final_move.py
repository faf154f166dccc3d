"""Which move is played when the search is over."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from search.request import FINAL_MOVES
from search.summary import Child, choose

STEADY = Child(move=1, visits=100, value=0.5)
BRIGHT = Child(move=2, visits=4, value=0.9)
SOUND = Child(move=3, visits=90, value=0.55)
CHILDREN = [STEADY, BRIGHT, SOUND]


def test_robust_is_the_most_visited() -> None:
    assert choose(CHILDREN, "robust") == STEADY


def test_max_is_the_most_valued() -> None:
    assert choose(CHILDREN, "max") == BRIGHT


def test_secure_has_the_best_lower_bound() -> None:
    """0.5 - 0.1, 0.9 - 0.5, 0.55 - 0.105: value - 1 / sqrt(visits)."""
    assert choose(CHILDREN, "secure") == SOUND


def test_robust_max_is_both_or_the_robust_one() -> None:
    both = Child(move=4, visits=200, value=0.95)
    assert choose([*CHILDREN, both], "robust-max") == both
    assert choose(CHILDREN, "robust-max") == STEADY


def test_votes_go_before_visits() -> None:
    often, seldom = Child(move=4, visits=10, value=0.1, votes=3), Child(move=5, visits=50, value=0.2, votes=2)
    assert choose([often, seldom], "vote") == often
    assert choose([Child(move=4, visits=10, value=0.1, votes=2), seldom], "vote") == seldom


def test_ties_go_to_the_more_visited_the_better_and_the_lower_move() -> None:
    a, b, c = (Child(move=move, visits=10, value=value) for move, value in ((7, 0.1), (5, 0.2), (3, 0.2)))
    assert choose([a, b, c], "robust") == c
    assert choose([a, b, c], "robust-max") == c
    assert choose([Child(1, 5, 0.2), Child(2, 6, 0.2)], "max").move == 2
    assert choose([Child(2, 5, 0.2), Child(1, 5, 0.2)], "max").move == 1
    assert choose([Child(2, 5, 0.2), Child(1, 5, 0.2)], "secure").move == 1


def test_a_proven_win_goes_before_all() -> None:
    win = Child(move=9, visits=1, value=1.0, won=True)
    for rule in FINAL_MOVES:
        assert choose([*CHILDREN, win], rule) == win


def test_of_several_wins_the_most_visited() -> None:
    wins = [Child(move=move, visits=move, value=1.0, won=True) for move in (2, 5, 3)]
    for rule in FINAL_MOVES:
        assert choose([*CHILDREN, *wins], rule) == wins[1]


def test_a_proven_loss_is_played_only_if_all_lose() -> None:
    loss = Child(move=8, visits=1000, value=-1.0, lost=True)
    longest = Child(move=9, visits=2000, value=-1.0, lost=True)
    for rule in FINAL_MOVES:
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
