"""A game that another program plays with us: lines come in, moves go out, in the grammar of a protocol.

    lines -> Grammar.read -> commands -> GameSession -> Drive -> executor
                             GameSession <- answer of the search <-
    write <- Grammar.answer, during, refusal <-

The grammar is text alone: it knows neither rules nor clocks. Lines are read by another thread; while a search
runs they are looked at between its events, so that it can be ended at any time.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import games
from cluster.matches.clock import LEAST_S, Limit, moves_to_go, seconds_for_move
from cluster.runtime.drive import TICK_S, Drive, drive
from cluster.runtime.session import Session
from cluster.runtime.tasks import Executor
from games.errors import InvalidInput
from games.game import Game, State
from search.coordinator import Coordinator
from search.kept_tree import KeptTree
from search.plan import THREADS_PAY_S
from search.prepare import check_search, open_view
from search.request import SearchRequest
from search.result import answer
from search.run_inline import FIRST_SHARE
from search.strategies import for_workers

DURING_S = 1.0
"""Seconds between two reports of a search that runs."""
MOST_S = 1e6
"""The longest time of a search."""
PONDER_S, PONDER_JOBS = 60.0, 6000
"""The longest search in the other's time, and its jobs in one lane: a line is heard when one of them ends."""
_FREE: Mapping[str, Any] = {"moves": (), "memory_mb": SearchRequest.memory_mb}
"""What may change while a tree is kept."""
Lines = SimpleQueue[tuple[bytes | None, float]]
"""Lines, and when they came by `time.monotonic`; None is the end of the input."""


@dataclass(frozen=True)
class Change:
    """Set fields of the request, such as game, position, moves and lanes; and the number of ``workers``."""

    values: Mapping[str, Any]


@dataclass(frozen=True)
class Ready:
    """Write a line as soon as kernels are compiled, or loaded."""

    line: str


@dataclass(frozen=True)
class Think:
    """Search the position and answer its best move."""

    limits: tuple[Limit, Limit] = (Limit(), Limit())
    """Of the first and of the second player."""
    simulations: int | None = None
    """Exactly so many simulations, if there is no limit."""
    endless: bool = False
    """Whether only `Stop` ends it. Without this and without a limit it has the budget of the request."""


@dataclass(frozen=True)
class Stop:
    """End the search that runs, if any."""

    answers: bool = True
    """Whether its move is answered."""
    ends: bool = False
    """Whether the session ends too."""


@dataclass(frozen=True)
class Ask:
    """Write a line about the position."""

    text_of: Callable[[Game, State], str]


@dataclass(frozen=True)
class Lose:
    """Have no position until `Change` sets one: what was asked for next would be about another one."""


Command = str | Change | Ready | Think | Stop | Ask | Lose
"""What a line asks for; a text is written as a line."""


@dataclass(frozen=True)
class Thought:
    """What a search has found until now."""

    move: str
    """The best move; the first legal one if nothing was searched."""
    value: float
    """Of the move for who makes it, in [-1, 1]."""
    simulations: int
    elapsed_s: float
    """Seconds since the move was asked for."""
    pv: tuple[str, ...]
    kept: int = 0
    """Visits of the position in the tree of the last move, which are no simulations of this one."""

    @property
    def per_s(self) -> float:
        """Simulations/s."""
        return self.simulations / max(self.elapsed_s, LEAST_S)


class Grammar(Protocol):
    """A protocol: text in, commands out; and text for what has been found."""

    def read(self, line: str) -> Iterable[Command]:
        """The commands of a line, without blanks at its ends; one that is refused ends those of its line."""

    def answer(self, thought: Thought) -> Iterable[str]:
        """The lines of a move that is made."""

    def during(self, thought: Thought) -> Iterable[str]:
        """The lines of a search that goes on."""

    def refusal(self, error: Exception, *, asked_move: bool) -> Iterable[str]:
        """The lines for a command that was refused, or has failed; ``asked_move``: in place of a move."""


