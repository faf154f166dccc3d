"""Games in plain Python: positions are arbitrary objects, and nothing is compiled.

For simulators that are slow in themselves: an emulator, a library, a game server. The author writes
a class of positions, and `PythonGame` adapts it to the game contract. The state array holds the moves
played so far, so it can be sent and hashed; `games.python_positions` has the position objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any, Protocol

import numpy as np

from games.errors import InvalidInput
from games.game import CHANCE, GAME_OVER, Board, Cell, Game, Moves, Rules, State
from games.python_positions import EPISODE, REAL, SEED, SIMULATED, PositionCache, seed_of, set_seed
from games.rng import Stream, below

_COLOUR = re.compile(r"\x1b\[([\d;]*)m|(.)")
"""A code of colours, or a character."""


class PositionObject(Protocol):
    """The methods of a position object.

    Optional: ``copy()`` replaces copy.deepcopy; ``format_move(move)`` replaces the move's number;
    ``chance_outcomes()`` for games in which chance moves, and ``reseed(seed)`` for an open loop (see
    `PythonGame`). ``str(position)`` is the drawn position.
    """

    def current_player(self) -> int:
        """The player to move, from 0, or CHANCE (-1); a player may move twice in a row."""

    def legal_moves(self) -> Sequence[int]:
        """The legal moves: distinct integers in [0, 65535), in a fixed order."""

    def play(self, move: int) -> None:
        """Play a legal move, which changes this object."""

    def is_terminal(self) -> bool:
        """Whether the game is over."""

    def returns(self) -> float | Sequence[float]:
        """The first player's return of a finished game, in [-1, 1]; with `Game.rewards` the sum of rewards so
        far, in any position. With three or more players: one number for each."""


class PythonGame(Game):
    """A game of position objects. A subclass defines `new_position`, ``max_moves`` and ``max_plies``.

    Chance comes in one of two forms. With ``chance_moves`` it is a player: where ``current_player`` is
    CHANCE, ``position.chance_outcomes()`` gives pairs of move and probability, and the tree has a node for
    each outcome. With ``open_loop``, for ``seeded`` games, a move itself draws, and a node of the tree stands
    for a sequence of moves, whatever came of them: ``position.reseed(seed)`` makes everything that is drawn
    from then on depend on ``seed`` (an integer in [0, 2**62)) alone. Each simulation has a seed of its own,
    so a search never sees what chance will bring in the episode that is played. With ``closed_loop`` too,
    what is seen after each move counts as a move of chance: ``position.seen()`` is a number in [0, 65535)
    that stands for it, the tree has a node for each number, and so what follows may depend on it. Of
    ``max_plies``, half are then such moves.

    A state is int32[``head`` + max_plies]: ``head`` numbers and then the moves. The first number is how many
    moves were played. If the game is ``seeded`` there are four more: how many of the moves were really
    played, the seed of the moves after them (2 x 31 bits, 0 if there are none), and the number of the
    episode."""

    nominal_simulations_per_s = 200.0
    chance_moves: bool = False
    """Whether chance moves in some positions."""
    seeded: bool = False
    """Whether ``new_position`` takes the number of an episode, on which the start of the game, and what
    really happens in it, depend."""

    def __init__(self) -> None:
        self._positions = PositionCache(self)
        self.head = self._positions.head
        self.rules = Rules(
            self._current_player,
            self._legal_moves,
            self._play,
            self._is_terminal,
            self._returns,
            self._playout,
            determinize=self._determinize if self.open_loop else None,
            chance=self._chance if self.chance_moves or self.closed_loop else None,
            score=self._score if self.num_players > 2 else None,
            rollout=self._rollout if self.num_players == 1 else None,
            cut_rollout=self._cut_rollout if self.num_players == 1 else None,
        )

    def new_position(self) -> PositionObject:
        """A new object with the start position; of a ``seeded`` game ``new_position(episode)``."""
        raise NotImplementedError(f"{type(self).__name__} has no new_position")

    def roll_out(self, position: Any, draw: Callable[[int], int]) -> Sequence[int]:
        """Play ``position`` to its end, in place, and return the moves. Default: uniformly random moves.

        Override this for a simulator that plays by itself. ``draw(n)`` gives an integer in [0, n) from the
        search's random stream. ``draw``, and in an open loop the seed, must be the only sources of
        randomness, so that results do not depend on the worker. With a discount, rewards are noted whenever
        ``position.play`` returns."""
        return self._random_moves(position, draw)

    def _random_moves(self, position: Any, draw: Callable[[int], int], most: float = inf) -> list[int]:
        played: list[int] = []
        while len(played) < most and not position.is_terminal():
            if self.chance_moves and position.current_player() == CHANCE:
                move = drawn_outcome(position.chance_outcomes(), draw)
            else:
                legal = position.legal_moves()
                move = legal[draw(len(legal))]
            played.append(move)
            position.play(move)
        return played

    def rewarded_roll_out(
        self, position: Any, draw: Callable[[int], int], most: int | None = None
    ) -> tuple[Sequence[int], float]:
        """Of a problem of one player: the moves of `roll_out`, or with ``most`` at most that many uniformly
        random ones, and the sum of the rewards, each discounted by its distance. Override both where a
        position knows its rewards."""
        noted = _Noted(position, first_of(position.returns()) if self.rewards else 0.0, self)
        if most is None:
            played = self.roll_out(noted if self.discount < 1.0 else position, draw)
        else:
            played = self._random_moves(noted, draw, most)
        ended = self.rewards or position.is_terminal()
        return played, noted.finish(first_of(position.returns()) if ended else 0.0, len(played))

    def initial_state(self) -> State:
        """The state without any move; of a ``seeded`` game, of episode 0."""
        return np.zeros(self.head + self.max_plies, dtype=np.int32)

    def episode_state(self, episode: int) -> State:
        """The start of the episode with this number, in [0, 2**31); games that are not seeded have but
        one."""
        state = self.initial_state()
        if self.seeded:
            state[EPISODE] = episode
        return state

    def moves_of(self, state: State) -> State:
        """int32[moves played]: the moves of a state; a view."""
        return self._positions.moves_of(state)

    def observation(self, state: State, observer: int) -> State:
        """The position itself; of an open loop, its moves count as really played."""
        view = state.copy()
        if self.open_loop:
            view[REAL], view[SEED : SEED + 2] = view[0], 0
        return view

    def chance_weights(self, state: State) -> dict[int, float]:
        """The probability of each outcome, by ``chance_outcomes``; of what is seen, 1."""
        if self._positions.is_to_see(state):
            return {int(self.position(state).seen()): 1.0}
        return {int(move): float(weight) for move, weight in self.position(state).chance_outcomes()}

    def position(self, state: State) -> Any:
        """The position object of a state, from the cache if possible; it must not be changed."""
        return self._positions.of(state)

    def format_move(self, state: State, move: int) -> str:
        """What is seen as a number; a move as the text of the position's ``format_move``, with ``_`` for
        spaces and ``|`` for ``/``; without one, the number."""
        if self._positions.is_to_see(state):
            return str(move)
        position = self.position(state)
        named = getattr(position, "format_move", None)
        return "_".join(str(named(move) if named else move).split()).replace("/", "|")

    def format_position(self, state: State) -> str:
        """The moves played so far, divided by ``/``; ``start`` if there are none. A seeded game has the
        number of its episode and ``:`` before them. ``~`` and a seed stand where a simulation begins."""
        walk, seed = state.copy(), seed_of(state) if self.open_loop else 0
        walk[0], walk[self.head :] = 0, 0
        texts = []
        if seed:
            walk[REAL], walk[SEED : SEED + 2] = 0, 0
        for move in self.moves_of(state):
            if seed and walk[0] == state[REAL]:
                texts.append(f"{SIMULATED}{seed}")
                walk[SEED : SEED + 2] = state[SEED : SEED + 2]
            texts.append(self.format_move(walk, int(move)))
            self._play(walk, int(move))
        if seed and walk[0] == state[REAL]:
            texts.append(f"{SIMULATED}{seed}")
        episode = f"{state[EPISODE]}:" if self.seeded else ""
        return episode + ("/".join(texts) or "start")

    def parse_position(self, text: str) -> State:
        """The state after these moves; raises InvalidInput (field ``position``) at an illegal move."""
        state, texts = self.initial_state(), text
        if self.seeded:
            episode, _, texts = text.partition(":")
            if not (episode.isascii() and episode.isdecimal() and int(episode) < 2**31):
                raise InvalidInput("position", text, "the number of an episode, ':', and moves or 'start'")
            state = self.episode_state(int(episode))
        for move in [] if texts == "start" else texts.split("/"):
            try:
                if self.open_loop and move.startswith(SIMULATED) and not seed_of(state):
                    set_seed(state, move)
                    continue
                if self.calls.is_terminal(state):
                    raise InvalidInput("moves", move, GAME_OVER)
                self._play(state, self.parse_move(state, move))
            except InvalidInput as error:
                accepted = f"'start', or legal moves divided by '/' (at {move!r}: {error.accepted})"
                raise InvalidInput("position", text, accepted) from None
        return state

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The lines of ``str(position)``; if its class does not define it, the moves played so far."""
        position = self.position(state)
        kind: Any = type(position)
        own = kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__
        return board_of(str(position) if own else self.format_position(state))

    def _current_player(self, state: State) -> int:
        return CHANCE if self._positions.is_to_see(state) else int(self.position(state).current_player())

    def _legal_moves(self, state: State, moves: Moves) -> int:
        if self._positions.is_to_see(state):
            moves[0] = self.position(state).seen()
            return 1
        legal = self.position(state).legal_moves()
        moves[: len(legal)] = legal
        return len(legal)

    def _play(self, state: State, move: int) -> None:
        state[self.head + state[0]] = move
        state[0] += 1
        if self.open_loop and not self._positions.is_simulated(state):
            state[REAL] = state[0]

    def _is_terminal(self, state: State) -> bool:
        return bool(self.position(state).is_terminal())

    def _returns(self, state: State) -> float:
        return first_of(self.position(state).returns())

    def _score(self, state: State, player: int) -> float:
        return float(self.position(state).returns()[player])

    def _chance(self, state: State, moves: Moves, stream: Stream) -> int:
        if self._positions.is_to_see(state):
            return int(self.position(state).seen())
        return drawn_outcome(self.position(state).chance_outcomes(), partial(below, stream))

    def _determinize(self, view: State, state: State, stream: Stream) -> None:
        """`Rules.determinize`: a simulation with a seed of its own."""
        state[:] = view
        state[REAL] = state[0]
        # Never 0, which stands for no seed.
        state[SEED], state[SEED + 1] = below(stream, 2**31), 1 + below(stream, 2**31 - 1)

    def _playout(self, state: State, moves: Moves, stream: Stream) -> int:
        """`Rules.playout`: calls `roll_out` with a position of its own."""
        position = self.position(state)
        if position.is_terminal():
            return 0
        own = self._positions.own(state, position)
        return self._ended(state, own, self.roll_out(own, partial(below, stream)))

    def _rollout(
        self, state: State, moves: Moves, stream: Stream, line: Moves, most: int | None = None
    ) -> tuple[float, int]:
        """`Rules.rollout`: calls `rewarded_roll_out` with a position of its own."""
        position = self.position(state)
        if position.is_terminal():
            return 0.0, 0
        own = self._positions.own(state, position)
        played, total = self.rewarded_roll_out(own, partial(below, stream), most)
        line[: len(played)] = played
        return total, self._ended(state, own, played)

    def _cut_rollout(
        self, state: State, moves: Moves, stream: Stream, line: Moves, plies: int
    ) -> tuple[float, int]:
        """`Rules.cut_rollout`, likewise."""
        if plies == 0:
            return 0.0, 0
        most = (plies + (not self._positions.is_to_see(state))) // 2 if self.closed_loop else plies
        found = self._rollout(state, moves, stream, line, most)
        # Nobody goes on from a position that was cut.
        self._positions.forget_last()
        return found

    def _ended(self, state: State, position: Any, played: Sequence[int]) -> int:
        """Play on the state to the end that ``position`` has come to by these moves; returns their number."""
        if self.closed_loop:
            # What was seen on the way does not matter any more.
            first = int(self._positions.is_to_see(state))
            moves, played = played, [0] * max(first, 2 * len(played) - 1 + first)
            played[first::2] = moves
        begun, plies = self.head + int(state[0]), len(played)
        state[begun : begun + plies] = played
        state[0] += plies
        if self.open_loop and not self._positions.is_simulated(state):
            state[REAL] = state[0]
        self._positions.keep_as_last(state, position)
        return plies


