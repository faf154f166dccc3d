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

import math
import random

import numpy as np
import numpy.typing as npt

from games.battleship import Battleship, rules
from games.compile.specialise import cached_njit
from games.errors import InvalidInput
from games.game import Game, State
from games.jit import Int
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
        move, score, calls = self._printed(*_sides(seen))
        thought = f"depth {self.depth}, {calls:,} calls, score {score:g}"
        return Choice(int(move), nodes=int(calls), thought=thought)

    def _printed(
        self, theirs: Cells, mine: Cells, tried: Cells, their_tried: Cells
    ) -> tuple[int, float, int]:
        return printed_minimax(theirs, mine, tried, their_tried, self.depth, self.depth)


class OmniscientAlphaBeta(OmniscientMinimax):
    """The thesis' alpha-beta player."""

    def _printed(
        self, theirs: Cells, mine: Cells, tried: Cells, their_tried: Cells
    ) -> tuple[int, float, int]:
        return printed_alpha_beta(theirs, mine, tried, their_tried, self.depth)


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


# Of the recursions below Numba would compile another version for a call with a constant argument, and could
# not load that from its cache.


@cached_njit
def printed_minimax(
    theirs: Cells, mine: Cells, tried: Cells, others_tried: Cells, left: Int, depth: Int
) -> tuple[int, float, int]:
    """(shot, its score, number of calls) with ``left`` of ``depth`` plies to go; the first of equal cells.

    ``tried``, which is modified and restored: the cells tried by the player to move. A player without an
    untried cell scores 0; the thesis' program fails in that case.
    """
    shot, best, calls, ply = -1, 0.0, 1, depth - left
    if left == 0:
        return shot, best, calls
    for cell in range(len(tried)):
        if tried[cell]:
            continue
        tried[cell] = True
        _, value, further = printed_minimax(theirs, mine, others_tried, tried, left - 1, depth)
        tried[cell] = False
        calls += further
        hit = theirs[cell] if ply & 2 == 0 else mine[cell]
        if ply & 1 == 0:
            score, better = hit - value, hit - value > best
        else:
            score, better = value - hit, value - hit < best
        if shot < 0 or better:
            shot, best = cell, score
    return shot, best, calls


@cached_njit
def printed_alpha_beta(
    theirs: Cells, mine: Cells, tried: Cells, their_tried: Cells, depth: Int
) -> tuple[int, float, int]:
    """(shot, its score, number of calls); the first of equal cells."""
    shot, best, calls = -1, -math.inf, 1
    if depth == 0:
        return shot, 0.0, 0
    for cell in range(len(tried)):
        hit = 1.0 if theirs[cell] else 0.0
        if tried[cell] or hit < best:
            continue
        _, value, further = printed_alpha_beta(mine, theirs, their_tried, tried, depth - 1)
        calls += further
        score = hit - max(value, 0.0)
        if score > best:
            shot, best = cell, score
    return shot, best, calls
