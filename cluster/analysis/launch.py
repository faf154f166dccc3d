"""`banyan engine` and `banyan analyze`: the engine on standard input and output, and on a file of queries."""

from __future__ import annotations

import io
import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import games
from cluster.analysis.engine import Engine
from cluster.analysis.gomocup import Gomocup
from cluster.analysis.queries import BadQuery, Position, Queries
from cluster.analysis.session import GameSession, Grammar, Lines
from cluster.analysis.ugi import FIXED, Ugi
from cluster.analysis.worker import Analysed, AnalysisWorker
from cluster.launch import UNIT_TIMEOUT_S, Launch, launch
from cluster.report.table import Table, left, right, write_csv
from cluster.runtime.jobset import LINE_S
from cluster.runtime.pool_queue import PoolQueue
from cluster.runtime.queue import IN_FLIGHT
from cluster.runtime.tasks import Executor
from cluster.system.allocator import give_memory_back
from cluster.system.files import append, replace_text
from cluster.system.interruption import FAILED, INTERRUPTED
from cluster.system.kept_folder import held, whole_lines
from cluster.system.status_line import StatusLine
from cluster.system.terminal import Output, count, duration, rate, results, write
from cluster.workers.choose import on_this_machine
from cluster.workers.handover import PAYS_S, Coming
from cluster.workers.placement import Placement
from games.errors import InvalidInput, counted
from search.players.presets import STRONGEST, with_preset
from search.prepare import check_search, root_position
from search.request import SearchRequest

GOMOCUP = "gomocup"
DEFAULT_SECONDS = 1.0
"""Time of a move for which neither the other program nor the command says one."""
ENDINGS = (".jsonl", ".csv")
PART = ".part"
"""End of the name of the file in which answers are kept, as they come, until all are there."""


def run_engine(defaults: SearchRequest, place: Placement, output: Output, *, waits: bool) -> int:
    """Answer queries of standard input on standard output; returns the exit status.

    ``waits``: whether what waits at the end of the input is still searched. Raises InvalidInput,
    ConnectionError.
    """
    context = analysed(defaults)
    with launch(output) as started:
        file = results()

        def write(answer: Any, position: Position | None = None) -> None:
            file.write((answer if isinstance(answer, str) else json.dumps(answer)) + "\n")
            file.flush()

        engine = _engine(started, context, place, write)
        workers = counted(engine.executor.num_workers, "worker")
        where = "in this process at first" if isinstance(engine, Beginner) else workers
        started.tell(f"ready for queries on {context.game}, {where}")
        lines: SimpleQueue[str | bytes | None] = SimpleQueue()
        _read_input(lines.put)
        engine.run(lines, waits=waits)
        if engine.cancelled:
            started.status = INTERRUPTED
    return started.status


def run_protocol(
    name: str,
    request: SearchRequest,
    preset: str | None,
    place: Placement,
    output: Output,
    *,
    waits: bool,
    ponder: bool,
) -> int:
    """Play the game of a request with the program at standard input and output; returns the exit status.

    ``name``: gomocup or ugi. ``preset``: settings for options that the request leaves open, by default those
    that play best. ``waits``: as in `GameSession.run`; ``ponder``: as in `GameSession`. Raises InvalidInput,
    ConnectionError.
    """
    request = replace(request, stop_when_full=False)
    if request.simulations is request.seconds is None:
        request = replace(request, seconds=DEFAULT_SECONDS)
    if output.json:
        raise InvalidInput("json", True, f"nothing with {name}, which says in which form answers are")
    for field in FIXED:
        if field not in ("simulations", "seconds") and (value := getattr(request, field)):
            raise InvalidInput(field, value, f"nothing with {name}, in which the other program says it")
    game = games.load(request.game)
    if not game.is_two_player or game.hidden_information or game.has_chance:
        accepted = "a game of two players without chance and hidden information"
        raise InvalidInput("game", request.game, accepted)
    request = with_preset(request, preset or STRONGEST, game)
    give_memory_back()
    with launch(output) as started:
        executor, file, ours = started.start_executor(place), results(), version("banyan-mcts")
        grammar: Grammar = Ugi(request, max(1, executor.num_workers), ours)
        if name == GOMOCUP:
            grammar = Gomocup(request.game, ours, _resident_mb)

        def write(text: str) -> None:
            file.write(text)
            file.flush()

        session = GameSession(request, executor, grammar, write, ponder)
        started.watch(session)
        lines: Lines = SimpleQueue()
        _read_input(lambda line: lines.put((line, time.monotonic())))
        session.run(lines, waits=waits)
        if session.cancelled:
            started.status = INTERRUPTED
    return started.status


