"""2048 against a slow twin, and in positions set by hand."""

from __future__ import annotations

import random
from itertools import groupby, pairwise

import numpy as np
import pytest

import games
from games import Game
from games.game import CHANCE, State
from games.twenty48 import DIRECTIONS, Twenty48, rules
from tests.games.common import JIT, random_game

Rows = list[list[int]]
"""Numbers of tiles from the top row down, 0 for an empty cell."""


def _rows(game: Game, state: State) -> Rows:
    return [[0 if cell.text == "." else int(cell.text) for cell in row] for row in game.board(state).rows]


def _slid(line: list[int]) -> tuple[list[int], int]:
    """A line after a move towards its beginning, and the sum of the tiles that were made."""
    tiles = [tile for tile in line if tile]
    made, score = [], 0
    while tiles:
        tile = tiles.pop(0)
        if tiles and tiles[0] == tile:
            tile += tiles.pop(0)
            score += tile
        made.append(tile)
    return made + [0] * (len(line) - len(made)), score


def _moved(rows: Rows, direction: str) -> tuple[Rows, int]:
    turned = [list(line) for line in (zip(*rows, strict=True) if direction in ("up", "down") else rows)]
    back = -1 if direction in ("right", "down") else 1
    slid = [_slid(line[::back]) for line in turned]
    lines = [line[::back] for line, _ in slid]
    if direction in ("up", "down"):
        lines = [list(line) for line in zip(*lines, strict=True)]
    return lines, sum(score for _, score in slid)


@pytest.mark.parametrize("spec", ["2048", "2048:seed=5,tile=128"])
def test_random_games_agree_with_the_naive_twin(spec: str) -> None:
    game = games.load(spec)
    last = int(game.options["tile"])
    for seed in range(30 if JIT else 2):
        for state, legal, move in random_game(game, seed):
            rows, score = _rows(game, state), game.calls.returns(state)
            texts = [game.format_move(state, each) for each in legal]
            after = state.copy()
            game.calls.play(after, move)
            if game.calls.current_player(state) == CHANCE:
                free = [f"{'abcd'[x]}{4 - y}" for y in range(4) for x in range(4) if not rows[y][x]]
                assert sorted(texts) == sorted(f"{cell}={tile}" for cell in free for tile in (2, 4))
                name, tile = game.format_move(state, move).split("=")
                rows[4 - int(name[1])]["abcd".index(name[0])] = int(tile)
            else:
                open_ones = [
                    text for text in ("up", "right", "down", "left") if _moved(rows, text)[0] != rows
                ]
                assert texts == open_ones
                rows, gained = _moved(rows, game.format_move(state, move))
                score += gained
            assert (_rows(game, after), game.calls.returns(after)) == (rows, score)
            stuck = all(_moved(rows, text)[0] == rows for text in DIRECTIONS)
            due = game.calls.current_player(state) != CHANCE
            over = max(map(max, rows)) >= last or (stuck and not due)
            assert game.calls.is_terminal(after) == over


def test_start_has_two_tiles_that_depend_on_the_seed() -> None:
    starts = [
        _rows(game, game.initial_state()) for game in (games.load(f"2048:seed={n}") for n in range(200))
    ]
    tiles = [[tile for row in rows for tile in row if tile] for rows in starts]
    assert {len(each) for each in tiles} == {2}
    assert {tile for each in tiles for tile in each} == {2, 4}
    assert len({str(rows) for rows in starts}) > 80


def test_each_episode_has_its_own_start() -> None:
    game = games.load("2048:seed=3")
    starts = [game.format_position(game.episode_state(episode)) for episode in range(20)]
    assert len(set(starts)) > 12
    assert starts == [game.format_position(game.episode_state(episode)) for episode in range(20)]


def _worth(line: list[int]) -> float:
    """The worth of a row or column, mark by mark."""
    ranks = [tile.bit_length() - 1 if tile else 0 for tile in line]
    runs = [len(list(run)) for _, run in groupby(rank for rank in ranks if rank)]
    steps = [after**4 - before**4 for before, after in pairwise(ranks)]
    disorder = min(sum(max(step, 0) for step in steps), sum(max(-step, 0) for step in steps))
    merging = sum(run for run in runs if run > 1)
    return (
        rules.ALIVE
        + rules.EMPTY * ranks.count(0)
        + rules.MERGING * merging
        - rules.WEIGHT * sum(rank**3.5 for rank in ranks)
        - rules.DISORDER * disorder
    )


def test_the_worth_of_a_board_adds_up_the_marks_of_its_rows_and_columns() -> None:
    game, draw = games.load("2048"), random.Random(5)
    assert game.rules.evaluate is not None and game.rules.priority is not None
    for _ in range(200 if JIT else 10):
        tiles = [draw.choice([0, 0, 2, 2, 4, 8, 64, 2048]) for _ in range(16)]
        rows = [tiles[start : start + 4] for start in range(0, 16, 4)]
        text = "/".join(",".join(str(tile or ".") for tile in row) for row in rows)
        state = game.parse_position(f"{text} 0")
        lines = [*rows, *map(list, zip(*rows, strict=True))]
        assert game.rules.evaluate(state) == pytest.approx(max(sum(map(_worth, lines)), 0.0), abs=4.0)
        for move in game.legal_moves(state):
            after = state.copy()
            game.calls.play(after, move)
            made = game.calls.returns(after)
            assert game.rules.priority(state, move) == game.rules.evaluate(after) + made


@pytest.mark.skipif(not JIT, reason="needs thousands of playouts")
def test_tiles_come_as_often_as_they_should() -> None:
    game = games.load("2048")
    state = game.parse_position("2,4,2,4/4,2,4,2/2,4,2,4/4,2,.,. 0 tile")
    assert game.rules.chance is not None
    stream, moves = games.rng.new_stream(3), np.zeros(game.max_moves, dtype=np.uint16)
    drawn = [game.format_move(state, game.rules.chance(state, moves, stream)) for _ in range(10_000)]
    for text, share in (("c1=2", 0.45), ("d1=2", 0.45), ("c1=4", 0.05), ("d1=4", 0.05)):
        assert abs(drawn.count(text) / 10_000 - share) < 6 * (share * (1 - share) / 10_000) ** 0.5


@pytest.mark.parametrize(
    ("tile", "plies"),
    [
        # All cells but those for a 4: 15 tiles of 4 and one of 4.
        (8, 63),
        # Seven tiles of 1024, and 1024, 512, ... 4.
        (2048, 7 * 1024 + 2044 - 1),
        (32768, 4 * 16384 + 16380 - 1),
    ],
)
def test_bound_of_plies(tile: int, plies: int) -> None:
    assert Twenty48(tile=tile).max_plies == plies
