"""Asks the rules of a game about positions: who moves there, which moves are legal, is the game over."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.game import Game
from games.rules import State
from search.job import Positions


def positions_of(
    game: Game, root_state: State, moves: npt.NDArray[np.uint16], depths: npt.NDArray[np.int32]
) -> Positions:
    """What the rules say of the positions to which the first depths[b] of moves[b] lead from the root.

    For a game in plain Python: its rules are called as they are.
    """
    rules = game.rules
    scratch = np.zeros(game.max_moves, dtype=np.uint16)
    movers, scores, counts, listed = [], [], [], []
    for path, depth in zip(moves, depths.tolist(), strict=True):
        state = root_state.copy()
        for move in path[:depth]:
            rules.play(state, np.int64(move))  # type: ignore[arg-type]
        if rules.is_terminal(state):
            movers.append(0)
            scores.append(float(rules.returns(state)))
            counts.append(0)
            continue
        movers.append(rules.current_player(state))
        scores.append(_score(game, state, movers[-1]) if game.rewards else 0.0)
        counts.append(rules.legal_moves(state, scratch))
        listed.append(scratch[: counts[-1]].tobytes())
    legal = np.frombuffer(b"".join(listed), dtype=np.uint16)
    return Positions(
        np.array(movers, dtype=np.uint8), np.array(scores), np.array(counts, dtype=np.int32), legal
    )


def _score(game: Game, state: State, mover: int) -> float:
    """The score so far of the first player, or from three players on of who moves."""
    rules = game.rules
    return float(rules.score(state, mover) if rules.score is not None else rules.returns(state))
