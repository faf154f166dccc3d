"""Creates requests from names and values of fields; names of the previous version are accepted too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from search.options import knobs_of, refuse
from search.request import SearchRequest


@dataclass(frozen=True)
class Retired:
    """An option that was removed."""

    default: float | None
    """Its last default."""
    neutral: float
    """The value that changed nothing; a stored request with it is still valid."""
    why: str

    @property
    def accepted(self) -> str:
        """The text of the error for a request that uses it."""
        return f"nothing: the option is gone ({self.why})"


RETIRED = {
    "perturbation": Retired(0.0, 0.0, "no measured search played better with it"),
    "lane_exploration": Retired(
        1.0, 1.0, "it gained in one of two measured games and lost in the other; set exploration"
    ),
    "bias": Retired(0.0, 0.0, "no measurement shows a gain; implicit_minimax uses the same evaluations"),
    "staleness": Retired(None, 0.0, "by exact values lanes play worse where rounds overlap"),
}
"""Options of earlier versions that are refused now."""


def request_of(values: Mapping[str, Any], kind: type[SearchRequest] = SearchRequest) -> SearchRequest:
    """The request with these values of fields; None leaves a field at its default.

    Without a budget it gets the default of its kind; a given memory counts as a budget. Raises InvalidInput.
    """
    asked = {name: value for name, value in current(values, kind).items() if value is not None}
    if not asked.keys() & {"simulations", "seconds"}:
        asked |= {"stop_when_full": True} if "memory_mb" in asked else kind.default_budget()
    return kind(**asked)


def current(values: Mapping[str, Any], kind: type[SearchRequest] = SearchRequest) -> dict[str, Any]:
    """The values of a stored or sent request by the current names of fields.

    Earlier names are replaced. A removed option is left out if its value is neutral or None. Raises
    InvalidInput for any other value of it, and for a field with two names.
    """
    renamed = {old: knob.name for knob in knobs_of(kind) for old in knob.option.old}
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name in RETIRED:
            if value is not None and value != RETIRED[name].neutral:
                refuse(name, value, RETIRED[name].accepted)
            continue
        today = renamed.get(name, name)
        if today in found:
            refuse(name, value, f"{today} under one name")
        found[today] = value
    return found
