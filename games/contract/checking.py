"""`banyan check`: tests whether a game keeps to the contract and reports violations to its author.

Random games are played with two versions of the rules side by side: as plain Python, where an index out of
bounds raises, and compiled. At every ply, everything that the contract promises is tested; then, in a few
positions, that the optional rules agree with their definitions, and that results depend only on state, move
and random stream. Each kind of violation is reported once, with the first position where it occurs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from games.board import draw
from games.compile.rule_stubs import (
    is_terminal,
    play,
    playout,
    returns,
    rollout,
)
from games.compile.specialise import is_compiled, specialise
from games.contract.findings import (
    Finding,
    Found,
    Stop,
    TimeLimit,
    ask,
    blamed,
    compile_rules,
    deal,
    line_of,
    plain_rules,
    said,
)
from games.contract.trial import RandomGame, Trial, is_return, limit_of, look_at_attributes
from games.errors import InvalidInput, counted
from games.game import CHANCE, Game, Moves, State
from games.rng import Stream, new_stream

GAMES = 20
PLAYOUTS, PLAIN_PLAYOUTS = 4_000, 50
"""Playouts of each kind that are compared, with compiled rules and without."""
SIGMAS = 6.0
"""Accepted deviation of random counts, in standard errors. By chance it is exceeded once in 5e8 tests."""
DRAWS_A_MOVE = 200
LATER = (0, 7, 30)
"""Plies after which the position of a random game is checked."""


def check(game: Game, games: int = GAMES, seed: int = 0, limit_s: float | None = None) -> list[Finding]:
    """The violations of the contract; an empty list if there are none. Compiles rules; takes seconds.

    ``games`` random games are played from ``seed`` on. ``limit_s``: how many seconds one call of a rule may
    take in plain Python; by default `games.contract.trial.limit_of`.
    """
    found: dict[tuple[str, str], Finding] = {}
    try:
        with TimeLimit(limit_s or limit_of(game)):
            for look in (_in_trial, _in_games, _in_positions):
                for kind, finding in look(game, games, seed):
                    found.setdefault((finding.rule, kind), finding)
                if found:
                    # Later checks rely on all earlier ones.
                    break
    except Stop as stop:
        found.setdefault((stop.finding.rule, "stop"), stop.finding)
    except Exception as error:
        # Raised in a function of the game that was called by another one, or by compiled code.
        blame = blamed(error, game)
        if blame is None:
            raise
        found.setdefault((blame.rule, "stop"), blame)
    return list(found.values())


def _in_trial(game: Game, games: int, seed: int) -> Iterator[Found]:
    """What the trial without compilation finds, except exceptions, which later checks report better: the
    cause may be a rule that does not compile."""
    try:
        with np.errstate(all="ignore"):
            yield from Trial(game).findings()
    except Stop as stop:
        if not isinstance(stop.__cause__, Exception):
            raise


def _in_games(game: Game, games: int, seed: int) -> Iterator[Found]:
    yield from look_at_attributes(game)
    compiled = [hasattr(rule, "py_func") for rule in game.rules if rule is not None]
    if any(compiled) and not all(compiled):
        names = [name for name, rule in game.rules._asdict().items() if rule and not hasattr(rule, "py_func")]
        raise Stop(Finding("rules", f"{', '.join(names)} without @njit; expected all compiled, or none"))
    if all(compiled):
        compile_rules(game)
    with np.errstate(over="ignore"):
        for number in range(seed, seed + games):
            played = RandomGame(game, plain_rules(game.rules), deal(game, number), number)
            yield from played.located(_plies(played))
        for rule, run in (("playout", _playouts), ("rollout", _rollouts)):
            if getattr(game.rules, rule) is not None:
                yield from run(game, seed)


def _in_positions(game: Game, games: int, seed: int) -> Iterator[Found]:
    with np.errstate(over="ignore"):
        for plies in LATER:
            state = _position(game, seed, plies)
            yield from _repeats(game, state, plies, seed)
            yield from _read_back(game, state, plies)
            if game.rules.playout is not None:
                yield from _own_playout(game, state, plies, seed)
            if game.has_chance:
                at_chance = _position(game, seed, plies, CHANCE)
                if game.calls.current_player(at_chance) == CHANCE:
                    yield from _chance(game, at_chance, plies, seed)
                state = _position(game, seed, plies, 0)
                if game.calls.current_player(state) == CHANCE:
                    continue
            looks = dict.fromkeys(game.legal_moves(state), 0.0)
            if game.rules.random_move is not None:
                yield from _drawn_as(game, "random_move", state, _uniform(looks), plies, seed)
            if game.rules.priority is not None:
                yield from _priority(game, state, looks, plies)
            if game.rules.greedy_move is not None:
                yield from _drawn_as(game, "greedy_move", state, _uniform(looks), plies, seed)


def _plies(played: RandomGame) -> Iterator[Found]:
    """Check one random game at every ply; a compiled twin of its state goes along."""
    game, state = played.game, played.state
    twin = state.copy()
    while True:
        ply = played.ply
        over = yield from played.over()
        yield from _alike(played, "is_terminal", twin)
        if over or game.rewards:
            yield from _alike(played, "returns", twin)
        if over:
            yield from played.returns()
            yield from _end(game, state, ply)
            return
        yield from _alike(played, "current_player", twin)
        if game.rules.evaluate is not None:
            value = yield from played.answer_of("evaluate", played.rules.evaluate)
            if not is_return(game, value):
                expected = "a finite number" if game.rewards else "a number in [-1, 1]"
                yield "range", Finding("evaluate", f"gave {value} at ply {ply}; expected {expected}")
            yield from _alike(played, "evaluate", twin)
        moves = yield from played.legal_moves()
        other = np.zeros(65_536, dtype=np.uint16)
        if game.calls.legal_moves(state, other) != len(moves) or other[: len(moves)].tolist() != moves:
            text = f"gives different moves compiled and in plain Python, at ply {ply}"
            yield "compiled", Finding("legal_moves", text)
        if ply >= game.max_plies:
            return
        yield from _text(game, state, moves, ply)
        move = played.play_one_of(moves)
        game.calls.play(twin, move)
        if not np.array_equal(state, twin):
            text = f"leads to different states compiled and in plain Python, at ply {ply}"
            yield "compiled", Finding("play", text)
            twin[:] = state


def _alike(played: RandomGame, rule: str, twin: State) -> Iterator[Found]:
    """Check that a rule's answer is the same compiled, and in plain Python."""
    plain = yield from played.answer_of(rule, getattr(played.rules, rule))
    compiled = getattr(played.game.calls, rule)(twin)
    if plain != compiled and not (plain != plain and compiled != compiled):
        text = f"gives {compiled} compiled, but {plain} in plain Python, at ply {played.ply}"
        yield "compiled", Finding(rule, text)


