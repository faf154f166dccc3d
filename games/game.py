"""The contract of a game: compiled rules over a small array, and conversion to text in ordinary Python.

`Rules` (games/rules.py) holds the functions that kernels call millions of times per second; `Game` holds
options, text and drawing. tests/games/test_contract.py checks every built-in game against this contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from games.board import Board, Cell, format_cell, named_grid
from games.compile.specialise import calls_of
from games.errors import InvalidInput, in_words
from games.rng import Stream
from games.rules import CHANCE, FIRST, SECOND, Moves, Rules, State, StaticEvaluator
from games.spec import Spec, options_of

__all__ = ["CHANCE", "FIRST", "SECOND", "Board", "Cell", "Game", "Moves", "Rules", "State"]

MAX_EXPLORATION = 1000.0
GAME_OVER = "no further move: the game is over"
VALUES_A_ROW = 10
REST = "random"
"""The word for which `Game.hide` takes a random place."""
CHANCE_NAME = "chance"
"""Who moves where `CHANCE` does, in displayed text."""


@dataclass(frozen=True)
class MoveValue:
    """The result of a move under best play."""

    move: int
    value: int
    """The value for the first player: 1 win, 0 draw, -1 loss."""
    plies: int | None
    """Plies from after the move to the end if the winner plays for a short game and the loser for a long
    one; None for a draw, and where only values are known."""


class Judge(ABC):
    """The exact values of the positions of one game.

    All methods but `can_judge` raise InvalidInput (field ``position``) for a position that the judge does not
    know.
    """

    game: Game

    def can_judge(self, state: State) -> bool:
        """Whether the values of this unfinished position and of its moves are known in some milliseconds.

        Default: always, as by a look-up in a table.
        """
        return True

    @abstractmethod
    def value_of(self, state: State) -> int:
        """The first player's return under best play: 1, 0 or -1."""

    def plies_of(self, state: State) -> int | None:
        """Plies to the end if the winner plays for a short game, the loser for a long one; None: a draw.

        Default: None, where only values are known.
        """
        return None

    def outcomes(self, state: State) -> list[MoveValue]:
        """The outcome of each legal move, in ascending order of moves; empty if the game is over."""
        after = self.game.successors(state)
        return [MoveValue(move, self.value_of(child), self.plies_of(child)) for move, child in after]


