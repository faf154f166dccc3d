"""Recorded games, a text file each: moves in notation, positions on the way, and how it ends.

When notation or positions have changed on purpose: ``python -m tests.games.playthroughs`` writes all
positions anew; ``game``, the first ``position`` and ``moves`` stay as they are. A game that joins needs
a file with these three (and a line that begins with # on what happens in it), and then that command.
"""

from __future__ import annotations

from pathlib import Path

import games
from games import Game, State

FILES = sorted(Path(__file__).parent.glob("*.txt"))


def replay(text: str) -> str:
    """The recording as it is when its moves are played; raises InvalidInput for one that is not legal."""
    given = [line.partition(" ")[::2] for line in text.splitlines()]
    game = games.load(next(rest for kind, rest in given if kind == "game"))
    state = game.parse_position(next(rest for kind, rest in given if kind == "position"))
    lines = [f"{kind} {rest}" for kind, rest in given if kind in ("#", "game")]
    lines += _position(game, state)
    for kind, rest in given:
        if kind == "moves":
            lines += [f"moves {' '.join(_played(game, state, rest.split()))}", *_position(game, state)]
    if game.rules.is_terminal(state):
        lines.append(f"returns {game.rules.returns(state):g}, {game.outcome_text(state)}")
    return "\n".join(lines) + "\n"


def _played(game: Game, state: State, texts: list[str]) -> list[str]:
    """Play the moves, ``state`` modified in place; the moves as the game writes them."""
    written = []
    for text in texts:
        before = state.copy()
        (move,) = game.play_text(state, [text])
        written.append(game.format_move(before, move))
    return written


def _position(game: Game, state: State) -> list[str]:
    return [f"position {game.format_position(state)}", f"legal {len(game.legal_moves(state))}"]


def write() -> None:
    """Write all recordings anew."""
    for file in FILES:
        file.write_text(replay(file.read_text(encoding="utf-8")), encoding="utf-8")
