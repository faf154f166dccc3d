"""Options of a player that are options of a search: read from its spec by their names for players."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from games.errors import InvalidInput
from games.game import Game
from games.spec import Options, Spec
from search.options import Knob, knobs_of
from search.prepare import check_form
from search.request import SearchRequest

PREFIX = "player option"


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