def _text(game: Game, state: State, moves: list[int], ply: int) -> Iterator[Found]:
    """Check that moves and positions survive the conversion to text and back, and that the board is drawn."""
    before = state.copy()
    texts = [ask(game, "format_move", game.format_move, state, move, ply=ply) for move in moves]
    for text in texts:
        if not isinstance(text, str) or not text or len(text.split()) != 1:
            raise Stop(Finding("format_move", f"gave {text!r} at ply {ply}; expected text without blanks"))
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        yield "twice", Finding("format_move", f"gave {twice!r} for two legal moves at ply {ply}")
    else:
        for move, text in zip(moves, texts, strict=True):
            if (read := ask(game, "parse_move", game.parse_move, state, text, ply=ply)) != move:
                yield "back", Finding("parse_move", f"read {text!r} as {read}, not as {move}, at ply {ply}")
                break
    position = ask(game, "format_position", game.format_position, state, ply=ply)
    again = ask(game, "parse_position", game.parse_position, position, ply=ply)
    if game.format_position(again) != position:
        yield "back", Finding("parse_position", f"{position!r} reads back as another position at ply {ply}")
    elif sorted(moves) != game.legal_moves(again):
        text = f"{position!r} reads back with other legal moves at ply {ply}"
        yield "moves", Finding("parse_position", text)
    board = ask(game, "board", game.board, state, ply=ply)
    ask(game, "board", lambda: draw(board, colour=False), ply=ply)
    if not np.array_equal(state, before):
        yield "state", Finding("format_move", f"(or format_position, board) changed the state at ply {ply}")
        state[:] = before


