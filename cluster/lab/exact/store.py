"""The files in which positions and moves of a measurement are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from cluster.lab.exact.positions import SharpPosition
from cluster.system.kept_folder import Kept

IDENTITY, POSITIONS, MOVES = "exact.json", "positions.jsonl", "moves.jsonl"


class Move(NamedTuple):
    """A move that a player chose, and its cost."""

    move: str
    cpu_s: float


class MoveStore(Kept):
    """A folder with the moves made so far, or no folder: then nothing is kept. It must be closed."""

    def __init__(self, folder: Path | None, identity: dict[str, Any]) -> None:
        """``identity``: what the moves depend on, apart from player and position.

        Raises OSError, or InvalidInput (field ``out``) if the folder holds another measurement.
        """
        super().__init__(folder, IDENTITY, identity, "measurement")
        self.positions = self.read(POSITIONS, _position_of)
        """The positions found so far."""
        self._made: dict[str, dict[int, Move]] = {}
        for player, moves in self.read(MOVES, _moves_of):
            self._made.setdefault(player, {}).update(moves)

    def made(self, player: str) -> dict[int, Move]:
        """The kept moves of a player by number (see `cluster.lab.exact.moves`)."""
        return dict(self._made.get(player, {}))

    def keep(self, player: str, moves: dict[int, Move]) -> None:
        """Keep these moves."""
        self.add(MOVES, {"player": player, "moves": [[number, *move] for number, move in moves.items()]})

    def keep_positions(self, positions: list[SharpPosition]) -> None:
        """Keep these positions instead of those found so far."""
        self.positions = positions
        self.replace(POSITIONS, ({"position": each.text, "values": each.values} for each in positions))


def _position_of(entry: dict[str, Any]) -> SharpPosition:
    values = {str(move): int(value) for move, value in entry["values"].items()}
    return SharpPosition(str(entry["position"]), values)


def _moves_of(entry: dict[str, Any]) -> tuple[str, dict[int, Move]]:
    moves = {int(number): Move(str(move), float(cpu_s)) for number, move, cpu_s in entry["moves"]}
    return str(entry["player"]), moves
