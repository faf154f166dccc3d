"""Kernels bound to games: shared where rules are, cached on disk, never stale."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import pickle
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

import games
from games import jit
from games.analysis.perft import count_sequences, perft
from games.compile.rule_stubs import legal_moves, playout
from games.compile.specialise import fingerprint, is_compiled, specialise
from games.game import Moves, State
from games.jit import source_of
from games.rng import new_stream
from games.tictactoe import TicTacToe
from tests.games.common import JIT, plain_rules
from tests.waiting import PATIENCE_S

compiled_only = pytest.mark.skipif(not JIT, reason="nothing is compiled under NUMBA_DISABLE_JIT")

HELPER = """
import numpy as np
from games.jit import njit

TABLE = np.array([1, 2, 3])
SHIFT = 2

@njit
def shifted(x):
    return x << SHIFT
"""

RULES = """
import {helper} as helper
from games.jit import njit
from {helper} import TABLE, shifted

LIMIT = 10
PAIR = (1, "two")

@njit
def _inner(x):
    return shifted(x) + TABLE[0]

@njit
def is_terminal(state):
    return _inner(state[0]) > LIMIT or helper.SHIFT > len(PAIR)
"""

_numbers = itertools.count()


def _import(folder: Path, helper: str, rules: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Write the two modules, under the same names each time, and import them anew."""
    folder = folder / str(next(_numbers))
    folder.mkdir()
    (folder / "own_helper.py").write_text(helper)
    (folder / "own_rules.py").write_text(rules.replace("{helper}", "own_helper"))
    monkeypatch.syspath_prepend(str(folder))
    for name in ("own_helper", "own_rules"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.invalidate_caches()
    return importlib.import_module("own_rules")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 10", "LIMIT = 11"),
        ("LIMIT = 10", "LIMIT = 10.0"),
        ('(1, "two")', '(1, "three")'),
        ("+ TABLE[0]", "+ TABLE[1]"),
        ("_inner(state[0]) > LIMIT", "_inner(state[0]) >= LIMIT"),
        ("SHIFT = 2", "SHIFT = 3"),
        ("[1, 2, 3]", "[1, 2, 4]"),
        ("[1, 2, 3]", "[1.0, 2, 3]"),
        ("x << SHIFT", "x >> SHIFT"),
    ],
)
def test_any_edit_that_matters_changes_the_fingerprint(
    old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert old in HELPER + RULES
    before = _import(tmp_path, HELPER, RULES, monkeypatch)
    same = _import(tmp_path, HELPER, "# another line\n" + RULES, monkeypatch)
    after = _import(tmp_path, HELPER.replace(old, new), RULES.replace(old, new), monkeypatch)
    assert fingerprint(before.is_terminal) == fingerprint(same.is_terminal)
    assert fingerprint(before.is_terminal) != fingerprint(after.is_terminal)


def test_a_module_of_another_name_changes_the_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cached kernel imports the modules that it was made from when it is loaded."""
    before = _import(tmp_path, HELPER, RULES, monkeypatch)
    first = fingerprint(before.is_terminal)
    source_of(before.is_terminal).__module__ = "moved"
    moved = fingerprint(before.is_terminal)
    assert moved != first
    # So do the modules of the types of its arguments, which its code does not name.
    rules: dict[str, object] = source_of(before.is_terminal).__globals__
    rules["Arrays"] = type("Arrays", (tuple,), {"__module__": "arrays"})
    source_of(before.is_terminal).__annotations__["state"] = "Arrays"
    typed = fingerprint(before.is_terminal)
    rules["Arrays"] = type("Arrays", (tuple,), {"__module__": "moved"})
    assert len({moved, typed, fingerprint(before.is_terminal)}) == 3


def test_a_global_whose_changes_would_go_unseen_is_refused() -> None:
    def kernel() -> object:
        return _numbers

    with pytest.raises(TypeError, match=r"_numbers: a count"):
        fingerprint(kernel)


def test_a_function_with_a_closure_is_refused() -> None:
    offset = 1

    def closure(state: object) -> int:
        return offset

    with pytest.raises(TypeError, match="closure"):
        specialise([closure], games.load("tictactoe"))


def test_the_same_arguments_give_the_same_functions() -> None:
    small, large = games.load("gomoku"), games.load("gomoku:size=15,candidates=2")
    assert specialise([count_sequences], small) is specialise([count_sequences], large)
    other = games.load("tictactoe")
    assert specialise([count_sequences], other) is not specialise([count_sequences], small)


def first_move(state: State, moves: Moves) -> int:
    """Generic, of this test."""
    legal_moves(state, moves)
    return int(moves[0]) + OFFSET


def second_call(state: State, moves: Moves) -> int:
    """Generic, of this test: calls the one before it."""
    return first_move(state, moves) + 1


OFFSET = 0


def test_later_functions_call_earlier_ones_and_extra_globals_are_bound() -> None:
    game = games.load("gomoku:candidates=1")
    moves = np.zeros(144, dtype=np.uint16)
    functions = specialise([first_move, second_call], game, {"OFFSET": 1000})
    assert functions["second_call"](game.initial_state(), moves) == 65 + 1000 + 1
    plain = specialise([first_move, second_call], game)
    assert plain["second_call"](game.initial_state(), moves) == 65 + 1


def test_plain_rules_run_uncompiled_through_the_same_functions() -> None:
    """Tic-tac-toe without a playout of its own, as somebody's simulator would be."""
    game = TicTacToe()
    game.rules = plain_rules(game.rules)._replace(playout=None)
    assert not is_compiled(game.rules)
    functions = specialise([playout], game)
    assert not hasattr(functions["playout"], "py_func")
    state = game.initial_state()
    plies = functions["playout"](state, np.zeros(9, dtype=np.uint16), new_stream(3))
    assert 5 <= plies <= 9
    assert game.rules.is_terminal(state)
    assert perft(game, game.initial_state(), 4) == 3_024


SCRIPT = """
import json, games
from games.game import Moves, State
from games.jit import source_of
from games.analysis.perft import count_sequences, perft
from games.compile.specialise import specialise

counts = []
for spec in ("gomoku:size=12", "gomoku:size=15"):
    game = games.load(spec)
    counts.append(perft(game, game.initial_state(), 2))
function = specialise([count_sequences], game)["count_sequences"]
stats = function.stats
print(json.dumps([function.py_func.__qualname__, sum(stats.cache_hits.values()), counts]))
"""


@compiled_only
def test_a_second_process_loads_what_the_first_compiled(tmp_path: Path) -> None:
    source = Path(games.__file__).parent
    shutil.copytree(source, tmp_path / "games", ignore=shutil.ignore_patterns("__pycache__"))

    def run() -> tuple[str, int, list[int]]:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-W", "error", "-c", SCRIPT]
        done = subprocess.run(
            command,
            env=environment,
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        name, hits, counts = json.loads(done.stdout)
        return name, hits, counts

    cold, warm = run(), run()
    assert cold == (cold[0], 0, [144 * 143, 225 * 224])
    assert warm == (cold[0], 1, cold[2])
    rules = tmp_path / "games" / "gomoku" / "rules.py"
    rules.write_text(rules.read_text().replace("_STRIDE = 16", "_STRIDE = 17"))
    assert run()[:2] == warm[:2], "count_sequences does not use the playout"
    rules.write_text(rules.read_text().replace("(cell >> 6) * size", "(cell >> 6) * 1 * size"))
    edited = run()
    assert edited[0] != cold[0]
    assert edited[1] == 0


def _doubled(number: int) -> int:
    return 2 * number


def _hits() -> int:
    """How many kernels a process that starts now finds, when it calls `_doubled`."""
    function: Any = jit.kept_njit(_doubled, **jit.JIT_OPTIONS)
    assert function(21) == 42
    return sum(function.stats.cache_hits.values())


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of kernels."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit._Kernels, "told", False)
    return tmp_path


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[2 * len(data) // 3] ^= 1
    path.write_bytes(data)


@compiled_only
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(b"garbage" * 50),
        lambda path: path.write_bytes(pickle.dumps("0.1") + pickle.dumps((b"", {}))),
        Path.unlink,
        _flip,
    ],
    ids=["empty", "cut", "garbage", "of another version", "gone", "a bit"],
)
def test_a_damaged_file_of_a_kernel_counts_as_missing(
    kind: str, damage: Callable[[Path], object], kept: Path
) -> None:
    assert (_hits(), _hits()) == (0, 1)
    damage(next(kept.rglob(f"*.{kind}")))
    assert (_hits(), _hits()) == (0, 1)


@compiled_only
def test_kernels_are_compiled_where_there_is_no_room_to_keep_them(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, before[1]))
    try:
        assert (_hits(), _hits()) == (0, 0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    said = [line for line in capsys.readouterr().err.splitlines() if "not kept" in line]
    assert len(said) == 1
    assert said[0].startswith(f"banyan: compiled kernels are not kept: {kept}")
    assert said[0].endswith(": File too large (NUMBA_CACHE_DIR=FOLDER names one)")
    assert not list(kept.rglob("*.tmp.*"))
    assert (_hits(), _hits()) == (0, 1)
