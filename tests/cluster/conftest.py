"""The command in the process of the test."""

from __future__ import annotations

import pytest

from tests.cluster.command import Here


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(capsys)
