"""Options of a player that are options of a search: read from its spec by their names for players."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from games.errors import InvalidInput
from games.game import Game
from games.spec import Options, Spec
from search.options import Knob, knobs_of
from search.prepare import check_form
from search.request import SearchRequest
from search.strategies import STRATEGY_CLASSES, InPlaceStrategy

PREFIX = "player option"
DEFAULT_SECONDS = 1.0
PLIES_PER_S, LEAST_S = 500_000, 0.05
"""The rate at which plies are seconds, and the least budget: so that jobs, which last at least 1 ms and are
first sized by the game's nominal speed, stay small beside it."""
MOST_PLIES = 10**9


@dataclass
class PliesClock:
    """A clock that goes with the plies of playouts, by which a budget is equal on every machine."""

    plies: int
    """The budget."""
    read: Callable[[], float] = time.thread_time
    """The player's clock, which is read as well for what it raises."""
    spent: int = 0
    """Plies until now; a simulation counts as one at least."""

    @property
    def seconds(self) -> float:
        """The budget in seconds of this clock."""
        return max(LEAST_S, self.plies / PLIES_PER_S)

    def __call__(self) -> float:
        self.read()
        return self.spent / self.plies * self.seconds


def read_budget(options: Options, asked: dict[str, Any]) -> int | None:
    """The option ``plies``; without it a player that was given no budget in ``asked`` gets DEFAULT_SECONDS.

    In ``asked`` plies are seconds of `PliesClock`. Raises InvalidInput (player option budget, strategy).
    """
    plies = options.integer("plies")
    if plies is not None and not 1 <= plies <= MOST_PLIES:
        raise InvalidInput(f"{PREFIX} plies", plies, f"a whole number from 1 to {MOST_PLIES}")
    given = [f"{name}={asked[name]}" for name in ("simulations", "seconds") if name in asked]
    if plies and given:
        budgets = ", ".join([f"plies={plies}", *given])
        raise InvalidInput(f"{PREFIX} budget", budgets, "one of simulations, seconds and plies")
    kind = STRATEGY_CLASSES.get(asked.get("strategy", ""))
    if plies and kind is not None and issubclass(kind, InPlaceStrategy):
        # The time of threads decides how many of their jobs are run at a stretch.
        raise InvalidInput(f"{PREFIX} strategy", asked["strategy"], "root or tree with plies")
    if plies or not given:
        asked["seconds"] = PliesClock(plies).seconds if plies else DEFAULT_SECONDS
    return plies


def read_options(
    spec: Spec,
    options: Options,
    only: Collection[str] | None = None,
    kind: type[SearchRequest] = SearchRequest,
) -> dict[str, Any]:
    """The fields of the request that a spec gives, by name: all that players may give, or ``only`` some.

    Raises InvalidInput (player option NAME) for a value of the wrong kind.
    """
    found = {}
    for knob in knobs_of(kind):
        if knob.option.key is None or (only is not None and knob.name not in only):
            continue
        value = _read(knob, knob.key, spec, options)
        if value is not None:
            found[knob.name] = value
    return found


def request_of_player(game: Game, asked: dict[str, Any]) -> SearchRequest:
    """The search of a player from the fields that it was given. Raises InvalidInput (player option NAME)."""
    try:
        request = SearchRequest(game=game.spec, **asked)
        check_form(request, game)
    except InvalidInput as error:
        key = next((knob.key for knob in knobs_of(SearchRequest) if knob.name == error.field), error.field)
        raise InvalidInput(f"{PREFIX} {key}", error.value, error.accepted) from None
    return request


def _read(knob: Knob, key: str, spec: Spec, options: Options) -> Any:
    """The value of one option, whose bounds and choices the request checks; None if it is not given."""
    if knob.kind is int:
        return options.integer(key)
    if knob.kind is float:
        return options.number(key)
    if knob.kind is bool:
        said = options.choice(key, "no", ("no", "yes"))
        return said == "yes" if key in spec.options else None
    return options.text(key, "") or None
