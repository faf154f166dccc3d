"""The one way in which Banyan says that an input was wrong."""

from __future__ import annotations


class InvalidInput(ValueError):
    """An input that cannot be used: names the field, the value, and what is accepted.

    Raised at the edges (specs, moves, positions, requests) before any work starts, so
    that nothing is lost by it. The command line prints it as one line and exits with 2.
    """

    def __init__(self, field: str, value: object, accepted: str) -> None:
        self.field = field
        self.value = value
        self.accepted = accepted
        super().__init__(f"{field}: {value!r} is not accepted; expected {accepted}")

    def __reduce__(self) -> tuple[type[InvalidInput], tuple[str, object, str]]:
        return (InvalidInput, (self.field, self.value, self.accepted))
