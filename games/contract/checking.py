"""`banyan check`: tests whether a game keeps to the contract and reports a violation to its author.

Random games are played with two versions of the rules side by side: as plain Python, where an index out of
bounds raises, and compiled. At every ply, everything that the contract promises is tested; then, in a few
positions, that the optional rules agree with their definitions, and that results depend only on state, move
and random stream. The checks raise Finding at the first violation, since later ones rely on earlier ones.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection
from typing import Any

import numpy as np

from games.board import draw
from games.compile.rule_stubs import DEFAULTS, is_terminal, play, playout, returns, rollout
from games.compile.specialise import is_compiled, specialise
from games.contract.findings import (
    Finding,
    TimeLimit,
    ask,
    blamed,
    compile_rules,
    deal,
    line_of,
    plain,
    plain_rules,
)
from games.contract.trial import RandomGame, check_attributes, check_return, limit_of
from games.errors import InvalidInput, counted, foreign, said
from games.game import CHANCE, Game, Moves, State
from games.rng import Stream, new_stream
from games.rules import KEPT

GAMES = 20
PLAYOUTS, PLAIN_PLAYOUTS = 4_000, 50
"""Playouts of each kind that are compared, with compiled rules and without."""
SIGMAS = 6.0
"""Accepted deviation of random counts, in standard errors. By chance it is exceeded once in 5e8 tests."""
DRAWS_A_MOVE = 200
LATER = (0, 7, 30)
"""Plies after which the position of a random game is checked."""


def check(game: Game, games: int = GAMES, seed: int = 0, limit_s: float | None = None) -> Finding | None:
    """The first violation of the contract; None if there is none. Compiles rules; takes seconds.

    ``games`` random games are played from ``seed`` on. ``limit_s``: how many seconds one call of a rule may
    take in plain Python; by default `games.contract.trial.limit_of`.
    """
    try:
        with TimeLimit(limit_s or limit_of(game)), np.errstate(over="ignore"):
            foreign(_check_games, game, games, seed)
            for plies in LATER:
                foreign(_check_position, game, plies, seed)
    except Finding as found:
        return found
    except Exception as error:
        # Raised in a function of the game that was called by another one, or by compiled code.
        blame = blamed(error, game)
        if blame is None:
            raise
        return blame
    return None


def _check_games(game: Game, games: int, seed: int) -> None:
    check_attributes(game)
    others = [name for name, rule in game.rules._asdict().items() if rule and not hasattr(rule, "py_func")]
    if is_compiled(game.rules):
        compile_rules(game)
    elif any(hasattr(rule, "py_func") for rule in game.rules):
        raise Finding("rules", f"{', '.join(others)} without @njit; expected all compiled, or none")
    rules = plain_rules(game.rules)
    for number in range(seed, seed + games):
        # Compiled code does not check answers, so plain Python comes first.
        played = RandomGame(game, rules, deal(game, number, rules), number, game.calls)
        with played.located():
            _check_plies(played)
    if game.rules.playout is not None:
        _check_means(game, seed, "playout", play_all, game.playout_game)
    if game.rules.rollout is not None:
        _check_means(game, seed, "rollout", roll_all, game)


def _check_position(game: Game, plies: int, seed: int) -> None:
    state = _position(game, seed, plies)
    _check_repeats(game, state, plies, seed)
    _check_read_back(game, state, plies)
    if game.has_chance:
        at_chance = _position(game, seed, plies, CHANCE)
        if game.calls.current_player(at_chance) == CHANCE:
            _check_chance(game, at_chance, plies, seed)
        state = _position(game, seed, plies, 0)
        if game.calls.current_player(state) == CHANCE:
            return
    looks = dict.fromkeys(game.legal_moves(state), 0.0)
    if game.rules.random_move is not None:
        check_draws(game, "random_move", state, _uniform(looks), plies, seed)
    if game.rules.priority is not None:
        _check_priority(game, state, looks, plies)
    if game.rules.priorities is not None:
        scores = np.zeros(game.max_moves)
        at_once = game.calls.priorities
        assert at_once is not None
        ask(game, "priorities", at_once, state, scores, ply=plies)
        if any(scores[move] != look for move, look in looks.items()):
            raise Finding("priorities", f"differs from priority at ply {plies}")
    if game.rules.decisive_moves is not None:
        _check_decisive(game, state, looks.keys(), plies)
    if game.rules.greedy_move is not None:
        check_draws(game, "greedy_move", state, _uniform(looks), plies, seed)


def _check_plies(played: RandomGame) -> None:
    """Check one random game at every ply."""
    game, state = played.game, played.state
    while not played.over():
        if game.rules.evaluate is not None:
            check_return(game, "evaluate", played.answer_of("evaluate"), f"at ply {played.ply}")
        moves = played.legal_moves()
        _check_text(game, state, moves, played.ply)
        played.play_one_of(moves)
    played.returns()
    _check_end(game, state, played.ply)


def _check_same(before: State, state: State, rule: str, where: str) -> None:
    """Check that a function has not changed the state."""
    if not np.array_equal(before, state):
        raise Finding(rule, f"changed the state {where}")


def _check_text(game: Game, state: State, moves: list[int], ply: int) -> None:
    """Check that moves and positions survive the conversion to text and back, and that the board is drawn."""
    before, where = state.copy(), f"at ply {ply}"
    texts = [ask(game, "format_move", game.format_move, state, move, ply=ply) for move in moves]
    for text in texts:
        if not isinstance(text, str) or not text or len(text.split()) != 1:
            raise Finding("format_move", f"gave {text!r} {where}; expected text without blanks")
        if texts.count(text) > 1:
            raise Finding("format_move", f"gave {text!r} for two legal moves {where}")
    # The default reads the texts that format_move gives for all legal moves: one is read as all are.
    num_read = 1 if type(game).parse_move is Game.parse_move else len(moves)
    for move, text in zip(moves[:num_read], texts, strict=False):
        if (read := ask(game, "parse_move", game.parse_move, state, text, ply=ply)) != move:
            raise Finding("parse_move", f"read {text!r} as {read}, not as {move}, {where}")
    position = ask(game, "format_position", game.format_position, state, ply=ply)
    again = ask(game, "parse_position", game.parse_position, position, ply=ply)
    if game.format_position(again) != position:
        raise Finding("parse_position", f"{position!r} reads back as another position {where}")
    if sorted(moves) != game.legal_moves(again):
        raise Finding("parse_position", f"{position!r} reads back with other legal moves {where}")
    board = ask(game, "board", game.board, state, ply=ply)
    ask(game, "board", lambda: draw(board, colour=False), ply=ply)
    _check_same(before, state, "format_move", f"(or format_position, board, did so) {where}")


def _check_end(game: Game, state: State, ply: int) -> None:
    """Check a finished game: its position can be read back, and no move is listed, read or played."""
    before, value = state.copy(), game.calls.returns(state)
    text = ask(game, "format_position", game.format_position, state)
    again = ask(game, "parse_position", game.parse_position, text)
    if not game.calls.is_terminal(again) or game.calls.returns(again) != value:
        raise Finding("parse_position", f"gives another outcome for {text!r}, where the game is over")
    ask(game, "board", game.board, state)
    run = specialise([play_out], game)["play_out"]
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    if ask(game, "playout", run, state, moves, new_stream(0)) != 0:
        raise Finding("playout", f"plays on after the end of the game ({text!r})")
    _check_same(before, state, "returns", "of a finished game (or playout, board, did so)")
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
            raise Finding(rule, text) from error
        raise Finding(rule, accepts)


def play_all(start: Any, state: Any, moves: Any, stream: Any, lengths: Any, results: Any) -> None:
    """Generic: play len(lengths) playouts from ``start``; ``lengths`` and ``results`` are filled."""
    for i in range(len(lengths)):
        for k in range(len(start)):
            state[k] = start[k]
        lengths[i] = playout(state, moves, stream)
        results[i] = returns(state)


def roll_all(
    start: Any, state: Any, moves: Any, stream: Any, lengths: Any, results: Any, line: Any, played: Any
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


def _check_means(game: Game, seed: int, rule: str, loop: Any, twin: Game) -> None:
    """Check that a game's own playout, or rollout, has the mean length and result of random legal moves.

    The rule's default plays these in ``twin``. ``loop``: `play_all` or `roll_all`.
    """
    number = PLAYOUTS if is_compiled(game.rules) else PLAIN_PLAYOUTS
    moves, ended = np.zeros(game.max_moves, dtype=np.uint16), np.ones(number, dtype=np.bool_)
    more = (np.zeros(game.max_plies, dtype=np.uint16), ended) if loop is roll_all else ()
    samples: list[tuple[Any, Any]] = []
    for played, bound in ((game, None), (twin, {rule: specialise([DEFAULTS[rule]], twin)[rule]})):
        run, start = specialise([loop], played, bound)[loop.__name__], deal(played, seed)
        lengths, results = np.zeros(number, dtype=np.int64), np.zeros(number)
        stream = new_stream(seed, len(samples))
        ask(game, rule, run, start, start.copy(), moves, stream, lengths, results, *more)
        # In a closed loop a line has no moves for what is seen.
        if not game.closed_loop and not ended.all():
            raise Finding(rule, "wrote moves into line that do not lead to the end of the game")
        samples.append((lengths, results))
    for what, ours, theirs in zip(("length", "result"), *samples, strict=True):
        error = float(np.sqrt((ours.var() + theirs.var()) / number))
        if abs(ours.mean() - theirs.mean()) > 5 * error:
            text = f"mean {what} {ours.mean():.3f}, but {theirs.mean():.3f} with random legal moves"
            raise Finding(rule, f"{text} (+- {error:.3f})")


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


def _check_repeats(game: Game, state: State, plies: int, seed: int) -> None:
    """Check that a playout, and a move, with equal arguments twice gives equal results; and that a playout
    of the game's own ends the game and is the same in plain Python."""
    moves, where = np.zeros(game.max_moves, dtype=np.uint16), f"from ply {plies}"
    rule, ends = "playout" if game.rules.playout else "play", list[Any]()
    runs: list[Any] = [specialise([play_out], game)["play_out"]] * 2
    if game.rules.playout is not None and is_compiled(game.rules):
        runs.append(plain_rules(game.rules).playout)
    for run in runs:
        after, stream = state.copy(), new_stream(seed, plies)
        length = ask(game, "playout", run, after, moves, stream, ply=plies)
        value = float(game.calls.returns(after)) if length >= 0 else 0.0
        ends.append((length, value, after.tobytes(), tuple(stream)))
    if ends[0] != ends[1]:
        raise Finding(rule, f"differs when repeated, {where}; use no randomness but the stream")
    if not 1 <= ends[0][0] <= game.max_plies:
        length = ends[0][0]
        text = f"returned a length of {length} plies" if length >= 0 else "stopped before the end of the game"
        raise Finding(rule, f"{text}, {where}")
    if ends[0] != ends[-1]:
        raise Finding(rule, f"plays differently compiled and in plain Python, {where}")
    for move in game.legal_moves(state)[:: max(1, game.max_moves // 8)]:
        one, other = state.copy(), state.copy()
        game.calls.play(one, move)
        game.calls.play(other, move)
        if not np.array_equal(one, other):
            name = game.format_move(state, move)
            raise Finding("play", f"({name}) led to another state when repeated, at ply {plies}")


def _check_read_back(game: Game, state: State, plies: int) -> None:
    """Check that a position read from its text continues like the position that was written."""
    state, twin = state.copy(), game.canonical(state)
    text = f"{game.format_position(state)!r} reads back as a position that "
    if not np.array_equal(game.canonical(twin), twin):
        raise Finding("parse_position", text + "reads back as yet another array")
    while not game.calls.is_terminal(state):
        legal = game.legal_moves(state)
        mover = game.calls.current_player(state)
        if game.legal_moves(twin) != legal or game.calls.current_player(twin) != mover:
            raise Finding("parse_position", text + "soon has other moves or another mover")
        game.calls.play(state, legal[-1])
        game.calls.play(twin, legal[-1])
    value = game.calls.returns(state)
    if not game.calls.is_terminal(twin) or (game.calls.returns(twin) != value and value == value):
        raise Finding("parse_position", text + f"ends otherwise, from ply {plies}")


def _check_chance(game: Game, state: State, plies: int, seed: int) -> None:
    """Check that the outcomes of chance are the legal moves, as likely as `Game.chance_weights` says."""
    legal, where = game.legal_moves(state), f"from ply {plies}"
    weights = ask(game, "chance_weights", game.chance_weights, state.copy(), ply=plies)
    if not isinstance(weights, dict) or not all(
        isinstance(each, int | float | np.number) for each in weights.values()
    ):
        text = f"gave no dict with the probability of each outcome, {where}, but {weights!r:.80}"
        raise Finding("chance_weights", text)
    if sorted(weights) != legal:
        text = f"has other outcomes than legal_moves, {where} ({len(weights)} and {len(legal)})"
        raise Finding("chance_weights", text)
    if min(weights.values()) < 0 or not math.isclose(sum(weights.values()), 1.0, abs_tol=1e-9):
        text = f"gave probabilities that do not add up to 1, {where}: {sum(weights.values())}"
        raise Finding("chance_weights", text)
    check_draws(game, "chance", state, weights, plies, seed)


def _check_priority(game: Game, state: State, looks: dict[int, float], plies: int) -> None:
    """Check that `priority` gives a number, equal compiled and in plain Python, and keeps the state; the
    numbers are written into ``looks``."""
    twin, calls, before = plain_rules(game.rules).priority, game.calls.priority, state.copy()
    assert twin is not None and calls is not None
    where = f"at ply {plies}"
    for move in looks:
        look = looks[move] = ask(game, "priority", twin, state, move, ply=plies)
        _check_same(before, state, "priority", where)
        if look != look:
            raise Finding("priority", f"gave no number {where}")
        if calls(state, move) != look:
            raise Finding("priority", f"gives different numbers compiled and in plain Python, {where}")


def _check_decisive(game: Game, state: State, legal: Collection[int], plies: int) -> None:
    """Check that `decisive_moves` names legal moves, each once, compiled as in plain Python, and keeps the
    state."""
    where, before = f"at ply {plies}", state.copy()
    named = []
    for rules in (plain_rules(game.rules), game.calls):
        (moves, scratch), kept = np.zeros((2, game.max_moves), dtype=np.uint16), np.zeros(KEPT, np.uint64)
        assert rules.decisive_moves is not None
        count = ask(game, "decisive_moves", rules.decisive_moves, state, moves, scratch, kept, ply=plies)
        _check_same(before, state, "decisive_moves", where)
        named.append((count, moves[: abs(count)].tolist()))
    count, found = named[0]
    if count < -1 or len(set(found)) < len(found) or not set(found) <= set(legal):
        raise Finding("decisive_moves", f"gave {count} and {found} {where}: not legal moves, each once")
    if named[0] != named[1]:
        raise Finding("decisive_moves", f"gives different moves compiled and in plain Python, {where}")


def _uniform(looks: dict[int, float]) -> dict[int, float]:
    """Equal probabilities of the moves of the highest priority."""
    best = [move for move, look in looks.items() if look == max(looks.values())]
    return dict.fromkeys(best, 1 / len(best))


def check_draws(
    game: Game, rule: str, state: State, weights: dict[int, float], plies: int, seed: int
) -> None:
    """Check that a rule draws moves with these probabilities, no others, the same ones in plain Python, and
    keeps the state."""
    own = getattr(game.rules, rule)
    draw = specialise([draw_all], game, {"drawing_rule": own})["draw_all"]
    before, where = state.copy(), f"at ply {plies}"
    number = DRAWS_A_MOVE * len(weights)
    drawn, moves = np.zeros(number, dtype=np.int64), np.zeros(game.max_moves, dtype=np.uint16)
    ask(game, rule, draw, state, moves, new_stream(seed, plies), drawn, ply=plies)
    _check_same(before, state, rule, where)
    if others := sorted(set(drawn.tolist()) - set(weights)):
        wanted = "legal" if rule in ("random_move", "chance") else "legal and of the highest priority"
        raise Finding(rule, f"gave {others[0]} {where}, which is not {wanted}")
    stream = new_stream(seed, plies)
    if drawn[:20].tolist() != [plain(own)(state, moves, stream) for _ in range(min(20, number))]:
        raise Finding(rule, f"gives different moves compiled and in plain Python, {where}")
    for move, weight in weights.items():
        mean = number * weight
        error = np.sqrt(mean * (1 - weight))
        came = int((drawn == move).sum())
        if abs(came - mean) > SIGMAS * error:
            text = f"gave {game.format_move(state, move)} {counted(came, 'time')} {where}"
            raise Finding(rule, f"{text}; expected {mean:g} +- {error:.0f}")
