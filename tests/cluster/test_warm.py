"""`banyan warm`."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from cluster.commands.warm import compile_for_search
from tests.cluster.command import banyan, here


def test_warm_compiles_every_kernel_once_for_all_strategies(tmp_path: Path) -> None:
    status, _, err = banyan("warm", "tictactoe", NUMBA_CACHE_DIR=str(tmp_path))
    assert status == 0
    assert re.search(r"^banyan: tictactoe: root .*, tree .*, leaf .*, subtree ", err, re.MULTILINE)
    compiled = Counter(path.name.rpartition("-")[0] for path in tmp_path.rglob("*.inner_tictactoe_*.nbc"))
    assert {name: count for name, count in compiled.items() if count > 1} == {}
    assert any("descend" in name for name in compiled)
    status, _, err = banyan(
        "search", "tictactoe", "--simulations", "500", "--no-progress", NUMBA_CACHE_DIR=str(tmp_path)
    )
    assert (status, err) == (0, "")


def test_strategies_that_a_game_refuses_are_left_out() -> None:
    assert list(compile_for_search("battleship:size=4,fleet=2", ["root", "subtree"])) == ["root"]


@pytest.mark.parametrize("arguments", [(), ("hex", "--all"), ("hexx",), ("hex", "--strategies", "branch")])
def test_what_warm_refuses(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = here(capsys, "warm", *arguments)
    assert (status, err.count("\n")) == (2, 1)
