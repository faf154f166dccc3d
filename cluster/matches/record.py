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
and so on, and ``scores`` has the return of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import games
from cluster.system.kept_folder import replace_text
from games.errors import InvalidInput
from games.game import State
from games.user_games import read_text

NAME_WIDTH = 9
_NUMBERED = re.compile(r"(cost|player) ([1-9][0-9]?)", re.ASCII)
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
    first: str
    """The spec of the first player, or ``human``."""
    second: str | None
    """The spec of the second player, or ``human``; None in a game of one player."""
    moves: tuple[str, ...]
    """All moves from the start, in the game's notation."""
    result: float | None = None
    """The first player's return; None if the game is not over."""
    seed: int = 0
    pair: int | None = None
    leg: int | None = None
    """In a match: 1 if the match's player A was the first player, else 2."""
    start: str | None = None
    opening: int = 0
    efforts: tuple[Effort, ...] = (Effort(), Effort())
    """The costs of each player."""
    others: tuple[str, ...] = ()
    """The specs of the players after the second, or ``human``."""
    scores: tuple[float, ...] | None = None
    """With three or more players, the return of each; None if the game is not over."""

    @property
    def seats(self) -> tuple[str, ...]:
        """The specs of all players, or ``human``."""
        return (self.first, *(() if self.second is None else (self.second,)), *self.others)

    def __str__(self) -> str:
        costs = [f"{f'cost {n}':<{NAME_WIDTH}}{effort}" for n, effort in enumerate(self.efforts, start=1)]
        return "\n".join([*self.lines(), *costs]) + "\n\n"

    def lines(self) -> list[str]:
        """The record without costs, which are not needed to read it."""
        lines = []
        for name in _NAMES:
            value = getattr(self, name)
            if value is not None:
                text = " ".join(map(str, value)) if name in ("moves", "scores") else str(value)
                lines.append(f"{name:<{NAME_WIDTH}}{text}".rstrip())
            if name == "second":
                lines += [f"{f'player {n}':<{NAME_WIDTH}}{spec}" for n, spec in enumerate(self.others, 3)]
        return lines

    def start_state(self, game: games.Game) -> State:
        """The position before the first move."""
        return game.initial_state() if self.start is None else game.parse_position(self.start)


_NAMES = ("game", "first", "second", "seed", "pair", "leg", "start", "opening", "moves", "result", "scores")
_WHOLE = ("seed", "pair", "leg", "opening")


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
    values: dict[str, object] = {}
    others: list[str] = []
    efforts: dict[int, Effort] = {}
    for line in block.strip("\n").splitlines():
        name, text = line[:NAME_WIDTH].strip(), line[NAME_WIDTH:].strip()
        try:
            if (cost := _NUMBERED.fullmatch(name)) and cost[1] == "cost":
                efforts[int(cost[2])] = _effort(text)
            elif name == f"player {3 + len(others)}":
                others.append(text)
            elif name in _NAMES:
                values[name] = _value(name, text)
            else:
                raise ValueError(name)
        except ValueError:
            raise InvalidInput(field, line, "a line of a game's record: " + ", ".join(_NAMES)) from None
    missing = [name for name in ("game", "first", "moves") if name not in values]
    if missing:
        raise InvalidInput(field, block.splitlines()[0], f"a record with the line {missing[0]!r}")
    record = GameRecord(**{"second": None, **values}, others=tuple(others))  # type: ignore[arg-type]
    return replace(record, efforts=tuple(efforts.get(n, Effort()) for n in range(1, 1 + len(record.seats))))


def _value(name: str, text: str) -> object:
    if name == "moves":
        return tuple(text.split())
    if name == "scores":
        return tuple(map(float, text.split()))
    if name == "result":
        return float(text)
    return int(text) if name in _WHOLE else text


def _effort(text: str) -> Effort:
    parts = _COST.fullmatch(text)
    if parts is None:
        raise ValueError(text)
    moves, cpu_s, longest_s, simulations, nodes = parts.groups()
    return Effort(int(moves), float(cpu_s), float(longest_s), int(simulations), int(nodes))
