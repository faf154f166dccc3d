"""The grammar of analysis: lines of JSON in the manner of KataGo's analysis engine. Text in, commands out.

A query names a position, by ``moves`` from the start or from ``position``, and the turns that are to be
analysed. All other fields are options of a search by the names of the HTTP API, such as ``simulations``;
those of the command line are their defaults. Fields with names of KataGo's mean what its document says:
https://github.com/lightvector/KataGo/blob/master/docs/Analysis_Engine.md
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from games.errors import InvalidInput
from search.options import knobs_of
from search.request import SearchRequest, request_of

TERMINATE, TERMINATE_ALL, VERSION = "terminate", "terminate_all", "query_version"
ACTIONS = (TERMINATE, TERMINATE_ALL, VERSION)
BUDGETS = ("simulations", "seconds")
SAME = {
    "maxVisits": "simulations",
    "allowMoves": "allow",
    "avoidMoves": "avoid",
    "leastVisits": "least_visits",
}
"""Fields that stand for an option of a search with another name."""
ROOT_MOVES = ("allowMoves", "avoidMoves")
CONTROL: Mapping[str, tuple[Any, str]] = {
    "id": (str, "a text"),
    "moves": ((list, str), "a list of moves, or a text with blanks between them"),
    "position": (str, "a position as banyan show prints it"),
    "analyzeTurns": (list, "a list of whole numbers from 0 to the number of moves"),
    "priority": (int, "a whole number"),
    "priorities": (list, "a list of whole numbers, one for each of analyzeTurns"),
    "reportDuringSearchEvery": ((int, float), "seconds, more than 0"),
    "allowMoves": (list, 'a list of one object: "moves", a list, and "untilDepth", 1'),
    "avoidMoves": (list, 'a list of one object: "moves", a list, and "untilDepth", 1'),
    "leastVisits": (dict, "an object: a whole number of visits for each move of the position"),
}
"""Fields of a query that are no options of a search: their types, and what is accepted."""
MOST_ID = 1000
"""Most characters of an id, which each answer repeats."""
SHOWN = 200
"""Most characters of a value that an answer repeats."""


class BadQuery(InvalidInput):
    """A line that is no query; ``answer`` is what is written for it."""

    def __init__(self, field: str, value: Any, accepted: str, id: str | None = None) -> None:  # noqa: A002
        text, field = value if isinstance(value, str) else repr(value), field[:SHOWN]
        super().__init__(field, value if len(text) <= SHOWN else f"{text[:SHOWN]}...", accepted)
        named = {} if id is None else {"id": id}
        self.answer = {**named, "error": str(self), "field": field, "accepted": accepted}


@dataclass(frozen=True)
class Position:
    """A position that is to be analysed: it gets exactly one final answer."""

    query: Mapping[str, Any]
    """The fields of its query."""
    turn: int
    """Number of the query's moves that are played before it."""
    priority: int = 0

    @property
    def id(self) -> str:
        return str(self.query["id"])

    @property
    def named(self) -> dict[str, Any]:
        """What begins each of its answers."""
        return {"id": self.id, "turnNumber": self.turn}

    def request(self, defaults: SearchRequest) -> SearchRequest:
        """The search of this position. Raises InvalidInput with the field's name in the query."""
        values = {each.name: getattr(defaults, each.name) for each in fields(SearchRequest)}
        given = {SAME.get(name, name): value for name, value in self.query.items() if name not in CONTROL}
        if not given.keys().isdisjoint(BUDGETS):
            values |= {"simulations": None, "seconds": None, "stop_when_full": False}
        moves = tuple(moves_of(self.query)[: self.turn])
        position = self.query.get("position", defaults.position)
        before = defaults.moves if "position" not in self.query else ()
        if least := self.query.get("leastVisits"):
            given["least_visits"] = " ".join(f"{move}={visits}" for move, visits in least.items())
        for name in ROOT_MOVES:
            if entries := self.query.get(name):
                given[name.removesuffix("Moves")] = " ".join(entries[0]["moves"])
        return request_of(values | given | {"moves": before + moves, "position": position})


@dataclass(frozen=True)
class Action:
    """A command that is no position."""

    fields: Mapping[str, Any]
    """All of its fields: they are repeated in the answer."""
    name: str
    """One of ACTIONS."""

    def ends(self, position: Position) -> bool:
        """Whether it terminates this position."""
        turns = self.fields.get("turnNumbers")
        of = self.name == TERMINATE_ALL or position.id == self.fields["terminateId"]
        return of and (turns is None or position.turn in turns)


def moves_of(query: Mapping[str, Any]) -> Sequence[str]:
    """The moves of a query, in the game's notation."""
    moves = query.get("moves", ())
    return moves.split() if isinstance(moves, str) else moves