@dataclass(eq=False)
class GameSession:
    """Plays one game at a time on one executor, in the thread that calls it."""

    request: SearchRequest
    """The position, and the options of searches."""
    executor: Executor
    grammar: Grammar
    write: Callable[[str], None]
    """Gets whole lines; may be empty."""
    ponder: bool = False
    """Whether to search on while the other program thinks: the position after the move that was answered."""
    cancelled: bool = False
    cancel_noted: bool = False
    _ended: bool = False
    _lost: bool = False
    """Whether there is no position, since the last one was refused."""
    _warm: bool = False
    _session: Session | None = None
    """The search that runs."""
    _told_s: float = 0.0
    """When it was last reported, in its seconds."""
    _endless: bool = False
    _heard_s: float = 0.0
    """When the line came that is obeyed."""
    _game: Game = field(init=False)
    _state: State = field(init=False)
    _past: tuple[int, ...] = ()
    """The moves of the request."""
    _root: tuple[int, ...] = ()
    """The moves to the root of the search that runs."""
    _made: str | None = None
    """The move that was answered, until the next line comes."""
    _pondering: bool = False
    """Whether the search that runs is in the other's time, and so has no answer."""
    _kept: KeptTree = field(init=False)
    """The tree of the last search, from which the next one goes on."""

    def __post_init__(self) -> None:
        """Raises InvalidInput as `check_search` does."""
        self._workers = self._most = max(1, self.executor.num_workers)
        self._drive: Drive[Session] = Drive(self.executor, self._looked)
        self._game = games.load(self.request.game)
        self._state = self._game.initial_state()
        self._kept = KeptTree(self._game)
        self._change({})

    def cancel(self) -> None:
        """Request the end, with the move that was found; safe in a signal handler."""
        self.cancelled = True

    def run(self, lines: Lines, *, waits: bool = True) -> None:
        """Obey lines until the end of the input, or of the session.

        ``waits``: whether a search with a limit is finished at the end of the input; else it ends at once, as
        it does by `cancel`, with the move that was found.
        """
        while not (self._ended or self.cancelled):
            try:
                idle = self._session is None and self._made is None
                line, self._heard_s = lines.get(timeout=TICK_S) if idle else lines.get_nowait()
            except Empty:
                self._turn()
                continue
            self._made = None
            if self._pondering:
                self._stop(answers=True)
            if line is None:
                break
            self._obey(line.decode(errors="replace").strip())
        while waits and not (self.cancelled or self._endless):
            if self._session is None:
                break
            self._turn()
        self.cancel_noted = True
        self._stop(answers=True)

    def _obey(self, line: str) -> None:
        asked_move = False
        try:
            for command in self.grammar.read(line):
                asked_move = isinstance(command, Think)
                self._do(command)
        except Exception as error:
            # Rules of others may raise anything, and the memory may not be there.
            self._say(self.grammar.refusal(error, asked_move=asked_move))

    def _do(self, command: Command) -> None:
        match command:
            case str():
                self._say([command])
            case Change():
                self._lost |= "moves" in command.values
                self._change(command.values)
                self._lost &= "moves" not in command.values
            case Lose():
                self._lost = True
            case Think() | Ask() if self._lost:
                raise InvalidInput("position", "", "one that is accepted before: the last was refused")
            case Ready():
                if self._session is None:
                    self._warm_up()
                self._say([command.line])
            case Think():
                self._think(command)
            case Stop():
                self._stop(command.answers)
                self._ended = command.ends
            case Ask():
                self._say([command.text_of(self._game, self._state)])

    def _say(self, lines: Iterable[str]) -> None:
        self.write("".join(f"{line}\n" for line in lines))

    def _change(self, values: Mapping[str, Any]) -> None:
        """Set fields; changes nothing if it raises InvalidInput."""
        before, values = self.request, dict(values)
        workers = values.pop("workers", self._workers)
        request = replace(before, **values)
        game, state, past, played = self._game, self._state.copy(), self._past, len(before.moves)
        if request.game != before.game:
            game = games.load(request.game)
        check_search(request, game)
        same = (request.game, request.position) == (before.game, before.position)
        if not same or request.moves[:played] != before.moves:
            state, past, played = game.initial_state(), (), 0
            if request.position is not None:
                state = game.parse_position(request.position)
        self._past = past + tuple(game.play_text(state, request.moves[played:]))
        if replace(request, **_FREE) != replace(before, **_FREE):
            self._kept = KeptTree(game)
        self.request, self._game, self._state = request, game, state
        # More would have lanes of which no worker takes care in time.
        self._workers = min(workers, self._most)

    def _warm_up(self) -> None:
        """Load the kernels of short and of long searches, and of the rules, by two moves from the start."""
        state = self._game.initial_state()
        for seconds in (LEAST_S, THREADS_PAY_S) if not self._warm else ():
            request = replace(self.request, simulations=None, seconds=seconds)
            session = self._opened(for_workers(request, self._workers), state, ())
            session.cancel()
            drive(session, self.executor)
            self._kept.keep(session.search.strategy.left(), ())
            self._kept.forget()
            self._game.play_text(state, [_thought(session).move])
        self._warm = True
        # What is there to stay need not be looked at after each move, which would take long.
        gc.freeze()

    def _opened(self, request: SearchRequest, state: State, past: tuple[int, ...]) -> Session:
        """A search of the position after the moves ``past``, on the executor, which no other search uses; it
        begins with what the last one knew of the position."""
        game, root = self._game, self._game.canonical(state)
        mover, num_legal = game.viewpoint(int(game.calls.current_player(root))), len(game.legal_moves(root))
        search = open_view(request, game, root, mover, num_legal, game.source_text, kept=self._kept.at(past))
        # Its memory is given back.
        self._kept.forget()
        self.executor.use(self._workers)
        self.executor.open(search.context)
        # The rate differs from position to position: the end of one game says nothing of the next one.
        return Session(Coordinator(search, self.executor.num_workers, FIRST_SHARE), self.executor)

    def _think(self, asked: Think) -> None:
        """Begin a search. Raises InvalidInput where the game is over."""
        game, state, request = self._game, self._state, self.request
        legal = game.legal_moves(state)
        if not legal:
            raise InvalidInput("moves", " ".join(request.moves), "a position in which the game is not over")
        limit = asked.limits[int(game.calls.current_player(state))]
        seconds = seconds_for_move(limit, moves_to_go(len(request.moves), game.max_plies))
        if seconds is not None:
            seconds = LEAST_S if len(legal) == 1 else min(seconds, MOST_S)
            request = replace(request, simulations=None, seconds=seconds)
        elif asked.endless or asked.simulations is not None:
            request = replace(request, simulations=asked.simulations, seconds=None)
        # A search that is over before threads pay runs in one, and has its lanes.
        one = request.seconds is not None and request.seconds < THREADS_PAY_S
        request = for_workers(request, 1 if one else self._workers)
        self._endless = request.seconds is request.simulations is None
        # What has passed since the line came is part of the time of the move.
        self._begin(request, state, self._past, time.monotonic() - self._heard_s)

    def _ponder(self, move: str) -> None:
        """Begin a search of the position after the move that was answered, unless the game is over."""
        self._made, state = None, self._state.copy()
        past = (*self._past, *self._game.play_text(state, [move]))
        if len(self._game.legal_moves(state)):
            request = replace(self.request, simulations=None, seconds=PONDER_S, rounds=PONDER_JOBS)
            self._begin(for_workers(request, self._workers), state, past)
            self._pondering = True

    def _begin(
        self, request: SearchRequest, state: State, past: tuple[int, ...], elapsed_s: float = 0.0
    ) -> None:
        session = self._opened(request, state, past)
        session.elapsed_before_s = elapsed_s
        self._session, self._root, self._told_s = session, past, 0.0
        self._drive.add(session)

    def _turn(self) -> None:
        """Let a search go on for a moment, or ponder; if it fails, it is answered with what there is."""
        try:
            if self._made is not None:
                self._ponder(self._made)
            elif self._session is not None:
                self._drive.turn()
        except Exception as error:
            self._say(self.grammar.refusal(error, asked_move=False))
            if self._session is not None:
                self._answer(self._session)

    def _looked(self, session: Session) -> None:
        if session.finished:
            self._answer(session)
        elif not self._pondering and session.elapsed_s >= self._told_s + DURING_S and _simulations(session):
            self._told_s = session.elapsed_s
            self._say(self.grammar.during(_thought(session)))

    def _answer(self, session: Session) -> None:
        """End a search, with its move if it has one to answer."""
        if not self._pondering:
            thought = _thought(session)
            # Written before anything else is done: the time of the move has passed.
            self._say(self.grammar.answer(thought))
            self._made = thought.move if self.ponder else None
        self._kept.keep(session.search.strategy.left(), self._root)
        self._drop(session)

    def _drop(self, session: Session) -> None:
        self._session, self._pondering = None, False
        self._drive.remove(session)
        self.executor.drop()
        # Parts of a search refer to each other, and hold its trees.
        del session
        gc.collect()

    def _stop(self, answers: bool) -> None:
        """End the search that runs, if any; one that has found nothing goes on until it has."""
        while answers and self._session is not None and not (self._pondering or _simulations(self._session)):
            self._turn()
        if (session := self._session) is not None and answers:
            session.cancel()
            self._drive.look()
        elif session is not None:
            self._drop(session)


def _simulations(session: Session) -> int:
    return session.coordinator.counters.simulations


def _thought(session: Session) -> Thought:
    search = session.search
    found, game, root = answer(search), search.game, search.root_state
    move = found.best_move or game.format_move(root, game.legal_moves(root)[0])
    simulations, kept = _simulations(session), search.kept_visits
    return Thought(move, found.value, simulations, session.elapsed_s, found.pv, kept)
