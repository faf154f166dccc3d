"""The player that plays out: as many playouts from each move, and no tree."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
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
        # In random order: where the budget ends within a round, no move is left out for its name.
        random.Random(seed).shuffle(order := list(seen.legal))
        moves = np.array(order, dtype=np.uint16)
        stream, work = new_stream(seed), engine.new_workspace()
        played: list[npt.NDArray[np.float64]] = []

        def play(some: slice, each: int) -> None:
            values = np.full((len(moves), each), np.nan)
            with np.errstate(over="ignore"):
                engine.play_flat(seen.state, knobs, moves[some], values[some], stream, work)
            played.append(values)

        if self.request.simulations is not None:
            each, rest = divmod(self.request.simulations, len(moves))
            play(slice(None), each)
            if rest:
                play(slice(0, rest), 1)
        else:
            # Kernels are compiled, or loaded, before the clock runs.
            with np.errstate(over="ignore"):
                engine.play_flat(seen.state, knobs, moves[:1], np.zeros((1, 1)), stream.copy(), work)
            self._play_for_seconds(play, len(moves))
        values = np.concatenate(played, axis=1) * (1.0 - 2.0 * seen.mover)
        worth = _worth(values, self.value)
        best = random.Random(seed).choice(np.flatnonzero(worth == worth.max()).tolist())
        count = int(np.count_nonzero(~np.isnan(values)))
        thought = f"{count:,} playouts of {len(moves)} moves; {self.value} {worth[best]:+.3f}"
        return Choice(int(moves[best]), float(worth[best]), count, 0, thought)

    def _play_for_seconds(self, play: Callable[[slice, int], None], num_moves: int) -> None:
        """Round after round over the moves, in calls that take about `CHUNK_S` each."""
        assert self.request.seconds is not None
        began = now = time.thread_time()
        size = each = 1
        first = 0
        while True:
            started = now
            play(slice(first, first + size), each)
            now = time.thread_time()
            left_s = self.request.seconds - (now - began)
            if left_s <= 0:
                return
            first = (first + size) % num_moves if first + size < num_moves else 0
            # As many playouts as fit the chunk: some of the moves once, or all of them several times.
            fitting = min(CHUNK_S, left_s) / max(1e-9, (now - started) / (size * each))
            size = min(num_moves - first, max(1, min(4 * size, int(fitting))))
            each = max(1, int(fitting / num_moves)) if size == num_moves else 1


def _worth(values: npt.NDArray[np.float64], statistic: str) -> npt.NDArray[np.float64]:
    """[M] of values[M, n], NaN where there is none, from the mover's viewpoint.

    Of several modes the highest counts. A move without a value is worth -inf.
    """
    worth = np.full(len(values), -np.inf)
    for m, row in enumerate(values):
        known = row[~np.isnan(row)]
        if not len(known):
            continue
        if statistic == "mean":
            worth[m] = known.mean()
        elif statistic == "median":
            worth[m] = np.median(known)
        else:
            different, counts = np.unique(known, return_counts=True)
            worth[m] = different[counts == counts.max()].max()
    return worth