def _end(game: Game, state: State, ply: int) -> Iterator[Found]:
    """Check a finished game: its position can be read back, and no move is listed, read or played."""
    before, value = state.copy(), game.calls.returns(state)
    text = ask(game, "format_position", game.format_position, state)
    again = ask(game, "parse_position", game.parse_position, text)
    if not game.calls.is_terminal(again) or game.calls.returns(again) != value:
        yield "over", Finding("parse_position", f"gives another outcome for {text!r}, where the game is over")
    ask(game, "board", game.board, state)
    run = specialise([play_out], game)["play_out"]
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    if ask(game, "playout", run, state, moves, new_stream(0)) != 0:
        yield "over", Finding("playout", f"plays on after the end of the game ({text!r})")
    if not np.array_equal(before, state):
        yield "over", Finding("returns", "(or playout, board) changed the state of a finished game")
    for rule, wrong, where, accepts in (
        ("parse_move", "pass", f" at ply {ply}", f"accepts a move when the game is over, at ply {ply}"),
        ("parse_position", "", "", "takes '' for a position"),
        ("parse_position", "?!", "", "takes '?!' for a position"),
    ):
        try:
            if rule == "parse_move":
                game.play_text(state.copy(), [wrong])
            else:
                game.parse_position(wrong)
        except InvalidInput:
            continue
        except Exception as error:
            text = f"raised {said(error)}{line_of(error, game)} for {wrong!r}{where}; expected InvalidInput"
            yield "other", Finding(rule, text)
            continue
        yield "nonsense", Finding(rule, accepts)


def play_all(start: Any, state: Any, moves: Any, stream: Any, lengths: Any, results: Any) -> None:
    """Generic: play len(lengths) playouts from ``start``; ``lengths`` and ``results`` are filled."""
    for i in range(len(lengths)):
        for k in range(len(start)):
            state[k] = start[k]
        lengths[i] = playout(state, moves, stream)
        results[i] = returns(state)


def roll_all(
    start: Any, state: Any, moves: Any, stream: Any, line: Any, lengths: Any, results: Any, played: Any
) -> None:
    """Generic: len(lengths) rollouts from ``start``; ``lengths`` and ``results`` are filled.

    ``played`` is filled with whether the moves of each, played one by one, end the game.
    """
    for i in range(len(lengths)):
        for k in range(len(start)):
            state[k] = start[k]
        results[i], lengths[i] = rollout(state, moves, stream, line)
        for k in range(len(start)):
            state[k] = start[k]
        for ply in range(lengths[i]):
            play(state, np.int64(line[ply]))
        played[i] = is_terminal(state)


def _playouts(game: Game, seed: int) -> Iterator[Found]:
    """Check that a game's own playout has the mean length and result of uniformly random legal moves."""
    twin = game.playout_game
    default = {"playout": specialise([playout], twin)["playout"]}
    kinds: list[tuple[Any, Any]] = []
    for played, bound in ((game, None), (twin, default)):
        run, start, stream = specialise([play_all], played, bound)["play_all"], deal(played, seed), len(kinds)
        lengths, results, moves = _room(game)
        arguments = start, start.copy(), moves, new_stream(seed, stream), lengths, results
        ask(game, "playout", run, *arguments)
        kinds.append((lengths, results))
    yield from _alike_in_mean("playout", *kinds)


def _rollouts(game: Game, seed: int) -> Iterator[Found]:
    """Check that a game's own rollout has the mean length and discounted rewards of random legal moves."""
    default = {"rollout": specialise([rollout], game)["rollout"]}
    kinds: list[tuple[Any, Any]] = []
    line = np.zeros(game.max_plies, dtype=np.uint16)
    for bound in (None, default):
        run, start, stream = specialise([roll_all], game, bound)["roll_all"], deal(game, seed), len(kinds)
        lengths, results, moves = _room(game)
        ended = np.zeros(len(lengths), dtype=np.bool_)
        arguments = start, start.copy(), moves, new_stream(seed, stream), line, lengths, results, ended
        ask(game, "rollout", run, *arguments)
        # In a closed loop a line has no moves for what is seen.
        if not game.closed_loop and not ended.all():
            yield "line", Finding("rollout", "wrote moves into line that do not lead to the end of the game")
        kinds.append((lengths, results))
    yield from _alike_in_mean("rollout", *kinds)


def _room(game: Game) -> tuple[Any, Any, Moves]:
    """Arrays for lengths, results and moves of playouts that are compared."""
    number = PLAYOUTS if is_compiled(game.rules) else PLAIN_PLAYOUTS
    return np.zeros(number, dtype=np.int64), np.zeros(number), np.zeros(game.max_moves, dtype=np.uint16)


