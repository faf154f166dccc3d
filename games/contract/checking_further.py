"""The second part of `banyan check`, for games whose basic rules have passed `games.contract.checking`.

Checks that results depend only on state, move and random stream, that the optional rules agree with their
definitions, that chance has the probabilities that the game says, and that a finished game stays finished.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from games.compile.rule_stubs import chance, greedy_move, is_terminal, playout, random_move
from games.compile.specialise import is_compiled, specialise
from games.contract.findings import Finding, Found, ask, deal, line_of, plain_rules, said
from games.contract.random_game import is_return
from games.errors import InvalidInput, counted
from games.game import CHANCE, Game, Moves, State
from games.rng import Stream, new_stream
from games.rules import Rules

SIGMAS = 6.0
"""Accepted deviation of random counts, in standard errors. By chance it is exceeded once in 5e8 tests."""
DRAWS_A_MOVE = 200
LATER = (0, 7, 30)
"""Plies after which the position of a random game is checked."""


def further_findings(game: Game, games: int, seed: int) -> Iterator[Found]:
    """The violations found in a game whose basic rules are correct."""
    with np.errstate(over="ignore"):
        for number in range(max(1, games // 4)):
            yield from _answers(game, seed + number)
            yield from _end(game, seed + number)
        for plies in LATER:
            state = _position(game, seed, plies)
            yield from _repeats(game, state, plies, seed)
            yield from _read_back(game, state, plies)
            if game.rules.playout is not None:
                yield from _playout(game, state, plies, seed)
            if game.has_chance:
                at_chance = _position(game, seed, plies, CHANCE)
                if game.calls.current_player(at_chance) == CHANCE:
                    yield from _chance(game, at_chance, plies, seed)
                state = _position(game, seed, plies, 0)
                if game.calls.current_player(state) == CHANCE:
                    continue
            if game.rules.random_move is not None:
                yield from _random_move(game, state, plies, seed)
            if game.rules.priority is not None:
                yield from _priority(game, state, plies)
            if game.rules.greedy_move is not None:
                yield from _greedy_move(game, state, plies, seed)


def play_out(state: State, moves: Moves, stream: Stream) -> int:
    """Generic: play one playout; returns its plies, or -1 if it stopped before the end of the game."""
    plies = playout(state, moves, stream)
    return plies if is_terminal(state) else -1


def draw_moves(state: State, moves: Moves, stream: Stream, drawn: Any) -> None:
    """Generic: fill ``drawn`` with random moves."""
    for i in range(len(drawn)):
        drawn[i] = random_move(state, moves, stream)


def draw_outcomes(state: State, moves: Moves, stream: Stream, drawn: Any) -> None:
    """Generic: fill ``drawn`` with outcomes of chance."""
    for i in range(len(drawn)):
        drawn[i] = chance(state, moves, stream)


def draw_greedy_moves(state: State, moves: Moves, stream: Stream, drawn: Any) -> None:
    """Generic: fill ``drawn`` with greedy moves."""
    for i in range(len(drawn)):
        drawn[i] = greedy_move(state, moves, stream)


def _position(game: Game, seed: int, plies: int, mover: int | None = None) -> State:
    """The position of a random game after ``plies`` plies, or its last unfinished position.

    ``mover``: CHANCE for the first position from there on in which chance moves, 0 for the first in which a
    player does.
    """
    draw, state = random.Random(seed), deal(game, seed)
    for ply in range(game.max_plies):
        of_chance = mover is not None and game.calls.current_player(state) == CHANCE
        if ply >= plies and (mover is None or of_chance == (mover == CHANCE)):
            break
        after = state.copy()
        game.calls.play(after, draw.choice(game.legal_moves(state)))
        if game.calls.is_terminal(after):
            break
        state = after
    return state


def _finished(game: Game, state: State, seed: int) -> State:
    draw = random.Random(seed)
    while moves := game.legal_moves(state):
        game.calls.play(state, draw.choice(moves))
    return state


def _answers(game: Game, seed: int) -> Iterator[Found]:
    """Check that compiled and plain rules agree, and the range of `evaluate`, in all positions of a game."""
    twin, draw, state = plain_rules(game.rules), random.Random(seed), deal(game, seed)
    for ply in range(game.max_plies + 1):
        if game.calls.is_terminal(state):
            yield from _alike(game, twin, "returns", state, ply)
            return
        yield from _alike(game, twin, "current_player", state, ply)
        if game.rewards:
            yield from _alike(game, twin, "returns", state, ply)
        if game.rules.evaluate is not None:
            yield from _alike(game, twin, "evaluate", state, ply)
            before = state.copy()
            value = float(twin.evaluate(state)) if twin.evaluate is not None else 0.0
            if not is_return(game, value):
                expected = "a finite number" if game.rewards else "a number in [-1, 1]"
                yield "range", Finding("evaluate", f"gave {value} at ply {ply}; expected {expected}")
            if not np.array_equal(before, state):
                yield "state", Finding("evaluate", f"changed the state at ply {ply}")
                return
        game.calls.play(state, draw.choice(game.legal_moves(state)))


def _alike(game: Game, twin: Rules, rule: str, state: State, ply: int) -> Iterator[Found]:
    plain = ask(game, rule, getattr(twin, rule), state, ply=ply)
    compiled = getattr(game.calls, rule)(state)
    if plain != compiled and not (plain != plain and compiled != compiled):
        text = f"gives {compiled} compiled, but {plain} in plain Python, at ply {ply}"
        yield "compiled", Finding(rule, text)


def _end(game: Game, seed: int) -> Iterator[Found]:
    """Check a finished game: its position can be read back, no move is listed, none can be played."""
    state = _finished(game, deal(game, seed), seed)
    before = state.copy()
    value = game.calls.returns(state)
    text = ask(game, "format_position", game.format_position, state)
    again = ask(game, "parse_position", game.parse_position, text)
    if not game.calls.is_terminal(again) or game.calls.returns(again) != value:
        yield "over", Finding("parse_position", f"gives another outcome for {text!r}, where the game is over")
    ask(game, "board", game.board, state)
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    run = specialise([play_out], game)["play_out"]
    if ask(game, "playout", run, state, moves, new_stream(seed)) != 0:
        yield "over", Finding("playout", f"plays on after the end of the game ({text!r})")
    if not np.array_equal(before, state):
        yield "over", Finding("returns", "(or playout, board) changed the state of a finished game")
    for nonsense in ("", "?!"):
        try:
            game.parse_position(nonsense)
        except InvalidInput:
            continue
        except Exception as error:
            text = f"raised {said(error)}{line_of(error, game)} for {nonsense!r}; expected InvalidInput"
            yield "other", Finding("parse_position", text)
            continue
        yield "nonsense", Finding("parse_position", f"takes {nonsense!r} for a position")


def _repeats(game: Game, state: State, plies: int, seed: int) -> Iterator[Found]:
    """Check that a playout, and a move, with equal arguments twice gives equal results."""
    run = specialise([play_out], game)["play_out"]
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    answers = []
    for _ in range(2):
        after, stream = state.copy(), new_stream(seed, plies)
        length = ask(game, "playout", run, after, moves, stream, ply=plies)
        answers.append((length, float(game.calls.returns(after)) if length >= 0 else 0.0, tuple(stream)))
    if answers[0] != answers[1]:
        text = f"differs when repeated, from ply {plies}; use no randomness but the stream"
        yield "again", Finding("playout" if game.rules.playout else "play", text)
    for move in game.legal_moves(state)[:: max(1, game.max_moves // 8)]:
        ends = [state.copy(), state.copy()]
        for end in ends:
            game.calls.play(end, move)
        if not np.array_equal(ends[0], ends[1]):
            name = game.format_move(state, move)
            yield "again", Finding("play", f"({name}) led to another state when repeated, at ply {plies}")


def _read_back(game: Game, state: State, plies: int) -> Iterator[Found]:
    """Check that a position read from its text continues like the position that was written."""
    state, twin = state.copy(), game.canonical(state)
    text = f"{game.format_position(state)!r} reads back as a position that "
    if not np.array_equal(game.canonical(twin), twin):
        yield "twice", Finding("parse_position", text + "reads back as yet another array")
    while not game.calls.is_terminal(state):
        legal = game.legal_moves(state)
        if game.legal_moves(twin) != legal or game.calls.current_player(twin) != game.calls.current_player(
            state
        ):
            yield "on", Finding("parse_position", text + "soon has other moves or another mover")
            return
        game.calls.play(state, legal[-1])
        game.calls.play(twin, legal[-1])
    value = game.calls.returns(state)
    if not game.calls.is_terminal(twin) or (game.calls.returns(twin) != value and value == value):
        yield "on", Finding("parse_position", text + f"ends otherwise, from ply {plies}")


def _chance(game: Game, state: State, plies: int, seed: int) -> Iterator[Found]:
    """Check that the outcomes of chance are the legal moves, as likely as `Game.chance_weights` says."""
    legal = game.legal_moves(state)
    weights = ask(game, "chance_weights", game.chance_weights, state.copy(), ply=plies)
    if sorted(weights) != legal:
        text = f"has other outcomes than legal_moves, from ply {plies} ({len(weights)} and {len(legal)})"
        yield "legal", Finding("chance_weights", text)
        return
    if min(weights.values()) < 0 or not math.isclose(sum(weights.values()), 1.0, abs_tol=1e-9):
        text = f"gave probabilities that do not add up to 1, from ply {plies}: {sum(weights.values())}"
        yield "sum", Finding("chance_weights", text)
        return
    draw = specialise([draw_outcomes], game)["draw_outcomes"]
    yield from _drawn_as(game, "chance", draw, state, weights, plies, seed)
    rules, stream, other = plain_rules(game.rules), new_stream(seed), new_stream(seed)
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    assert rules.chance is not None and game.calls.chance is not None
    for _ in range(20):
        if rules.chance(state, moves, stream) != game.calls.chance(state, moves, other):
            text = f"gives different outcomes compiled and in plain Python, from ply {plies}"
            yield "compiled", Finding("chance", text)
            return


def _random_move(game: Game, state: State, plies: int, seed: int) -> Iterator[Found]:
    """Check that a game's own random move is uniformly distributed over the legal moves."""
    draw = specialise([draw_moves], game)["draw_moves"]
    yield from _uniform(game, "random_move", draw, state, game.legal_moves(state), plies, seed)


