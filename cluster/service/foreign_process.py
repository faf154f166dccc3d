"""The process that runs third-party games for a server: `python -P -m cluster.service.foreign_process`.

It imports everything once and forks for each request. A fork takes about 10 ms, has its own limits of memory
and time, and leaves nothing behind. The process itself has one thread and runs no third-party code.

Requests are read from standard input, pickled by the server as the values of a `Call`. The answer to each
is one line of JSON on standard output with one of the keys ``value``, ``refused`` ([field, value, accepted])
and ``reason`` (how the fork failed).
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from cluster.service import positions
from cluster.service.errors import shown
from cluster.service.foreign import MOST_TIMES
from cluster.system.processes import waited_s
from games import catalogue
from games.board import draw
from games.compile.specialise import is_compiled
from games.contract.findings import deal
from games.contract.trial import PLIES, try_out
from games.errors import InvalidInput, foreign, said
from games.game import Game, State
from games.python_game import PythonGame
from games.python_positions import CACHED_POSITIONS, copy_of
from games.rng import below, new_stream
from search.evaluator import EXTERNAL
from search.prepare import check_request, root_position
from search.request import SearchRequest

ANSWER_BYTES = 32 * 2**20
"""Largest size of an answer, which may hold a drawn board of thousands of cells."""
LOOK_EVERY_S = 0.1
"""Interval, in seconds, of looks at the time of a request."""
LINE = 300
"""Largest number of characters of an exception's message in an answer."""
PROBE_S = 1.0
"""Time limit of the random games, and of filling the cache of positions; a running call is waited for."""
STATE_BYTES = 2**20
"""The largest array that may hold a position: searches and their jobs have many of them."""


class Call(NamedTuple):
    """A request: a call for a game, and its limits."""

    name: str
    """Name of the function, a key of CALLS."""
    arguments: tuple[Any, ...]
    memory_mb: int
    """Memory limit in MB, in addition to what this process has."""
    seconds: float


def check(request: SearchRequest) -> dict[str, Any]:
    """Test that a search can be opened and that its game can be played.

    Returns the ``position`` without hidden information. Raises InvalidInput, and whatever the game raises.
    """
    game = check_request(request, files=False, external=request.evaluator == EXTERNAL)
    probe(game, root_position(request, game))
    return {"position": positions.seen(game, request.position)}


def probe(game: Game, state: State) -> None:
    """Play random games from ``state``, which is not changed, and call what displays call.

    Raises InvalidInput (field ``game``) for positions that are too large, BrokenGame for rules that violate
    the contract, and whatever the game's other functions raise.
    """
    if isinstance(state, np.ndarray) and state.nbytes > STATE_BYTES:
        accepted = f"a game whose positions take at most {STATE_BYTES} bytes (this one has {state.nbytes})"
        raise InvalidInput("game", game.spec, accepted)
    last = [deal(game, 0) if game.hidden_information else state.copy()]

    def look(state: State) -> None:
        _texts(game, state)
        last.append(state)

    look(last[0])
    try_out(game, last[0], plies=max(PLIES, game.max_plies), seconds=PROBE_S, look=look)
    if game.rules.playout is not None and not is_compiled(game.rules):
        with np.errstate(over="ignore"):
            game.rules.playout(last[0].copy(), np.zeros(game.max_moves, dtype=np.uint16), new_stream(0))
    if isinstance(game, PythonGame):
        _fill_cache(game, last[-1])


def _texts(game: Game, state: State) -> None:
    """Call all functions that convert a position to text and back."""
    for move in game.legal_moves(state):
        game.format_move(state, move)
    with suppress(InvalidInput):
        # A text that cannot be read back is harmless to the service.
        game.canonical(state)
    game.format_seen(state)
    draw(game.board(state), colour=False)
    if game.calls.is_terminal(state):
        game.outcome_text(state)


def _fill_cache(game: PythonGame, state: State) -> None:
    """Make as many copies of a position as a search keeps in its cache, so that a lack of memory shows."""
    until_s = time.monotonic() + PROBE_S
    position = game.position(state)
    copies: list[object] = []
    while len(copies) < CACHED_POSITIONS and time.monotonic() < until_s:
        copies.append(copy_of(position))


CALLS: dict[str, Callable[..., Any]] = {
    "check": check,
    "describe": positions.describe_game,
    "game": positions.game_json,
    "move": positions.move,
    "player": positions.check_player,
    "read": positions.read,
}


def main() -> None:
    """Answer requests until standard input ends."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # The process ends with its server, not by signals to the process group.
        signal.signal(number, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(ImportError):
        import pyspiel  # noqa: F401
    with suppress(ImportError):
        import gymnasium  # noqa: F401
    # The first use of a compiled function loads libraries for half a second: here, not in every fork.
    below(new_stream(0), 2)
    gc.collect()
    gc.freeze()
    while True:
        try:
            call = Call(*pickle.load(sys.stdin.buffer))
        except EOFError:
            return
        answers.write(run(call, answers.fileno()) + b"\n")
        answers.flush()


def run(call: Call, *private: int) -> bytes:
    """Answer a request in a fork, which closes the files ``private`` and has ended when this returns."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        _be_tried(call, writing, (reading, *private))
    os.close(writing)
    answer, in_time = _read(reading, pid, call.seconds)
    os.close(reading)
    # Including the processes that the fork has started.
    for end in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if answer.endswith(b"\n"):
        return answer[:-1]
    late = not in_time or status == -signal.SIGXCPU
    reason = f"took longer than {call.seconds:g} s" if late else _end(status)
    return _json({"reason": reason})


def _end(status: int) -> str:
    if status >= 0:
        return f"ended its process with status {status}"
    return f"ended its process by {signal.Signals(-status).name}"


def _read(file: int, pid: int, seconds: float) -> tuple[bytes, bool]:
    """(what a process writes to a pipe up to the end of a line or of the file, whether that was in time)."""
    began_s, answer = time.monotonic(), bytearray()
    while time.monotonic() - began_s <= min(seconds + waited_s(pid), MOST_TIMES * seconds):
        if not select.select([file], [], [], LOOK_EVERY_S)[0]:
            continue
        part = os.read(file, 2**16)
        answer += part
        if not part or part.endswith(b"\n"):
            return bytes(answer), True
        if len(answer) > ANSWER_BYTES:
            return _json({"reason": f"gave an answer of more than {ANSWER_BYTES // 2**20} MB"}) + b"\n", True
    return b"", False


def _be_tried(call: Call, writing: int, private: Sequence[int]) -> NoReturn:
    """Answer one request and end the process; runs in the fork."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    for file in private:
        os.close(file)
    _limit(call)
    answer = _answer(call) + b"\n"
    while answer:
        answer = answer[os.write(writing, answer) :]
    os._exit(0)


def _limit(call: Call) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    seconds = max(1, round(call.seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    with suppress(OSError):
        # If the machine runs out of memory, Linux ends this process first.
        Path("/proc/self/oom_score_adj").write_text("1000")
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + call.memory_mb * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _answer(call: Call) -> bytes:
    try:
        answer = {"value": foreign(CALLS[call.name], *call.arguments)}
        # Deleting the game may fail too.
        catalogue.forget()
        gc.collect()
        return _json(answer)
    except InvalidInput as error:
        return _json({"refused": [error.field, shown(error.value), error.accepted]})
    except MemoryError:
        return _json({"reason": f"needs more than {call.memory_mb} MB"})
    except Exception as error:
        return _json({"reason": f"raised {said(error)[:LINE]}"})


def _json(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer).encode()


if __name__ == "__main__":
    main()
