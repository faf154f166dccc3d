"""2048: tiles slide to one side, equal ones merge, and then chance places a new tile.

A move's text is ``up``, ``right``, ``down`` or ``left``; a move that changes nothing is not legal. A new tile
is a move of chance, such as ``b3=2``: a 2 with probability 0.9, else a 4, on any empty cell. ``a1`` is the
lower left cell. `games.twenty48.rules` has the codes.

A position's text is its rows from the top, divided by '/', tiles divided by commas with ``.`` for an empty
cell; then the score so far; then ``tile`` if a new tile is due:
``.,.,.,./.,.,.,./.,.,.,2/.,2,.,. 0``.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from games.board import format_cell
from games.compile.specialise import cached_njit
from games.errors import InvalidInput, refuse_if_any
from games.game import Cell, Game, Rules, State
from games.rng import Stream, below, new_stream
from games.twenty48 import rules

SIDE = 4
CELLS = SIDE * SIDE
DIRECTIONS = ("up", "right", "down", "left")
TILES = tuple(2**exponent for exponent in range(3, 16))
"""What the tile that ends the game can be."""
MAX_SCORE = 10**9


_FORM = (
    "4 rows from the top divided by '/', each of 4 tiles or '.' divided by commas, a space, the score, "
    "and ' tile' if a new tile is due"
)


@cached_njit
def _below(stream: Stream, bound: int) -> int:
    """`games.rng.below` for Python, which would compile it in every process."""
    return below(stream, bound)


class Twenty48(Game):
    """2048 from a start position with two tiles."""

    name = "2048"
    num_players = 1
    rewards = True
    rules = Rules.of(vars(rules))
    player_names = ("player",)
    opening_plies = 0
    nominal_simulations_per_s = 2e5
    rows = columns = SIDE
    max_moves = 2 * CELLS

    def __init__(self, seed: int = 0, tile: Annotated[int, TILES] = 32768) -> None:
        """``seed``: of the two tiles of the start position. ``tile``: the tile that ends the game, a power of
        two from 8 to 32768."""
        self._seed, self._tile = seed, tile
        # j tiles of 2**k or more: before the last of them was made there were j + 1 of 2**(k-1) or more, and
        # so on down to j + k - 2 of 4 or more, which are at most 16. So the j-th largest tile is at most
        # 2**(18-j), and until the end none is larger than half of ``tile``. Each new tile adds at least 2 to
        # their sum, which is 2 or more at the start, and comes with one move; one more move can be the last.
        self.max_plies = sum(min(tile // 2, _most(place)) for place in range(CELLS)) - 1

    def initial_state(self) -> State:
        """Two tiles that depend on the seed alone, ``uint64[LENGTH]`` (see `games.twenty48.rules`)."""
        return self._with_two_tiles(new_stream(self._seed))

    def episode_state(self, episode: int) -> State:
        """Two tiles that depend on the seed and the number of the episode."""
        return self._with_two_tiles(new_stream(self._seed, episode))

    def _with_two_tiles(self, stream: Stream) -> State:
        """A start position, drawn from the stream."""
        first = int(_below(stream, CELLS))
        second = (first + 1 + int(_below(stream, CELLS - 1))) % CELLS
        tiles = [0] * CELLS
        for cell in (first, second):
            tiles[cell] = 4 if _below(stream, 10) == 0 else 2
        return self._state_of(tiles, 0, due=False)

    def chance_weights(self, state: State) -> dict[int, float]:
        """The probability of each new tile: 0.9 for a 2 and 0.1 for a 4, divided by the empty cells."""
        outcomes = self.legal_moves(state)
        return {outcome: (0.1 if outcome % 2 else 0.9) * 2 / len(outcomes) for outcome in outcomes}

    def format_move(self, state: State, move: int) -> str:
        """``up``, ``right``, ``down`` or ``left``; for a new tile its cell and number, such as ``b3=2``."""
        if move >= rules.DIRECTION:
            return DIRECTIONS[move - rules.DIRECTION]
        return f"{format_cell(*divmod(move // 2, SIDE))}={4 if move % 2 else 2}"

    def format_position(self, state: State) -> str:
        """Rows of tiles from the top, the score so far, and ``tile`` if a new tile is due."""
        tiles = [str(tile or ".") for tile in self._tiles(state)]
        rows = "/".join(",".join(tiles[start : start + SIDE]) for start in range(CELLS - SIDE, -1, -SIDE))
        due = " tile" if state[rules.PHASE] == rules.TILE else ""
        return f"{rows} {int(state[rules.SCORE])}{due}"

    def parse_position(self, text: str) -> State:
        board, _, rest = text.partition(" ")
        score, space, due = rest.partition(" ")
        rows = [row.split(",") for row in board.split("/")]
        known = {".": 0, **{str(2**exponent): 2**exponent for exponent in range(1, 16)}}
        if (
            [len(row) for row in rows] != [SIDE] * SIDE
            or not all(tile in known for row in rows for tile in row)
            or not (score.isascii() and score.isdigit() and str(int(score)) == score)
            or (space and due != "tile")
        ):
            raise InvalidInput("position", text, _FORM)
        tiles = [known[tile] for row in reversed(rows) for tile in row]
        ranked = sorted(tiles, reverse=True)
        faults = (
            (int(score) > MAX_SCORE, f"a score of at most {MAX_SCORE}"),
            (
                ranked[0] > self._tile or any(tile > _most(place) for place, tile in enumerate(ranked)),
                f"tiles that can be made before the game ends with a {self._tile}",
            ),
            (
                not any(tiles) or (due and (all(tiles) or self._tile in tiles)),
                "at least one tile, and a new tile due only on an empty cell of an unfinished game",
            ),
        )
        refuse_if_any("position", text, faults)
        return self._state_of(tiles, int(score), bool(due))

    def cell(self, state: State, row: int, column: int) -> Cell | None:
        """The number of the tile, or None."""
        tile = self._tiles(state)[row * SIDE + column]
        return Cell(str(tile), colour=min(6 + tile.bit_length(), 19)) if tile else None

    def cells_of(self, move: int) -> tuple[int, int] | None:
        """The (row, column) of the drawn board, row 0 on top, of a new tile; None for a direction."""
        if move >= rules.DIRECTION:
            return None
        row, column = divmod(move // 2, SIDE)
        return SIDE - 1 - row, column

    def _tiles(self, state: State) -> list[int]:
        """The number of the tile on each cell, row by row from the bottom; 0 for none."""
        board = int(state[rules.BOARD])
        exponents = [board >> 4 * cell & 15 for cell in range(CELLS)]
        return [1 << exponent if exponent else 0 for exponent in exponents]

    def _state_of(self, tiles: list[int], score: int, due: bool) -> State:
        """The state with these tiles, row by row from the bottom."""
        board = sum((tile.bit_length() - 1) << 4 * cell for cell, tile in enumerate(tiles) if tile)
        phase = rules.TILE if due else rules.MOVE
        state = np.array([board, score, phase, self._tile.bit_length() - 1], dtype=np.uint64)
        if self._tile in tiles or not self.legal_moves(state):
            state[rules.PHASE] = rules.OVER
        return state


def _most(place: int) -> int:
    """The largest that the tile of rank ``place`` can be, from 0 for the largest tile of the board."""
    return int(2 ** (CELLS + 1 - place))
