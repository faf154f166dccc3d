"""What all tests share."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("banyan", deadline=None, derandomize=True, database=None)
settings.load_profile("banyan")


def pytest_collection_finish() -> None:
    """Ray reads its settings when it is imported: a test that does so at its top decides them for all."""
    if "ray" in sys.modules:
        raise pytest.UsageError("a test module imports Ray while tests are collected: see make_executor")


@pytest.fixture(autouse=True)
def wrapping_arithmetic() -> Iterator[None]:
    """Random streams count modulo 2**64, which uncompiled NumPy scalars would warn about."""
    with np.errstate(over="ignore"):
        yield
