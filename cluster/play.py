"""A game that people play: its moves, whose turn it is, and what can be taken back. Knows no terminal.

The moves of the game are a list, and a cursor in it: usually at its end, elsewhere while somebody steps
through a game that was played. A move made there ends what came after it.

Where something is hidden nothing is taken back while the game goes on, because what was seen stays
seen; a person is shown what the side has seen, and its own secret.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cluster.matches.game import ask, seed_of
from cluster.matches.record import Effort, GameRecord
from cluster.position import Position
from games.errors import InvalidInput
from games.findings import deal
from games.game import FIRST, SECOND, Game, State
from search.players import Choice, Player

HUMAN = "human"
PLAY_STREAM = 9
"""What seeds of moves in such a game are drawn for, beside those of a match."""
SIDES = {"first": (FIRST,), "second": (SECOND,), "both": (FIRST, SECOND), "none": ()}
"""Whom people play for, by word."""
SEEN = "what was seen stays seen: nothing is taken back in this game before it is over"


@dataclass(frozen=True)
class Thought:
    """A move of the opponent, and what it thought."""

    mover: int
    move: str
    choice: Choice
    cpu_s: float


class Play:
    """One game between people and a player."""

    def __init__(
        self,
        game: Game,
        opponent: Player,
        humans: tuple[int, ...],
        seed: int,
        record: GameRecord | None = None,
    ) -> None:
        """A new game, or the one in ``record`` at its end. Raises InvalidInput (moves, position)."""
        self.game = game
        self.opponent = opponent
        self.humans = humans
        self.seed = seed
        self.thought: Thought | None = None
        """The opponent's last one."""
        self.resigned: int | None = None
        self._efforts = [Effort(), Effort()] if record is None else list(record.efforts)
        self._given = record
        if record is None:
            start = deal(game, seed_of(seed, PLAY_STREAM))
            text = game.format_position(start) if game.hidden_information else None
            names = [HUMAN if side in humans else opponent.spec for side in (FIRST, SECOND)]
            record = GameRecord(game.spec, names[FIRST], names[SECOND], (), seed=seed, start=text)
        self._record = replace(record, moves=(), result=None)
        self._start = record.start_state(game)
        self._moves: list[str] = []
        self._codes: list[int] = []
        self._ply = 0
        self.state: State = self._start.copy()
        for move in record.moves:
            self._play(move)
        if record.result is not None and not self.over:
            self.resigned = FIRST if record.result < 0 else SECOND

    @property
    def position(self) -> Position:
        last = self._codes[self._ply - 1] if self._ply else None
        return Position(self.game, self.state, tuple(self._moves[: self._ply]), last)

    @property
    def ply(self) -> int:
        return self._ply

    @property
    def plies(self) -> int:
        """Of the whole game, which may go on after the position that is shown."""
        return len(self._moves)

    @property
    def behind(self) -> bool:
        """Whether the position shown is an earlier one."""
        return self._ply < len(self._moves)

    @property
    def over(self) -> bool:
        """Whether the position shown is one in which the game is over."""
        return (self.resigned is not None and not self.behind) or self.position.over

    @property
    def mover(self) -> int:
        return self.position.player

    @property
    def humans_turn(self) -> bool:
        return not self.over and self.mover in self.humans

    @property
    def result(self) -> float | None:
        """The first player's return at the end of the game, if it has one."""
        if self.resigned is not None:
            return -1.0 if self.resigned == FIRST else 1.0
        state = self._start.copy()
        self.game.play_text(state, self._moves)
        return float(self.game.calls.returns(state)) if self.game.calls.is_terminal(state) else None

    @property
    def record(self) -> GameRecord:
        """The whole game as it is now."""
        efforts = (self._efforts[FIRST], self._efforts[SECOND])
        return replace(self._record, moves=tuple(self._moves), result=self.result, efforts=efforts)

    @property
    def changed(self) -> bool:
        """Whether there is anything to keep: moves, and not only those of a game that was loaded."""
        record = self.record
        before = self._given
        known = before is not None and (before.moves, before.result) == (record.moves, record.result)
        return bool(record.moves) and not known

    def warm_up(self) -> None:
        """Ask the opponent once, so that no move of the game has to wait for kernels."""
        if not self.over:
            self.hint()

    def make(self, move: str) -> None:
        """A person's move. Raises InvalidInput (moves)."""
        if self.over:
            raise InvalidInput("moves", move, "no further move: the game is over")
        self.game.parse_move(self.state, move)
        self.go_on()
        self._play(move)

    def give(self, move: str) -> None:
        """Make a move that nobody was asked for: the only one, or one of those that were given beforehand.

        Raises InvalidInput (moves).
        """
        self._play(move)

    def forced(self) -> str | None:
        """The only legal move, if there is but one: nobody is asked for it."""
        if self.over or self.behind:
            return None
        legal = self.game.legal_moves(self.state)
        return self.game.format_move(self.state, legal[0]) if len(legal) == 1 else None

    def answer(self) -> Thought:
        """The opponent makes its move."""
        self.go_on()
        mover, (choice, cpu_s) = self.mover, self.hint()
        self._efforts[mover] += Effort(1, cpu_s, cpu_s, choice.simulations, choice.nodes)
        self.thought = Thought(mover, self.game.format_move(self.state, choice.move), choice, cpu_s)
        self._play(self.thought.move)
        return self.thought

    def hint(self) -> tuple[Choice, float]:
        """What the opponent would do for whoever moves, seeing what that side may see; and CPU seconds."""
        legal = self.game.legal_moves(self.state)
        if len(legal) == 1:
            return Choice(legal[0], thought="the only move"), 0.0
        past = self._codes[: self._ply] if self._record.start is None else None
        return ask(self.opponent, self.game, self.state, seed_of(self.seed, PLAY_STREAM, self._ply), past)

    def resign(self) -> None:
        """Whoever moves gives up."""
        self.go_on()
        self.resigned = self.mover

    def undo(self) -> None:
        """Take back all since the last move that a person chose, and that too. Raises InvalidInput."""
        self._check_hidden("undo")
        state, last = self._start.copy(), None
        for ply, move in enumerate(self._moves[: self._ply]):
            chosen = len(self.game.legal_moves(state)) > 1
            if chosen and int(self.game.calls.current_player(state)) in self.humans:
                last = ply
            self.game.play_text(state, [move])
        if last is None:
            raise InvalidInput("undo", "", "a move of yours before it")
        self.go_to(last)
        self.go_on()

    def go_to(self, ply: int) -> None:
        """Show the position after so many moves. Raises InvalidInput (ply)."""
        if not 0 <= ply <= len(self._moves):
            raise InvalidInput("ply", ply, f"a whole number from 0 to {len(self._moves)}")
        if ply != self._ply:
            self._check_hidden("ply")
        self.state = self._start.copy()
        self.game.play_text(self.state, self._moves[:ply])
        self._ply = ply

    def go_on(self) -> None:
        """The game goes on from the position that is shown: what came after it is gone."""
        if not self.behind:
            return
        if self.game.hidden_information:
            raise InvalidInput("moves", self._moves[self._ply], SEEN)
        del self._moves[self._ply :], self._codes[self._ply :]
        self.resigned = None

    def _check_hidden(self, field: str) -> None:
        if self.game.hidden_information and self.result is None:
            raise InvalidInput(field, "", SEEN)

    def _play(self, move: str) -> None:
        before = self.state.copy()
        self._codes += self.game.play_text(self.state, [move])
        # As the game writes it, which may be longer than what was typed.
        self._moves.append(self.game.format_move(before, self._codes[-1]))
        self._ply += 1
