"""Games from files, from packages, in plain Python, and of OpenSpiel."""

from __future__ import annotations

import time
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import games
from games import InvalidInput, catalogue
from games import user_games as own
from games.analysis.perft import perft
from games.board import draw
from games.contract.checking import check
from games.rng import new_stream
from tests.games.common import JIT
from tests.games.own_game import connect_four, write, write_waiting

PUBLISHED_PERFT = (7, 49, 343, 2_401, 16_807, 117_649, 823_536, 5_673_234)

NIM = """
from games import PythonGame

class Heap:
    def __init__(self, stones):
        self.stones, self.mover = stones, 0
    def current_player(self):
        return self.mover
    def legal_moves(self):
        return list(range(1, min(3, self.stones) + 1))
    def play(self, move):
        self.stones -= move
        self.mover = 1 - self.mover
    def is_terminal(self):
        return self.stones == 0
    def returns(self):
        return 1.0 if self.mover == 1 else -1.0
    def format_move(self, move):
        return f"take {move}"
    def __str__(self):
        return "o" * self.stones

class Nim(PythonGame):
    max_moves = 3
    def __init__(self, stones=10):
        super().__init__()
        self.stones, self.max_plies = stones, stones
    def new_position(self):
        return Heap(self.stones)
"""


def test_connect_four_takes_under_60_lines() -> None:
    assert len(connect_four().splitlines()) < 60


def test_connect_four_has_the_published_counts(tmp_path: Path) -> None:
    game = games.load(write(tmp_path))
    for depth, count in enumerate(PUBLISHED_PERFT[: 8 if JIT else 4], start=1):
        assert perft(game, game.initial_state(), depth) == count


@pytest.mark.slow
def test_the_simulator_that_waits_has_the_published_counts_and_waits(tmp_path: Path) -> None:
    game = games.load(write_waiting(tmp_path) + ":wait_ms=30")
    for depth, count in enumerate(PUBLISHED_PERFT[:5], start=1):
        assert perft(game, game.initial_state(), depth) == count
    assert check(game, games=5, seed=1) is None
    state = game.initial_state()
    began = time.monotonic()
    assert game.rules.playout is not None
    game.rules.playout(state, np.zeros(7, dtype=np.uint16), new_stream(3))
    assert time.monotonic() - began >= 0.03
    assert game.calls.is_terminal(state)


def test_an_edit_is_another_game_and_the_same_text_the_same(tmp_path: Path) -> None:
    path = write(tmp_path)
    first = games.load(path)
    assert games.load(path) is first
    write(tmp_path, text="")
    second = games.load(path)
    assert second is not first
    assert second.rules.returns is not first.rules.returns


def test_the_text_is_enough_where_the_file_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANYAN_CACHE_DIR", str(tmp_path / "cache"))
    text = connect_four() + "\n# nobody else has this line\n"
    game = games.load("elsewhere/connect4.py", text)
    assert game.spec == "elsewhere/connect4.py"
    assert perft(game, game.initial_state(), 3) == 343
    (copy,) = (tmp_path / "cache").glob("*/connect4.py")
    assert copy.read_text() == text


def test_options_are_the_parameters_of_init(tmp_path: Path) -> None:
    (tmp_path / "nim.py").write_text(NIM)
    path = str(tmp_path / "nim.py")
    assert games.load(path).options == {"stones": 10}
    small = games.load(f"{path}:stones=4")
    assert small.spec == f"{path}:stones=4"
    assert games.load(small.spec).max_plies == 4
    for wrong in ("stones=x", "stones=-1", "piles=2"):
        with pytest.raises(InvalidInput, match="game option"):
            games.load(f"{path}:{wrong}")


