"""Othello in positions set by hand, and against known numbers."""

from __future__ import annotations

from functools import partial

import pytest

import games
from games import InvalidInput
from games import othello as rules
from games.grid import format_grid
from games.othello import Othello
from tests.games.common import best_value, loaded

SIZES = ["othello", "othello:size=6", "othello:size=4"]


_load = partial(loaded, Othello)


@pytest.mark.parametrize("spec", SIZES)
@pytest.mark.parametrize("owner", [games.FIRST, games.SECOND])
def test_one_disc_turns_over_runs_in_all_eight_directions(spec: str, owner: int) -> None:
    """A queen's lines from every cell: discs of the mover at the edges, of the other in between."""
    game = _load(spec)
    size = game.size
    for row in range(size):
        for column in range(size):
            cells: list[list[int | None]] = [[None] * size for _ in range(size)]
            turned = 0
            for down in (-1, 0, 1):
                for right in (-1, 0, 1):
                    run = [(row + k * down, column + k * right) for k in range(1, size)]
                    run = [
                        each for each in run if (down, right) != (0, 0) and -1 < min(each) <= max(each) < size
                    ]
                    for r, c in run:
                        cells[r][c] = 1 - owner
                    if run:
                        cells[run[-1][0]][run[-1][1]] = owner
                        turned += len(run) - 1
            state = game.parse_position(format_grid(cells, "bw", owner))
            count = int(state[owner]).bit_count()
            assert row * 8 + column in game.legal_moves(state)
            game.rules.play(state, row * 8 + column)
            assert int(state[owner]).bit_count() == count + 1 + turned


def test_runs_end_at_the_edge_of_the_board() -> None:
    """Discs at the end of a row and at the beginning of the next are no neighbours."""
    for text in ("6bw/w7/8/8/8/8/8/8 b", "8/7w/w7/1b6/8/8/8/8 b", "b6w/7w/8/8/8/8/8/8 b"):
        assert _load().parse_position(text)[rules.LEGAL] == 0
    assert _load("othello:size=6").parse_position("4bw/6/6/6/6/6 b")[rules.LEGAL] == 0


def test_a_pass_is_the_only_move_of_who_has_none() -> None:
    game = _load()
    state = game.parse_position("wb6/8/8/8/8/8/8/8 b")
    assert not game.rules.is_terminal(state)
    assert game.legal_moves(state) == [rules.PASS_MOVE]
    with pytest.raises(InvalidInput, match="pass: the player to move cannot"):
        game.parse_move(state, "c1")
    game.play_text(state, ["pass"])
    assert game.format_position(state) == "wb6/8/8/8/8/8/8/8 w"
    game.play_text(state, ["c1"])
    assert game.rules.is_terminal(state)
    assert game.outcome_text(state) == "white wins 0-3"
    assert game.cells_of(rules.PASS_MOVE) is None


@pytest.mark.slow
def test_the_smallest_board_has_its_known_value() -> None:
    """Othello 4x4 is won by the second player: here by trying everything."""
    game = _load("othello:size=4")
    assert best_value(game, game.parse_position("4/1wb1/1bw1/4 b"), {}) == -1.0
