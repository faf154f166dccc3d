"""Errors for invalid input."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InvalidInput(ValueError):
    """An input that is not accepted; the message names the field, the value, and what is accepted.

    Raised where input is read (specs, moves, positions, requests), before any work starts. The
    command line prints the message as one line and exits with status 2.
    """

    def __init__(self, field: str, value: object, accepted: str) -> None:
        self.field = field
        self.value = value
        self.accepted = accepted
        super().__init__(f"{field}: {value!r} is not accepted; expected {accepted}")

    def __reduce__(self) -> tuple[type[InvalidInput], tuple[str, object, str]]:
        return (InvalidInput, (self.field, self.value, self.accepted))


class BrokenGame(InvalidInput):
    """A user's game whose rules violate the contract; the message names the rule and the position."""

    def __init__(self, game: str, finding: str) -> None:
        """``game``: its spec. ``finding``: the violation as `banyan check` prints it."""
        super().__init__("game", game, f"a game whose rules follow the contract ({finding})")
        self.finding = finding
        self.args = (f"{game}: {finding}",)

    def __reduce__(self) -> tuple[type[BrokenGame], tuple[str, str]]:  # type: ignore[override]
        return (BrokenGame, (str(self.value), self.finding))


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """For the end of what is accepted: `` (did you mean gomoku?)``, the one or two names that are most like a
    word, or an empty string."""
    close = get_close_matches(word, sorted(names), 2)
    return f" (did you mean {' or '.join(close)}?)" if close else ""
