"""Thud against numbers of other programs, and at the corners of its rules."""

from __future__ import annotations

import re

import numpy as np
import pytest

import games
from games import Game, InvalidInput
from games.game import FIRST, SECOND, State
from tests.games.common import JIT, random_game, sample
from tests.games.test_naive_twins import THUD

SEED = "thud:ruleset=seed"
START = "dd1dd/d5d/d7d/d9d/d11d/d13d/d5TTT5d/6T*T6/d5TTT5d/d13d/d11d/d9d/d7d/d5d/dd1dd"


@pytest.mark.parametrize("counts", ["", " 0 0 0"])
def test_counts_may_be_left_out(counts: str) -> None:
    game = games.load("thud")
    state = game.parse_position(f"{START} d{counts}")
    assert np.array_equal(state, game.initial_state())


def _position(game: Game, dwarfs: str, trolls: str, mover: str) -> State:
    """The position with pieces on these cells, divided by blanks."""
    widths = [5, 7, 9, 11, 13, 15, 15, 15, 15, 15, 13, 11, 9, 7, 5]
    rows = []
    for rank in range(15, 0, -1):
        files = "ABCDEFGHJKLMNOP"[(15 - widths[rank - 1]) // 2 :][: widths[rank - 1]]
        cells = [f"{file}{rank}" for file in files]
        signs = [
            "*" if c == "H8" else "d" if c in dwarfs.split() else "T" if c in trolls.split() else "1"
            for c in cells
        ]
        rows.append(re.sub("1+", lambda empty: str(len(empty[0])), "".join(signs)))
    return game.parse_position(f"{'/'.join(rows)} {mover}")


def _texts(game: Game, state: State) -> list[str]:
    return [game.format_move(state, move) for move in game.legal_moves(state)]


def test_a_line_of_dwarfs_hurls_as_far_as_it_is_long() -> None:
    game = games.load("thud")
    for trolls, hurled in [("D8", True), ("E8", True), ("F8", True), ("G8", False)]:
        texts = _texts(game, _position(game, "A8 B8 C8 H1", trolls, "d"))
        assert (f"dC8-{trolls}x{trolls}" in texts) == hurled
    # Not over the Thudstone, nor over another piece.
    assert not [t for t in _texts(game, _position(game, "E8 F8 G8", "J8", "d")) if "x" in t]
    assert not [t for t in _texts(game, _position(game, "A8 B8 C8 D9", "E8", "d")) if t.startswith("dB8-E8")]


def test_what_a_troll_takes_is_as_the_options_say() -> None:
    pieces = ("C8 D9 P8 O1", "E7 F6 G5", "T")
    step, shove = "TE7-D8", "TE7-C9"
    for options, expected in [
        ("ruleset=seed", {f"{step}xC8xD9", f"{shove}xC8xD9"}),
        ("", {step, f"{step}xC8xD9", f"{shove}xC8xD9"}),
        ("shove_requires_capture=no", {step, f"{step}xC8xD9", shove, f"{shove}xC8xD9"}),
        ("troll_capture=one_or_none", {step, f"{step}xC8", f"{step}xD9", f"{shove}xC8", f"{shove}xD9"}),
    ]:
        game = games.load(f"thud:{options}" if options else "thud")
        texts = _texts(game, _position(game, *pieces))
        assert {t for t in texts if t.split("x")[0] in (step, shove)} == expected


def test_what_is_taken_may_be_left_out_where_one_move_is_meant() -> None:
    position = ("C8 D9 P8 O11", "E7 F6 G5", "T")
    forced, free = games.load(SEED), games.load("thud")
    one = games.load("thud:troll_capture=one_or_none")
    state = _position(forced, *position)
    assert forced.parse_move(state, "TE7-D8") == forced.parse_move(state, "TE7-D8xD9xC8")
    state = _position(free, *position)
    assert free.parse_move(state, "TE7-D8") != free.parse_move(state, "TE7-D8xC8xD9")
    assert free.parse_move(state, "TE7-C9") == free.parse_move(state, "TE7-C9xC8xD9")
    state = _position(one, *position)
    with pytest.raises(InvalidInput, match="TE7-C9xD9 or TE7-C9xC8"):
        one.parse_move(state, "TE7-C9")
    with pytest.raises(InvalidInput, match="trolls"):
        one.parse_move(state, "dC8-C7")
    state = _position(free, "A8", "B8", "d")
    assert free.parse_move(state, "dA8-B8") == free.parse_move(state, "dA8-B8xB8")


def test_games_end_as_they_should() -> None:
    game = games.load(SEED)
    # The last dwarf is taken; the last troll; the only troll is shut in.
    for dwarfs, trolls, move, value in [
        ("C8", "E8", "TE8-D8", -4 / 32),
        ("A8 B8", "C8", "dB8-C8", 2 / 32),
        ("G1 E2 F2 H3", "F1", "dH3-G2", 0.0),
    ]:
        state = _position(game, dwarfs, trolls, move[0])
        assert not game.rules.is_terminal(state)
        game.play_text(state, [move])
        assert game.rules.is_terminal(state)
        assert game.rules.returns(state) == value


def test_an_option_overrides_its_ruleset() -> None:
    game = games.load("thud:ruleset=seed,turns=99")
    assert (game.options["turns"], game.options["troll_capture"], game.max_plies) == (99, "all_forced", 99)


@pytest.mark.skipif(not JIT, reason="tens of thousands of whole games")
def test_random_games_are_as_long_and_as_hard_on_the_dwarfs_as_another_program_found() -> None:
    """Seed rules: 268.9 +- 0.4 plies and a margin of -27.7; counting plies, 139.2 +- 0.3."""
    game = games.load(SEED)
    number = 40_000
    lengths, results = sample(game, game.initial_state(), number, 51, own=True)
    error = lengths.std() / np.sqrt(number)
    assert abs(lengths.mean() - 268.9) <= 2 * np.hypot(error, 0.4)
    assert abs(32 * results.mean() + 27.7) <= 0.05 + 3 * 32 * results.std() / np.sqrt(number)
    game = games.load("thud:ruleset=seed,count=plies")
    lengths, _ = sample(game, game.initial_state(), number, 53, own=True)
    assert abs(lengths.mean() - 139.2) <= 2 * np.hypot(lengths.std() / np.sqrt(number), 0.3)


def test_an_unfinished_position_is_worth_its_margin() -> None:
    game = games.load(SEED)
    state = _position(game, "A8 B8 C8", "P8", "d")
    assert game.calls.evaluate(state) == -1 / 32
    assert game.calls.evaluate(game.initial_state()) == 0.0
    assert tuple(map(game.player_names.index, ("dwarfs", "trolls"))) == (FIRST, SECOND)


@pytest.mark.parametrize("spec", THUD)
def test_a_moves_priority_is_what_it_gains(spec: str) -> None:
    game = games.load(spec)
    gains = []
    for ply, (state, legal, _) in enumerate(random_game(game, 9)):
        if ply % (1 if JIT else 24) == 0:
            sign = 1 - 2 * game.calls.current_player(state)
            for move in legal:
                after = state.copy()
                game.calls.play(after, move)
                gains.append(sign * 32 * (game.calls.evaluate(after) - game.calls.evaluate(state)))
                assert game.calls.priority(state, move) == gains[-1]
    assert not JIT or {0, 1, 4} <= set(gains)
