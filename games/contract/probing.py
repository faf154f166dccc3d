"""Trial of third-party game code for a service, with everything that searches and displays call.

The code may end the process or take all of its memory: the caller runs `probe` in a process that can be lost.
Defects that harm nobody but the game's author are left to `banyan check` (games/contract/checking.py).
"""

from __future__ import annotations

import time
from contextlib import suppress

import numpy as np

from games.compile.specialise import is_compiled
from games.contract.findings import deal
from games.contract.trial import PLIES, try_out
from games.drawing import draw
from games.errors import InvalidInput
from games.game import Game, State
from games.python_game import PythonGame
from games.python_positions import CACHED_POSITIONS, copy_of
from games.rng import new_stream

PROBE_S = 1.0
"""Time limit of the random games, and of filling the cache of positions; a running call is waited for."""
STATE_BYTES = 2**20
"""The largest array that may hold a position: searches and their jobs have many of them."""


def probe(game: Game, state: State) -> None:
    """Play random games from ``state``, which is not changed, and call what displays call.

    Raises InvalidInput (field ``game``) for positions that are too large, BrokenGame for rules that violate
    the contract, and whatever the game's other functions raise.
    """
    if isinstance(state, np.ndarray) and state.nbytes > STATE_BYTES:
        accepted = f"a game whose positions take at most {STATE_BYTES} bytes (this one has {state.nbytes})"
        raise InvalidInput("game", game.spec, accepted)
    last = [deal(game, 0) if game.hidden_information else state.copy()]

    def look(state: State) -> None:
        _texts(game, state)
        last.append(state)

    look(last[0])
    try_out(game, last[0], plies=max(PLIES, game.max_plies), seconds=PROBE_S, look=look)
    if game.rules.playout is not None and not is_compiled(game.rules):
        with np.errstate(over="ignore"):
            game.rules.playout(last[0].copy(), np.zeros(game.max_moves, dtype=np.uint16), new_stream(0))
    if isinstance(game, PythonGame):
        _fill_cache(game, last[-1])


def _texts(game: Game, state: State) -> None:
    """Call all functions that convert a position to text and back."""
    for move in game.legal_moves(state):
        game.format_move(state, move)
    with suppress(InvalidInput):
        # A text that cannot be read back is harmless to the service.
        game.canonical(state)
    game.format_seen(state)
    draw(game.board(state), colour=False)
    if game.calls.is_terminal(state):
        game.outcome_text(state)


def _fill_cache(game: PythonGame, state: State) -> None:
    """Make as many copies of a position as a search keeps in its cache, so that a lack of memory shows."""
    until_s = time.monotonic() + PROBE_S
    position = game.position(state)
    copies: list[object] = []
    while len(copies) < CACHED_POSITIONS and time.monotonic() < until_s:
        copies.append(copy_of(position))