def _resident_mb() -> float:
    """The memory of this process that is in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def run_analysis(
    file: Path, defaults: SearchRequest, place: Placement, output: Output, out: Path | None
) -> int:
    """Analyse the positions of a file and write the answers, in their order; returns the exit status, 1 if
    a position could not be searched.

    ``out``: a new file, of JSON lines or CSV by its ending; None: a table, or JSON lines, on standard output.
    Raises InvalidInput, ConnectionError, OSError.
    """
    context = analysed(defaults)
    positions = positions_of(file)
    if out is not None and (out.suffix not in ENDINGS or out.exists() or not out.parent.is_dir()):
        accepted = f"a new file, in a folder that is there, that ends with {' or '.join(ENDINGS)}"
        raise InvalidInput("out", str(out), accepted)
    with launch(output) as started, nullcontext() if out is None else held(out, "out"):
        part = None if out is None else out.with_name(out.name + PART)
        answers = _kept(part, positions, context)
        if answers:
            started.say(f"{counted(len(answers), 'answer')} of {len(positions):,} are there already")

        todo = {(each.id, each.turn): each for each in positions if (each.id, each.turn) not in answers}

        new: list[str] = []

        def write(answer: Any, position: Position | None = None) -> None:
            if position is None or (isinstance(answer, dict) and "noResults" in answer):
                return
            line = answer if isinstance(answer, str) else json.dumps(answer)
            answers[position.id, position.turn] = line
            new.append(f'{{"key": "{context.key(position)}", {line[1:]}\n')

        if todo:
            engine = _engine(started, context, place, write)
            with _progress(started, engine, len(todo), output) as show:

                def look() -> None:
                    if part is not None and new:
                        append(part, "".join(new))
                    new.clear()
                    show()

                for position in todo.values():
                    engine.add(position)
                engine.work(look)
                look()
            if engine.cancelled:
                started.status = INTERRUPTED
        found = [answers[each.id, each.turn] for each in positions if (each.id, each.turn) in answers]
        if wrong := sum("error" in json.loads(answer) for answer in found):
            started.say(f"{counted(wrong, 'position')} could not be searched: see the errors in the answers")
            started.status = started.status or FAILED
        if out is None:
            _show(found, output)
        elif len(found) < len(positions):
            started.say(f"{len(found):,} of {len(positions):,} answered: the same command goes on from there")
        else:
            _write(out, found)
            out.with_name(out.name + PART).unlink(missing_ok=True)
            started.say(f"wrote {out}")
    return started.status


def analysed(defaults: SearchRequest) -> Analysed:
    """What the positions of a command have in common. Raises InvalidInput, also for their beginning."""
    source = games.source_of_spec(defaults.game)
    game = games.load(defaults.game, source)
    check_search(defaults, game)
    root_position(defaults, game)
    return Analysed(game.spec, source, defaults)


def positions_of(file: Path) -> list[Position]:
    """The positions of a file of queries. A line that is not JSON is the moves of one, whose id is the number
    of the line.

    Raises InvalidInput (file), OSError.
    """
    found = Queries()
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidInput("file", str(file), f"text in UTF-8 ({error.reason} at {error.start})") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        text = line if line.lstrip().startswith("{") else json.dumps({"id": str(number), "moves": line})
        try:
            found.add(text)
        except BadQuery as error:
            raise InvalidInput("file", f"{file}, line {number}", f"queries ({error})") from None
    if not found.positions:
        raise InvalidInput("file", str(file), "lines of queries, or of moves")
    return found.positions


class Beginner(Engine):
    """Searches in this process, until there is enough to do for workers on Ray; they take over then."""

    def __init__(self, started: Launch, place: Placement, *arguments: Any) -> None:
        """``place``: of the workers. ``arguments``: as in `Engine`."""
        super().__init__(*arguments)
        self._started, self._place = started, place
        self._workers_queue = PoolQueue()
        self._coming: Coming | None = None
        # The lanes of a long search are for all workers.
        self.most_long = 0

    def turn(self) -> None:
        if self._coming is None:
            if self.left_s >= PAYS_S:
                self._coming = Coming(self._start, None)
                self._started.close_at_end(self._coming)
        elif self._coming.over and self.most_long == 0:
            self._take_over(self._coming)
        super().turn()

    def _start(self, cancelled: threading.Event) -> Executor:
        options = {"make_worker": AnalysisWorker, "queue": self._workers_queue, "in_flight": IN_FLIGHT}
        return self._place.start(None, UNIT_TIMEOUT_S, cancelled=cancelled, **options)

    def _take_over(self, coming: Coming) -> None:
        self.most_long = math.inf
        if coming.executor is None:
            self._started.say(f"no workers could be started ({coming.error}): this process searches on")
            return
        self.move_to(coming.executor, self._workers_queue)
        self._started.tell(f"{counted(self.executor.num_workers, 'worker')} took over")


def _engine(started: Launch, context: Analysed, place: Placement, write: Callable[[Any], None]) -> Engine:
    """An engine, on workers from the beginning where the user asks for Ray or for what only Ray has."""
    queue, begins = PoolQueue(), place.executor == "auto" and not place.on_ray and place.job_timeout is None
    first = replace(place, executor="inline", workers=1) if begins else place
    executor = started.start_units(first, AnalysisWorker, queue=queue, in_flight=IN_FLIGHT)
    rest = context, executor, queue, write, version("banyan-mcts")
    several = begins and on_this_machine(place.range) > 1
    engine = Beginner(started, place, *rest) if several else Engine(*rest)
    started.watch(engine)
    return engine


def _read_input(take: Callable[[bytes | None], None]) -> None:
    """Give each line of standard input to ``take``, in another thread, and None at its end."""

    def read() -> None:
        with io.FileIO(0, closefd=False) as raw, io.BufferedReader(raw) as file:
            for line in file:
                take(line)
        take(None)

    threading.Thread(target=read, name="reader", daemon=True).start()


def _kept(part: Path | None, positions: list[Position], context: Analysed) -> dict[tuple[str, int], str]:
    """The answers that an interrupted command has left, as JSON. Raises InvalidInput (out)."""
    answers = {}
    asked = {(each.id, each.turn): each for each in positions}
    for line in [] if part is None else whole_lines(part):
        found = json.loads(line)
        place = found["id"], found["turnNumber"]
        if place not in asked or found.pop("key") != context.key(asked[place]):
            accepted = "answers to these queries with these options; without the file all are searched anew"
            raise InvalidInput("out", str(part), accepted)
        answers[place] = json.dumps(found)
    return answers


@contextmanager
def _progress(
    started: Launch, engine: Engine, positions: int, output: Output
) -> Iterator[Callable[[], None]]:
    """Context manager that yields a function that shows how many positions are answered."""
    began_s = time.monotonic()

    def text(elapsed_s: float) -> str:
        done, per_s = engine.answered, engine.answered / max(elapsed_s, 1e-9)
        left = f", some {duration((positions - done) / per_s)} left" if done else ""
        return f"{count(done)} of {counted(positions, 'position')}, {rate(per_s)}{left}"

    with StatusLine(started.errors, "starting ...", LINE_S, enabled=output.progress) as line:
        yield lambda: line.show(engine.answered, lambda: time.monotonic() - began_s, text)


def _row(answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer as a line of a table."""
    best: Mapping[str, Any] = next(iter(answer.get("moveInfos", ())), {})
    return {
        "id": answer["id"],
        "turn": answer["turnNumber"],
        "move": best.get("move", ""),
        "value": best.get("value"),
        "visits": answer.get("rootInfo", {}).get("visits"),
        "line": " ".join(best.get("pv", ())),
        "error": answer.get("error", ""),
    }


def _show(answers: list[str], output: Output) -> None:
    if output.json:
        for answer in answers:
            write(answer)
        return
    table = Table(
        [*left("id"), *right("turn"), *left("move"), *right("value", "visits"), *left("line", "error")]
    )
    for row in map(_row, map(json.loads, answers)):
        value = "" if row["value"] is None else f"{row['value']:+.3f}"
        visits = "" if row["visits"] is None else count(row["visits"])
        table.add(row["id"], str(row["turn"]), row["move"], value, visits, row["line"], row["error"])
    output.show(None, table)


def _write(out: Path, answers: list[str]) -> None:
    if out.suffix == ".csv":
        write_csv(out, [_row(json.loads(answer)) for answer in answers])
    else:
        replace_text(out, "".join(f"{answer}\n" for answer in answers))