class _Noted:
    """A position whose rewards are noted, and discounted by the number of moves before them."""

    def __init__(self, position: Any, score: float, game: PythonGame) -> None:
        self._position, self._score = position, score
        self._discount, self._rewards = game.discount, game.rewards
        self._total, self._weight, self._last, self._plies = 0.0, 1.0, 1.0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._position, name)

    def play(self, move: int) -> None:
        chosen = self._position.current_player() != CHANCE
        self._position.play(move)
        if self._rewards:
            self._note(float(self._position.returns()))
        self._plies, self._last = self._plies + 1, self._weight
        if chosen:
            self._weight *= self._discount

    def finish(self, score: float, plies: int) -> float:
        """The sum of the discounted rewards; what was not noted counts as a reward of the last move."""
        self._weight = self._last if self._plies == plies else self._discount ** max(0, plies - 1)
        self._note(score)
        return self._total

    def _note(self, score: float) -> None:
        self._total += self._weight * (score - self._score)
        self._score = score


def board_of(text: str) -> Board:
    """The lines of a text as a board: each character is a cell, marked if it has a background of its own."""
    rows = [_cells(line) for line in text.splitlines() or [""]]
    width = max(len(row) for row in rows)
    rows = [row + [Cell("")] * (width - len(row)) for row in rows]
    return Board(rows, [""] * len(rows), [""] * width)


def _cells(line: str) -> list[Cell]:
    cells, marked = [], False
    for code, character in _COLOUR.findall(line):
        if character:
            cells.append(Cell(character, last=marked))
        else:
            marked = any(len(each) == 2 and each[0] == "4" for each in code.split(";"))
    return cells


def first_of(returns: float | Sequence[float]) -> float:
    """The first player's part of ``PositionObject.returns()``."""
    return float(returns[0]) if isinstance(returns, Sequence | np.ndarray) else float(returns)


def drawn_outcome(outcomes: Sequence[tuple[int, float]], draw: Callable[[int], int]) -> int:
    """One of the outcomes, which are pairs of move and probability; ``draw(n)`` gives an integer in [0,
    n)."""
    left = draw(2**31) / 2**31 * sum(weight for _, weight in outcomes)
    for move, weight in outcomes:
        left -= weight
        if left < 0.0:
            return int(move)
    return int(outcomes[-1][0])
