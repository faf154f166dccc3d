"""Checks whether figures can be trusted: other programs may have used the machine's cores."""

from __future__ import annotations

from collections.abc import Sequence

OTHERS_AT_MOST = 0.05
"""Largest accepted share of other programs in the time of all cores; kernel threads take below 0.01."""
OF_CEILING_AT_MOST = 1.05
"""Largest plausible share of the ceiling; a larger one means that the conditions have changed."""


def warn_of_others(shares: Sequence[float | None], what: str) -> str | None:
    """A warning line if other programs used too much of the cores; None if not, or if unknown.

    ``shares``: their shares of the time of all cores, one for each of ``what`` (a plural noun).
    """
    most = max((share for share in shares if share is not None), default=0.0)
    if most <= OTHERS_AT_MOST:
        return None
    return f"other programs used {most:.0%} of the cores during these {what}: figures are not to be trusted"


def warn_of_ceiling(shares: Sequence[float | None]) -> str | None:
    """A warning line if a share of the ceiling is higher than possible; None if not, or if unknown."""
    most = max((share for share in shares if share is not None), default=0.0)
    if most <= OF_CEILING_AT_MOST:
        return None
    return (
        f"{most:.0%} of the ceiling is more than is possible (other programs used the cores while the "
        "ceiling was measured, or workers ran elsewhere): figures are not to be trusted"
    )
