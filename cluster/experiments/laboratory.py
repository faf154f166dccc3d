"""Where experiments are made: matches played on an executor and kept, counts made here and kept.

All is kept under one folder, by what it is and not by who asked for it: tables that look at the same
games share them, a longer experiment goes on from a shorter one, and one that was broken off from where
it was. Nothing is kept of games but the records of `cluster.match_folder`.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.executor import Executor
from cluster.match import Match
from cluster.match_folder import MatchFolder
from cluster.match_game import MakePlayer
from cluster.match_launch import MatchRequest, open_match
from cluster.match_session import MatchSession, Observer, Stop
from games.game import Game
from search.players import player_of

DEFAULT_OUT = Path("out/experiments")


class Interrupted(Exception):
    """The experiments were given up on request; what was played is kept."""


@dataclass(frozen=True)
class Played:
    """A match that is over."""

    match: Match
    game: Game
    cpu_s: float
    """What all players thought, whenever that was."""


class Laboratory:
    """Runs what measures ask for."""

    def __init__(
        self,
        out: Path,
        seed: int,
        make_executor: Callable[[], Executor],
        stop: Stop | None = None,
        observers: tuple[Observer, ...] = (),
        make_player: MakePlayer = player_of,
    ) -> None:
        """``make_executor`` is called when the first game has to be played, and once."""
        self.seed = seed
        self.stop = stop or Stop()
        self._out = out
        self._make_executor = make_executor
        self._make_player = make_player
        self._observers = observers
        self._executor: Executor | None = None

    def play(self, game: str, a: str, b: str, num_games: int, opening_plies: int) -> Played:
        """Play what is missing of a match.

        Raises InvalidInput (a player that cannot be made, and what else `open_match` has to say),
        MatchFailed, Interrupted.
        """
        request = MatchRequest(game, a, b, num_games, self.seed, opening_plies)
        context, loaded = open_match(request, self._make_player)
        identity = (context.game, *context.players, context.seed, context.opening_plies)
        folder = MatchFolder(self._out / "matches" / _name(context.game, identity), context)
        try:
            match = Match(context, num_games, None, folder.played)
            if not match.finished:
                self._check()
                if self._executor is None:
                    self._executor = self._make_executor()
                self._executor.open(context)
                MatchSession(match, self._executor, self.stop, folder).run(self._observers)
        finally:
            folder.close()
        if match.stopped_by == "cancelled":
            raise Interrupted
        return Played(match, loaded, sum(effort.cpu_s for effort in match.standing().efforts))

    def count(
        self, name: str, arguments: Mapping[str, Any], counting: Callable[[], Mapping[str, float]]
    ) -> tuple[dict[str, float], float]:
        """What ``counting`` finds, and the CPU seconds that it took; made here, once. Raises Interrupted."""
        identity = (name, json.dumps(arguments, sort_keys=True, default=str))
        file = self._out / "counts" / f"{_name(name, identity)}.json"
        if file.exists():
            kept = json.loads(file.read_text(encoding="utf-8"))
            return kept["found"], kept["cpu_s"]
        self._check()
        started = time.thread_time()
        found = dict(counting())
        cpu_s = time.thread_time() - started
        file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"name": name, "arguments": dict(arguments), "found": found, "cpu_s": cpu_s}, default=str)
        beside = file.with_suffix(".new")
        beside.write_text(text + "\n", encoding="utf-8")
        beside.replace(file)
        return found, cpu_s

    def _check(self) -> None:
        if self.stop.requested:
            raise Interrupted


def _name(word: str, identity: tuple[Any, ...]) -> str:
    """A folder's name that no other identity has."""
    digest = hashlib.sha256("\n".join(map(str, identity)).encode()).hexdigest()
    return f"{re.sub('[^a-z0-9]+', '-', word.lower()).strip('-')}-{digest[:16]}"
