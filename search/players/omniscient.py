"""Three Battleship programs of a thesis, which see the other player's ships.

They are implemented as the thesis prints them, including errors, because its tables are about these programs.
None of them is the algorithm that its name in the thesis says, and all see hidden information. Honest
players are in search/players/shooters.py.

- sampling ("Monte Carlo tree search" in the thesis) has no tree. Each step draws an untried cell and then
  depth - 1 further cells of the whole board, tried or not, and counts the hits. The first step with the most
  hits determines the shot: the last of its further cells that is a hit, otherwise the untried cell.
- minimax exchanges the two fleets at each of its own plies but not at the opponent's, so the fleets
  tested at successive plies are: opponent's, opponent's, own, own. The opponent is assumed to shoot at
  the opponent's own ships.
- alphabeta has neither alpha nor beta. It skips a cell whose own score is below the best score so far, and it
  does not mark the shots of its lookahead as tried.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt

from games.battleship import Battleship, rules
from games.compile.specialise import cached_njit
from games.errors import InvalidInput
from games.game import Game, State
from games.jit import njit
from games.spec import Options, Spec
from search.players.player import Choice, Observation, Player, only

MAX_DEPTH = 4
Cells = npt.NDArray[np.bool_]


class Omniscient(Player):
    """Base class of the three players: they see the complete position."""

    omniscient = True

    def __init__(self, spec: Spec, options: Options, game: Game) -> None:
        """Options: depth, 1 to 4; sampling also steps."""
        super().__init__(str(spec))
        only(spec, game, Battleship)
        self.depth = options.whole("depth", 1, 1, MAX_DEPTH)
        self.steps = options.whole("steps", 50, 1, 1_000_000) if isinstance(self, OmniscientSampling) else 0


class OmniscientSampling(Omniscient):
    """The thesis' Monte Carlo player, called sampling here."""

    def choose(self, seen: Observation, seed: int) -> Choice:
        theirs, _, tried, _ = _sides(seen)
        afloat = set(np.flatnonzero(theirs).tolist())
        untried, draw = np.flatnonzero(~tried).tolist(), random.Random(seed)
        best_score, best_guess = -1, -1
        for _ in range(self.steps):
            guess, score = self._step(draw.choice(untried), afloat, len(tried), draw)
            if score > best_score:
                best_score, best_guess = score, guess
        return Choice(
            best_guess, simulations=self.steps, thought=f"{best_score} hits in the best of its steps"
        )

    def _step(self, guess: int, afloat: set[int], area: int, draw: random.Random) -> tuple[int, int]:
        """(shot, number of hits) of one random sample."""
        left = afloat - {guess}
        score = int(guess in afloat)
        guesses: set[int] = set()
        while left and len(guesses) < self.depth - 1:
            follow_up = draw.randrange(area)
            if follow_up not in guesses:
                guesses.add(follow_up)
                if follow_up in left:
                    left.remove(follow_up)
                    score += 1
                    guess = follow_up
        return guess, score


class OmniscientMinimax(Omniscient):
    """The thesis' minimax player."""

    def choose(self, seen: Observation, seed: int) -> Choice:
        move, score, calls = self._printed(*_sides(seen), self.depth)
        thought = f"depth {self.depth}, {calls:,} calls, score {score:g}"
        return Choice(int(move), nodes=int(calls), thought=thought)

    def _printed(self, *position: Any) -> tuple[int, float, int]:
        return printed_minimax(*position)


class OmniscientAlphaBeta(OmniscientMinimax):
    """The thesis' alpha-beta player."""

    def _printed(self, *position: Any) -> tuple[int, float, int]:
        return printed_alpha_beta(*position)


