"""Whatever the solver proves is what exhaustive play says, and a proven position ends the search."""

from __future__ import annotations

import random
from functools import cache

import pytest

from search.request import STRATEGIES, SearchRequest
from search.tree.arena import DRAWN, UNPROVEN
from tests.games.common import JIT
from tests.search.common import KNOBS, grow, nodes_of, run_search
from tests.search.naive import Node

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
Cells = tuple[int, ...]
"""[9] 1: the first player's mark, -1: the second's, 0: empty."""
EMPTY: Cells = (0,) * 9


def winner(cells: Cells) -> int:
    return next((cells[a] for a, b, c in LINES if cells[a] == cells[b] == cells[c] != 0), 0)


def after(cells: Cells, move: int) -> Cells:
    mover = 1 - 2 * (sum(map(abs, cells)) % 2)
    return (*cells[:move], mover, *cells[move + 1 :])


@cache
def value(cells: Cells) -> int:
    """The first player's return under best play."""
    if winner(cells) or 0 not in cells:
        return winner(cells)
    best = max if sum(cells) == 0 else min
    return best(value(after(cells, move)) for move in range(9) if cells[move] == 0)


def text_of(move: int) -> str:
    return "abc"[move % 3] + "123"[move // 3]


def played(moves: str) -> Cells:
    cells = EMPTY
    for text in moves.split():
        cells = after(cells, "abc".index(text[0]) + 3 * "123".index(text[1]))
    return cells


def random_line(seed: int) -> str:
    """The moves to a random position in which the game is not over."""
    draw = random.Random(seed)
    cells, line = EMPTY, []
    for _ in range(draw.randint(0, 7)):
        move = draw.choice([move for move in range(9) if cells[move] == 0])
        if winner(after(cells, move)):
            break
        cells = after(cells, move)
        line.append(text_of(move))
    return " ".join(line)


def check_proofs(node: Node, cells: Cells) -> int:
    """Compare each proven node with exhaustive play; how many there are."""
    if node.proof != UNPROVEN:
        assert DRAWN - node.proof == value(cells)
    return (node.proof != UNPROVEN) + sum(
        check_proofs(child, after(cells, child.move)) for child in node.children
    )


def test_the_twin_knows_the_value_of_the_game() -> None:
    assert value(EMPTY) == 0
    assert value(played("a1 b1")) == 1
    assert value(played("a1 b2 c3")) == 0


@pytest.mark.parametrize("seed", range(120 if JIT else 25))
@pytest.mark.parametrize("urgency", [float("inf"), 0.3])
def test_what_is_proven_is_right(seed: int, urgency: float) -> None:
    line = random_line(seed)
    params = KNOBS._replace(solver=True, first_play_urgency=urgency)
    tree = grow("tictactoe", 300, seed, moves=line, params=params)
    num_proven = check_proofs(nodes_of(tree), played(line))
    assert num_proven > 0 or played(line).count(0) > 7


@pytest.mark.parametrize("moves", ["a1 b2 c3", "b2 a1 a2"])
def test_a_draw_is_proven(moves: str) -> None:
    params = KNOBS._replace(solver=True, exploration=4.0)
    root = nodes_of(grow("tictactoe", 100_000, 1, moves=moves, params=params))
    assert root.proof == DRAWN
    assert root.visits < 100_000
    assert check_proofs(root, played(moves)) > 50


def test_nothing_is_proven_without_the_solver() -> None:
    assert check_proofs(nodes_of(grow("tictactoe", 500, 1, moves="a1 b1")), played("a1 b1")) == 0


WON = [
    # One move wins.
    ("tictactoe", "a1 b1 a2 b2", {"a3"}),
    ("tictactoe", "a1 b1 a2 b2 c3", {"a3", "b3"}),
    ("gomoku:size=5", "a1 a5 b1 b5 c1 c5 d1 d5", {"e1"}),
    # Two threats at once, two moves on.
    ("tictactoe", "a1 b1", {"a2", "a3", "b2"}),
]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("game", "moves", "winning"), WON)
def test_a_won_position_ends_the_search(strategy: str, game: str, moves: str, winning: set[str]) -> None:
    asked = 40_000
    request = SearchRequest(
        game, moves=tuple(moves.split()), strategy=strategy, lanes=4, simulations=asked, solver=True, seed=1
    )
    result, session = run_search(request)
    assert result.stopped_by == "proven"
    assert 0 < result.simulations < asked
    assert result.answer.best_move in winning
    assert result.answer.value == 1.0
    assert session.outcome == "proven"


def test_the_expected_moves_are_all_that_win() -> None:
    for game, moves, winning in WON:
        if game == "tictactoe":
            cells = played(moves)
            best = 1 if sum(cells) == 0 else -1
            wins = {
                text_of(move) for move in range(9) if not cells[move] and value(after(cells, move)) == best
            }
            assert winning == wins


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("final_move", ["robust", "max", "robust-max", "secure"])
def test_a_lost_position_ends_the_search_too(strategy: str, final_move: str) -> None:
    """The second player can stop one of two threats."""
    moves = "a1 b1 a2 a3 b2"
    assert value(played(moves)) == 1
    request = SearchRequest(
        "tictactoe",
        moves=tuple(moves.split()),
        strategy=strategy,
        lanes=3,
        simulations=30_000,
        solver=True,
        final_move=final_move,
        seed=2,
    )
    result, _ = run_search(request)
    assert result.stopped_by == "proven"
    assert result.answer.value == -1.0
    assert result.simulations < 30_000


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_the_solver_a_won_position_is_searched_to_the_end(strategy: str) -> None:
    request = SearchRequest(
        "tictactoe", moves=("a1", "b1", "a2", "b2"), strategy=strategy, lanes=4, simulations=501, seed=1
    )
    result, _ = run_search(request)
    assert (result.stopped_by, result.simulations, result.answer.best_move) == ("simulations", 501, "a3")
