"""`banyan check`: tests whether a game keeps to the contract and reports violations to its author.

Random games are played with two versions of the rules side by side: as plain Python, where an index out of
bounds raises, and compiled. After every ply, everything that the contract promises is tested. Each
kind of violation is reported once, with the first position where it occurs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from games.compile.default_rules import default_playout, default_rollout
from games.compile.rule_stubs import is_terminal, play, playout, returns, rollout
from games.compile.specialise import is_compiled, specialise
from games.contract.checking_further import further_findings
from games.contract.findings import Finding, Found, Stop, ask, blamed, deal, line_of, plain_rules, said
from games.contract.random_game import RandomGame, look_at_attributes
from games.contract.time_limit import TimeLimit
from games.contract.trial import Trial, limit_of
from games.drawing import draw
from games.errors import InvalidInput
from games.game import Game, State
from games.rng import new_stream

GAMES = 20
PLAYOUTS = 4_000


def check(game: Game, games: int = GAMES, seed: int = 0, limit_s: float | None = None) -> list[Finding]:
    """The violations of the contract; an empty list if there are none. Compiles rules; takes seconds.

    ``games`` random games are played from ``seed`` on. ``limit_s``: how many seconds one call of a rule may
    take in plain Python; by default `games.contract.trial.limit_of`.
    """
    found: dict[tuple[str, str], Finding] = {}
    try:
        with TimeLimit(limit_s or limit_of(game)):
            for look in (_first_findings, _findings, further_findings):
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


def _first_findings(game: Game, games: int, seed: int) -> Iterator[Found]:
    """What the trial without compilation finds, except exceptions, which later checks report better: the
    cause may be a rule that does not compile."""
    try:
        with np.errstate(all="ignore"):
            yield from Trial(game).findings()
    except Stop as stop:
        if not isinstance(stop.__cause__, Exception):
            raise


def _findings(game: Game, games: int, seed: int) -> Iterator[Found]:
    yield from look_at_attributes(game)
    _all_or_none(game)
    _compile(game)
    for number in range(games):
        yield from _one_game(game, seed + number)
    yield from _own_playout(game, seed)
    yield from _own_rollout(game, seed)


def _all_or_none(game: Game) -> None:
    compiled = [hasattr(rule, "py_func") for rule in game.rules if rule is not None]
    if any(compiled) and not all(compiled):
        names = [name for name, rule in game.rules._asdict().items() if rule and not hasattr(rule, "py_func")]
        raise Stop(Finding("rules", f"{', '.join(names)} without @njit; expected all compiled, or none"))


def _compile(game: Game) -> None:
    """Compile each rule separately, so that an error can name the rule."""
    if not is_compiled(game.rules):
        return
    state, moves = game.initial_state(), np.zeros(game.max_moves, dtype=np.uint16)
    stream = new_stream(0)
    arguments: dict[str, tuple[Any, ...]] = {
        "legal_moves": (state, moves),
        "play": (state, 0),
        "playout": (state, moves, stream),
        "random_move": (state, moves, stream),
        "priority": (state, 0),
        "greedy_move": (state, moves, stream),
        "determinize": (state, state, stream),
        "chance": (state, moves, stream),
        "score": (state, 0),
        "rollout": (state, moves, stream, np.zeros(game.max_plies, dtype=np.uint16)),
        "unpack": (np.uint64(0), state),
    }
    for name, rule in game.rules._asdict().items():
        if rule is None:
            continue
        try:
            rule.compile(tuple(_type_of(value) for value in arguments.get(name, (state,))))
        except NumbaError as error:
            raise Stop(Finding(name, f"does not compile: {_of_numba(error, rule)}")) from None


def _type_of(value: Any) -> Any:
    import numba

    return numba.typeof(value)


def _makes_an_array(message: str) -> bool:
    """Whether Numba's message is one of the two forms of "this code allocates memory" (see games/jit.py)."""
    made = "zeros|empty|ones|full|array|arange|zeros_like|empty_like|ones_like"
    return "NRT required" in message or re.search(rf"built-in function ({made})>", message) is not None


def _of_numba(error: NumbaError, rule: Any) -> str:
    """The part of Numba's message that is about the author's code: the reason and the line."""
    if _makes_an_array(str(error)):
        file = Path(rule.py_func.__code__.co_filename).name
        lines = re.findall(rf"{re.escape(file)} \((\d+)\)", str(error))
        line = f" (line {lines[-1]} of {file})" if lines else ""
        return f"creates an array, a list or text; rules must not allocate, only use their arguments{line}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    skipped = ("Failed in", "During:", "Traceback", "There are", "- Of which", "Overload", "In function")
    reason = next((line for line in lines if not line.startswith(skipped)), lines[0])
    place = next((line for line in reversed(lines) if line.startswith("File ")), "")
    name, _, rest = place.removeprefix("File ").partition('", line ')
    return f"{reason} (line {rest.partition(':')[0]} of {Path(name.strip(chr(34))).name})" if rest else reason


