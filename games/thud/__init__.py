"""Thud: 32 dwarfs against 8 trolls on an octagon of 165 cells around the Thudstone.

Columns are A to P without I from the left, rows 1 to 15 from the bottom. A move is the piece, its source, its
target and the cells of the pieces that it takes: ``dO11-O9``, ``dA6-B7xB7``, ``TG7-F7xF8xG8``. The taken
pieces may be omitted if only one legal move fits.

The text of a position has three parts. First its rows from the top, divided by '/', each as wide as the
octagon is in that row: ``d`` and ``T`` are pieces, ``*`` is the Thudstone, and a number stands for that many
empty cells. Then the player to move, ``d`` or ``T``. Then three counts: the moves since the dwarfs last took
a troll, the moves since the trolls last took a dwarf, and the plies of the game. The first two count only
the player's own moves with ``count=own_moves``, and the moves of both players with ``count=plies`` or
``end=cap``. Missing counts are 0.
"""

from __future__ import annotations

import re
from typing import Annotated

from games.compile.specialise import specialise
from games.errors import InvalidInput, refuse_if_any
from games.game import FIRST, GAME_OVER, SECOND, Board, Cell, Game, Rules, State
from games.grid import cells_with, parse_grid, with_numbers
from games.jit import source_of
from games.thud import board as layout
from games.thud import rules
from games.thud.board import NUM_VARIANTS, PATH_OF, decode
from games.thud.rules import PROPOSALS, is_over

PIECES = "dT"
"""The letters of a dwarf and of a troll."""
COLUMNS = "ABCDEFGHJKLMNOP"
_ROWS = [[cell for cell in layout.CELLS if cell >> 4 == row] for row in range(layout.SIZE, 0, -1)]
"""The cells of each row, from the top and from the left."""
_MOVE = re.compile(r"([dT])([A-P][0-9]+)-([A-P][0-9]+)((?:x[A-P][0-9]+)*)")

RULESETS: dict[str, dict[str, str | int]] = {
    "official": {
        "troll_capture": "all_or_none",
        "shove_requires_capture": "yes",
        "end": "cap",
        "turns": 800,
    },
    "seed": {
        "troll_capture": "all_forced",
        "shove_requires_capture": "no",
        "end": "seed_agreement",
        "turns": 2000,
    },
}
"""Defaults of the options by ruleset; an option that is given takes precedence."""

CAPTURES = {
    "all_forced": layout.ALL_FORCED,
    "all_or_none": layout.ALL_OR_NONE,
    "one_or_none": layout.ONE_OR_NONE,
}
ENDS = {"seed_agreement": layout.BY_AGREEMENT, "cap": layout.BY_CAP, "annihilation": layout.BY_ANNIHILATION}
NUMBERS_OF_PLIES = range(1, 5001)

_COUNTS = (layout.SINCE, layout.SINCE + 1, layout.PLIES)
_FORM = (
    "rows, d or T to move, and nothing or three counts: since the dwarfs took, since the trolls took, plies"
)


