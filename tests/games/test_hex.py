"""Hex on full boards, and in positions set by hand."""

from __future__ import annotations

import random
from functools import partial

import pytest

import games
from games import InvalidInput
from games.board import board_svg, draw
from games.hex import Hex
from tests.games.common import JIT, best_value, loaded

_load = partial(loaded, Hex)
NEIGHBOURS = [(0, 1), (1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1)]
"""Of a cell, in rows and columns: a row is half a cell to the right of the one above it."""


Cell = tuple[int, int]


def are_connected(stones: set[Cell], side: int, size: int) -> bool:
    """Whether a path of the stones leads from edge to edge: of rows for side 0, of columns for side 1."""
    reached: set[Cell] = set()
    edge = {cell for cell in stones if cell[side] == 0}
    while edge:
        reached |= edge
        around = {(row + up, column + right) for row, column in edge for up, right in NEIGHBOURS}
        edge = around & stones - reached
    return any(cell[side] == size - 1 for cell in reached)


@pytest.mark.parametrize("size", [2, 3, 5, 11, 19])
def test_on_a_full_board_exactly_one_side_is_connected(size: int) -> None:
    """Also when play goes on after the end, which only this test does."""
    game = _load(f"hex:size={size},swap=no")
    cells = [(row, column) for row in range(size) for column in range(size)]
    for seed in range(20 if JIT else 2):
        first = set(random.Random(seed).sample(cells, (size**2 + 1) // 2))
        wins = are_connected(first, 0, size)
        assert wins != are_connected({*cells} - first, 1, size)
        owners = [[int((row, column) not in first) for column in range(size)] for row in range(size)]
        state = game.state_of(owners, size & 1)  # type: ignore[arg-type]
        assert game.rules.is_terminal(state)
        assert game.rules.returns(state) == (1.0 if wins else -1.0)


@pytest.mark.parametrize("player", [games.FIRST, games.SECOND])
def test_any_stone_of_a_path_that_winds_may_be_the_last(player: int) -> None:
    """Down, up again and down: the last stone joins all that waited."""
    game = _load("hex:size=7,swap=no")
    path = [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (4, 2), (3, 3), (2, 4), (1, 5), (1, 6)]
    path += [(row, 6) for row in range(2, 7)]
    cells = path if player == games.FIRST else [(column, row) for row, column in path]
    for last in cells:
        owners = [
            [player if (r, c) in cells and (r, c) != last else None for c in range(7)] for r in range(7)
        ]
        state = game.state_of(owners, player)
        assert not game.rules.is_terminal(state)
        game.rules.play(state, last[0] * 7 + last[1])
        assert game.rules.is_terminal(state)
        assert game.rules.returns(state) == 1 - 2 * player


def test_a_swap_mirrors_the_first_stone() -> None:
    game = _load("hex:size=3")
    state = game.initial_state()
    game.play_text(state, ["b1"])
    assert [game.format_move(state, move) for move in game.legal_moves(state)][-1] == "swap"
    assert game.format_position(state) == "1b1/3/3 w"
    (swap,) = game.play_text(state, ["swap"])
    assert game.format_position(state) == "3/w2/3 b"
    assert game.rules.current_player(state) == games.FIRST
    assert game.cells_of(swap) is None
    board = game.board(state, swap)
    assert [(r, c) for r in range(3) for c in range(3) if board.rows[r][c].last] == [(1, 0)]
    # b1 is empty again, and there is no second swap.
    assert len(game.legal_moves(state)) == 8
    with pytest.raises(InvalidInput, match=r"an empty cell from a1 to c3$"):
        game.parse_move(state, "swap")
    game.play_text(state, ["b1", "c2", "b3", "b2"])
    assert game.rules.is_terminal(state)
    assert game.outcome_text(state) == "white wins"
    again = game.parse_position(game.format_position(state))
    assert game.rules.is_terminal(again)


@pytest.mark.slow
def test_small_boards_have_their_known_values() -> None:
    """Without swap the first player wins (John Nash); with it the second does. On 2x2, by trying everything.
    On 3x3 the first move in the middle wins, that in the acute corner loses; a half turn changes nothing."""
    for spec, value in (("hex:size=2,swap=no", 1.0), ("hex:size=2", -1.0)):
        game = _load(spec)
        assert best_value(game, game.initial_state(), {}) == value
    game = _load("hex:size=3,swap=no")
    known: dict[str, float] = {}
    after = {
        game.format_move(game.initial_state(), move): best_value(game, state, known)
        for move, state in game.successors(game.initial_state())
    }
    assert after["b2"] == 1.0 and after["a1"] == -1.0
    turned = dict(zip(after, reversed(after.values()), strict=True))
    assert after == turned


def test_rows_are_drawn_slanted() -> None:
    game = _load("hex:size=3")
    state = game.parse_position("1bw/3/3 b")
    assert draw(game.board(state), colour=False).splitlines() == [
        "1  .  B  W",
        " 2  .  .  .",
        "   3  .  .  .",
        "       a  b  c",
    ]
    drawn = board_svg(game.board(state), {(1, 1): 1.0})
    # A hexagon for each cell, one more for the heat, and four edges.
    assert [drawn.count(f"<{shape}") for shape in ("polygon", "polyline", "rect")] == [10, 4, 0]
