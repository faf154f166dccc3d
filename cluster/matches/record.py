"""Records of games as text: players, moves and result. Written by matches and by `banyan play`.

A record is lines of ``name  value`` that end with an empty line:

    game     tictactoe
    first    random
    second   random
    seed     0
    pair     3
    leg      1
    opening  2
    moves    b2 a1 c3 ...
    result   1.0
    cost 1   3 moves, 0.000021 s, longest 0.000012 s, 0 simulations, 0 nodes
    cost 2   ...

``start`` is the start position, if it is not the usual one. ``opening`` is the number of moves at the
beginning that no player chose; later ones that nobody chose are those of chance. ``result`` is the first
player's return; it is missing if the game is not over. ``cost 1`` is the cost of the first player's moves,
in seconds of CPU time. Apart from these seconds, equal games have equal records.

A game of one player has no line ``second``. With three or more players the others follow as ``player 3``
and so on, and ``scores`` has the return of each. ``overtime`` is the number of the player who has lost
because its time was used up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import games
from cluster.system.files import replace_text
from games.errors import InvalidInput
from games.game import State
from games.user_games import read_text

NAME_WIDTH = 9
_COST_NAME = re.compile(r"cost ([1-9][0-9]?)", re.ASCII)
_COST = re.compile(
    r"(\d+) moves, ([\d.e-]+) s, longest ([\d.e-]+) s, (\d+) simulations, (\d+) nodes", re.ASCII
)


@dataclass(frozen=True)
class Effort:
    """The cost of the moves that a player was asked for."""

    moves: int = 0
    cpu_s: float = 0.0
    longest_s: float = 0.0
    """CPU seconds of the slowest move."""
    simulations: int = 0
    nodes: int = 0

    def __add__(self, other: Effort) -> Effort:
        return Effort(
            self.moves + other.moves,
            self.cpu_s + other.cpu_s,
            max(self.longest_s, other.longest_s),
            self.simulations + other.simulations,
            self.nodes + other.nodes,
        )

    @property
    def as_written(self) -> Effort:
        """Rounded to microseconds as in a file, so that statistics from files and from memory agree."""
        return replace(self, cpu_s=round(self.cpu_s, 6), longest_s=round(self.longest_s, 6))

    def __str__(self) -> str:
        return (
            f"{self.moves} moves, {self.cpu_s:.6f} s, longest {self.longest_s:.6f} s, "
            f"{self.simulations} simulations, {self.nodes} nodes"
        )


@dataclass(frozen=True)
class GameRecord:
    """The record of one game, finished or not."""

    game: str
    """The game's full spec."""
    seats: tuple[str, ...]
    """The specs of the players, or ``human``."""
    moves: tuple[str, ...]
    """All moves from the start, in the game's notation."""
    result: float | None = None
    """The first player's return; None if the game is not over."""
    seed: int = 0
    pair: int | None = None
    leg: int | None = None
    """In a match: the seat of player A, from 1; so 1 if A was the first player."""
    start: str | None = None
    opening: int = 0
    efforts: tuple[Effort, ...] = (Effort(), Effort())
    """The costs of each player."""
    scores: tuple[float, ...] | None = None
    """With three or more players, the return of each; None if the game is not over."""
    overtime: int | None = None
    """The number of the player, from 1, whose clock has run out, so that it has lost."""

    def __str__(self) -> str:
        costs = [f"{f'cost {n}':<{NAME_WIDTH}}{effort}" for n, effort in enumerate(self.efforts, start=1)]
        return "\n".join([*self.lines(), *costs]) + "\n\n"

    def lines(self) -> list[str]:
        """The record without costs, which are not needed to read it."""
        names = ("first", "second", *(f"player {n}" for n in range(3, 1 + len(self.seats))))
        values = {"game": self.game, **dict(zip(names, self.seats, strict=False))}
        values |= {name: getattr(self, name) for name in _READERS if name not in ("game", "first", "second")}
        lines = []
        for name, value in values.items():
            if value is not None:
                text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
                lines.append(f"{name:<{NAME_WIDTH}}{text}".rstrip())
        return lines

    def start_state(self, game: games.Game) -> State:
        """The position before the first move."""
        return game.initial_state() if self.start is None else game.parse_position(self.start)


_READERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("game", "first", "second"), str),
    **dict.fromkeys(("seed", "pair", "leg"), int),
    "start": str,
    "opening": int,
    "moves": lambda text: tuple(text.split()),
    "result": float,
    "scores": lambda text: tuple(map(float, text.split())),
    "overtime": int,
}
"""By the names of lines in their order, but for numbered ones: what reads the value."""


def read_records(text: str, field: str = "record") -> list[GameRecord]:
    """The games of a text in its order, without an incomplete record at its end.

    A last record without its empty line is one whose writer was interrupted. Raises InvalidInput (``field``)
    for any other text that is not a record.
    """
    whole = text[: text.rfind("\n\n") + 2] if "\n\n" in text else ""
    blocks = [block for block in whole.split("\n\n") if block.strip()]
    return [_read(block, field) for block in blocks]


def read_file(path: Path) -> list[GameRecord]:
    """The games of a file. Raises InvalidInput (record) if it contains none."""
    text = read_text(path, "record", "a file with games in it", 2**28)
    # A file that was edited by hand may end without an empty line.
    records = read_records(text + "\n\n", "record")
    if not records:
        raise InvalidInput("record", str(path), "a file with games in it (there is none)")
    return records


def write_file(path: Path, records: Iterable[GameRecord]) -> None:
    """Replace the content of the file by these games, atomically."""
    replace_text(path, "".join(map(str, records)))


def _read(block: str, field: str) -> GameRecord:
    values: dict[str, Any] = {}
    others: list[str] = []
    efforts: dict[int, Effort] = {}
    for line in block.strip("\n").splitlines():
        name, text = line[:NAME_WIDTH].strip(), line[NAME_WIDTH:].strip()
        try:
            if cost := _COST_NAME.fullmatch(name):
                efforts[int(cost[1])] = _effort(text)
            elif name == f"player {3 + len(others)}":
                others.append(text)
            else:
                values[name] = _READERS[name](text)
        except (ValueError, KeyError):
            raise InvalidInput(field, line, "a line of a game's record: " + ", ".join(_READERS)) from None
    missing = [name for name in ("game", "first", "moves") if name not in values]
    if missing:
        raise InvalidInput(field, block.splitlines()[0], f"a record with the line {missing[0]!r}")
    seats = (*(values.pop(name) for name in ("first", "second") if name in values), *others)
    costs = tuple(efforts.get(n, Effort()) for n in range(1, 1 + len(seats)))
    return GameRecord(seats=seats, efforts=costs, **values)


def _effort(text: str) -> Effort:
    parts = _COST.fullmatch(text)
    if parts is None:
        raise ValueError(text)
    moves, cpu_s, longest_s, simulations, nodes = parts.groups()
    return Effort(int(moves), float(cpu_s), float(longest_s), int(simulations), int(nodes))
