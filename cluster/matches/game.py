"""One game of a match, played from the first to the last move: a pure function of its arguments.

All randomness is derived from the match's seed, the pair, the game of the pair (leg) and the ply. So a game
that is lost with its worker is played again with equal moves, unless a player's budget is in seconds. What
chance brings does not depend on the leg: the games of a pair have the same dice, in order.

With three or more players a pair is as many games as there are players: A takes each seat once, and B all
the others.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import games
from cluster.matches.clock import Clock, Limit, moves_to_go, seconds_for_move
from cluster.matches.record import Effort, GameRecord
from cluster.runtime.jobset import Unit, UnitWorker
from games.contract.findings import deal
from games.errors import InvalidInput, foreign
from games.game import CHANCE, Game, State
from games.rng import new_stream
from search.players import Choice, Observation, Player, player_of

MATCH_STREAM = 20
"""The second number of the identity of a match's random streams, after the seed; the third is the purpose."""
DEALS, OPENINGS, MOVES, DICE = range(4)
EPISODES = 2**31
"""Number of the episodes of a game, among which a seed chooses."""
OVERHEAD_S = 0.003
"""CPU seconds of a move that are no search: to open it, and the answer."""
OPENING_TRIES = 100
"""Number of random openings that are tried before the opening is shortened: a game may end within it."""

MakePlayer = Callable[[str, Game], Player]


class PlayerFailed(RuntimeError):
    """A player raised an exception or chose an illegal move."""


class Cancelled(Exception):
    """Raised by a clock to end the search of a move that nobody needs any more."""


@dataclass(frozen=True)
class MatchContext:
    """The data that all games of a match share."""

    game: str
    """The game's full spec."""
    game_source: str | None
    """The text of the game file, for workers on machines without the file; None for other games."""
    players: tuple[str, str]
    """The specs of the players A and B."""
    seed: int
    opening_plies: int
    openings: tuple[tuple[str, ...], ...] = ()
    """Openings as moves in the game's notation: pair k begins with opening k modulo their number. If empty,
    openings are random."""
    seats: int = 2
    """The number of players of the game, and so of the games of a pair."""
    clock: Clock | None = None
    """The CPU time that each player has; None: no limit."""

    def load_game(self) -> Game:
        return games.load(self.game, self.game_source, tried=False)

    @property
    def identity(self) -> dict[str, Any]:
        """The values that determine the games of the match, without their number, as JSON."""
        source = self.game_source
        return {
            "game": self.game,
            "source": None if source is None else hashlib.sha256(source.encode()).hexdigest(),
            "a": self.players[0],
            "b": self.players[1],
            "seed": self.seed,
            "opening_plies": self.opening_plies,
            "openings": [" ".join(moves) for moves in self.openings],
            **({} if self.clock is None else {"clock": str(self.clock)}),
        }


def seed_of(seed: int, *identity: int) -> int:
    """A derived seed in [0, 2**63) for each identity, a sequence of integers."""
    return int(new_stream(seed, MATCH_STREAM, *identity)[0]) >> 1


def dealt(game: Game, seed: int) -> State:
    """The start position of a game with this seed: its episode, or what is hidden drawn at random."""
    has_episodes = type(game).episode_state is not Game.episode_state
    if has_episodes and (game.open_loop or not game.hidden_information):
        return game.episode_state(seed % EPISODES)
    return deal(game, seed)


def start_text(game: Game, start: State) -> str | None:
    """The start position as text for the record of a game; None if it is the usual one."""
    text = game.format_position(start)
    usual = not game.hidden_information and text == game.format_position(game.initial_state())
    return None if usual else text


def drawn(game: Game, state: State, seed: int) -> int:
    """The outcome of a position in which chance moves."""
    assert game.calls.chance is not None
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    with np.errstate(over="ignore"):
        return int(game.calls.chance(state, moves, new_stream(seed)))


def start_of(context: MatchContext, game: Game, pair: int) -> tuple[State, tuple[str, ...], str | None]:
    """The start of all games of a pair: (position after the opening, moves of the opening, start position).

    The start position is given as text unless it is the usual one. Raises InvalidInput (field ``openings``).
    """
    start = dealt(game, seed_of(context.seed, DEALS, pair))
    text = start_text(game, start)
    if context.openings:
        state, moves = start.copy(), context.openings[pair % len(context.openings)]
        try:
            game.play_text(state, moves)
        except InvalidInput as error:
            raise InvalidInput("openings", error.value, error.accepted) from None
        if game.calls.is_terminal(state):
            raise InvalidInput("openings", " ".join(moves), "moves after which the game is not over")
        return state, moves, text
    draw = random.Random(seed_of(context.seed, OPENINGS, pair))
    state, chosen = _random_opening(game, start, context.opening_plies, draw)
    return state, tuple(chosen), text