class Thud(Game):
    """Thud with given options; all share one set of rules. FIRST is always the dwarfs, SECOND the trolls."""

    name = "thud"
    player_names = ("dwarfs", "trolls")
    rules = Rules.of(vars(rules), evaluate=rules.returns)
    max_moves = layout.MAX_DWARFS * PROPOSALS
    nominal_simulations_per_s = 75_000.0
    exploration = 0.35
    opening_plies = 0
    points = 32

    def __init__(
        self,
        ruleset: Annotated[str, (*RULESETS,)] = "official",
        first: Annotated[str, ("dwarfs", "trolls")] = "dwarfs",
        troll_capture: Annotated[str, (*CAPTURES,)] = "",
        shove_requires_capture: Annotated[str, ("no", "yes")] = "",
        end: Annotated[str, (*ENDS,)] = "",
        agreement_moves: Annotated[int, NUMBERS_OF_PLIES] = 120,
        count: Annotated[str, ("own_moves", "plies")] = "own_moves",
        no_capture: Annotated[int, NUMBERS_OF_PLIES] = 200,
        turns: Annotated[int, NUMBERS_OF_PLIES] = 0,
    ) -> None:
        """The options as in games/GAMES.md; what is empty or 0 is as in the ruleset."""
        preset = RULESETS[ruleset]
        self.options = {
            "ruleset": ruleset,
            "first": first,
            "troll_capture": troll_capture or preset["troll_capture"],
            "shove_requires_capture": shove_requires_capture or preset["shove_requires_capture"],
            "end": end or preset["end"],
            "agreement_moves": agreement_moves,
            "count": count,
            "no_capture": no_capture,
            "turns": turns or preset["turns"],
        }
        self.max_plies = int(self.options["turns"])
        self._first = ("dwarfs", "trolls").index(first)
        self._start = self._state_of(layout.DWARF_STARTS, layout.TROLL_STARTS)
        self._start[layout.MOVER] = self._first

    def initial_state(self) -> State:
        """The start position, ``int32[STATE_LENGTH]`` (see `games.thud.board`)."""
        return self._start.copy()

    def format_move(self, state: State, move: int) -> str:
        """The move's text, such as ``TG7-F7xF8xG8``."""
        source, target, variant = _decode(move)
        taken = self._taken(state, target, variant)
        return _format_move(PIECES[int(state[layout.MOVER])], source, target, taken)

    def parse_move(self, state: State, move: str) -> int:
        """The legal move that the text denotes; raises InvalidInput (field ``moves``)."""
        parts = split_move(move)
        if state[layout.OVER]:
            raise InvalidInput("moves", move, GAME_OVER)
        if parts is None:
            raise InvalidInput("moves", move, "a move such as dO11-O9, dA6-B7xB7, TG7-F7 or TG7-F7xF8xG8")
        piece, source, target, taken = parts
        mover = int(state[layout.MOVER])
        if piece != PIECES[mover] or self._piece_on(state, source) != piece:
            raise InvalidInput("moves", move, f"a move of a piece of the {self.player_names[mover]}")
        path = PATH_OF.get((source, target), -1)
        variants = [
            legal % NUM_VARIANTS for legal in self.legal_moves(state) if legal // NUM_VARIANTS == path
        ]
        takes = {variant: self._taken(state, target, variant) for variant in variants}
        meant = [variant for variant in variants if sorted(takes[variant]) == sorted(taken)]
        if not meant and not taken and len(variants) == 1:
            meant = variants
        if not meant:
            shown = [_format_move(piece, source, target, takes[variant]) for variant in variants]
            raise InvalidInput("moves", move, " or ".join(shown) or "a legal move")
        return NUM_VARIANTS * path + meant[0]

    def format_position(self, state: State) -> str:
        """Rows from the top, the player to move, and the three counts."""
        counts = " ".join(str(int(state[field])) for field in _COUNTS)
        signs = {layout.STONE: "*", **self._signs(state)}
        rows = ("".join(signs.get(cell, ".") for cell in row) for row in _ROWS)
        return f"{'/'.join(map(with_numbers, rows))} {PIECES[int(state[layout.MOVER])]} {counts}"

    def parse_position(self, position: str) -> State:
        words = position.split(" ")
        counts = words[2:]
        if words[1:2] not in (["d"], ["T"]) or len(counts) not in (0, 3) or not all(map(_is_count, counts)):
            raise InvalidInput("position", position, _FORM)
        board, widths = " ".join(words[:2]), [*map(len, _ROWS)]
        signs, mover = parse_grid(board, layout.SIZE, widths, PIECES, others="*", whole=position)
        dwarfs, trolls, stones = (
            sorted(_ROWS[row][place] for row, place in cells_with(signs, sign)) for sign in range(3)
        )
        turn = int(mover != self._first)
        since_dwarfs, since_trolls, plies = map(int, counts or (0, 0, turn))
        parity = "odd" if turn else "even"
        faults = (
            (stones != [layout.STONE], "the Thudstone * in the middle cell only"),
            (
                len(dwarfs) > layout.MAX_DWARFS or len(trolls) > layout.MAX_TROLLS,
                "at most 32 dwarfs and 8 trolls",
            ),
            (
                plies % 2 != turn or plies > self.max_plies,
                f"an {parity} number of plies, at most {self.max_plies}",
            ),
            (max(since_dwarfs, since_trolls) > plies, "no more moves since a capture than plies"),
        )
        refuse_if_any("position", position, faults)
        state = self._state_of(dwarfs, trolls)
        state[layout.MOVER], state[layout.PLIES] = mover, plies
        state[layout.SINCE], state[layout.SINCE + 1] = since_dwarfs, since_trolls
        state[layout.OVER] = specialise([is_over], self)["is_over"](state)
        return state

    def outcome_text(self, state: State) -> str:
        """The winner and both scores: a dwarf left counts 1 point, a troll 4."""
        signs = list(self._signs(state).values())
        points = signs.count("d"), 4 * signs.count("T")
        if points[FIRST] == points[SECOND]:
            return f"a draw, {points[FIRST]} points each"
        winner = FIRST if points[FIRST] > points[SECOND] else SECOND
        return f"{self.player_names[winner]} win by {points[winner]} points to {points[1 - winner]}"

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The position as 15 x 15 cells; the corners are blank."""
        last = None if last_move is None else _decode(last_move)[1]
        signs = {layout.STONE: "*", **self._signs(state)}
        owners = {"d": FIRST, "T": SECOND}
        rows = []
        for row in range(layout.SIZE, 0, -1):
            cells = [16 * row + column for column in range(1, layout.SIZE + 1)]
            shown = [signs.get(cell, "." if cell in layout.CELLS else " ") for cell in cells]
            rows.append(
                [Cell(sign, owners.get(sign), cell == last) for cell, sign in zip(cells, shown, strict=True)]
            )
        return Board(rows, [str(row) for row in range(layout.SIZE, 0, -1)], list(COLUMNS))

    def cells_of(self, move: int) -> tuple[int, int]:
        """The (row, column) of the drawn board where the move ends, row 0 on top."""
        target = _decode(move)[1]
        return layout.SIZE - (target >> 4), (target & 15) - 1

    def _state_of(self, dwarfs: list[int], trolls: list[int]) -> State:
        state = layout.state_of(dwarfs, trolls)
        options = self.options
        state[layout.CAPTURE] = CAPTURES[str(options["troll_capture"])]
        state[layout.SHOVE_CAPTURES] = options["shove_requires_capture"] == "yes"
        state[layout.END] = ENDS[str(options["end"])]
        state[layout.BY_PLIES] = options["end"] == "cap" or options["count"] == "plies"
        state[layout.AGREEMENT] = options["agreement_moves"]
        state[layout.NO_CAPTURE] = options["no_capture"]
        state[layout.TURNS] = options["turns"]
        return state

    def _signs(self, state: State) -> dict[int, str]:
        """The pieces by cell."""
        return {cell: sign for cell in layout.CELLS if (sign := self._piece_on(state, cell))}

    def _piece_on(self, state: State, cell: int) -> str:
        """The piece on a cell: ``d``, ``T``, or an empty text."""
        piece = int(state[layout.BOARD + cell])
        return "" if piece <= layout.EMPTY else "d" if piece < layout.FIRST_TROLL else "T"

    def _taken(self, state: State, target: int, variant: int) -> list[int]:
        """The cells of the pieces that a move to ``target`` takes."""
        if state[layout.MOVER] == FIRST:
            return [target] if self._piece_on(state, target) else []
        beside = [target + int(step) for step in layout.AROUND]
        if state[layout.CAPTURE] == layout.ONE_OR_NONE:
            return [beside[variant - 1]] if variant else []
        return [cell for cell in beside if self._piece_on(state, cell) == "d"] if variant else []


_decode = source_of(decode)


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= 5 and word == str(int(word))


def format_cell(cell: int) -> str:
    """The cell's text, such as ``O11``."""
    return f"{COLUMNS[(cell & 15) - 1]}{cell >> 4}"


CELL_OF = {format_cell(cell): cell for cell in layout.CELLS}


def _format_move(piece: str, source: int, target: int, taken: list[int]) -> str:
    """The text of a move, such as ``TG7-F7xF8xG8``, with the taken cells in alphabetical order."""
    cells = sorted(taken, key=lambda cell: (cell & 15, cell >> 4))
    return f"{piece}{format_cell(source)}-{format_cell(target)}" + "".join(
        f"x{format_cell(cell)}" for cell in cells
    )


def split_move(move: str) -> tuple[str, int, int, list[int]] | None:
    """The (piece, source, target, taken cells) of a move's text; None if the text is malformed."""
    match = _MOVE.fullmatch(move)
    if match is None:
        return None
    cells = [match[2], match[3], *match[4].split("x")[1:]]
    if not CELL_OF.keys() >= set(cells):
        return None
    source, target, *taken = (CELL_OF[cell] for cell in cells)
    return match[1], source, target, taken
