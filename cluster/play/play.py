"""The state of a game between people and a player, independent of the user interface.

It is the list of moves and the index of the position shown, which is the last one unless a user steps through
the game. A move made in an earlier position replaces all later moves.

With hidden information no move can be taken back before the game is over, because the player has already seen
its result. A person is shown only what that side knows. What chance brings follows from the seed and the ply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cluster.matches.clock import Clock
from cluster.matches.game import ask, dealt, drawn, seconds_by, seed_of, start_text
from cluster.matches.record import Effort, GameRecord
from cluster.play.position import Position
from games.errors import InvalidInput
from games.game import CHANCE, FIRST, SECOND, Game, State
from games.rng import new_stream
from search.players import Choice, Player

HUMAN = "human"
PLAY_STREAM, DICE_STREAM, FLEET_STREAM = 9, 10, 11
"""Purposes of the random seeds of moves, of chance, and of ships that people leave to chance, in these games;
different from those of matches."""
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
"""Names of sides on the command line; later sides are numbers."""
SEEN = "no move taken back before the game is over, because moves reveal hidden information"


def sides_of(game: Game) -> dict[str, tuple[int, ...]]:
    """The sides that people can play, by their name on the command line."""
    number = game.num_players
    names = [*ORDINALS[:number], *map(str, range(len(ORDINALS) + 1, number + 1))]
    every = {} if number == 1 else {"both" if number == 2 else "all": tuple(range(number))}
    return {name: (side,) for side, name in enumerate(names)} | every | {"none": ()}


@dataclass(frozen=True)
class Thought:
    """A move of the opponent with its evaluation."""

    mover: int
    move: str
    choice: Choice
    cpu_s: float


class Play:
    """A game between people and a player."""

    def __init__(
        self,
        game: Game,
        opponent: Player,
        humans: tuple[int, ...],
        seed: int,
        record: GameRecord | None = None,
        clock: Clock | None = None,
    ) -> None:
        """A new game, or the game of ``record`` at its last position. ``clock``: of the opponent, which plays
        on at once when its time is over.

        Raises InvalidInput (fields ``moves``, ``position``).
        """
        self.game = game
        self.opponent = opponent
        opponent.begin_game()
        self.humans = humans
        self.seed = seed
        self.clock = clock
        self.thought: Thought | None = None
        """The opponent's last move; None before its first."""
        self.resigned: int | None = None
        self.placed = record is not None
        """Whether a person may have placed the own fleet: it was placed here, or the game was loaded."""
        players = range(game.num_players)
        self._efforts = [Effort() for _ in players] if record is None else list(record.efforts)
        self._given = record
        if record is None:
            text = start_text(game, dealt(game, seed_of(seed, PLAY_STREAM)))
            seats = tuple(HUMAN if side in humans else opponent.spec for side in players)
            record = GameRecord(game.spec, seats, (), seed=seed, start=text)
        self._record = replace(record, moves=(), result=None, scores=None)
        self._start = record.start_state(game)
        self._moves: list[str] = []
        self._codes: list[int] = []
        self.ply = 0
        """Number of moves before the position shown."""
        self.state: State = self._start.copy()
        for move in record.moves:
            self.give(move)
        if record.result is not None and not self.over and game.is_two_player:
            self.resigned = FIRST if record.result < 0 else SECOND

    @property
    def position(self) -> Position:
        last = self._codes[self.ply - 1] if self.ply else None
        return Position(self.game, self.state, tuple(self._moves[: self.ply]), last)

    @property
    def plies(self) -> int:
        """The number of plies of the whole game, including those after the position shown."""
        return len(self._moves)

    @property
    def behind(self) -> bool:
        """Whether the position shown is not the last one."""
        return self.ply < len(self._moves)

    @property
    def over(self) -> bool:
        """Whether the game is over in the position shown."""
        return (self.resigned is not None and not self.behind) or self.position.over

    @property
    def mover(self) -> int:
        return self.position.player

    @property
    def humans_turn(self) -> bool:
        return not self.over and self.mover in self.humans

    @property
    def result(self) -> float | None:
        """The first player's return; None if the game is not over."""
        if self.resigned is not None:
            return -1.0 if self.resigned == FIRST else 1.0
        scores = self._scores()
        return None if scores is None else scores[FIRST]

    @property
    def record(self) -> GameRecord:
        """The record of the whole game."""
        return replace(
            self._record,
            moves=tuple(self._moves),
            result=self.result,
            scores=self._scores() if self.game.num_players > 2 else None,
            efforts=tuple(self._efforts),
        )

    @property
    def changed(self) -> bool:
        """Whether there are moves that are not saved: moves beyond those of a loaded game."""
        record = self.record
        before = self._given
        known = before is not None and (before.moves, before.result) == (record.moves, record.result)
        return bool(record.moves) and not known

    @property
    def new(self) -> bool:
        """Whether one person plays, no move was made, and no fleet was placed."""
        return not (self.placed or self._moves) and len(self.humans) == 1

    def place(self, places: Sequence[str]) -> str | None:
        """Place what the person hides, as `Game.hide` does; returns the piece that is next, or None.

        Raises InvalidInput (field ``fleet``).
        """
        if not self.new:
            raise InvalidInput("fleet", ",".join(places), "no fleet unless one person begins a new game")
        stream = new_stream(seed_of(self.seed, FLEET_STREAM))
        self.state, piece, _ = self.game.hide(self._start, self.humans[0], places, stream)
        if piece is None and places:
            self.placed, self._start = True, self.state.copy()
            self._record = replace(self._record, start=self.game.format_position(self.state))
        return piece

    def warm_up(self) -> None:
        """Ask the opponent for a move, so that kernels are compiled or loaded before the game begins."""
        if not self.over and self.mover != CHANCE:
            self.hint()

    def make(self, move: str) -> None:
        """Make a person's move. Raises InvalidInput (field ``moves``)."""
        if self.over:
            raise InvalidInput("moves", move, "no further move: the game is over")
        self.game.parse_move(self.state, move)
        self.go_on()
        self.give(move)

    def give(self, move: str) -> None:
        """Make a move in the position shown, the last one: also one that no person or player chose.

        Raises InvalidInput (field ``moves``).
        """
        before = self.state.copy()
        self._codes += self.game.play_text(self.state, [move])
        # In the game's own notation, which may differ from the text that was typed.
        self._moves.append(self.game.format_move(before, self._codes[-1]))
        self.ply += 1

    def forced(self) -> str | None:
        """The move that is made without asking: the only legal one, or what chance brings; else None."""
        if self.over or self.behind:
            return None
        if self.mover == CHANCE:
            outcome = drawn(self.game, self.state, seed_of(self.seed, DICE_STREAM, self.ply))
            return self.game.format_move(self.state, outcome)
        legal = self.game.legal_moves(self.state)
        return self.game.format_move(self.state, legal[0]) if len(legal) == 1 else None

    def answer(self) -> Thought:
        """Let the opponent make a move."""
        self.go_on()
        mover = self.mover
        choice, cpu_s = self.hint(seconds_by(self.clock, self.game, self.ply, self._efforts[mover]))
        self._efforts[mover] += Effort(1, cpu_s, cpu_s, choice.simulations, choice.nodes)
        self.thought = Thought(mover, self.game.format_move(self.state, choice.move), choice, cpu_s)
        self.give(self.thought.move)
        return self.thought

    def hint(self, seconds: float | None = None) -> tuple[Choice, float]:
        """(the opponent's choice for the side to move, with that side's information; CPU seconds).

        ``seconds``: what a clock gives the move. Raises InvalidInput (field ``hint``) where chance moves.
        """
        if self.mover == CHANCE:
            raise InvalidInput("hint", "hint", "a position in which a player moves; here chance does")
        past = self._codes[: self.ply] if self._record.start is None else None
        seed = seed_of(self.seed, PLAY_STREAM, self.ply)
        return ask(self.opponent, self.game, self.state, seed, past, seconds=seconds)

    def resign(self) -> None:
        """Let the side to move resign. Raises InvalidInput unless somebody else wins by that."""
        if not self.game.is_two_player:
            raise InvalidInput(
                "resign", "resign", f"a game of two that one wins; quit leaves {self.game.form}"
            )
        self.go_on()
        self.resigned = self.mover

    def undo(self) -> None:
        """Take back the last move chosen by a person and all moves after it. Raises InvalidInput."""
        self._check_hidden("undo")
        state, last = self._start.copy(), None
        for ply, move in enumerate(self._moves[: self.ply]):
            chosen = len(self.game.legal_moves(state)) > 1
            if chosen and int(self.game.calls.current_player(state)) in self.humans:
                last = ply
            self.game.play_text(state, [move])
        if last is None:
            raise InvalidInput("undo", "", "a move of yours before it")
        self.go_to(last)
        self.go_on()

    def go_to(self, ply: int) -> None:
        """Show the position after ``ply`` moves. Raises InvalidInput (field ``ply``)."""
        if not 0 <= ply <= len(self._moves):
            raise InvalidInput("ply", ply, f"a whole number from 0 to {len(self._moves)}")
        if ply != self.ply:
            self._check_hidden("ply")
        self.state = self._start.copy()
        self.game.play_text(self.state, self._moves[:ply])
        self.ply = ply

    def go_on(self) -> None:
        """Continue the game from the position shown; all later moves are deleted.

        Raises InvalidInput (field ``moves``) if that would take back moves with hidden information.
        """
        if not self.behind:
            return
        if self.game.hidden_information:
            raise InvalidInput("moves", self._moves[self.ply], SEEN)
        del self._moves[self.ply :], self._codes[self.ply :]
        self.resigned = self.thought = None

    def _scores(self) -> tuple[float, ...] | None:
        """Each player's return at the end of the moves; None if they do not end the game."""
        state = self._start.copy()
        self.game.play_text(state, self._moves)
        return self.game.scores(state) if self.game.calls.is_terminal(state) else None

    def _check_hidden(self, field: str) -> None:
        if self.game.hidden_information and self.result is None:
            raise InvalidInput(field, "", SEEN)
