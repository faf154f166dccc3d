"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("banyan", deadline=None, derandomize=True, database=None)
settings.load_profile("banyan")


@pytest.fixture(autouse=True)
def wrapping_arithmetic() -> Iterator[None]:
    """Random streams count modulo 2**64, which uncompiled NumPy scalars would warn about."""
    with np.errstate(over="ignore"):
        yield
