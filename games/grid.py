"""Games of two players with pieces on the cells of a grid, and boards as one line of text.

Rows of the text are from the top and divided by '/'; a number stands for as many adjacent empty cells.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from games.board import Board, Cell, named_grid
from games.errors import InvalidInput
from games.game import FIRST, SECOND, Game, State
from games.jit import source_of

Owners = list[list[int | None]]
"""By row from the top and by column, the player whose piece is on the cell; None if it is empty."""


class GridGame(Game):
    """A game with at most one piece on each cell of ``rows`` x ``columns``.

    A state begins with the bitboards of the first and of the second player, and ``places`` are the bits of
    the cells; a game with states of another form overrides `owners`.
    """

    signs: str = "xo"
    """A letter for each player, of its pieces and of the player to move."""
    top_first: bool = False
    """Whether rows are counted from the top, instead of from the bottom."""
    slanted: bool = False
    """See `Board.slanted`."""
    frame: Mapping[int | None, int] = {}
    """In a game with a frame (see `Board.frame`), by player `Cell.colour`."""
    places: npt.NDArray[np.int64]
    """int64[rows, columns]: the number of each cell's bit; row 0 is the bottom row."""

    @abstractmethod
    def state_of(self, owners: Owners, mover: int) -> State:
        """The state with these pieces, ``mover`` to move."""

    def start(self) -> Owners:
        """The pieces at the start, by default none; the first player moves."""
        return [[None] * self.columns for _ in range(self.rows)]

    @cached_property
    def _start(self) -> State:
        return self.state_of(self.start(), FIRST)

    def initial_state(self) -> State:
        """The state with the pieces of `start`."""
        return self._start.copy()

    def owners(self, states: State) -> npt.NDArray[np.int8]:
        """int8[B, rows, columns]: see `Game.owners`. Computed for all states at once."""
        one = states.dtype.type(1)
        pieces = states[:, :2, None, None] >> self.places.astype(states.dtype) & one
        signs: npt.NDArray[np.int8] = pieces[:, FIRST].astype(np.int8) + 2 * pieces[:, SECOND].astype(np.int8)
        return signs

    def owners_of(self, state: State) -> Owners:
        """The owners of the pieces of one position."""
        signs = self.owners(state[None])[0, ::-1].tolist()
        return [[None if sign == 0 else sign - 1 for sign in row] for row in signs]

    def bitboards(self, owners: Owners) -> list[int]:
        """The bitboards of both players."""
        places = self.places[::-1].tolist()
        return [sum(1 << places[r][c] for r, c in cells_with(owners, player)) for player in (FIRST, SECOND)]

    def format_position(self, state: State) -> str:
        """Rows from the top with numbers for empty cells, a space, and the player to move."""
        return format_grid(self.owners_of(state), self.signs, source_of(self.rules.current_player)(state))

    def read_alternating(self, text: str) -> tuple[Owners, int]:
        """(owners, player to move) of a text in a game in which each ply adds a piece.

        Raises InvalidInput (field ``position``) unless both players have equally many pieces when the first
        moves, and the first has one more when the second moves.
        """
        owners, mover = parse_grid(text, self.rows, self.columns, self.signs, from_top=False)
        if num_more(owners) != mover:
            raise InvalidInput("position", text, alternating(self.signs))
        return owners, mover

    def can_be_last(self, owners: Owners, cells: Iterable[tuple[int, int]]) -> bool:
        """Whether there is one of ``cells``, (row, column) from the top, without whose piece the game would
        not be over."""
        for row, column in cells:
            player, owners[row][column] = owners[row][column], None
            over = source_of(self.rules.is_terminal)(self.state_of(owners, FIRST))
            owners[row][column] = player
            if not over:
                return True
        return False

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The position as rows x columns cells."""
        texts: dict[int | None, str] = {None: ".", **dict(enumerate(self.signs.upper()))}
        last = None if last_move is None else self.marked(state, last_move)
        rows = [
            [Cell(texts[owner], owner, (r, c) == last, self.frame.get(owner)) for c, owner in enumerate(row)]
            for r, row in enumerate(self.owners_of(state))
        ]
        return named_grid(rows, top_first=self.top_first, slanted=self.slanted, frame=bool(self.frame))

    def marked(self, state: State, move: int) -> tuple[int, int] | None:
        """The (row, column) of the drawn board, row 0 on top, that `board` marks after a move."""
        return self.cells_of(move)

    def cells_of(self, move: int) -> tuple[int, int] | None:
        """The (row, column) of the drawn board, row 0 on top, where a move puts a piece; None if nowhere."""
        row, column = divmod(move, self.columns)
        if row >= self.rows:
            return None
        return (row if self.top_first else self.rows - 1 - row), column


def cells_with(owners: Owners, player: int) -> list[tuple[int, int]]:
    """The (row, column), row 0 on top, of a player's pieces."""
    return [(r, c) for r, row in enumerate(owners) for c, owner in enumerate(row) if owner == player]


def num_more(owners: Owners) -> int:
    """How many pieces more the first player has than the second."""
    return sum(row.count(FIRST) - row.count(SECOND) for row in owners)


def alternating(signs: str) -> str:
    """What is accepted where each ply adds a piece."""
    first, second = [*signs]
    return f"as many {first} as {second} when {first} moves, one {first} more when {second} moves"


def with_numbers(row: str) -> str:
    """A row of signs with numbers in place of dots."""
    return re.sub(r"\.+", lambda empty: str(len(empty[0])), row)


def with_dots(row: str, signs: str) -> str | None:
    """A row with dots in place of numbers; None if it has anything but ``signs`` and numbers up to 99."""
    if re.fullmatch(rf"(?:[{signs}]|[1-9][0-9]?)+", row) is None:
        return None
    return re.sub("[1-9][0-9]?", lambda number: "." * int(number[0]), row)


def format_grid(owners: Sequence[Sequence[int | None]], signs: str, mover: int) -> str:
    """The rows, a space, and the player to move.

    ``owners``: the owner of each cell (a player, or None), rows from the top. ``signs``: a letter for each
    player.
    """
    rows = ("".join("." if owner is None else signs[owner] for owner in row) for row in owners)
    return f"{'/'.join(map(with_numbers, rows))} {signs[mover]}"


def parse_grid(
    text: str,
    rows: int,
    columns: int | Sequence[int],
    signs: str,
    *,
    from_top: bool = True,
    others: str = "",
    whole: str = "",
) -> tuple[Owners, int]:
    """The (owners, mover) that `format_grid` wrote; raises InvalidInput (field ``position``).

    ``columns``: cells of every row, or of each row from the top. ``from_top``: how an error counts rows.
    ``others``: signs of pieces that belong to no player; they are numbered after the players. ``whole``: the
    text of the position, if ``text`` is only a part of it, for errors.
    """
    board, _, mover = text.partition(" ")
    pieces = signs + others
    lines = [with_dots(line, pieces) for line in board.split("/")]
    if mover not in [*signs] or len(lines) != rows or None in lines:
        accepted = (
            f"{rows} rows from the top divided by '/' ({', '.join(pieces)}, or a number of empty cells), "
            f"a space, and {' or '.join(signs)} to move"
        )
        raise InvalidInput("position", whole or text, accepted)
    owners: Owners = []
    widths = [columns] * rows if isinstance(columns, int) else columns
    for number, (line, width) in enumerate(zip(filter(None, lines), widths, strict=True), start=1):
        if len(line) != width:
            where = "each row" if isinstance(columns, int) else "this row"
            which = f"row {number} from the top" if from_top else f"row {rows + 1 - number}"
            raise InvalidInput(
                "position", whole or text, f"{width} cells in {where} ({which} has {len(line)})"
            )
        owners.append([None if sign == "." else pieces.index(sign) for sign in line])
    return owners, signs.index(mover)
