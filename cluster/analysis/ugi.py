"""The grammar of UGI, the Universal Game Interface: UCI for any game of two players. Text in, commands out.

https://github.com/kz04px/cutegames/blob/master/ugi.md has the protocol. Moves and positions are those of the
game's own notation; the text of a position ends at the word ``moves``, or at the end of the line. Nodes are
simulations, and a score of 100 is a win that is certain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cluster.analysis.session import Ask, Change, Command, Lose, Ready, Stop, Think, Thought
from cluster.matches.clock import Limit
from games.errors import InvalidInput
from games.game import FIRST, Game, State
from games.spec import whole_number
from search.options import Knob, knobs_of
from search.request import SearchRequest

FIXED = ("moves", "position", "simulations", "seconds", "allow", "avoid", "least_visits")
"""Options of a search that no `setoption` sets."""
OPTIONS = {knob.cli: knob for knob in knobs_of(SearchRequest) if knob.option.api and knob.name not in FIXED}
"""Options of a search by their names here."""
WORKERS = "workers"
TIMES = ("p1time", "p2time", "p1inc", "p2inc", "movetime")
NUMBERS = (*TIMES, "nodes", "depth")
"""The words of `go` that a number follows; a depth means nothing here."""
MOST = 10**15
"""The largest of these numbers."""
UNSET = "<empty>"
NO_MOVE = "bestmove none"


class Ugi:
    """Keeps nothing: every line says all that it means."""

    def __init__(self, request: SearchRequest, workers: int, version: str) -> None:
        """``request``: has the values of options that are not set; ``workers``: the most."""
        self._request, self._workers, self._version = request, workers, version
        self._commands: Mapping[str, Callable[[list[str]], list[Command]]] = {
            "ugi": lambda _: [*self._introduction()],
            "isready": lambda _: [Ready("readyok")],
            "uginewgame": lambda _: [Stop(), Change({"position": None, "moves": ()})],
            "position": _position,
            "go": _go,
            "stop": lambda _: [Stop()],
            "quit": lambda _: [Stop(answers=False, ends=True)],
            "query": _query,
            "setoption": self._set_option,
        }

    def read(self, line: str) -> list[Command]:
        word, *rest = line.split() or [""]
        command = self._commands.get(word)
        if command is None:
            return [_note(f"unknown command {word[:40]}")] if word else []
        try:
            return command(rest)
        except InvalidInput as error:
            return [*self.refusal(error, asked_move=word == "go"), *[Lose()] * (word == "position")]

    def answer(self, thought: Thought) -> list[str]:
        kept = [_note(f"{thought.kept} visits were kept from the last move")] if thought.kept else []
        return [*self.during(thought), *kept, f"bestmove {thought.move}"]

    def during(self, thought: Thought) -> list[str]:
        facts = f"nodes {thought.simulations} nps {thought.per_s:.0f} time {1000 * thought.elapsed_s:.0f}"
        return [f"info {facts} score cp {100 * thought.value:.0f} pv {' '.join(thought.pv)}".rstrip()]

    def refusal(self, error: Exception, *, asked_move: bool) -> list[str]:
        return [_note(" ".join(str(error).split())), *[NO_MOVE] * asked_move]

    def _introduction(self) -> Iterable[str]:
        yield f"id name Banyan {self._version}"
        yield "id author the Banyan project"
        yield f"option name {WORKERS} type spin default {self._workers} min 1 max {self._workers}"
        for name, knob in OPTIONS.items():
            yield f"option name {name} type {_type_of(knob, getattr(self._request, knob.name))}"
        yield "ugiok"

    def _set_option(self, words: list[str]) -> list[Command]:
        match = re.fullmatch(r"name (\S+)(?: value (.*))?", " ".join(words))
        name, text = (match[1].lower(), match[2] or UNSET) if match else (" ".join(words), "")
        if name == WORKERS:
            return [Stop(), Change({WORKERS: _whole(name, text, 1, self._workers)})]
        if name not in OPTIONS:
            raise InvalidInput("setoption", name, f"name NAME value VALUE; {', '.join((WORKERS, *OPTIONS))}")
        return [Stop(), Change({OPTIONS[name].name: _value_of(OPTIONS[name], text)})]


def _note(text: str) -> str:
    return f"info string {text}"


def _whole(name: str, text: str, low: int, high: int) -> int:
    try:
        return whole_number(text, low, high)
    except ValueError:
        raise InvalidInput(name, text, f"a whole number from {low} to {high}") from None


def _type_of(knob: Knob, default: Any) -> str:
    """What follows ``type`` in the line that declares an option."""
    option = knob.option
    if knob.kind is bool:
        return f"check default {str(default).lower()}"
    if option.choices and default is not None and (option.classes or not option.accepted):
        return " ".join([f"combo default {default}", *(f"var {each}" for each in option.choices)])
    if knob.kind is int and option.bounds and default is not None:
        return f"spin default {default} min {option.bounds[0]} max {option.bounds[1]}"
    return f"string default {UNSET if default is None else default}"


def _value_of(knob: Knob, text: str) -> Any:
    """The value of an option; raises InvalidInput."""
    if text == UNSET and knob.nullable:
        return None
    readers: dict[type, Callable[[str], Any]] = {
        int: whole_number,
        float: float,
        bool: lambda said: {"true": True, "false": False}.get(said, said),
    }
    try:
        return knob.check(readers.get(knob.kind, str)(text))
    except ValueError:
        raise InvalidInput(knob.cli, text, knob.accepted) from None


def _position(words: list[str]) -> list[Command]:
    at = words.index("moves") if "moves" in words else len(words)
    kind, text = words[:1], " ".join(words[1:at])
    if kind not in (["startpos"], ["fen"]) or bool(text) != (kind == ["fen"]):
        raise InvalidInput("position", " ".join(words), "startpos or fen POSITION, then moves M1 M2 ...")
    return [Stop(), Change({"position": text or None, "moves": tuple(words[at + 1 :])})]


def _go(words: list[str]) -> list[Command]:
    said = {}
    for word, value in zip(words, [*words[1:], ""], strict=False):
        if word in NUMBERS:
            # The time that is left may be less than none.
            said[word] = _whole(word, value, -MOST if word in TIMES else 0, MOST)
    seconds = {name: said[name] / 1000 for name in TIMES if name in said}
    limits = [
        Limit(seconds.get("movetime"), seconds.get(f"p{player}time"), seconds.get(f"p{player}inc", 0.0))
        for player in (1, 2)
    ]
    nodes = said.get("nodes")
    return [
        Stop(),
        Think((limits[0], limits[1]), None if nodes is None else max(1, nodes), endless="infinite" in words),
    ]


def _query(words: Sequence[str]) -> list[Command]:
    answers = {"gameover": _is_over, "p1turn": _is_first, "result": _result}
    if len(words) != 1 or words[0] not in answers:
        raise InvalidInput("query", " ".join(words), " or ".join(answers))
    text_of = answers[words[0]]
    return [Ask(lambda game, state: f"response {text_of(game, state)}")]


def _is_over(game: Game, state: State) -> str:
    return str(bool(game.calls.is_terminal(state))).lower()


def _is_first(game: Game, state: State) -> str:
    """Where the game is over, whose turn it would be."""
    return str(int(game.calls.current_player(state)) == FIRST).lower()


def _result(game: Game, state: State) -> str:
    if not game.calls.is_terminal(state):
        return "none"
    won = float(game.calls.returns(state))
    return "draw" if won == 0 else "p1win" if won > 0 else "p2win"
