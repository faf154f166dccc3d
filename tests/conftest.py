"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("banyan", deadline=None, derandomize=True, database=None)
settings.load_profile("banyan")


# A compiler makes millions of objects, most of which stay: looking for circles among the new ones each time
# there are 700 takes a tenth of its time.
gc.set_threshold(100_000, 20, 20)

# In the background of a shell Ctrl-C is ignored, and under nohup the end of the terminal; tests send both to
# themselves and to what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Workers import what tests give them to run; they look for nothing in the current folder.
os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])


@pytest.fixture(autouse=True)
def wrapping_arithmetic() -> Iterator[None]:
    """Random streams count modulo 2**64, which uncompiled NumPy scalars would warn about."""
    with np.errstate(over="ignore"):
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    what = "what `make test` runs: each function that is not slow once, with its first parameters"
    parser.addoption("--quick", action="store_true", help=what)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With --quick, a file that is slow as a whole is not imported: it may need more packages."""
    quick = config.getoption("--quick") and collection_path.suffix == ".py"
    slow = quick and "\npytestmark = pytest.mark.slow\n" in collection_path.read_text(encoding="utf-8")
    return True if slow else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--quick"):
        return
    first: dict[tuple[Path, str], pytest.Item] = {}
    for item in items:
        if item.get_closest_marker("slow") is None:
            first.setdefault((item.path, getattr(item, "originalname", item.name)), item)
    chosen = list(first.values())
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen
