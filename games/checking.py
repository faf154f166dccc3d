"""Whether a game keeps to the contract, in words for its author: `banyan check`.

Random games are played twice side by side, with the rules as plain Python, where an index out of
bounds raises, and with the compiled ones, and everything that the contract says is looked at
after every ply. What is found is told once for each kind, with the first place where it shows.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from games.checking_further import further_findings
from games.defaults import default_playout
from games.drawing import draw
from games.errors import InvalidInput
from games.findings import Finding, Found, Stop, ask, deal, plain_rules
from games.game import FIRST, SECOND, Game, State
from games.rng import new_stream
from games.rules import Rules
from games.specialise import is_compiled, specialise
from games.unbound import playout, returns

GAMES = 20
PLAYOUTS = 4_000
MAX_MOVES = 4_095
MAX_MOVE_CODE = 65_534


def check(game: Game, games: int = GAMES, seed: int = 0) -> list[Finding]:
    """What the game does wrong; nothing if it keeps to the contract. Takes seconds, and compiles."""
    found: dict[tuple[str, str], Finding] = {}
    try:
        for look in (_findings, further_findings):
            for kind, finding in look(game, games, seed):
                found.setdefault((finding.rule, kind), finding)
            if found:
                # What comes later takes for granted that all this is right.
                break
    except Stop as stop:
        finding = stop.args[0]
        found.setdefault((finding.rule, "stop"), finding)
    return list(found.values())


def _findings(game: Game, games: int, seed: int) -> Iterator[Found]:
    yield from _attributes(game)
    _compile(game)
    for number in range(games):
        yield from _one_game(game, seed + number)
    yield from _own_playout(game, seed)


def _attributes(game: Game) -> Iterator[Found]:
    state = ask(game, "initial_state", game.initial_state)
    if not isinstance(state, np.ndarray) or state.ndim != 1:
        raise Stop(Finding("initial_state", f"gave {type(state).__name__}; expected a 1-D NumPy array"))
    if np.shares_memory(state, game.initial_state()):
        yield "same", Finding("initial_state", "gave the same array twice; expected a new one each time")
    if not 1 <= game.max_moves <= MAX_MOVES:
        raise Stop(Finding("max_moves", f"is {game.max_moves}; expected 1 to {MAX_MOVES}"))
    if game.max_plies < 1:
        raise Stop(Finding("max_plies", f"is {game.max_plies}; expected at least 1"))
    compiled = [hasattr(rule, "py_func") for rule in game.rules if rule is not None]
    if any(compiled) and not all(compiled):
        names = [name for name, rule in game.rules._asdict().items() if rule and not hasattr(rule, "py_func")]
        raise Stop(Finding("rules", f"{', '.join(names)} without @njit; expected all compiled, or none"))


def _compile(game: Game) -> None:
    """Compile each rule for itself, so that an error has its name."""
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
        "unpack": (np.uint64(0), state),
    }
    for name, rule in game.rules._asdict().items():
        if rule is None:
            continue
        try:
            rule.compile(tuple(_type_of(value) for value in arguments.get(name, (state,))))
        except NumbaError as error:
            raise Stop(Finding(name, f"does not compile: {_of_numba(error)}")) from None


def _type_of(value: Any) -> Any:
    import numba

    return numba.typeof(value)


def _of_numba(error: NumbaError) -> str:
    """The part of Numba's message that is about the author's code: what, and the line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    skipped = ("Failed in", "During:", "Traceback", "There are", "- Of which", "Overload", "In function")
    reason = next((line for line in lines if not line.startswith(skipped)), lines[0])
    place = next((line for line in reversed(lines) if line.startswith("File ")), "")
    name, _, rest = place.removeprefix("File ").partition('", line ')
    return f"{reason} (line {rest.partition(':')[0]} of {Path(name.strip(chr(34))).name})" if rest else reason


def _one_game(game: Game, seed: int) -> Iterator[Found]:
    """A random game, looked at before every ply."""
    rules, draw_from = plain_rules(game.rules), random.Random(seed)
    state = deal(game, seed)
    twin = state.copy()
    with np.errstate(over="ignore"):
        for ply in range(game.max_plies + 1):
            over = ask(game, "is_terminal", rules.is_terminal, state, ply=ply)
            if bool(game.calls.is_terminal(twin)) != bool(over):
                yield (
                    "compiled",
                    Finding("is_terminal", f"says one thing compiled, another plain, at ply {ply}"),
                )
            if over:
                yield from _end(game, rules, state, ply)
                return
            moves = yield from _moves(game, rules, state, ply)
            if ply == game.max_plies:
                break
            yield from _text(game, state, moves, ply)
            move = draw_from.choice(moves)
            ask(game, "play", rules.play, state, move, ply=ply)
            game.calls.play(twin, move)
            if not np.array_equal(state, twin):
                yield "compiled", Finding("play", f"does one thing compiled, another plain, at ply {ply}")
                twin[:] = state
    text = f"is {game.max_plies}, but a random game (seed {seed}) is not over by then"
    yield "long", Finding("max_plies", text)