def _priority(game: Game, state: State, plies: int) -> Iterator[Found]:
    """Check that `priority` gives a number, equal compiled and in plain Python, and keeps the state."""
    twin, calls, before = plain_rules(game.rules).priority, game.calls.priority, state.copy()
    assert twin is not None and calls is not None
    for move in game.legal_moves(state):
        look = ask(game, "priority", twin, state, move, ply=plies)
        if look != look:
            yield "number", Finding("priority", f"gave no number at ply {plies}")
        elif calls(state, move) != look:
            text = f"gives different numbers compiled and in plain Python, at ply {plies}"
            yield "compiled", Finding("priority", text)
        if not np.array_equal(before, state):
            yield "state", Finding("priority", f"changed the state at ply {plies}")
            state[:] = before


def _greedy_move(game: Game, state: State, plies: int, seed: int) -> Iterator[Found]:
    """Check that a game's own greedy move is uniformly distributed over the moves of highest priority."""
    priority = game.calls.priority
    assert priority is not None
    looks = {move: priority(state, move) for move in game.legal_moves(state)}
    best = [move for move, look in looks.items() if look == max(looks.values())]
    draw = specialise([draw_greedy_moves], game)["draw_greedy_moves"]
    yield from _uniform(game, "greedy_move", draw, state, best, plies, seed)


