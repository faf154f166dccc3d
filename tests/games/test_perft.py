"""Counts of move sequences against numbers that independent programs computed; recorded games."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

import games
from games import user_games as own
from games.analysis.perft import divide, perft
from tests.games.common import JIT
from tests.games.playthroughs import FILES, replay

UNCOMPILED = 100_000
"""The largest count that is made in plain Python."""


class Suite(NamedTuple):
    """The counts of depths 1, 2, ... from the position after some moves of a game."""

    game: str
    moves: str
    counts: list[int]


SUITES = [
    # Equal to OpenSpiel 2.0.2's tic_tac_toe and gomoku(size=12).
    Suite("tictactoe", "", [9, 72, 504, 3_024, 15_120, 54_720, 148_176]),
    Suite("gomoku", "", [144, 20_592, 2_924_064]),
    # Equal to OpenSpiel 2.0.2's connect_four, also with rows=5,columns=4.
    Suite("connect_four", "", [7, 49, 343, 2_401, 16_807, 117_649, 823_536, 5_673_234]),
    Suite("connect_four:rows=5,columns=4", "", [4, 16, 64, 256, 1_024, 4_092, 16_296, 63_420, 246_264]),
    # Published counts (Paul Bynum's and others'), equal to OpenSpiel 2.0.2's othello.
    Suite("othello", "", [4, 12, 56, 244, 1_396, 8_200, 55_092, 390_216, 3_005_288]),
    # Equal to OpenSpiel 2.0.2's breakthrough with the same rows and columns.
    Suite("breakthrough", "", [22, 484, 11_132, 256_036]),
    Suite("breakthrough:rows=6,columns=5", "", [13, 169, 2_331, 31_545, 453_608]),
    Suite("breakthrough:rows=4,columns=4", "", [10, 100, 814, 6_324, 46_350, 303_122]),
    # Equal to OpenSpiel 2.0.2's hex with the same size and swap.
    Suite("hex", "", [121, 14_641, 1_742_400]),
    Suite("hex:size=3", "", [9, 81, 576, 3_528, 18_144, 69_840, 201_600]),
    Suite("hex:size=3,swap=no", "", [9, 72, 504, 3_024, 15_120, 54_720, 146_880]),
    # A separate program's count, cells at Chebyshev distance 2 at most.
    Suite("gomoku:candidates=2", "f6", [24, 816, 34_711]),
    # No five is possible in so few plies: n (n - 1) (n - 2).
    Suite("gomoku:size=5", "", [25, 600, 13_800]),
    Suite("gomoku:size=20,overline=not", "", [400, 159_600]),
    # The tree that starts from a pile of 7 has levels of 1, 3, 6, 7, 6 and 1 nodes.
    Suite("grundy:pile=7", "", [3, 6, 7, 6, 1, 0]),
    # A separate program's count over multisets, and over those of tests/games/naive.py.
    Suite("grundy", "", [9, 77, 586, 3_920, 22_661, 112_088, 468_809]),
    Suite("grundy:pile=50", "", [24, 564, 12_708, 273_480]),
    # Equal to OpenSpiel's nine_mens_morris; the longer counts are in `make perft`.
    Suite("morris", "", [24, 552, 12_144, 255_024, 5_100_480]),
    # Separate programs' counts, for five and seven stones by tests/games/naive_morris.py.
    Suite("morris:variant=five", "", [16, 240, 3_360, 43_680, 524_160]),
    Suite("morris:variant=five", "c4 b2 e1 c1 c5 a3 e5 d2 a1 b3", [5, 29, 157, 869, 4_230, 23_604, 121_381]),
    Suite("morris:variant=seven", "", [17, 272, 4_080, 57_120, 742_560]),
    Suite(
        "morris:variant=seven",
        "c4 e5 a3 c5 b2 c2 d2 e3 b3 b4 d3 a5 xd3 a1 e1",
        [6, 31, 147, 854, 4_418, 23_278, 131_803, 685_511],
    ),
    Suite("morris:variant=six", "", [16, 240, 3_360, 43_680, 524_160, 5_698_368]),
    Suite("morris:variant=lasker", "", [24, 552, 13_552, 319_176, 7_871_032]),
    Suite("morris:variant=twelve", "", [24, 552, 12_144, 255_024, 5_100_480]),
    Suite("morris:variant=three,move=any", "", [9, 72, 504, 3_024, 15_120, 54_720, 444_528]),
    Suite("morris:variant=three", "", [9, 72, 504, 3_024, 15_120, 54_720, 148_896]),
    # Official: published with a fork of OpenSpiel, made by yet another engine; seed: a separate program.
    Suite("thud", "", [656, 22_624, 14_142_624] if JIT else [656, 22_624]),
    Suite("thud:first=trolls", "", [32, 20_360] if JIT else [32]),
    Suite("thud:ruleset=seed", "", [656, 36_296, 22_604_592] if JIT else [656]),
    Suite("thud:ruleset=seed,first=trolls", "", [56, 35_472] if JIT else [56]),
    # By the naive twins. OpenSpiel 2.0.2 has 434 for 2048 at depth 3: some merges are missing.
    Suite("2048", "", [4, 116, 436, 12_088, 45_036, 1_191_832]),
    Suite("2048:seed=7,tile=64", "", [3, 88, 318, 8_876, 32_904, 877_592]),
    Suite("samegame", "", [52, 2_616, 127_716]),
    Suite("samegame:columns=4,rows=4,colours=3,seed=1", "", [3, 7, 13, 18, 10, 0]),
    # Equal to OpenSpiel 2.0.2's pig with the same winscore and horizon.
    Suite("pig", "", [2, 8, 20, 68, 188, 596, 1_724, 5_300]),
    Suite("pig:goal=10,moves=6", "", [2, 8, 20, 68, 182, 542, 1_455, 3_633, 7_387, 8_700, 3_906]),
    # By hand: shots and answers in turn; in a race the other player then has all cells before him.
    Suite("battleship", "", [100, 200, 20_000, 40_000]),
    Suite("battleship:task=solo", "", [100, 200, 19_800, 39_600]),
    Suite("battleship:announce_sunk=yes", "a1 hit a1 miss", [99, 297, 29_403]),
    # By hand: a3 and c3 end the game; after b3 the last two cells are filled in either order.
    Suite("tictactoe", "a1 b1 c1 a2 b2 c2", [3, 2, 2]),
]


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: f"{suite.game} {suite.moves}".strip())
def test_counts_of_every_depth(suite: Suite) -> None:
    game = games.load(suite.game)
    state = game.initial_state()
    game.play_text(state, suite.moves.split())
    for depth, expected in enumerate(suite.counts, start=1):
        if expected > UNCOMPILED and not JIT:
            break
        count = perft(game, state, depth)
        if count != expected:
            parts = "\n".join(f"{game.format_move(state, m)}: {n}" for m, n in divide(game, state, depth))
            pytest.fail(f"{suite.game} depth {depth}: {count}, expected {expected}\n{parts}")


def test_divide_adds_up() -> None:
    game = games.load("gomoku:candidates=1")
    state = game.initial_state()
    game.play_text(state, ["f6", "g6"])
    parts = divide(game, state, 3)
    assert [move for move, _ in parts] == game.legal_moves(state)
    assert sum(count for _, count in parts) == perft(game, state, 3)


def test_depth_zero_is_one_and_a_finished_game_has_no_sequences() -> None:
    game = games.load("tictactoe")
    state = game.parse_position("xxx/oo./... o")
    assert perft(game, state, 0) == 1
    assert perft(game, state, 1) == 0
    assert divide(game, state, 1) == []


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_recorded_games_go_as_they_went(file: Path) -> None:
    recorded = file.read_text(encoding="utf-8")
    assert replay(recorded) == recorded
    assert recorded.splitlines()[-1].startswith("returns ")


def test_every_game_has_a_recording() -> None:
    recorded = {file.read_text(encoding="utf-8").split("\ngame ")[1].split("\n")[0] for file in FILES}
    assert {games.load(spec).name for spec in recorded} == {*games.names()} - {*own.installed()}
