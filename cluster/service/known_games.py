"""Descriptions and checks of the games that clients may use.

Built-in games are called in the server. Games of installed packages and of OpenSpiel, and environments of
gymnasium, are third-party code, which may crash the process that runs it: they have to be allowed by the
operator (`AllowedGames`), and are called in a separate process (`Foreign`). The server itself runs them only
to open a search, and only after that request has passed a trial in the separate process.
"""

from __future__ import annotations

import importlib.util
import logging
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from cluster.lab.sources.table import described_players
from cluster.matches.game import Cancelled
from cluster.play import described_built_in
from cluster.service import positions
from cluster.service.errors import Problem
from cluster.service.foreign import Foreign
from cluster.service.request_models import SHORTEST_S, MoveBody, PositionBody
from cluster.service.turns import Turns
from games import catalogue
from games import user_games as own
from games.errors import InvalidInput
from games.spec import GYM, OPENSPIEL, TEXT_OF, Spec, file_of, parse_game_spec
from search.evaluator import EXTERNAL
from search.players.presets import NAMES
from search.prepare import check_request
from search.request import SearchRequest

MOVES = 8
"""Largest number of requests for moves that are served or wait, for players whose kernels are compiled; for
others as many again. More would block all threads of the server."""
PLAYER_S = 40.0
"""CPU seconds of a request for the move of a player that a client names, which may compile its kernels. Its
own budget need not be one of time."""
PASSED = 1024
"""Number of requests that are remembered as having passed a trial, more than can be open at a time; and of
players that are remembered as compiled."""
LOG = logging.getLogger("banyan.games")
OPTION = "--allow-games"
FORM = (
    "the name of a game without options, such as my_game, openspiel:connect_four, 'openspiel:*' or "
    "gym:FrozenLake-v1"
)
_PATTERN = re.compile(rf"(?:{OPENSPIEL}:[\w*]+|{GYM}:(?!.*\.py$)[\w.*/-]+|[\w.*-]+)", re.ASCII)


@dataclass(frozen=True)
class AllowedGames:
    """The games allowed in addition to the built-in ones."""

    patterns: tuple[str, ...] = ()
    """Names without options; ``*`` stands for any text."""

    @property
    def single(self) -> list[str]:
        """The patterns without ``*``, which are names of single games."""
        known = catalogue.built_in()
        return [name for name in dict.fromkeys(self.patterns) if "*" not in name and name not in known]

    def is_foreign(self, text: str) -> bool:
        """Whether the game of a spec is third-party code.

        Raises InvalidInput (field ``game``) for a game that is not allowed.
        """
        spec = parse_game_spec(text)
        if spec.name in catalogue.built_in():
            return False
        if file_of(spec) is not None:
            raise InvalidInput("game", text, f"a name, not a file: {self._accepted}")
        there = spec.name in own.LIBRARIES or spec.name in own.installed()
        if there and any(_matches(_plain_name(spec), pattern) for pattern in self.patterns):
            return True
        raise InvalidInput("game", text, self._accepted)

    @property
    def _accepted(self) -> str:
        names = ", ".join(
            [*catalogue.built_in(), *(p for p in self.patterns if p not in catalogue.built_in())]
        )
        return f"one of {names} (the operator of this server allows others with {OPTION})"


def allow_games(patterns: Sequence[str]) -> AllowedGames:
    """Check patterns given by the operator. Raises InvalidInput (field ``allow_games``) for one that matches
    no installed game."""
    for pattern in patterns:
        if not _PATTERN.fullmatch(pattern):
            raise InvalidInput("allow_games", pattern, FORM)
        family, colon, _ = pattern.partition(":")
        if colon:
            module, name, package = own.LIBRARIES[family]
            if importlib.util.find_spec(module) is None:
                accepted = f"{name} to be installed: pip install {package}"
                raise InvalidInput("allow_games", pattern, accepted)
        elif "*" not in pattern and pattern not in catalogue.names():
            installed = ", ".join(catalogue.names())
            raise InvalidInput("allow_games", pattern, f"a game that is installed ({installed})")
    return AllowedGames(tuple(patterns))


def _matches(name: str, pattern: str) -> bool:
    """Whether a pattern allows a name; environments only one of their own, such as ``gym:*``."""
    own = not name.startswith(f"{GYM}:") or pattern.startswith(f"{GYM}:")
    return own and fnmatchcase(name, pattern)


def _plain_name(spec: Spec) -> str:
    """The name of a game without options, in the form of the patterns."""
    if spec.name not in own.LIBRARIES:
        return spec.name
    name = re.split(r"[(:]", spec.options.get(TEXT_OF[spec.name], ""), maxsplit=1)[0]
    return f"{spec.name}:{name}"