class Game(ABC):
    """A game with given options: rules for kernels, text for people.

    A subclass must define ``rules``, `initial_state`, ``max_moves`` and ``max_plies``. The methods for text
    have defaults: a move is its number, a position is the list of its state's values. The options are
    the parameters of ``__init__``; each needs a default, which is an integer or text, and may say what it
    accepts: ``size: Annotated[int, range(5, 21)] = 12``, or a tuple of values.
    """

    name: str = ""
    """The game's name in a spec, such as ``gomoku``; for a game file, the file's name without ``.py``."""
    options: Mapping[str, str | int] = {}
    """All options, defaults included, in their canonical order; `from_spec` sets them where ``__init__`` does
    not."""
    rules: Rules
    num_players: int = 2
    """1; 2, whose returns add up to 0; or more, each of whom maximises its own score (``rules.score``)."""
    rewards: bool = False
    """Whether ``rules.returns`` (``rules.score``) is the sum of rewards up to any position, in any range;
    else it is the return of a finished game."""
    discount: float = 1.0
    """For one player: the factor of a reward that comes one move later, in (0, 1]."""
    player_names: tuple[str, ...] = ("first", "second")
    """The names of the players in displayed text, ``num_players`` of them."""
    max_moves: int
    """Upper bound of the number of legal moves of a position (at most 4,095)."""
    max_plies: int
    """Upper bound of the number of plies of a game."""
    nominal_simulations_per_s: float = 50_000.0
    """Approximate simulations/s of one core from the start position. It determines the size of a search's
    jobs, which affects the result of the search; so it is a constant and never measured at run time."""
    exploration: float | None = None
    """C of UCT, for rewards in [0, 1], in searches that name none: the value that suits this game, found by
    measurement. None: the default of this kind of search (search/request.py), such as 0.35 in UCT."""
    open_loop: bool = False
    """Whether moves themselves draw random numbers, so that what is hidden is the future alone; positions are
    then made by ``rules.determinize``."""
    state_handling: str = "clone"
    """How positions are copied: ``clone``, ``copy`` (of attributes), ``deepcopy`` or ``replay`` (of the
    moves from the start)."""
    clairvoyant: bool = False
    """Whether simulations know what no player can know, such as what chance will bring."""
    examined: tuple[int, int] | None = None
    """(places examined, places in all): where in random play it was checked whether simulations see what is
    hidden; None if nothing was checked."""
    closed_loop: bool = False
    """With an open loop: whether what is seen after a move counts as a move of chance."""
    opening_plies: int = 2
    """Default number of random moves at the beginning of each pair of games of a match. 0 for games whose
    sides differ or in which chance makes every game different."""
    points: int = 1
    """Points that a return of 1 stands for in a game that is scored by margin; 1 if only winning counts."""
    rows: int = 0
    columns: int = 0
    """``rows`` and ``columns`` of the grid that the default `board` draws with `cell` and whose cells the
    default notation names; 0 if the game has no grid."""
    source: str | None = None
    """For a game file: its path, which replaces the name in the spec."""
    source_text: str | None = None
    """For a game file: its text, from which `games.load` makes the game on machines without the file."""
    trusted: bool = True
    """Whether the rules are known to follow the contract; rules of files and packages are tested first."""

    @classmethod
    def from_spec(cls, spec: Spec) -> Game:
        """The game that the spec describes; raises InvalidInput for an option that the game does not have."""
        options = options_of(cls.__init__, spec)
        game = cls(**options)
        if not game.options:
            game.options = options
        return game

    @property
    def spec(self) -> str:
        """The game with all its options as one line of text, which `games.load` accepts."""
        options = ",".join(f"{key}={value}" for key, value in self.options.items())
        name = self.source or self.name
        return f"{name}:{options}" if options else name

    @property
    def evaluators(self) -> Mapping[str, StaticEvaluator]:
        """The game's static evaluations by name, among them ``rules.evaluate``, if it is defined. `minimax`
        takes the first where its player names none."""
        return {} if self.rules.evaluate is None else {"default": StaticEvaluator(self.rules.evaluate)}

    @cached_property
    def calls(self) -> Rules:
        """The rules for callers in Python; those that only kernels call, such as ``playout``, are None.
        Compiled rules are cached on disk."""
        return calls_of(self)

    @property
    def playout_game(self) -> Game:
        """The game whose rules ``rules.playout`` follows: this one, unless playouts ignore a rule of it."""
        return self

    @property
    def hidden_information(self) -> bool:
        """Whether some part of a position is hidden from a player, or the future of its chance (open
        loop)."""
        return self.rules.determinize is not None

    @property
    def has_chance(self) -> bool:
        """Whether there are positions in which chance moves (``rules.chance``)."""
        return self.rules.chance is not None

    @property
    def is_two_player(self) -> bool:
        """Whether this is a game of two players with a return in [-1, 1] at its end."""
        return self.num_players == 2 and not self.rewards

    @property
    def form(self) -> str:
        """What kind of problem this is, in words that follow a name."""
        if self.num_players == 1:
            return "a problem of one player"
        parts = [f"{self.num_players} players"] if self.num_players > 2 else []
        parts += ["rewards"] * self.rewards + ["chance"] * (self.has_chance or self.open_loop)
        return f"a game with {in_words(parts)}" if parts else "a game"

    @property
    def has_lines(self) -> bool:
        """Whether one player makes all moves and a line of moves has one outcome, so that there is a best
        line."""
        return self.num_players == 1 and not self.has_chance and not self.hidden_information

    def name_of(self, player: int) -> str:
        """The name of who moves, in displayed text: ``chance`` for CHANCE."""
        return CHANCE_NAME if player == CHANCE else self.player_names[player]

    def scores(self, state: State) -> tuple[float, ...]:
        """Each player's return of a finished game; with rewards, the sum of rewards up to this position."""
        if self.num_players > 2:
            assert self.calls.score is not None
            return tuple(float(self.calls.score(state, player)) for player in range(self.num_players))
        first = float(self.calls.returns(state)) + 0.0
        return (first,) if self.num_players == 1 else (first, 0.0 - first)

    def viewpoint(self, player: int) -> int:
        """The player from whose viewpoint values of ``player``'s moves are kept: of two players FIRST or
        SECOND.

        With one player, with three or more (each has values of its own), and where chance moves: FIRST.
        """
        return SECOND if player == SECOND and self.num_players == 2 else FIRST

    def is_truncated(self, state: State) -> bool:
        """Whether a finished episode was cut off by a limit of its length, instead of ending by itself."""
        return False

    def chance_weights(self, state: State) -> dict[int, float]:
        """The probability of each outcome of a position in which chance moves. Default: all are equal."""
        outcomes = self.legal_moves(state)
        return {outcome: 1.0 / len(outcomes) for outcome in outcomes}

    @abstractmethod
    def initial_state(self) -> State:
        """A new array with the start position."""

    def episode_state(self, episode: int) -> State:
        """The start of the episode with this number, in [0, 2**31), on which chance at the start may depend.

        Default: the start position."""
        return self.initial_state()

    def episode_steps(self, episode: int) -> Callable[[State, int], int] | None:
        """A function that gives the outcomes of chance in an episode, if the rules do not draw them. It is
        called for each move of the player, in order, with the position before the move and the move, and
        returns the outcome that chance plays next, if one is due. Default: None, `Rules.chance` draws."""
        return None

    def format_move(self, state: State, move: int) -> str:
        """The move in the game's notation, without spaces; ``state`` is the position before the move.

        Default: with a grid, the name of the cell with the move's number, counted row by row from ``a1``;
        otherwise the number.
        """
        cell = self._cell_of(move)
        return str(move) if cell is None else format_cell(*cell)

    def parse_move(self, state: State, text: str) -> int:
        """The legal move that ``text`` denotes; raises InvalidInput (field ``moves``)."""
        moves = {self.format_move(state, move): move for move in self.legal_moves(state)}
        if text in moves:
            return moves[text]
        raise InvalidInput("moves", text, self.accepted_moves(state, [*moves]) if moves else GAME_OVER)

    def accepted_moves(self, state: State, moves: Sequence[str]) -> str:
        """What an error of `parse_move` names as accepted; ``moves`` are the texts of the legal moves."""
        return f"one of {', '.join(moves[:12])}{', ...' * (len(moves) > 12)}"

    def format_position(self, state: State) -> str:
        """The position as one line of text without leading or trailing spaces."""
        return ",".join(str(value) for value in state.tolist())

    def format_seen(self, state: State) -> str:
        """The text of `format_position` without anything that is hidden from a player.

        Default: the whole text.
        """
        return self.format_position(state)

    def parse_position(self, text: str) -> State:
        """The state of a text of `format_position`; raises InvalidInput (field ``position``).

        The state depends only on the position, not on the moves that led to it.
        """
        state = self.initial_state()
        values = text.split(",")
        try:
            if len(values) != len(state):
                raise ValueError(text)
            state[:] = [state.dtype.type(value) for value in values]
        except (ValueError, OverflowError):
            accepted = f"{len(state)} numbers ({state.dtype}) divided by commas"
            raise InvalidInput("position", text, accepted) from None
        return state

    def outcome_text(self, state: State) -> str:
        """The outcome of a finished game for people.

        Default: the winner, or ``a draw``; for one player the score.
        """
        if self.num_players > 2:
            scores = self.scores(state)
            best = max(scores)
            return f"{self.player_names[scores.index(best)]} wins" if scores.count(best) == 1 else "a draw"
        outcome = self.calls.returns(state)
        if self.num_players == 1:
            return f"a score of {outcome:.10g}"
        return f"{self.player_names[FIRST if outcome > 0 else SECOND]} wins" if outcome else "a draw"

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The position as a grid of cells. Default: drawn by `cell` if there is a grid, else the state's
        values."""
        if self.rows and self.columns:
            return self._grid(state, None if last_move is None else self.cells_of(last_move))
        values = [str(value) for value in state.tolist()]
        rows = [values[start : start + VALUES_A_ROW] for start in range(0, len(values), VALUES_A_ROW)]
        return Board(
            [[Cell(value) for value in row] for row in rows],
            [str(VALUES_A_ROW * number) for number in range(len(rows))],
            [str(number) for number in range(min(len(values), VALUES_A_ROW))],
        )

    def cell(self, state: State, row: int, column: int) -> int | str | Cell | None:
        """What the default `board` shows in a cell of the grid, row 0 at the bottom.

        FIRST or SECOND for a player's piece, None for an empty cell, a text, or a Cell.
        """
        raise NotImplementedError(f"{type(self).__name__} has rows and columns, but no cell()")

    def observation(self, state: State, observer: int) -> State:
        """The information set of ``observer`` (FIRST or SECOND), as input of ``Rules.determinize``.

        A search sees nothing else of the position. With hidden information: an array of any length, equal
        for all positions that the observer cannot distinguish; raises InvalidInput (field ``position``) if
        no complete position fits. Without hidden information: the position itself.
        """
        return state.copy()

    def hide(
        self, state: State, owner: int, places: Sequence[str], stream: Stream
    ) -> tuple[State, str | None, tuple[str, ...]]:
        """A dealt start position in which ``owner`` (FIRST or SECOND) has placed what it hides.

        ``places`` are the places of the first pieces, in order; `REST` at their end stands for random places
        of all others. Returns the position, the piece that is next (None: all are placed), and its free
        places. Raises InvalidInput (field ``fleet``). Default: nothing can be placed.
        """
        if places:
            raise InvalidInput("fleet", ",".join(places), f"none: this player places no fleet in {self.spec}")
        return state.copy(), None, ()

    def secret(self, state: State, owner: int) -> Board | None:
        """What only ``owner`` (FIRST or SECOND) sees of a complete position; None if nothing is hidden."""
        return None

    def chances(self, state: State, draws: int, stream: Stream) -> dict[tuple[int, int], float]:
        """By (row, column) of the drawn board: the probability that the player to move finds something there.

        Estimated as a share of ``draws`` random determinizations. Default: empty.
        """
        return {}

    def cells_of(self, move: int) -> tuple[int, int] | None:
        """The (row, column) of the drawn board, row 0 on top, where a heat map shows a move; None if nowhere.

        Default: the cell that `format_move` names.
        """
        cell = None if type(self).format_move is not Game.format_move else self._cell_of(move)
        return None if cell is None else (self.rows - 1 - cell[0], cell[1])

    def owners(self, states: State) -> npt.NDArray[np.int8]:
        """int8[B, rows, columns]: the owner of the piece on each cell, for ``states`` [B, state length].

        0: no piece, 1: the first player, 2: the second player. Row 0 is the bottom row. The default is
        computed from `board`, which is slow.
        """
        boards = [self.board(state).rows[::-1] for state in states]
        signs = [
            [[0 if cell.owner is None else cell.owner + 1 for cell in row] for row in rows] for rows in boards
        ]
        return np.array(signs, dtype=np.int8)

    def exact_solver(self) -> Judge | None:
        """A new solver that computes the exact value of any position in bounded time and memory.

        Default: None, where the game has none.
        """
        return None

    def canonical(self, state: State) -> State:
        """The position as an array that does not depend on the moves that led to it."""
        return self.parse_position(self.format_position(state))

    def legal_moves(self, state: State) -> list[int]:
        """The legal moves in ascending order; empty when the game is over."""
        if self.calls.is_terminal(state):
            return []
        moves = np.zeros(self.max_moves, dtype=np.uint16)
        count = self.calls.legal_moves(state, moves)
        return sorted(int(move) for move in moves[:count])

    def successors(self, state: State) -> Iterator[tuple[int, State]]:
        """Each legal move in ascending order, with a new array of the position after it."""
        for move in self.legal_moves(state):
            after = state.copy()
            self.calls.play(after, move)
            yield move, after

    def play_text(self, state: State, texts: Iterable[str]) -> list[int]:
        """Play moves given as text, ``state`` modified in place; returns their numbers.

        Raises InvalidInput (field ``moves``) for the first move that is not legal.
        """
        played = []
        for text in texts:
            if self.calls.is_terminal(state):
                raise InvalidInput("moves", text, GAME_OVER)
            move = self.parse_move(state, text)
            self.calls.play(state, move)
            played.append(move)
        return played

    def _cell_of(self, move: int) -> tuple[int, int] | None:
        """The (row, column), row 0 at the bottom, of the cell with the move's number.

        None without a grid, outside of it, or if the grid has more columns than there are letters (26).
        """
        if move >= self.rows * self.columns or self.columns > 26:
            return None
        return divmod(move, self.columns)

    def _grid(self, state: State, last: tuple[int, int] | None) -> Board:
        below = range(self.rows - 1, -1, -1)
        return named_grid(
            [
                [
                    _drawn(self.cell(state, row, column), (top, column) == last)
                    for column in range(self.columns)
                ]
                for top, row in enumerate(below)
            ]
        )


def _drawn(value: int | str | Cell | None, last: bool) -> Cell:
    if isinstance(value, Cell):
        return replace(value, last=value.last or last)
    if value is None or isinstance(value, str):
        return Cell("." if value is None else value, None, last)
    return Cell("XO"[value], int(value), last)
