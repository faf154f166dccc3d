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
from games.spec import Options, Spec
from search.players.player import Choice, Player, Seen, only

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
        self.steps = options.whole("steps", 50, 1, 1_000_000) if isinstance(self, Sampling) else 0


class Sampling(Omniscient):
    """The thesis' Monte Carlo player, called sampling here."""

    def choose(self, seen: Seen, seed: int) -> Choice:
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


class Minimax(Omniscient):
    """The thesis' minimax player."""

    def choose(self, seen: Seen, seed: int) -> Choice:
        move, score, calls = self._printed(*_sides(seen), self.depth)
        thought = f"depth {self.depth}, {calls:,} calls, score {score:g}"
        return Choice(int(move), nodes=int(calls), thought=thought)

    def _printed(self, *position: Any) -> tuple[int, float, int]:
        return printed_minimax(*position, sign=1.0)


class AlphaBeta(Minimax):
    """The thesis' alpha-beta player."""

    def _printed(self, *position: Any) -> tuple[int, float, int]:
        return printed_alpha_beta(*position)


def _sides(seen: Seen) -> tuple[Cells, Cells, Cells, Cells]:
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


@cached_njit
def printed_minimax(
    shot_at: Cells, other: Cells, tried: Cells, their_tried: Cells, depth: int, sign: float
) -> tuple[int, float, int]:
    """(shot, its score, number of calls); ties are broken by the first cell.

    ``shot_at``: the ships whose hits count; ``tried``: cells tried by who shoots, the player where ``sign``
    is 1 and the opponent where it is -1. A player without an untried cell scores 0; the thesis' program
    fails in that case.
    """
    best, shot, calls = -np.inf, -1, 1
    if depth == 0:
        return shot, 0.0, calls
    for cell in range(len(tried)):
        if tried[cell]:
            continue
        following, after = (shot_at, other) if sign > 0.0 else (other, shot_at)
        tried[cell] = True
        _, value, more = printed_minimax(following, after, their_tried, tried, depth - 1, -sign)
        tried[cell] = False
        calls += more
        if shot_at[cell] - value > best:
            best, shot = shot_at[cell] - value, cell
    return shot, sign * best if shot >= 0 else 0.0, calls


@cached_njit
def printed_alpha_beta(
    theirs: Cells, mine: Cells, tried: Cells, their_tried: Cells, depth: int
) -> tuple[int, float, int]:
    """(shot, its score, number of calls); ties are broken by the first cell."""
    best, shot, calls = -np.inf, -1, 1
    for cell in range(len(tried)):
        if tried[cell]:
            continue
        score = 1.0 if theirs[cell] else 0.0
        if score >= best and depth > 1:
            # The best score of the other side is subtracted if it is positive.
            _, value, more = printed_alpha_beta(mine, theirs, their_tried, tried, depth - 1)
            calls += more
            score -= max(value, 0.0)
        if score > best:
            best, shot = score, cell
    return shot, best, calls