class KnownGames:
    """The games of a service. Safe to use from any thread."""

    def __init__(self, allowed: AllowedGames | None = None, workers: str = "") -> None:
        """``workers``: how the workers of the service share their machines, in words."""
        self.allowed, self.workers = allowed or AllowedGames(), workers
        self._foreign, self._players = Foreign(), Foreign(seconds=PLAYER_S)
        self._moves, self._compiling = Turns(MOVES), Turns(MOVES)
        self._compiled: set[tuple[str, str]] = set()
        """Games and presets whose players have moved."""
        self._closed = False
        self._passed: set[SearchRequest] = set()

    @cached_property
    def players(self) -> list[dict[str, str]]:
        """Descriptions of all players."""
        return described_players()

    @cached_property
    def all(self) -> list[dict[str, Any]]:
        """Descriptions of all games that are allowed by name, without those that cannot be loaded."""
        rows = described_built_in()
        for name in self.allowed.single:
            try:
                described = self._foreign.ask("describe", name, name)
            except InvalidInput as error:
                LOG.warning("%s is not in the list of games: %s", name, error)
                continue
            rows.append(described | {"name": name})
        return sorted(rows, key=lambda row: str(row["name"]))

    def game(self, spec: str, address: str = "") -> dict[str, Any]:
        """The description of a game. Raises InvalidInput (field ``game``), Problem (429, 503)."""
        if self.allowed.is_foreign(spec):
            return self._foreign.ask("game", spec, spec, address=address)
        return positions.game_json(spec)

    def read(self, spec: str, body: PositionBody, address: str = "") -> dict[str, Any]:
        """The description of a position.

        Raises InvalidInput (field ``game``, or one of the body), Problem (429, 503).
        """
        if self.allowed.is_foreign(spec):
            return self._foreign.ask("read", spec, spec, body, address=address)
        return positions.read(spec, body)

    def move(
        self, spec: str, body: MoveBody, address: str = "", gone: Callable[[], bool] = lambda: False
    ) -> dict[str, Any]:
        """The move of a player. Of presets one is computed at a time, and beside it one that compiles; of
        players that a client names one, in a separate process.

        ``gone``: whether the client, of this address, waits no more. Raises InvalidInput (fields ``game``,
        ``player``, or one of the body), Problem (429, 503).
        """

        def clock() -> float:
            if self._closed or gone():
                raise Cancelled
            return time.thread_time()

        try:
            if self.allowed.is_foreign(spec):
                return self._foreign.ask("move", spec, spec, body, address=address, check=clock)
            if body.player not in NAMES:
                asked = body.player, spec, body
                return self._players.ask("move", *asked, field="player", address=address, check=clock)
            key = positions.load(spec).spec, body.player
            if key not in self._compiled:
                # A move of no length, beside moves of players that are compiled.
                with self._compiling.turn(address, clock):
                    if key not in self._compiled:
                        short = positions.move(spec, body.model_copy(update={"seconds": SHORTEST_S}), clock)
                        if not short["simulations"] and not short["nodes"]:
                            return short
                        if len(self._compiled) >= PASSED:
                            self._compiled.clear()
                        self._compiled.add(key)
            with self._moves.turn(address, clock):
                return positions.move(spec, body, clock)
        except Cancelled:
            raise Problem(503, "nobody waits for this move any more, or the server is stopping") from None

    def check_player(self, spec: str, player: str, address: str = "") -> None:
        """Raise InvalidInput (fields ``game``, ``player``, or player option NAME) for a player that cannot
        play the game, Problem (429, 503)."""
        if player not in NAMES:
            tested = self._foreign if self.allowed.is_foreign(spec) else self._players
            tested.ask("player", player, spec, player, field="player", address=address)

    def check(self, request: SearchRequest, address: str = "") -> str | None:
        """Check that a search can be opened; returns its position without hidden information.

        Raises InvalidInput as `open_search` does, Problem (429, 503).
        """
        if self.allowed.is_foreign(request.game):
            return self._try(request, address)
        return positions.seen(
            check_request(request, files=False, external=request.evaluator == EXTERNAL), request.position
        )

    def admit(self, request: SearchRequest) -> None:
        """Raise InvalidInput for a search that the server must not open: its game is not allowed, or fails.

        A request without a trial yet, such as one accepted by an earlier server, is tried first.
        """
        if self.allowed.is_foreign(request.game) and request not in self._passed:
            self._try(request)

    def close(self) -> None:
        """End the separate processes, running trials, and moves."""
        self._closed = True
        self._foreign.close()
        self._players.close()

    def _try(self, request: SearchRequest, address: str | None = None) -> str | None:
        found: dict[str, str | None] = self._foreign.ask("check", request.game, request, address=address)
        if len(self._passed) >= PASSED:
            self._passed.clear()
        self._passed.add(request)
        return found["position"]