def read(line: str | bytes, actions: Sequence[str] = ACTIONS) -> list[Position] | Action:
    """The positions of a query, or one of these actions. Raises BadQuery."""
    try:
        query = json.loads(line)
    except (ValueError, RecursionError) as error:
        text = line if isinstance(line, str) else line.decode(errors="replace")
        raise BadQuery("query", text.strip()[:80], f"one JSON object in a line ({error})") from None
    if not isinstance(query, dict):
        raise BadQuery("query", query, "a JSON object")
    name = query.get("id")
    if not isinstance(name, str) or len(name) > MOST_ID:
        accepted = f"a text of at most {MOST_ID} characters, which is repeated in the answers"
        raise BadQuery("id", name, accepted)
    if "action" in query:
        return _action(query, name, actions)
    for field, (kinds, accepted) in CONTROL.items():
        value = query.get(field)
        if field in query and (not isinstance(value, kinds) or isinstance(value, bool)):
            raise BadQuery(field, value, accepted, name)
    _check_options(query, name)
    for field, same in SAME.items():
        if field in query and same in query:
            raise BadQuery(field, query[field], f"nothing with {same}, which is the same", name)
    moves = moves_of(query)
    if not all(isinstance(move, str) for move in moves):
        raise BadQuery("moves", moves, CONTROL["moves"][1], name)
    for field in ROOT_MOVES:
        if not all(map(_is_of_root, entries := query.get(field, []))) or len(entries) > 1:
            raise BadQuery(field, entries, CONTROL[field][1], name)
    turns = query.get("analyzeTurns", [len(moves)])
    known = all(type(turn) is int and 0 <= turn <= len(moves) for turn in turns)
    if not known or not turns or len(set(turns)) < len(turns):
        raise BadQuery("analyzeTurns", turns, f"different whole numbers from 0 to {len(moves)}", name)
    if not 0 < (every_s := query.get("reportDuringSearchEvery", 1)) < math.inf:
        raise BadQuery("reportDuringSearchEvery", every_s, CONTROL["reportDuringSearchEvery"][1], name)
    priorities = query.get("priorities", [query.get("priority", 0)] * len(turns))
    if len(priorities) != len(turns) or not all(type(each) is int for each in priorities):
        raise BadQuery("priorities", priorities, CONTROL["priorities"][1], name)
    return [Position(query, turn, each) for turn, each in zip(turns, priorities, strict=True)]


class Queries:
    """Queries of which all positions are analysed; each has an id of its own."""

    def __init__(self) -> None:
        self.positions: list[Position] = []
        """Of all queries so far, in their order."""
        self._ids: set[str] = set()

    def add(self, line: str | bytes) -> list[Position]:
        """Read a query; returns its positions. Raises BadQuery."""
        asked = read(line, actions=())
        assert not isinstance(asked, Action)
        if (name := asked[0].id) in self._ids:
            raise BadQuery("id", name, "an id of its own: another query has this one")
        self._ids.add(name)
        self.positions += asked
        return asked


def _is_of_root(entry: Any) -> bool:
    """Whether an entry of allowMoves or avoidMoves is about moves of the position itself."""
    moves = entry.get("moves") if isinstance(entry, dict) else None
    texts = isinstance(moves, list) and all(isinstance(move, str) for move in moves)
    return texts and entry.get("untilDepth", 1) == 1


def _action(query: Mapping[str, Any], name: str, actions: Sequence[str]) -> Action:
    action, turns = query["action"], query.get("turnNumbers")
    if action not in actions:
        raise BadQuery("action", action, " or ".join(actions) or "none: queries only", name)
    if action == TERMINATE and not isinstance(query.get("terminateId"), str):
        raise BadQuery("terminateId", query.get("terminateId"), "the id of a query", name)
    if turns is not None and not (isinstance(turns, list) and all(type(turn) is int for turn in turns)):
        raise BadQuery("turnNumbers", turns, "a list of whole numbers", name)
    return Action(query, action)


def _check_options(query: Mapping[str, Any], name: str) -> None:
    """Check options of a search each by itself, under the names that the query has for them."""
    for field, value in query.items():
        if field not in CONTROL:
            knob = OPTIONS.get(SAME.get(field, field))
            if knob is None:
                accepted = f"no such field, but {', '.join({**CONTROL, **SAME, **OPTIONS})}"
                raise BadQuery(field, value, accepted, name)
            if value is None or not knob.accepts(value):
                raise BadQuery(field, value, knob.accepted, name)


OPTIONS = {
    knob.name: knob
    for knob in knobs_of(SearchRequest)
    if knob.option.api and knob.name not in ("moves", "position")
}
"""The options of a search that a query may have."""


def refusal(position: Position, error: InvalidInput) -> dict[str, Any]:
    """The final answer of a position that cannot be searched."""
    return {**position.named, "isDuringSearch": False, **bad_query(position, error).answer}


def bad_query(position: Position, error: InvalidInput) -> BadQuery:
    """An error of a position's search, with the name that the field has in its query."""
    named = (name for name, of in SAME.items() if of == error.field and name in position.query)
    return BadQuery(next(named, error.field), error.value, error.accepted)


def without_results(position: Position) -> dict[str, Any]:
    """The final answer of a position that was terminated before anything was searched."""
    return {**position.named, "isDuringSearch": False, "noResults": True}


def failure(position: Position, reason: str) -> dict[str, Any]:
    """The final answer of a position whose search has failed."""
    return {**position.named, "isDuringSearch": False, "error": reason}
