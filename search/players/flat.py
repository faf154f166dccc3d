"""Flat Monte Carlo: playouts after legal moves, as many of each or drawn at random, without a tree."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from games.errors import counted
from games.game import SECOND, Game
from games.rng import new_stream
from games.spec import Options, Spec
from search.kernel.engine import engine_of
from search.kernel.params import params_from
from search.kernel.workspace import PLIES
from search.players.player import Choice, Player, Seen
from search.players.request_options import PliesClock, read_budget, read_options, request_of_player
from search.request import SearchRequest, features_of

STATISTICS, MODES, DRAWS = ("mean", "median", "mode"), ("highest", "first"), ("equal", "random")
OPTIONS = ("simulations", "seconds", "playout_plies", "playout_policy")
"""The fields of SearchRequest that a spec may give."""
CHUNK_S = 0.01
"""Greatest duration, in seconds, of the playouts between two readings of the clock; an estimate."""


class Flat(Player):
    """Flat Monte Carlo player; the value of a move is the mean, the median or the mode of its playouts."""

    def __init__(
        self, spec: str, request: SearchRequest, plies: int | None, value: str, modes: str, draws: str
    ) -> None:
        super().__init__(spec)
        self.request, self.plies = request, plies
        self.value, self.modes, self.draws = value, modes, draws

    @classmethod
    def from_options(cls, spec: Spec, options: Options, game: Game) -> Flat:
        """Its options are those of SearchRequest in OPTIONS, ``plies``, ``value``, ``modes`` and ``draws``;
        by default it has 1 s a move."""
        # Nothing is selected where there is no tree.
        asked = {**read_options(spec, options, OPTIONS), "exploration": 0.0}
        plies = read_budget(options, asked)
        value = options.choice("value", "mean", STATISTICS)
        modes = options.choice("modes", "highest", MODES)
        draws = options.choice("draws", "equal", DRAWS)
        return cls(str(spec), request_of_player(game, asked), plies, value, modes, draws)

    def choose(self, seen: Seen, seed: int) -> Choice:
        hidden = "ismcts" if seen.game.hidden_information else ""
        engine = engine_of(seen.game, features_of(self.request, hidden))
        params = params_from(replace(self.request, seed=seed), hidden, 1.0)
        # In random order, so that a budget that ends within a round favours no move.
        random.Random(seed).shuffle(order := list(seen.legal))
        moves = np.array(order, dtype=np.uint16)
        rng, stream, work = np.random.default_rng(seed), new_stream(seed), engine.new_workspace()
        clock = self.clock if self.plies is None else PliesClock(self.plies, self.clock)
        played: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]] = []
        count = 0

        def play(num_playouts: int) -> None:
            nonlocal count
            which = np.arange(count, count + num_playouts) % len(moves)
            if self.draws == "random":
                which = rng.integers(len(moves), size=num_playouts)
            values, before = np.zeros(num_playouts), int(work.tally[PLIES])
            with np.errstate(over="ignore"):
                engine.play_flat(seen.state, params, moves[which], values, stream, work)
            count += num_playouts
            played.append((which, values))
            if isinstance(clock, PliesClock):
                clock.spent += max(num_playouts, int(work.tally[PLIES]) - before)

        # Compile or load the kernels before the clock starts.
        play(0)
        if self.request.simulations is not None:
            play(self.request.simulations)
        else:
            assert self.request.seconds is not None
            began = now = clock()
            size = 1
            while now - began < self.request.seconds:
                started = now
                play(size)
                now = clock()
                most_s = min(CHUNK_S, (self.request.seconds - (now - began)) / 2)
                size = max(1, min(4 * size, int(most_s / max(1e-9, (now - started) / size))))
        which, values = (np.concatenate(arrays) for arrays in zip(*played, strict=True))
        if seen.game.viewpoint(seen.mover) == SECOND:
            values = -values
        worth = np.array([_worth(values[which == m], self.value, self.modes) for m in range(len(moves))])
        best = random.Random(seed).choice(np.flatnonzero(worth == worth.max()).tolist())
        of = f"{counted(count, 'playout')} of {counted(len(moves), 'move')}"
        thought = f"{of}; {self.value} {worth[best]:+.3f}"
        return Choice(int(moves[best]), float(worth[best]), count, 0, thought)


def _worth(values: npt.NDArray[np.float64], statistic: str, modes: str) -> float:
    """The mean, median or mode of the values of a move's playouts, in their order; -inf without any.

    Of several modes the ``highest`` counts, or the ``first``: the one whose first playout came first.
    """
    if not len(values):
        return -np.inf
    if statistic != "mode":
        return float(values.mean() if statistic == "mean" else np.median(values))
    different, places, counts = np.unique(values, return_index=True, return_counts=True)
    most = counts == counts.max()
    return float(different[most].max() if modes == "highest" else values[places[most].min()])