def _sides(seen: Observation) -> tuple[Cells, Cells, Cells, Cells]:
    """(cells of the opponent's ships that are not hit, of own ships that are not hit, cells tried by the
    player, cells tried by the opponent)."""
    state, area = seen.state, int(seen.state[rules.AREA])
    if not state[rules.DEALT]:
        text = seen.game.format_position(state)
        raise InvalidInput("position", text, "a position whose fleets are dealt: this player sees them")
    theirs, tried = _shot_at(state, seen.mover, area)
    if state[rules.SIDES] == 1:
        return theirs, np.zeros_like(theirs), tried, np.zeros_like(tried)
    mine, their_tried = _shot_at(state, 1 - seen.mover, area)
    return theirs, mine, tried, their_tried


def _shot_at(state: State, side: int, area: int) -> tuple[Cells, Cells]:
    cells = state[rules.CELLS + side * area : rules.CELLS + (side + 1) * area]
    tried = (cells & 15) != 0
    return (cells >= 16) & ~tried, tried


@njit
def _printed_hit(theirs: Cells, mine: Cells, ply: int, cell: int) -> float:
    """1.0 if a shot at ``cell`` counts as a hit at ``ply`` in the thesis' program, else 0.0."""
    return 1.0 if (theirs[cell] if ply & 1 == 0 else mine[cell]) else 0.0


@cached_njit
def printed_minimax(
    theirs: Cells, mine: Cells, tried: Cells, their_tried: Cells, depth: int
) -> tuple[int, float, int]:
    """(shot, its score, number of calls); ties are broken by the first cell.

    A player without an untried cell scores 0; the thesis' program fails in that case.
    """
    area = len(theirs)
    free = np.empty((2, area), dtype=np.bool_)
    free[0], free[1] = ~tried, ~their_tried
    place = np.zeros(depth + 1, dtype=np.int64)
    best = np.full(depth + 1, -np.inf)
    best[1::2] = np.inf
    shot, calls, ply = -1, 1, 0
    while True:
        mover = ply & 1
        while place[ply] < area and not free[mover, place[ply]]:
            place[ply] += 1
        if place[ply] < area and ply < depth:
            free[mover, place[ply]] = False
            ply += 1
            calls += 1
            place[ply] = 0
            best[ply] = np.inf if ply & 1 else -np.inf
            continue
        value = best[ply] if ply < depth and abs(best[ply]) < np.inf else 0.0
        if ply == 0:
            return shot, value, calls
        ply -= 1
        mover, cell = ply & 1, place[ply]
        free[mover, cell] = True
        place[ply] += 1
        hit = theirs[cell] if ply & 2 == 0 else mine[cell]
        if mover == 0 and hit - value > best[ply]:
            best[ply] = hit - value
            if ply == 0:
                shot = cell
        elif mover == 1 and value - hit < best[ply]:
            best[ply] = value - hit


@cached_njit
def printed_alpha_beta(
    theirs: Cells, mine: Cells, tried: Cells, their_tried: Cells, depth: int
) -> tuple[int, float, int]:
    """(shot, its score, number of calls); ties are broken by the first cell."""
    area = len(theirs)
    place = np.zeros(depth, dtype=np.int64)
    best = np.full(depth, -np.inf)
    shot, calls, ply = -1, 1, 0
    while True:
        cell = place[ply]
        if cell == area:
            if ply == 0:
                return shot, best[0], calls
            # Return to the caller: subtract the best score of the other side, if it is positive.
            value = max(best[ply], 0.0)
            ply -= 1
            cell = place[ply]
            place[ply] += 1
            score = _printed_hit(theirs, mine, ply, cell) - value
        else:
            if tried[cell] if ply & 1 == 0 else their_tried[cell]:
                place[ply] += 1
                continue
            score = _printed_hit(theirs, mine, ply, cell)
            if score >= best[ply] and ply + 1 < depth:
                ply += 1
                calls += 1
                place[ply], best[ply] = 0, -np.inf
                continue
            place[ply] += 1
        if score > best[ply]:
            best[ply] = score
            if ply == 0:
                shot = cell