def test_a_parameter_says_what_it_accepts(tmp_path: Path) -> None:
    """An annotation that only type checkers can read does no harm."""
    path = tmp_path / "nim.py"
    nim = "from typing import Annotated" + NIM
    path.write_text(nim.replace("stones=10", "stones: 'Annotated[int, range(4, 9)]' = 5"))
    with pytest.raises(InvalidInput, match="a whole number from 4 to 8"):
        games.load(f"{path}:stones=9")
    path.write_text(nim.replace("stones=10", "stones: 'Unknown' = 5"))
    assert games.load(str(path)).options == {"stones": 5}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "can be read"),
        ("x = 1", "found: none"),
        ("from games import *\nclass A(Game): pass\nclass B(Game): pass", "found: A, B"),
        ("from games import Game\nclass A(Game): pass", "define initial_state"),
        ("import numpy\nnumpy.nothing", "line 2"),
        ("exit('no licence')", "line 1: SystemExit: no licence"),
        ("class Panic(BaseException): pass\nraise Panic('torn')", "line 2: Panic: torn"),
        ("def from_spec(spec):\n    exit(3)", "can be made (SystemExit: 3)"),
        ("def from_spec(spec):\n    return 3", "not a int"),
        ("def from_spec(spec:\n", "line 1"),
        (
            "from games import Game\nclass A(Game):\n    def initial_state(self):\n        return None",
            "has none",
        ),
    ],
)
def test_a_file_that_is_no_game_is_refused(text: str | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        games.load(str(path))
    assert caught.value.field == "game"
    assert words in str(caught.value)


def test_files_can_be_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a file"):
        games.load(write(tmp_path), files=False)
    with pytest.raises(InvalidInput, match="not a file"):
        games.source_of_spec(str(tmp_path / "no_such_file.py"), files=False)
    assert games.load("tictactoe", files=False).name == "tictactoe"
    assert games.source_of_spec("tictactoe", files=False) is None


@pytest.mark.parametrize(
    "name",
    [
        "efg_game(filename=/etc/hostname)",
        "nfg_game(filename=game.nfg)",
        "turn_based_simultaneous_game(game=nfg_game(filename=game.nfg))",
        "misere(game=nfg_game(filename=1))",
        "mnk(m=5,n=5,k=x)",
    ],
)
def test_openspiel_reads_no_files_either(name: str) -> None:
    with pytest.raises(InvalidInput, match="may name files"):
        games.load(f"openspiel:{name}", files=False)


def test_entry_points_of_packages_are_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pip_installed_nim.py").write_text(NIM)
    monkeypatch.syspath_prepend(str(tmp_path))
    points = {"nim": EntryPoint("nim", "pip_installed_nim:Nim", own.GROUP)}
    points["broken"] = EntryPoint("broken", "no_such_module:Nim", own.GROUP)
    monkeypatch.setattr(own, "installed", lambda: points)
    catalogue._load.cache_clear()
    assert "nim" in games.names()
    assert games.load("nim:stones=5").spec == "nim:stones=5"
    assert games.load("nim:stones=5", files=False).spec == "nim:stones=5"
    with pytest.raises(InvalidInput, match="can be imported"):
        games.load("broken")
    catalogue._load.cache_clear()


def test_plain_python_positions_play_by_the_contract(tmp_path: Path) -> None:
    (tmp_path / "nim.py").write_text(NIM)
    game = games.load(str(tmp_path / "nim.py"))
    state = game.initial_state()
    assert game.format_position(state) == "start"
    game.play_text(state, ["take_3", "take_2"])
    assert game.format_position(state) == "take_3/take_2"
    assert [cell.text for cell in game.board(state).rows[0]] == ["o"] * 5
    assert np.array_equal(game.parse_position("take_3/take_2"), state)
    for wrong in ("take_4", "take_3/take_3/take_3/take_1/take_1", ""):
        with pytest.raises(InvalidInput) as caught:
            game.parse_position(wrong)
        assert caught.value.field == "position"
    # A position that the cache has forgotten is played out again.
    game._positions._kept.clear()  # type: ignore[attr-defined]
    game._positions.forget_last()  # type: ignore[attr-defined]
    assert game.legal_moves(state) == [1, 2, 3]
    assert game.rules.playout is not None
    assert game.rules.playout(state, np.zeros(3, dtype=np.uint16), new_stream(1)) >= 2
    assert game.rules.is_terminal(state)


def test_rules_may_reckon_with_a_move_when_nothing_is_compiled(tmp_path: Path) -> None:
    """`play` gets a whole number that can be negated: 0 minus 1 is no number of the moves' own type."""
    path = Path(write(tmp_path))
    path.write_text(path.read_text().replace(", njit\n", "\n\n\ndef njit(rule):\n    return rule\n", 1))
    game = games.load(str(path))
    assert not hasattr(game.rules.play, "py_func")
    assert perft(game, game.initial_state(), 3) == 343


GRID = """
import numpy as np
from games import Game, Rules, njit

@njit
def current_player(state):
    return state[12] & 1

@njit
def legal_moves(state, moves):
    count = 0
    for cell in range(12):
        if state[cell] == 0:
            moves[count] = cell
            count += 1
    return count

@njit
def play(state, move):
    state[move] = 1 + (state[12] & 1)
    state[12] += 1

@njit
def is_terminal(state):
    return state[12] == 12

@njit
def returns(state):
    return 0.0

class Fill(Game):
    rules = Rules(current_player, legal_moves, play, is_terminal, returns)
    max_moves = max_plies = 12
    rows, columns = 3, 4

    def initial_state(self):
        return np.zeros(13, dtype=np.int8)

    def cell(self, state, row, column):
        return (None, 0, 1)[state[row * 4 + column]]
"""


def test_a_game_that_gives_a_grid_has_cells_for_moves_and_a_board(tmp_path: Path) -> None:
    (tmp_path / "fill.py").write_text(GRID)
    game = games.load(str(tmp_path / "fill.py"))
    state = game.initial_state()
    moves = game.play_text(state, ["a1", "d3", "b2"])
    assert moves == [0, 11, 5]
    drawn = draw(game.board(state, moves[-1]), colour=False)
    assert drawn.splitlines() == ["3  .  .  .  O", "2  . [X] .  .", "1  X  .  .  .", "   a  b  c  d"]
    assert game.cells_of(11) == (0, 3)
    assert check(game, games=2) is None


def test_positions_without_a_text_of_their_own_are_drawn_as_their_moves(tmp_path: Path) -> None:
    (tmp_path / "nim.py").write_text(NIM.replace("def __str__", "def other"))
    game = games.load(str(tmp_path / "nim.py"))
    assert draw(game.board(game.initial_state()), colour=False).split() == list("start")
