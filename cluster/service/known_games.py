"""Descriptions and checks of the games that clients may use.

Built-in games are called in the server. Other games are third-party code (`AllowedGames`) and are called in a
separate process (`Foreign`). The server itself runs them only to open a search, and only after that request
has passed a trial in the separate process.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from typing import Any

from cluster.service import positions
from cluster.service.allowed import AllowedGames
from cluster.service.errors import Problem
from cluster.service.foreign import Foreign
from cluster.service.request_models import MoveBody, PositionBody
from games import catalogue
from games.errors import InvalidInput
from search.evaluator import EXTERNAL
from search.prepare import check_request
from search.request import SearchRequest

MOVES = 8
"""Largest number of moves that are computed or wait for it. More would block all threads of the server."""
PASSED = 1024
"""Number of requests whose passed trial is remembered; more than can be open at a time."""
LOG = logging.getLogger("banyan.games")


class KnownGames:
    """The games of a service. Safe to use from any thread."""

    def __init__(self, allowed: AllowedGames | None = None) -> None:
        self.allowed = allowed or AllowedGames()
        self._foreign = Foreign()
        self._listed: list[dict[str, Any]] | None = None
        self._listing = threading.Lock()
        """Held while the list of games is made."""
        self._moving = threading.Lock()
        """Held while a player is asked for a move."""
        self._places = threading.BoundedSemaphore(MOVES)
        self._passed: OrderedDict[SearchRequest, None] = OrderedDict()
        self._passing = threading.Lock()
        """Held while the set of passed requests changes."""

    def all(self) -> list[dict[str, Any]]:
        """Descriptions of all games that are allowed by name, without those that cannot be loaded."""
        with self._listing:
            if self._listed is None:
                rows = [positions.describe_game(name) for name in catalogue.built_in()]
                for name in self.allowed.single:
                    try:
                        described = self._foreign.ask("describe", name, name, patient=True)
                    except InvalidInput as error:
                        LOG.warning("%s is not in the list of games: %s", name, error)
                        continue
                    rows.append(described | {"name": name})
                self._listed = sorted(rows, key=lambda row: str(row["name"]))
            return self._listed

    def game(self, spec: str) -> dict[str, Any]:
        """The description of a game. Raises InvalidInput (field ``game``), Problem (429, 503)."""
        if self.allowed.is_foreign(spec):
            found: dict[str, Any] = self._foreign.ask("game", spec, spec)
            return found
        return positions.game_json(spec)

    def read(self, spec: str, body: PositionBody) -> dict[str, Any]:
        """The description of a position.

        Raises InvalidInput (fields ``game``, ``moves``, ``position``), Problem (429, 503).
        """
        if self.allowed.is_foreign(spec):
            found: dict[str, Any] = self._foreign.ask("read", spec, spec, body)
            return found
        return positions.read(spec, body)

    def move(self, spec: str, body: MoveBody) -> dict[str, Any]:
        """The move of a preset's player. Only one is computed at a time: players share scratch memory.

        Raises InvalidInput (fields ``game``, ``moves``, ``position``, ``preset``), Problem (429, 503).
        """
        if self.allowed.is_foreign(spec):
            found: dict[str, Any] = self._foreign.ask("move", spec, spec, body)
            return found
        if not self._places.acquire(blocking=False):
            raise Problem(429, "too many moves are asked for", {"Retry-After": "1"})
        try:
            with self._moving:
                return positions.move(spec, body)
        finally:
            self._places.release()

    def check(self, request: SearchRequest) -> str | None:
        """Check that a search can be opened; returns its position without hidden information.

        Raises InvalidInput as `open_search` does, Problem (429, 503).
        """
        if self.allowed.is_foreign(request.game):
            return self._try(request, patient=False)
        return positions.seen(
            check_request(request, files=False, external=request.evaluator == EXTERNAL), request.position
        )

    def admit(self, request: SearchRequest) -> None:
        """Raise InvalidInput for a search that the server must not open: its game is not allowed, or fails.

        A request without a trial yet, such as one accepted by an earlier server, is tried first.
        """
        if self.allowed.is_foreign(request.game) and request not in self._passed:
            self._try(request, patient=True)

    def close(self) -> None:
        """End the separate process and running trials."""
        self._foreign.close()

    def _try(self, request: SearchRequest, *, patient: bool) -> str | None:
        found: dict[str, str | None] = self._foreign.ask("check", request.game, request, patient=patient)
        with self._passing:
            self._passed[request] = None
            if len(self._passed) > PASSED:
                self._passed.popitem(last=False)
        return found["position"]