def _one_game(game: Game, seed: int) -> Iterator[Found]:
    """Check one random game before every ply."""
    played = RandomGame(game, plain_rules(game.rules), deal(game, seed), seed)
    with np.errstate(over="ignore"):
        yield from played.located(_plies(played))


def _plies(played: RandomGame) -> Iterator[Found]:
    game, state = played.game, played.state
    twin = state.copy()
    while True:
        ply = played.ply
        over = yield from played.over()
        if bool(game.calls.is_terminal(twin)) != over:
            text = f"gives different answers compiled and in plain Python, at ply {ply}"
            yield "compiled", Finding("is_terminal", text)
        if over:
            yield from played.returns()
            yield from _end(game, state, ply)
            return
        moves = yield from played.legal_moves()
        yield from _moves_compiled(game, state, moves, ply)
        if ply >= game.max_plies:
            return
        yield from _text(game, state, moves, ply)
        move = played.play_one_of(moves)
        game.calls.play(twin, move)
        if not np.array_equal(state, twin):
            text = f"leads to different states compiled and in plain Python, at ply {ply}"
            yield "compiled", Finding("play", text)
            twin[:] = state


def _moves_compiled(game: Game, state: State, moves: list[int], ply: int) -> Iterator[Found]:
    if not is_compiled(game.rules):
        return
    other = np.zeros(65_536, dtype=np.uint16)
    if game.calls.legal_moves(state, other) != len(moves) or other[: len(moves)].tolist() != moves:
        text = f"gives different moves compiled and in plain Python, at ply {ply}"
        yield "compiled", Finding("legal_moves", text)


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
        yield (
            "moves",
            Finding("parse_position", f"{position!r} reads back with other legal moves at ply {ply}"),
        )
    board = ask(game, "board", game.board, state, ply=ply)
    ask(game, "board", lambda: draw(board, colour=False), ply=ply)
    if not np.array_equal(state, before):
        yield "state", Finding("format_move", f"(or format_position, board) changed the state at ply {ply}")
        state[:] = before


def _end(game: Game, state: State, ply: int) -> Iterator[Found]:
    try:
        game.play_text(state.copy(), ["pass"])
    except InvalidInput:
        return
    except Exception as error:
        text = f"raised {said(error)}{line_of(error, game)} for 'pass' at ply {ply}; expected InvalidInput"
        yield "other", Finding("parse_move", text)
        return
    yield "over", Finding("parse_move", f"accepts a move when the game is over, at ply {ply}")


def play_all(start: Any, state: Any, moves: Any, stream: Any, lengths: Any, results: Any) -> None:
    """Generic: play len(lengths) playouts from ``start``; ``lengths`` and ``results`` are filled."""
    for i in range(len(lengths)):
        for k in range(len(start)):
            state[k] = start[k]
        lengths[i] = playout(state, moves, stream)
        results[i] = returns(state)


def _own_playout(game: Game, seed: int) -> Iterator[Found]:
    """Check that a game's own playout has the mean length and result of uniformly random legal moves."""
    if game.rules.playout is None:
        return
    number = PLAYOUTS if is_compiled(game.rules) else 50
    twin = game.playout_game
    extra = {"playout": specialise([default_playout], twin)["default_playout"]}
    kinds: list[tuple[Any, Any]] = []
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    for played, bound in ((game, None), (twin, extra)):
        start = deal(played, seed)
        run = specialise([play_all], played, bound)["play_all"]
        lengths, results = np.zeros(number, dtype=np.int64), np.zeros(number)
        with np.errstate(over="ignore"):
            stream = new_stream(seed, len(kinds))
            ask(game, "playout", run, start, start.copy(), moves, stream, lengths, results)
        kinds.append((lengths, results))
    yield from _alike_in_mean("playout", *kinds)


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


def _own_rollout(game: Game, seed: int) -> Iterator[Found]:
    """Check that a game's own rollout has the mean length and discounted rewards of random legal moves."""
    if game.rules.rollout is None:
        return
    number = PLAYOUTS if is_compiled(game.rules) else 50
    kinds: list[tuple[Any, Any]] = []
    moves, line = np.zeros(game.max_moves, dtype=np.uint16), np.zeros(game.max_plies, dtype=np.uint16)
    for bound in (None, {"rollout": specialise([default_rollout], game)["default_rollout"]}):
        run = specialise([roll_all], game, bound)["roll_all"]
        start, stream = deal(game, seed), new_stream(seed, len(kinds))
        lengths, results = np.zeros(number, dtype=np.int64), np.zeros(number)
        ended = np.zeros(number, dtype=np.bool_)
        with np.errstate(over="ignore"):
            ask(game, "rollout", run, start, start.copy(), moves, stream, line, lengths, results, ended)
        # In a closed loop a line has no moves for what is seen.
        if not game.closed_loop and not ended.all():
            yield "line", Finding("rollout", "wrote moves into line that do not lead to the end of the game")
        kinds.append((lengths, results))
    yield from _alike_in_mean("rollout", *kinds)


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