def _alike_in_mean(rule: str, own: tuple[Any, Any], default: tuple[Any, Any]) -> Iterator[Found]:
    """Compare (lengths, results) of a game's own rule with those of the default."""
    for what, ours, theirs in zip(("length", "result"), own, default, strict=True):
        error = float(np.sqrt((ours.var() + theirs.var()) / len(ours)))
        if abs(ours.mean() - theirs.mean()) > 5 * error:
            text = (
                f"mean {what} {ours.mean():.3f}, but {theirs.mean():.3f} "
                f"with random legal moves (+- {error:.3f})"
            )
            yield what, Finding(rule, text)


def play_out(state: State, moves: Moves, stream: Stream) -> int:
    """Generic: play one playout; returns its plies, or -1 if it stopped before the end of the game."""
    plies = playout(state, moves, stream)
    return plies if is_terminal(state) else -1


def drawing_rule(state: State, moves: Moves, stream: Stream) -> int:
    """Placeholder: the rule that `draw_all` calls, which its user binds."""
    raise NotImplementedError


def draw_all(state: State, moves: Moves, stream: Stream, drawn: Any) -> None:
    """Generic: fill ``drawn`` with what `drawing_rule` draws."""
    for i in range(len(drawn)):
        drawn[i] = drawing_rule(state, moves, stream)


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
        mover = game.calls.current_player(state)
        if game.legal_moves(twin) != legal or game.calls.current_player(twin) != mover:
            yield "on", Finding("parse_position", text + "soon has other moves or another mover")
            return
        game.calls.play(state, legal[-1])
        game.calls.play(twin, legal[-1])
    value = game.calls.returns(state)
    if not game.calls.is_terminal(twin) or (game.calls.returns(twin) != value and value == value):
        yield "on", Finding("parse_position", text + f"ends otherwise, from ply {plies}")


def _own_playout(game: Game, state: State, plies: int, seed: int) -> Iterator[Found]:
    """Check that a game's own playout reaches the end within ``max_plies``, and equals its plain version."""
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    after, stream, run = state.copy(), new_stream(seed), specialise([play_out], game)["play_out"]
    length = ask(game, "playout", run, after, moves, stream, ply=plies)
    if length < 0:
        yield "end", Finding("playout", f"stopped before the end of the game, from ply {plies}")
    elif not 1 <= length <= game.max_plies:
        yield "length", Finding("playout", f"returned a length of {length} plies, from ply {plies}")
    if is_compiled(game.rules):
        twin, other, plain = state.copy(), new_stream(seed), plain_rules(game.rules).playout
        assert plain is not None
        ask(game, "playout", plain, twin, moves, other, ply=plies)
        if not np.array_equal(after, twin) or not np.array_equal(stream, other):
            text = f"plays differently compiled and in plain Python, from ply {plies}"
            yield "compiled", Finding("playout", text)


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
    yield from _drawn_as(game, "chance", state, weights, plies, seed)
    rules, stream, other = plain_rules(game.rules), new_stream(seed), new_stream(seed)
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    assert rules.chance is not None and game.calls.chance is not None
    for _ in range(20):
        if rules.chance(state, moves, stream) != game.calls.chance(state, moves, other):
            text = f"gives different outcomes compiled and in plain Python, from ply {plies}"
            yield "compiled", Finding("chance", text)
            return


def _priority(game: Game, state: State, looks: dict[int, float], plies: int) -> Iterator[Found]:
    """Check that `priority` gives a number, equal compiled and in plain Python, and keeps the state; the
    numbers are written into ``looks``."""
    twin, calls, before = plain_rules(game.rules).priority, game.calls.priority, state.copy()
    assert twin is not None and calls is not None
    for move in looks:
        look = looks[move] = ask(game, "priority", twin, state, move, ply=plies)
        if look != look:
            yield "number", Finding("priority", f"gave no number at ply {plies}")
        elif calls(state, move) != look:
            text = f"gives different numbers compiled and in plain Python, at ply {plies}"
            yield "compiled", Finding("priority", text)
        if not np.array_equal(before, state):
            yield "state", Finding("priority", f"changed the state at ply {plies}")
            state[:] = before


def _uniform(looks: dict[int, float]) -> dict[int, float]:
    """Equal probabilities of the moves of the highest priority."""
    best = [move for move, look in looks.items() if look == max(looks.values())]
    return dict.fromkeys(best, 1 / len(best))


def _drawn_as(
    game: Game, rule: str, state: State, weights: dict[int, float], plies: int, seed: int
) -> Iterator[Found]:
    """Check that a rule draws moves with these probabilities, no others, and keeps the state."""
    own = {"drawing_rule": getattr(game.rules, rule)}
    draw = specialise([draw_all], game, own)["draw_all"]
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
