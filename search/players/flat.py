"""Flat Monte Carlo: an equal number of playouts from each legal move, without a tree."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from games.errors import counted
from games.game import SECOND, Game
from games.rng import new_stream
from games.spec import Options, Spec
from search.kernel.engine import engine_of
from search.kernel.params import params_from
from search.players.player import Choice, Player, Seen
from search.players.request_options import read_options, request_of_player
from search.request import SearchRequest, features_of

DEFAULT_SECONDS = 1.0
STATISTICS = ("mean", "median", "mode")
OPTIONS = ("simulations", "seconds", "playout_plies", "playout_policy")
"""The fields of SearchRequest that a spec may give."""
CHUNK_S = 0.01
"""Approximate duration, in seconds, of the playouts between two readings of the clock."""


class Flat(Player):
    """Flat Monte Carlo player; the value of a move is the mean, the median or the mode of its playouts."""

    def __init__(self, spec: str, request: SearchRequest, value: str) -> None:
        super().__init__(spec)
        self.request = request
        self.value = value

    @classmethod
    def from_options(cls, spec: Spec, options: Options, game: Game) -> Flat:
        """Its options are those of SearchRequest in OPTIONS, and ``value``; by default it has 1 s a move."""
        # Nothing is selected where there is no tree.
        asked = {**read_options(spec, options, OPTIONS), "exploration": 0.0}
        value = options.choice("value", "mean", STATISTICS)
        if "simulations" not in asked:
            asked.setdefault("seconds", DEFAULT_SECONDS)
        return cls(str(spec), request_of_player(game, asked), value)

    def choose(self, seen: Seen, seed: int) -> Choice:
        hidden = "ismcts" if seen.game.hidden_information else ""
        engine = engine_of(seen.game, features_of(self.request, hidden))
        params = params_from(replace(self.request, seed=seed), hidden, 1.0)
        # In random order, so that a budget that ends within a round favours no move.
        random.Random(seed).shuffle(order := list(seen.legal))
        moves = np.array(order, dtype=np.uint16)
        stream, work = new_stream(seed), engine.new_workspace()
        played: list[npt.NDArray[np.float64]] = []

        def play(some: slice, each: int) -> None:
            values = np.full((len(moves), each), np.nan)
            with np.errstate(over="ignore"):
                engine.play_flat(seen.state, params, moves[some], values[some], stream, work)
            played.append(values)

        if self.request.simulations is not None:
            each, rest = divmod(self.request.simulations, len(moves))
            play(slice(None), each)
            if rest:
                play(slice(0, rest), 1)
        else:
            # Compile or load the kernels before the clock starts.
            with np.errstate(over="ignore"):
                engine.play_flat(seen.state, params, moves[:1], np.zeros((1, 1)), stream.copy(), work)
            self._play_for_seconds(play, len(moves))
        values = np.concatenate(played, axis=1)
        if seen.game.viewpoint(seen.mover) == SECOND:
            values = -values
        worth = _worth(values, self.value)
        best = random.Random(seed).choice(np.flatnonzero(worth == worth.max()).tolist())
        count = int(np.count_nonzero(~np.isnan(values)))
        of = f"{counted(count, 'playout')} of {counted(len(moves), 'move')}"
        thought = f"{of}; {self.value} {worth[best]:+.3f}"
        return Choice(int(moves[best]), float(worth[best]), count, 0, thought)

    def _play_for_seconds(self, play: Callable[[slice, int], None], num_moves: int) -> None:
        """Play rounds of one playout of each move until the time is up, in calls of about `CHUNK_S` each."""
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
            # The next call: one playout of some of the moves, or several playouts of all moves.
            fitting = min(CHUNK_S, left_s) / max(1e-9, (now - started) / (size * each))
            size = min(num_moves - first, max(1, min(4 * size, int(fitting))))
            each = max(1, int(fitting / num_moves)) if size == num_moves else 1


def _worth(values: npt.NDArray[np.float64], statistic: str) -> npt.NDArray[np.float64]:
    """float64[M]: the mean, median or mode of each row of values[M, n], from the mover's viewpoint.

    NaN stands for a missing playout. Of several modes the highest is used. A move without playouts gets
    -inf.
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
