"""The grammar of Gomocup: gomoku managers such as Piskvork. Text in, commands out.

https://github.com/plastovicka/Piskvork/blob/master/source/doc/protocl2en.htm has the whole protocol. A cell
is ``x,y``, counted from 0 at the top left; ``a1``, as we write it, is at the bottom left.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cluster.analysis.session import Change, Command, Ready, Stop, Think, Thought
from cluster.matches.clock import Limit
from games.board import format_cell, parse_cell
from games.errors import InvalidInput
from games.grid import format_grid
from games.spec import Spec, parse_game_spec

GAME = "gomoku"
OVERLINES = {0: "wins", 1: "not"}
"""By rule of the protocol: what more than five in a row do."""
UNLIMITED = 2**31 - 1
"""The time left, in milliseconds, that stands for no limit."""
OWN, OTHERS = 1, 2
"""Whose a stone is."""
NO_START = "no START before"
PV_SHOWN = 8
TREES_SHARE = 0.75
"""Share that trees get of the memory below the manager's limit; the rest is for what else a search needs."""


class Gomocup:
    """Remembers the stones on the board, and what the manager has said of limits."""

    def __init__(self, game: str, version: str, resident_mb: Callable[[], float]) -> None:
        """``game``: the spec of gomoku, whose size and rule the manager sets. ``resident_mb``: returns the
        memory of this process, which is part of the manager's limit. Raises InvalidInput (game)."""
        spec = parse_game_spec(game)
        if spec.name != GAME:
            raise InvalidInput("game", game, f"{GAME}, with options, for the protocol of Gomocup")
        self._options, self._version, self._resident_mb = dict(spec.options), version, resident_mb
        self._size = 0
        """0 before START."""
        self._stones: dict[tuple[int, int], int] = {}
        """Whose each stone is, in the order in which they came."""
        self._listed: list[str] | None = None
        """The lines of a BOARD that is not done."""
        self._thinking = False
        self._infos: dict[str, int] = {}
        """What the manager has said, by key."""
        self._taken_ms = 0
        """Time of the searches of this game."""
        self._used_mb: float | None = None
        """The memory of this process without trees."""
        self._commands: Mapping[str, Callable[[str], list[Command]]] = {
            "ABOUT": lambda _: [f'name="Banyan", version="{version}"'],
            "START": self._start,
            "RECTSTART": lambda _: _error("only square boards are supported"),
            "RESTART": lambda _: self._start(str(self._size)) if self._size else _error(NO_START),
            "INFO": self._info,
            "BEGIN": self._begin,
            "TURN": self._take_turn,
            "BOARD": self._open_board,
            "DONE": self._close_board,
            "TAKEBACK": self._take_back,
            "YXSTOP": lambda _: [Stop()],
            "END": lambda _: [Stop(answers=False, ends=True)],
        }

    def read(self, line: str) -> list[Command]:
        word, _, rest = line.partition(" ")
        command = self._commands.get(word.upper())
        if command is None and self._listed is not None:
            self._listed.append(line)
            return []
        if command is not None and word.upper() not in ("DONE", "INFO", "ABOUT"):
            self._listed = None
        if command is None:
            return [f"UNKNOWN command {word[:40]}"] if word else []
        return command(rest.strip())

    def answer(self, thought: Thought) -> list[str]:
        self._thinking = False
        cell = parse_cell(thought.move, self._size, self._size)
        assert cell is not None
        x, y = cell[1], self._size - 1 - cell[0]
        self._stones[x, y] = OWN
        self._taken_ms += math.ceil(1000 * thought.elapsed_s)
        found = f"{thought.simulations} simulations, {thought.per_s:.0f}/s, value {thought.value:+.3f}"
        found += f", {thought.kept} visits kept" if thought.kept else ""
        return [f"MESSAGE {found}, line {' '.join(thought.pv[:PV_SHOWN])}", f"{x},{y}"]

    def during(self, thought: Thought) -> Iterable[str]:
        return ()

    def refusal(self, error: Exception, *, asked_move: bool) -> list[str]:
        self._thinking = self._thinking and not asked_move
        return [f"ERROR {' '.join(str(error).split())}"]

    def _start(self, rest: str) -> list[Command]:
        if not re.fullmatch("[1-9][0-9]{0,3}", rest):
            return _error(f"START {rest[:40]}: expected the size of the board")
        self._size, self._taken_ms = int(rest), 0
        return [*self._clear(), Change(self._position()), Ready("OK")]

    def _clear(self) -> list[Command]:
        """Abandon the game, and a search without an answer."""
        self._stones, self._thinking = {}, False
        return [Stop(answers=False)]

    def _info(self, rest: str) -> list[Command]:
        key, _, value = rest.partition(" ")
        # An unlimited time may be larger; what is no number is of no interest, and gets no answer.
        if re.fullmatch(r"-?[0-9]{1,18}", value.strip()):
            self._infos[key.lower()] = int(value)
        if key.lower() == "thread_num" and "thread_num" in self._infos:
            return [Change({"workers": max(1, self._infos["thread_num"])})]
        return []

    def _begin(self, _: str) -> list[Command]:
        if self._stones or self._thinking:
            return _error("BEGIN: the board is not empty")
        return self._think()

    def _take_turn(self, rest: str) -> list[Command]:
        cell = self._cell(rest)
        if not self._size:
            return _error(NO_START)
        if self._thinking:
            return _error(f"TURN {rest[:40]}: not before the move that is searched")
        if cell is None or cell in self._stones:
            most = self._size - 1
            return _error(f"TURN {rest[:40]}: expected x,y of an empty cell, at most {most},{most}")
        self._stones[cell] = OTHERS
        return self._think()

    def _take_back(self, rest: str) -> list[Command]:
        if self._stones.pop(self._cell(rest) or (-1, -1), None) is None:
            return _error(f"TAKEBACK {rest[:40]}: no stone is there")
        self._thinking = False
        return [Stop(answers=False), "OK"]

    def _open_board(self, _: str) -> list[Command]:
        self._listed = []
        return self._clear()

    def _close_board(self, _: str) -> list[Command]:
        listed, self._listed = self._listed, None
        if listed is None:
            return _error("DONE without BOARD")
        for line in listed:
            place, _, whose = line.rpartition(",")
            cell = self._cell(place)
            if cell is None or cell in self._stones or whose.strip() not in ("1", "2"):
                return _error(f"BOARD {line[:40]}: expected x,y,1 or x,y,2, an empty cell")
            self._stones[cell] = int(whose)
        return self._think()

    def _cell(self, text: str) -> tuple[int, int] | None:
        """The (x, y) of a text; None if it is not a cell of the board."""
        match = re.fullmatch(r"\s*([0-9]{1,4})\s*,\s*([0-9]{1,4})\s*", text, re.ASCII)
        if match is None or max(x := int(match[1]), y := int(match[2])) >= self._size:
            return None
        return x, y

    def _think(self) -> list[Command]:
        infos, rule = self._infos, self._infos.get("rule", 0)
        if rule not in OVERLINES:
            return _error(f"rule {rule} is not supported: 0 (freestyle) and 1 (exactly five) are")
        if not self._size:
            return _error(NO_START)
        others = [*self._stones.values()].count(OTHERS)
        if others - (len(self._stones) - others) not in (0, 1):
            return _error("it is not your turn by the number of stones")
        # No key: no limit. For the whole match 0 is none either, and for the rest of it UNLIMITED is.
        move_ms, match_ms = infos.get("timeout_turn"), infos.get("timeout_match")
        left_ms = infos.get("time_left", match_ms - self._taken_ms if match_ms else UNLIMITED)
        limit = Limit(
            None if move_ms is None else move_ms / 1000, None if left_ms >= UNLIMITED else left_ms / 1000
        )
        self._thinking = True
        return [Change(self._position() | self._memory()), Think((limit, limit))]

    def _position(self) -> dict[str, Any]:
        """The game and the position: by moves, where the stones have come in turns, else by its text."""
        options = {**self._options, "size": str(self._size)}
        if "rule" in self._infos:
            options["overline"] = OVERLINES.get(self._infos["rule"], OVERLINES[0])
        size, whose = self._size, [*self._stones.values()]
        own_first = whose.count(OWN) == whose.count(OTHERS)
        in_turns = whose == [OWN if (n % 2 == 0) == own_first else OTHERS for n in range(len(whose))]
        values: dict[str, Any] = {"game": str(Spec(GAME, options)), "moves": (), "position": None}
        # With candidates a move may be far from the stones before it, and yet on the board.
        if in_turns and "candidates" not in self._options:
            values["moves"] = tuple(format_cell(size - 1 - y, x) for x, y in self._stones)
        else:
            # In the text of a position 0 is the first player, who moves if both have as many stones.
            signs = {OWN: 0 if own_first else 1, OTHERS: 1 if own_first else 0}
            owners = [[signs.get(self._stones.get((x, y), 0)) for x in range(size)] for y in range(size)]
            values["position"] = format_grid(owners, "xo", signs[OWN])
        return values

    def _memory(self) -> dict[str, Any]:
        """The memory of trees, if the manager limits that of the process."""
        limit_bytes = self._infos.get("max_memory", 0)
        if limit_bytes <= 0:
            return {}
        if self._used_mb is None:
            self._used_mb = self._resident_mb()
        return {"memory_mb": max(1, int(TREES_SHARE * (limit_bytes / 2**20 - self._used_mb)))}


def _error(text: str) -> list[Command]:
    return [f"ERROR {text}"]