def _moves(game: Game, rules: Rules, state: State, ply: int) -> Generator[Found, None, list[int]]:
    """Look at the mover and the legal moves; the answer is the list of them."""
    before = state.copy()
    mover = ask(game, "current_player", rules.current_player, state, ply=ply)
    if mover not in (FIRST, SECOND):
        raise Stop(Finding("current_player", f"gave {mover} at ply {ply}; expected 0 or 1"))
    # Room to spare, so that a list that is too long is told as that.
    buffer = np.zeros(65_536, dtype=np.uint16)
    count = int(ask(game, "legal_moves", rules.legal_moves, state, buffer, ply=ply))
    moves = [int(move) for move in buffer[:count]]
    if count < 1:
        text = f"gave no move at ply {ply}, but is_terminal says that the game goes on"
        raise Stop(Finding("legal_moves", text))
    if count > game.max_moves:
        raise Stop(Finding("max_moves", f"is {game.max_moves}, but {count} moves are legal at ply {ply}"))
    if len(set(moves)) < count:
        twice = next(move for move in moves if moves.count(move) > 1)
        yield "twice", Finding("legal_moves", f"gave move {twice} twice at ply {ply}")
    if max(moves) > MAX_MOVE_CODE:
        yield "code", Finding("legal_moves", f"gave move {max(moves)} at ply {ply}; expected at most 65,534")
    if not np.array_equal(state, before):
        yield (
            "state",
            Finding("legal_moves", f"(or current_player, is_terminal) changed the state at ply {ply}"),
        )
        state[:] = before
    if is_compiled(game.rules):
        other = np.zeros(65_536, dtype=np.uint16)
        if game.calls.legal_moves(state, other) != count or not np.array_equal(buffer, other):
            yield "compiled", Finding("legal_moves", f"gives other moves compiled than plain at ply {ply}")
    return moves


def _text(game: Game, state: State, moves: list[int], ply: int) -> Iterator[Found]:
    """Moves and positions as text, there and back; the drawn board."""
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


def _end(game: Game, rules: Rules, state: State, ply: int) -> Iterator[Found]:
    value = ask(game, "returns", rules.returns, state, ply=ply)
    if not -1.0 <= value <= 1.0:
        yield "range", Finding("returns", f"gave {value} after {ply} plies; expected a number in [-1, 1]")
    try:
        game.play_text(state.copy(), ["pass"])
    except InvalidInput:
        return
    yield "over", Finding("parse_move", f"accepts a move when the game is over, after {ply} plies")


def _play_all(start: Any, state: Any, moves: Any, stream: Any, lengths: Any, results: Any) -> None:
    """Generic: as many playouts as ``lengths`` and ``results`` have room for, which are filled."""
    for i in range(len(lengths)):
        for k in range(len(start)):
            state[k] = start[k]
        lengths[i] = playout(state, moves, stream)
        results[i] = returns(state)


def _own_playout(game: Game, seed: int) -> Iterator[Found]:
    """A game's own playout must play as random legal moves do."""
    if game.rules.playout is None:
        return
    number = PLAYOUTS if is_compiled(game.rules) else 50
    twin = game.playout_game
    extra = {"playout": specialise([default_playout], twin)["default_playout"]}
    kinds: list[tuple[Any, Any]] = []
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    for played, bound in ((game, None), (twin, extra)):
        start = deal(played, seed)
        run = specialise([_play_all], played, bound)["_play_all"]
        lengths, results = np.zeros(number, dtype=np.int64), np.zeros(number)
        with np.errstate(over="ignore"):
            stream = new_stream(seed, len(kinds))
            ask(game, "playout", run, start, start.copy(), moves, stream, lengths, results)
        kinds.append((lengths, results))
    for what, ours, theirs in zip(("length", "result"), *kinds, strict=True):
        error = float(np.sqrt((ours.var() + theirs.var()) / number))
        if abs(ours.mean() - theirs.mean()) > 5 * error:
            text = (
                f"mean {what} {ours.mean():.3f}, but {theirs.mean():.3f} "
                f"with random legal moves (+- {error:.3f})"
            )
            yield what, Finding("playout", text)
