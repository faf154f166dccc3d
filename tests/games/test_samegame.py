"""SameGame against a slow twin written from the rules, and against positions set by hand."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import games
from games import Game, InvalidInput
from games.game import State
from games.samegame import SameGame
from tests.games.common import JIT, SPECS

Cell = tuple[int, int]
"""(column, row), row 0 at the bottom."""


class NaiveSameGame:
    """A board of columns of stones from the bottom, and its score."""

    def __init__(self, columns: list[list[str]]) -> None:
        """``columns`` are copied."""
        self.columns = [column.copy() for column in columns]
        self.score = 0
        self._add_end()

    def groups(self) -> list[set[Cell]]:
        """All groups of two stones or more."""
        seen: set[Cell] = set()
        groups = []
        for x, column in enumerate(self.columns):
            for y in range(len(column)):
                if (x, y) not in seen:
                    group = self._group((x, y))
                    seen |= group
                    if len(group) > 1:
                        groups.append(group)
        return groups

    def play(self, group: set[Cell]) -> None:
        """Remove a group."""
        self.score += (len(group) - 2) ** 2
        kept = [
            [stone for y, stone in enumerate(column) if (x, y) not in group]
            for x, column in enumerate(self.columns)
        ]
        self.columns = [column for column in kept if column]
        self._add_end()

    def _add_end(self) -> None:
        if self.groups():
            return
        left = Counter(stone for column in self.columns for stone in column)
        self.score += -sum((number - 2) ** 2 for number in left.values()) if left else 1000

    def _group(self, start: Cell) -> set[Cell]:
        group: set[Cell] = set()
        left = [start]
        while left:
            x, y = cell = left.pop()
            if cell in group or self._at(cell) != self._at(start):
                continue
            group.add(cell)
            left += [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)]
        return group

    def _at(self, cell: Cell) -> str | None:
        x, y = cell
        inside = 0 <= x < len(self.columns) and 0 <= y < len(self.columns[x])
        return self.columns[x][y] if inside else None


SMALL = "samegame:columns=4,rows=4"
SIZES = [
    *[spec for spec in SPECS if spec.startswith("samegame")],
    "samegame:columns=16,rows=15,colours=3,seed=5",
    "samegame:columns=5,rows=4,colours=2,seed=0",
]


def _columns(game: Game, state: State) -> list[list[str]]:
    """The letters of each column from the bottom, as they are drawn."""
    rows = game.board(state).rows[::-1]
    return [[row[x].text for row in rows if row[x].text != "."] for x in range(game.columns)]


@pytest.mark.parametrize("spec", SIZES)
def test_random_games_agree_with_the_naive_twin(spec: str) -> None:
    game = games.load(spec)
    for seed in range(10 if JIT else 1):
        draw = random.Random(seed)
        state = game.initial_state()
        naive = NaiveSameGame(_columns(game, state))
        while groups := {min(group): group for group in naive.groups()}:
            assert not game.calls.is_terminal(state)
            assert game.calls.returns(state) == naive.score
            legal = game.legal_moves(state)
            assert sorted((move % game.columns, move // game.columns) for move in legal) == sorted(groups)
            x, y = draw.choice(sorted(groups))
            naive.play(groups[x, y])
            game.calls.play(state, y * game.columns + x)
            assert [column for column in _columns(game, state) if column] == naive.columns
        assert game.calls.is_terminal(state)
        assert game.calls.returns(state) == naive.score


def test_any_cell_of_a_group_names_it() -> None:
    game = games.load(SMALL)
    state = game.parse_position("r3/rg2/rgb1/rggy 0")
    assert {game.parse_move(state, text) for text in ("a1", "a2", "a3", "a4")} == {0}
    for text in ("c2", "d1", "d4", "e1"):
        with pytest.raises(InvalidInput, match="a neighbour of the same colour, such as a1"):
            game.parse_move(state, text)


@pytest.mark.slow
def test_priority_keeps_the_colour_of_most_stones() -> None:
    game = games.load("samegame")
    state = game.initial_state()
    assert game.calls.priority is not None
    for _ in range(20):
        letters = [cell.text for row in game.board(state).rows for cell in row if cell.text != "."]
        most = max(sorted(set(letters), key="RGBYVCO".index), key=letters.count)
        looks = {}
        for move in game.legal_moves(state):
            row, column = divmod(move, game.columns)
            colour = game.board(state).rows[game.rows - 1 - row][column].text
            looks[move] = game.calls.priority(state, move)
            assert looks[move] == (colour != most)
        game.calls.play(state, max(looks, key=lambda move: (looks[move], move)))


def test_boards_differ_by_seed_and_have_a_group() -> None:
    boards = set()
    for seed in range(100):
        game = games.load(f"samegame:columns=4,rows=4,colours=7,seed={seed}")
        boards.add(game.format_position(game.initial_state()))
        assert game.legal_moves(game.initial_state())
    assert len(boards) == 100


def test_the_default_game_has_the_size_of_published_ones() -> None:
    game = games.load("samegame")
    assert isinstance(game, SameGame)
    assert (game.columns, game.rows, game.max_plies) == (15, 15, 112)
    assert (game.num_players, game.rewards, game.has_chance, game.has_lines) == (1, True, False, True)