def _uniform(
    game: Game, rule: str, draw: Callable[..., None], state: State, expected: list[int], plies: int, seed: int
) -> Iterator[Found]:
    """Check that a rule draws each of the ``expected`` moves equally often and keeps the state."""
    weights = dict.fromkeys(expected, 1 / len(expected))
    yield from _drawn_as(game, rule, draw, state, weights, plies, seed)


def _drawn_as(
    game: Game,
    rule: str,
    draw: Callable[..., None],
    state: State,
    weights: dict[int, float],
    plies: int,
    seed: int,
) -> Iterator[Found]:
    """Check that a rule draws moves with these probabilities, no others, and keeps the state."""
    before = state.copy()
    number = DRAWS_A_MOVE * len(weights)
    drawn, moves = np.zeros(number, dtype=np.int64), np.zeros(game.max_moves, dtype=np.uint16)
    ask(game, rule, draw, state, moves, new_stream(seed, plies), drawn, ply=plies)
    if not np.array_equal(before, state):
        yield "state", Finding(rule, f"changed the state at ply {plies}")
        state[:] = before
    if others := sorted(set(drawn.tolist()) - set(weights)):
        wanted = "legal" if rule in ("random_move", "chance") else "legal and of the highest priority"
        yield "legal", Finding(rule, f"gave {others[0]} at ply {plies}, which is not {wanted}")
    for move, weight in weights.items():
        mean = number * weight
        error = np.sqrt(mean * (1 - weight))
        came = int((drawn == move).sum())
        if abs(came - mean) > SIGMAS * error:
            text = f"gave {game.format_move(state, move)} {counted(came, 'time')} at ply {plies}"
            yield "uniform", Finding(rule, f"{text}; expected {mean:g} +- {error:.0f}")


def _playout(game: Game, state: State, plies: int, seed: int) -> Iterator[Found]:
    """Check that a game's own playout reaches the end within ``max_plies``, and equals its plain version."""
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    compiled = specialise([play_out], game)["play_out"]
    after, stream = state.copy(), new_stream(seed)
    length = ask(game, "playout", compiled, after, moves, stream, ply=plies)
    if length < 0:
        yield "end", Finding("playout", f"stopped before the end of the game, from ply {plies}")
    elif not 1 <= length <= game.max_plies:
        yield "length", Finding("playout", f"returned a length of {length} plies, from ply {plies}")
    if not is_compiled(game.rules):
        return
    rules = plain_rules(game.rules)
    assert rules.playout is not None
    twin, other = state.copy(), new_stream(seed)
    ask(game, "playout", rules.playout, twin, moves, other, ply=plies)
    if not np.array_equal(after, twin) or not np.array_equal(stream, other):
        text = f"plays differently compiled and in plain Python, from ply {plies}"
        yield "compiled", Finding("playout", text)
