"""Games as text: what was played, by whom, how it ended. Written by matches and by people who play.

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

``start`` is the position that moves begin from, where that is not the game's own. ``opening`` is how many
of the moves nobody chose. ``result`` is the first player's return; a game that is not over has none.
``cost 1`` is what the first player's moves took, in seconds of CPU. The same game gives the same
lines but for these seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path

import games
from games.errors import InvalidInput
from games.game import State

NAME_WIDTH = 9
_COST = re.compile(
    r"(\d+) moves, ([\d.e-]+) s, longest ([\d.e-]+) s, (\d+) simulations, (\d+) nodes", re.ASCII
)


@dataclass(frozen=True)
class Effort:
    """What a player's moves took: those it was asked for."""

    moves: int = 0
    cpu_s: float = 0.0
    longest_s: float = 0.0
    """CPU seconds of the move that took longest."""
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
        """To the microsecond, as a file keeps it: so figures from a file and from memory agree."""
        return replace(self, cpu_s=round(self.cpu_s, 6), longest_s=round(self.longest_s, 6))

    def __str__(self) -> str:
        return (
            f"{self.moves} moves, {self.cpu_s:.6f} s, longest {self.longest_s:.6f} s, "
            f"{self.simulations} simulations, {self.nodes} nodes"
        )


@dataclass(frozen=True)
class GameRecord:
    """One game, finished or not."""

    game: str
    """Its full spec."""
    first: str
    second: str
    """The players' specs, or ``human``."""
    moves: tuple[str, ...]
    """All moves from the start, in the game's notation."""
    result: float | None = None
    """The first player's return; None if the game is not over."""
    seed: int = 0
    pair: int | None = None
    leg: int | None = None
    """In a match: 1 if the player named first in the match was first, else 2."""
    start: str | None = None
    opening: int = 0
    efforts: tuple[Effort, Effort] = (Effort(), Effort())
    """Of the first and the second player."""

    def __str__(self) -> str:
        lines = []
        for name in _NAMES:
            value = getattr(self, name)
            if value is not None:
                text = " ".join(value) if name == "moves" else str(value)
                lines.append(f"{name:<{NAME_WIDTH}}{text}".rstrip())
        lines += [f"{f'cost {n}':<{NAME_WIDTH}}{effort}" for n, effort in enumerate(self.efforts, start=1)]
        return "\n".join(lines) + "\n\n"

    def load_game(self, source: str | None = None) -> games.Game:
        """The game that was played; raises InvalidInput (game)."""
        return games.load(self.game, source)

    def start_state(self, game: games.Game) -> State:
        """The position that the moves begin from."""
        return game.initial_state() if self.start is None else game.parse_position(self.start)


_NAMES = ("game", "first", "second", "seed", "pair", "leg", "start", "opening", "moves", "result")
_WHOLE = ("seed", "pair", "leg", "opening")


def read_records(text: str, field: str = "record") -> list[GameRecord]:
    """The games in a text, in its order; one at the end without its empty line is left out.

    Whoever wrote that was interrupted. Raises InvalidInput (``field``) for anything else that is no record.
    """
    whole = text[: text.rfind("\n\n") + 2] if "\n\n" in text else ""
    blocks = [block for block in whole.split("\n\n") if block.strip()]
    return [_read(block, field) for block in blocks]


def read_file(path: Path, field: str = "record") -> list[GameRecord]:
    """The games in a file. Raises InvalidInput (``field``) if it has none."""
    try:
        # A file that somebody has edited may end without its empty line.
        records = read_records(path.read_text(encoding="utf-8") + "\n\n", field)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise InvalidInput(field, str(path), f"a file with games in it ({reason})") from None
    if not records:
        raise InvalidInput(field, str(path), "a file with games in it (there is none)")
    return records


def write_file(path: Path, records: Iterable[GameRecord]) -> None:
    """Replace the file by these games, all at once."""
    beside = path.with_name(path.name + ".new")
    beside.write_text("".join(map(str, records)), encoding="utf-8")
    beside.replace(path)


def _read(block: str, field: str) -> GameRecord:
    values: dict[str, object] = {}
    efforts = [Effort(), Effort()]
    for line in block.strip("\n").splitlines():
        name, text = line[:NAME_WIDTH].strip(), line[NAME_WIDTH:].strip()
        try:
            if name in ("cost 1", "cost 2"):
                efforts[int(name[-1]) - 1] = _effort(text)
            elif name in _NAMES:
                values[name] = _value(name, text)
            else:
                raise ValueError(name)
        except ValueError:
            raise InvalidInput(field, line, "a line of a game's record: " + ", ".join(_NAMES)) from None
    missing = [name for name in ("game", "first", "second", "moves") if name not in values]
    if missing:
        raise InvalidInput(field, block.splitlines()[0], f"a record with the line {missing[0]!r}")
    return GameRecord(**values, efforts=(efforts[0], efforts[1]))  # type: ignore[arg-type]


def _value(name: str, text: str) -> object:
    if name == "moves":
        return tuple(text.split())
    if name == "result":
        return float(text)
    return int(text) if name in _WHOLE else text


def _effort(text: str) -> Effort:
    parts = _COST.fullmatch(text)
    if parts is None:
        raise ValueError(text)
    kinds = (int, float, float, int, int)
    return Effort(
        **{
            field.name: kind(part)
            for field, kind, part in zip(fields(Effort), kinds, parts.groups(), strict=True)
        }
    )
