"""Rules of somebody's own game are tried out in plain Python before compiled code trusts them."""

from __future__ import annotations

import pickle
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import games
from games.contract.checking import check
from games.contract.findings import DidNotEnd, TimeLimit
from games.contract.trial import try_out
from games.errors import BrokenGame
from tests.games.broken_games import BROKEN, ENDLESS, ENDLESS_WHEN_COMPILED, write_take
from tests.games.common import JIT
from tests.games.test_own_games import NIM


def test_a_game_that_is_right_passes_and_the_start_is_left_as_it_is(tmp_path: Path) -> None:
    game = games.load(write_take(tmp_path))
    start = game.initial_state()
    try_out(game, start)
    assert np.array_equal(start, game.initial_state())


def test_the_moves_that_are_told_lead_there(tmp_path: Path) -> None:
    old, new, _ = BROKEN["players_1_and_2"]
    with pytest.raises(BrokenGame) as raised:
        games.load(write_take(tmp_path, old, new))
    game = games.load(write_take(tmp_path))
    state = game.initial_state()
    game.play_text(state, str(raised.value).rpartition("after moves ")[2].split())
    assert game.rules.current_player(state) == 1


@pytest.mark.skipif(not JIT, reason="a plain game may take longer over a move")
def test_a_rule_that_never_ends_is_named(tmp_path: Path) -> None:
    game = games.load(write_take(tmp_path, *ENDLESS), tried=False)
    with pytest.raises(
        BrokenGame, match=r"play: did not end within 0.2 s at ply \d \(line \d+\), after moves "
    ):
        try_out(game, limit_s=0.2)
    finding = check(game, limit_s=0.2)
    assert finding is not None
    assert (finding.rule, "did not end within 0.2 s" in finding.text) == ("play", True)


@pytest.mark.skipif(not JIT, reason="of compiled rules")
def test_a_rule_that_raises_in_plain_python_alone_is_no_reason_to_refuse_a_game(tmp_path: Path) -> None:
    """Numbers of 8 bits overflow in NumPy and are wider in compiled code."""
    overflows = ("state[0] -= move\n", "state[0] = (state[0] + 1000) - 1000 - move\n")
    game = games.load(write_take(tmp_path, *overflows))
    state = game.initial_state()
    game.play_text(state, ["1"])
    assert state.tolist() == [9, 1]


def test_a_game_of_positions_is_tried_too(tmp_path: Path) -> None:
    path = tmp_path / "nim.py"
    path.write_text(NIM.replace("else -1.0", "else -7.0"))
    with pytest.raises(BrokenGame, match=r"returns: gave -7.0 after .* after moves take_"):
        games.load(str(path))
    path.write_text(NIM.replace("range(1, min(3", "range(-1, min(3"))
    with pytest.raises(BrokenGame, match="max_moves: is 3, but 5 moves are legal"):
        games.load(str(path))


def test_a_position_that_was_given_is_tried(tmp_path: Path) -> None:
    game = games.load(write_take(tmp_path))
    with pytest.raises(BrokenGame, match=r"gave 7 at ply 0.*from the position that was given"):
        try_out(game, game.parse_position("5,7"))


def test_an_error_of_a_worker_is_the_same_here() -> None:
    error = BrokenGame("./a.py", "play: raised ValueError: five")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.field) == ("./a.py: play: raised ValueError: five", "game")


def test_a_trial_takes_little_time(tmp_path: Path) -> None:
    game = games.load(write_take(tmp_path), tried=False)
    started = time.thread_time()
    try_out(game)
    assert time.thread_time() - started < 1.0


def test_endless_code_that_catches_everything_ends_and_what_follows_is_left_alone() -> None:
    def stubborn() -> None:
        for _ in range(3):
            try:
                while True:
                    pass
            except BaseException:
                continue
        raise DidNotEnd

    with TimeLimit(0.05) as limit:
        with pytest.raises(DidNotEnd):
            limit.call(stubborn)
        assert limit.call(sum, range(100)) == 4950
    assert "DidNotEnd" not in str(threading.enumerate())


def test_what_is_endless_only_when_compiled_passes_the_trial(tmp_path: Path) -> None:
    """So it shows how the commands end that meet it (tests/cluster/system/test_interruption.py)."""
    assert games.load(write_take(tmp_path, *ENDLESS_WHEN_COMPILED)).max_moves == 3
