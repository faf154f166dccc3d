"""The player that plays out: as many playouts from each move, and no tree."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from games.errors import InvalidInput
from games.game import Game
from games.rng import new_stream
from games.spec import Options, Spec
from search.engine import engine_of
from search.knobs import knobs_from
from search.players.player import Choice, Player, Seen
from search.request import PLAYOUT_POLICIES, SearchRequest, features_of

DEFAULT_SECONDS = 1.0
STATISTICS = ("mean", "median", "mode")
CHUNK_S = 0.01
"""How long the playouts between two looks at the clock take, about."""


class Flat(Player):
    """Flat Monte Carlo; a move is worth the mean, the median or the mode of its playouts."""

    def __init__(self, spec: str, request: SearchRequest, value: str) -> None:
        super().__init__(spec)
        self.request = request
        self.value = value

    @classmethod
    def from_options(cls, spec: Spec, options: Options, game: Game) -> Flat:
        """simulations or seconds (1 s), value, playout_plies, policy."""
        asked: dict[str, Any] = {
            "simulations": options.integer("simulations"),
            "seconds": options.number("seconds"),
            "playout_plies": options.integer("playout_plies"),
            "playout_policy": options.choice("policy", "random", PLAYOUT_POLICIES),
        }
        value = options.choice("value", "mean", STATISTICS)
        if asked["simulations"] is None and asked["seconds"] is None:
            asked["seconds"] = DEFAULT_SECONDS
        try:
            return cls(str(spec), SearchRequest(game=game.spec, **asked), value)
        except InvalidInput as error:
            raise InvalidInput(f"player option {error.field}", error.value, error.accepted) from None

    def choose(self, seen: Seen, seed: int) -> Choice:
        hidden = "ismcts" if seen.game.hidden_information else ""
        engine = engine_of(seen.game, features_of(self.request, hidden))
        knobs = knobs_from(replace(self.request, seed=seed), hidden, 1.0)
        moves = np.array(seen.legal, dtype=np.uint16)
        stream, work = new_stream(seed), engine.new_workspace()
        played: list[npt.NDArray[np.float64]] = []

        def play(each: int) -> None:
            values = np.zeros((len(moves), each))
            with np.errstate(over="ignore"):
                engine.play_flat(seen.state, knobs, moves, values, stream, work)
            played.append(values)

        if self.request.simulations is not None:
            play(max(1, self.request.simulations // len(moves)))
        else:
            assert self.request.seconds is not None
            # Kernels are compiled, or loaded, before the clock runs.
            with np.errstate(over="ignore"):
                engine.play_flat(seen.state, knobs, moves[:1], np.zeros((1, 1)), stream.copy(), work)
            began, each = time.thread_time(), 1
            while True:
                started = time.thread_time()
                play(each)
                now = time.thread_time()
                left_s = self.request.seconds - (now - began)
                if left_s <= 0:
                    break
                per_playout_s = max(1e-9, (now - started) / each)
                each = max(1, int(min(CHUNK_S, left_s) / per_playout_s))
        values = np.concatenate(played, axis=1) * (1.0 - 2.0 * seen.mover)
        worth = _worth(values, self.value)
        best = random.Random(seed).choice(np.flatnonzero(worth == worth.max()).tolist())
        thought = f"{values.size:,} playouts, {values.shape[1]:,} a move; {self.value} {worth[best]:+.3f}"
        return Choice(seen.legal[best], float(worth[best]), int(values.size), 0, thought)


def _worth(values: npt.NDArray[np.float64], statistic: str) -> npt.NDArray[np.float64]:
    """[M] of values[M, n], from the mover's viewpoint; of several modes the highest counts."""
    if statistic == "mean":
        return np.asarray(values.mean(axis=1))
    if statistic == "median":
        return np.asarray(np.median(values, axis=1))
    modes = np.zeros(len(values))
    for m, row in enumerate(values):
        different, counts = np.unique(row, return_counts=True)
        modes[m] = different[counts == counts.max()].max()
    return modes
