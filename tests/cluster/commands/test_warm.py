"""`banyan warm`."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.cluster.command import Here


@pytest.mark.slow
def test_warm_compiles_every_kernel_once_for_all_strategies(
    tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    status, _, err = here("warm", "tictactoe")
    assert status == 0
    assert re.search(r"^banyan: tictactoe: root .*, tree .*, leaf .*, play ", err, re.MULTILINE)
    compiled = Counter(path.name.rpartition("-")[0] for path in tmp_path.rglob("*.tictactoe_*.nbc"))
    assert {name: count for name, count in compiled.items() if count > 1} == {}
    assert any("simulate" in name for name in compiled)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*")) < 10_000_000