def play_game(
    context: MatchContext,
    game: Game,
    players: Sequence[Player],
    index: int,
    *,
    clock: Callable[[], float] = time.thread_time,
) -> GameRecord:
    """Play the game with this index, of the players A and B. ``clock`` returns CPU seconds of the thread.

    The games of a pair have one opening, and A has a different seat in each: that of the game's number in its
    pair (leg). B has all others. Raises PlayerFailed.
    """
    pair, leg = divmod(index, context.seats)
    state, opening, start = start_of(context, game, pair)
    seats = [players[0] if seat == leg else players[1] for seat in range(context.seats)]
    moves = list(opening)
    efforts = [Effort() for _ in seats]
    past = _past_of(game, opening, start)
    thrown, overtime = 0, None
    for player in players:
        player.begin_game()
    while legal := game.legal_moves(state):
        if len(moves) >= game.max_plies:
            raise PlayerFailed(f"{game.spec} is not over after {game.max_plies} plies, its max_plies")
        mover, move = int(game.calls.current_player(state)), legal[0]
        if mover == CHANCE:
            move = drawn(game, state, seed_of(context.seed, DICE, pair, thrown))
            thrown += 1
        elif len(legal) > 1:
            seed = seed_of(context.seed, MOVES, pair, leg, len(moves))
            seconds = seconds_by(context.clock, game, len(moves), efforts[mover])
            choice, spent_s = ask(seats[mover], game, state, seed, past, clock, seconds)
            move = choice.move
            before = efforts[mover]
            efforts[mover] += Effort(1, spent_s, spent_s, choice.simulations, choice.nodes)
            if context.clock and context.clock.left_s(before.cpu_s + spent_s, before.moves) < 0.0:
                overtime = mover + 1
                break
        moves.append(game.format_move(state, move))
        past.append(move)
        game.calls.play(state, move)
    return GameRecord(
        game=context.game,
        seats=tuple(player.spec for player in seats),
        moves=tuple(moves),
        result=float(game.calls.returns(state)) if overtime is None else 2.0 * overtime - 3.0,
        scores=game.scores(state) if len(seats) > 2 else None,
        seed=context.seed,
        pair=pair + 1,
        leg=leg + 1,
        start=start,
        opening=len(opening),
        efforts=tuple(effort.as_written for effort in efforts),
        overtime=overtime,
    )


def seconds_by(clock: Clock | None, game: Game, plies: int, effort: Effort) -> float | None:
    """CPU seconds that the clock of a game gives the next move of the player of this effort; None: no clock.

    ``plies`` have been played.
    """
    if clock is None:
        return None
    limit = Limit(left_s=clock.left_s(effort.cpu_s, effort.moves), increment_s=clock.increment_s)
    return seconds_for_move(limit, moves_to_go(plies, game.max_plies), OVERHEAD_S)


def ask(
    player: Player,
    game: Game,
    state: State,
    seed: int,
    past: Sequence[int] | None = None,
    clock: Callable[[], float] = time.thread_time,
    seconds: float | None = None,
) -> tuple[Choice, float]:
    """(choice of a player, CPU seconds used); the player is not asked where only one move is legal.

    ``state`` is the complete position with its history, ``past`` the moves from the start to it if they are
    known, ``seconds`` what the clock of the game gives the move. The player gets only what it may see. Raises
    PlayerFailed, and Cancelled where ``clock`` raises it.
    """
    mover, legal = int(game.calls.current_player(state)), tuple(game.legal_moves(state))
    if len(legal) == 1:
        return Choice(legal[0], thought="the only move"), 0.0
    shown = state.copy() if player.omniscient else game.observation(state, mover)
    told = None if past is None or game.hidden_information else tuple(past)
    seen = Observation(game, shown, mover, legal, told, seconds)
    started = clock()
    try:
        with np.errstate(over="ignore"):
            choice = foreign(player.choose, seen, seed)
    except Cancelled:
        raise
    except Exception as error:
        raise PlayerFailed(f"player {player.spec} raised {type(error).__name__}: {error}") from error
    spent_s = clock() - started
    if choice.move not in legal:
        position = game.format_position(state)
        raise PlayerFailed(f"player {player.spec} chose {choice.move}, which is not legal in {position}")
    return choice, spent_s


class MatchWorker(UnitWorker):
    """Worker that plays games one after the other in its process."""

    def __init__(self, make_player: MakePlayer = player_of) -> None:
        super().__init__()
        self._make_player = make_player
        self._players: tuple[Player, ...] = ()
        self._warm = False

    def load(self, context: MatchContext) -> None:
        game = context.load_game()
        self._players = tuple(self._make_player(spec, game) for spec in context.players)
        self._warm = False

    def find(self, context: MatchContext, unit: Unit) -> GameRecord:
        """Play the game with the index of the unit."""
        game = context.load_game()
        if not self._warm:
            self._warm_up(game, *start_of(context, game, unit.index // context.seats))
        return play_game(context, game, self._players, unit.index)

    def _warm_up(self, game: Game, state: State, opening: Sequence[str], start: str | None) -> None:
        """Ask each player for a move, so that no move of a game includes the time to compile or load kernels.

        Not part of `prepare`, because a player may think for a long time and the start of a worker has a
        time limit.
        """
        past = _past_of(game, opening, start)
        while legal := game.legal_moves(state):
            chance = int(game.calls.current_player(state)) == CHANCE
            if not chance and len(legal) > 1:
                break
            past.append(drawn(game, state, len(past)) if chance else legal[0])
            game.calls.play(state, past[-1])
        if legal:
            for player in self._players:
                ask(player, game, state, 0, past)
        self._warm = True


def _past_of(game: Game, opening: Sequence[str], start: str | None) -> list[int]:
    """The opening's moves as numbers; empty if the game does not begin at its usual start position."""
    return [] if start is not None else game.play_text(game.initial_state(), opening)


def _random_opening(game: Game, start: State, plies: int, draw: random.Random) -> tuple[State, list[str]]:
    """Play ``plies`` random moves after which the game is not over; fewer if that is impossible.

    Those of players are uniformly random, those of chance as chance draws.
    """
    while plies >= 0:
        for _ in range(OPENING_TRIES):
            state, moves = start.copy(), list[str]()
            while len(moves) < plies and (legal := game.legal_moves(state)):
                chance = int(game.calls.current_player(state)) == CHANCE
                move = drawn(game, state, draw.getrandbits(62)) if chance else draw.choice(legal)
                moves.append(game.format_move(state, move))
                game.calls.play(state, move)
            if not game.calls.is_terminal(state):
                return state, moves
        plies -= 1
    raise InvalidInput("game", game.spec, "a game that is not over before it begins")
