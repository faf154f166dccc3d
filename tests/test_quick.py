"""What `make test` leaves out is there."""

from __future__ import annotations

from tests import quick


def test_everything_that_is_left_out_exists() -> None:
    assert quick.missing() == []
