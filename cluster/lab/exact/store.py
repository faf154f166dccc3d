"""The files in which positions and moves of a measurement are kept: it can be interrupted and extended."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO, Any, NamedTuple

from cluster.lab.exact.positions import SharpPosition
from cluster.system.file_lock import lock_in
from games.errors import InvalidInput

IDENTITY, POSITIONS, MOVES = "exact.json", "positions.jsonl", "moves.jsonl"


class Move(NamedTuple):
    """A move that a player chose, and its cost."""

    move: str
    cpu_s: float


class MoveStore:
    """A folder with the moves made so far, or no folder: then nothing is kept. It must be closed."""

    def __init__(self, folder: Path | None, identity: dict[str, Any]) -> None:
        """``identity``: what the moves depend on, apart from player and position.

        Raises OSError, or InvalidInput (field ``out``) if the folder holds another measurement.
        """
        self._made: dict[str, dict[int, Move]] = {}
        self.positions: list[SharpPosition] = []
        """The positions found so far."""
        self._folder = folder
        self._file: IO[str] | None = None
        self._lock: IO[str] | None = None
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / IDENTITY
        if not file.exists():
            file.write_text(json.dumps(identity) + "\n", encoding="utf-8")
        self._lock = lock_in(folder, IDENTITY, "a folder that no other measurement is writing to")
        try:
            if _json(file.read_text(encoding="utf-8")) != identity:
                accepted = f"a folder for this measurement ({file} tells of another)"
                raise InvalidInput("out", str(folder), accepted)
            self._read_positions(folder / POSITIONS)
            self._read(folder / MOVES)
            self._file = (folder / MOVES).open("a", encoding="utf-8")
        except BaseException:
            self._lock.close()
            raise

    def read(self, player: str) -> dict[int, Move]:
        """The kept moves of a player by number (see `cluster.lab.exact.moves`)."""
        return dict(self._made.get(player, {}))

    def add(self, player: str, moves: dict[int, Move]) -> None:
        """Keep these moves."""
        if self._file is not None:
            line = {"player": player, "moves": [[number, *move] for number, move in moves.items()]}
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()

    def keep_positions(self, positions: list[SharpPosition]) -> None:
        """Keep these positions instead of those found so far."""
        self.positions = positions
        if self._folder is not None:
            lines = [json.dumps({"position": each.text, "values": each.values}) for each in positions]
            # Whole or not at all, should the process be killed here.
            part = self._folder / f"{POSITIONS}.part"
            part.write_text("\n".join([*lines, ""]), encoding="utf-8")
            os.replace(part, self._folder / POSITIONS)

    def close(self) -> None:
        """Release the folder."""
        for file in (self._file, self._lock):
            if file is not None:
                file.close()

    def _read_positions(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        for number, line in enumerate(lines):
            try:
                entry = json.loads(line)
                values = {str(move): int(value) for move, value in entry["values"].items()}
                self.positions.append(SharpPosition(str(entry["position"]), values))
            except (ValueError, TypeError, KeyError, AttributeError):
                raise _written_by_others(path, number) from None

    def _read(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
        # A process that was killed may leave an incomplete last line.
        whole = [line for line in lines if line.endswith("\n")]
        if len(whole) < len(lines):
            path.write_text("".join(whole), encoding="utf-8")
        for number, line in enumerate(whole):
            try:
                entry = json.loads(line)
                made = self._made.setdefault(entry["player"], {})
                made |= {int(place): Move(str(move), float(cpu_s)) for place, move, cpu_s in entry["moves"]}
            except (ValueError, TypeError, KeyError):
                raise _written_by_others(path, number) from None


def _written_by_others(path: Path, number: int) -> InvalidInput:
    accepted = f"a file that only this measurement has written to (not so line {number + 1})"
    return InvalidInput("out", str(path), accepted)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
