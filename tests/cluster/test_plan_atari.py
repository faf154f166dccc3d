"""Plans of an emulator: the same here, again, and on workers."""

from __future__ import annotations

from typing import Any

import banyan
import pytest

from tests.cluster.searches import compiled_only

pytest.importorskip("gymnasium", reason="gymnasium is not installed")
pytest.importorskip("ale_py", reason="ale-py is not installed")


@compiled_only
@pytest.mark.parametrize("stickiness", ["0.0", "0.25"])
def test_an_emulator_is_planned_alike_on_workers(stickiness: str) -> None:
    options: dict[str, Any] = {"episodes": 2, "simulations": 12, "steps": 3, "playout_plies": 4, "lanes": 3}
    spec = f"gym:ALE/Breakout-v5(repeat_action_probability={stickiness})"
    one = banyan.plan(spec, executor="inline", **options)
    assert one.digest == banyan.plan(spec, executor="inline", **options).digest
    assert one.digest == banyan.plan(spec, executor="ray", workers=2, **options).digest
    assert not one.clairvoyant
