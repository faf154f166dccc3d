"""The functions that `import banyan` offers for searches, and `run` for a request.

`search`, `start` and `resume` run searches; `open` and `reopen` open searches whose leaves are evaluated by
the calling program.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from os import PathLike
from os.path import realpath
from pathlib import Path
from typing import Unpack

from cluster.checkpoint.checkpoint import begun, described, read_checkpoint, write_archive
from cluster.front_door.options import (
    RequestOptions,
    SearchOptions,
    WorkerOptions,
    read_call,
    split,
    with_options,
)
from cluster.front_door.running import RunningSearch
from cluster.workers.placement import Placement
from games.errors import InvalidInput, foreign
from games.game import Game
from search.ask_tell.search import DEADLINE_S, AskTellSearch
from search.evaluator import EXTERNAL
from search.prepare import open_search
from search.request import SearchRequest
from search.result import SearchResult
from search.run_inline import refuse_endless


class OpenSearch(AskTellSearch):
    """A search that hands out leaves and is told what they are worth; made by `banyan.open`.

    Beside the methods of `search.AskTellSearch` it has `save`.
    """

    def save(self, path: str | PathLike[str]) -> None:
        """Write a checkpoint for `banyan.reopen`; an existing file is replaced as a whole.

        The file has all answers that were told before this call, also those that wait for earlier ones.
        Raises InvalidInput (``checkpoint``) if the file cannot be written.
        """
        file = Path(path)
        if file.is_dir() or not file.parent.is_dir():
            raise InvalidInput("checkpoint", str(file), "a file in a folder that is there")
        description = described(self.search, self.stopped_by, self.elapsed_s)
        try:
            # The target of a link is replaced, not the link.
            write_archive(Path(realpath(file)), description, self.state())
        except OSError as error:
            accepted = f"a file that can be written ({error.strerror})"
            raise InvalidInput("checkpoint", str(file), accepted) from None


@with_options
def search(
    game: str | Game | type[Game],
    *,
    moves: str | Iterable[str] = (),
    position: str | None = None,
    simulations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    workers: int | str | None = None,
    address: str | None = None,
    executor: str = "auto",
    **options: Unpack[SearchOptions],
) -> SearchResult:
    """Search a position for the best move and return the result.

    >>> import banyan
    >>> result = banyan.search("tictactoe", moves="a1 b1 a2 b2", simulations=2000)
    >>> result.move
    'a3'
    >>> result.value > 0.9
    True
    >>> [child.move for child in result.children][:1]
    ['a3']

    A search runs in this process, in ``workers`` threads. With rules or an evaluator in plain Python it
    begins in one thread, and continues on workers of a local Ray if it takes long enough to repay their
    start. With ``simulations`` the statistics do not depend on where it runs, bit for bit;
    ``result.digest`` identifies them. Ctrl-C ends the search and its workers and raises KeyboardInterrupt; to
    keep partial results, use `start`.

    Args:
        game: A spec such as ``"gomoku:size=15"`` or ``"./mygame.py"`` (`banyan.games` has the names), a game
            object, or the class of a game that is written in a file.
        moves: Moves from the start, or from ``position``, in the game's notation: a text divided by blanks,
            or a sequence of texts.
        position: A position as ``banyan show`` prints it; None is the game's start.
        simulations: The budget: the exact number of simulations.
        seconds: The budget in seconds; 5 if no budget is given.
        seed: Seed of all random numbers.
        workers: Number of workers: a number, ``"auto"`` (one per CPU), or a range such as ``"2..8"``; None is
            ``"auto"``.
        address: The address of a Ray cluster; None is this machine.
        executor: ``"auto"``, ``"inline"`` (one thread of this process), ``"threads"`` (of this process), or
            ``"ray"`` (worker processes).
        **options: Any other field of `search.SearchRequest`, listed below; and options of workers:
            ``job_timeout``, ``gpus_per_worker``, ``cpus_per_worker`` and ``worker_resources``.

    Raises:
        InvalidInput: Something is wrong with an argument; the error names the field, the value, and what is
            accepted.
        SearchFailed: The search cannot continue.
        ConnectionError: Ray could not be started or reached.
    """
    request, of_workers = read_call(
        search,
        game,
        moves,
        options,
        position=position,
        simulations=simulations,
        seconds=seconds,
        seed=seed,
    )
    return _run(request, Placement(workers, executor, address, **of_workers))


@with_options
def start(
    game: str | Game | type[Game],
    *,
    moves: str | Iterable[str] = (),
    position: str | None = None,
    simulations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    workers: int | str | None = None,
    address: str | None = None,
    executor: str = "auto",
    **options: Unpack[SearchOptions],
) -> RunningSearch:
    """Start a search in the background and return it as soon as it runs.

    The arguments are those of `search`. Without a budget the search runs until it is stopped or the program
    ends.

    >>> import banyan
    >>> with banyan.start("tictactoe", simulations=20_000) as search:
    ...     last = [progress.simulations for progress in search][-1]
    >>> last == search.result().simulations == 20_000
    True
    """
    request, of_workers = read_call(
        start,
        game,
        moves,
        options,
        endless=True,
        position=position,
        simulations=simulations,
        seconds=seconds,
        seed=seed,
    )
    return _start(request, Placement(workers, executor, address, **of_workers))


def resume(
    path: str | PathLike[str],
    *,
    workers: int | str | None = None,
    address: str | None = None,
    executor: str = "auto",
    **options: Unpack[WorkerOptions],
) -> RunningSearch:
    """Resume a search from its checkpoint in the background; returns as soon as it runs.

    ``path`` is a file written by `RunningSearch.save` or ``banyan search --checkpoint``; it changes only if
    the search is saved there again. The checkpoint contains the game file that the search uses, and that code
    is run: resume only checkpoints from a trusted source. The other arguments are described in `search`.

    >>> import banyan, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "search.banyan")
    >>> with banyan.start("tictactoe", simulations=20_000) as search:
    ...     search.save(path)
    >>> whole = banyan.search("tictactoe", simulations=20_000)
    >>> banyan.resume(path).result().digest == whole.digest
    True
    """
    placement = Placement(workers, executor, address, **split(resume, options)[1])
    checkpoint = read_checkpoint(Path(path))
    for line in checkpoint.warnings:
        warnings.warn(line, RuntimeWarning, stacklevel=2)
    return RunningSearch(foreign(checkpoint.open), placement.start_quietly)


@with_options
def open(  # noqa: A001
    game: str | Game | type[Game],
    *,
    moves: str | Iterable[str] = (),
    position: str | None = None,
    simulations: int | None = None,
    seed: int = 0,
    deadline_s: float = DEADLINE_S,
    clock: Callable[[], float] = time.monotonic,
    evaluations: str | PathLike[str] | None = None,
    **options: Unpack[RequestOptions],
) -> OpenSearch:
    """Open a search whose leaves are evaluated by this program: by a model server, a simulator, a laboratory.

    >>> import banyan
    >>> opened = banyan.open("tictactoe", moves="a1 b1 a2 b2", simulations=200, lanes=8)
    >>> while not opened.done:
    ...     for leaf in opened.ask(8):
    ...         opened.tell(leaf.id, 0.0)
    >>> opened.result().move
    'a3'

    Args:
        game, moves, position: As in `banyan.search`.
        simulations: The budget; each simulation is one visit of a leaf, and takes at most one evaluation.
            None: the search is endless, unless ``memory_mb`` is its budget.
        seed: Seed of all random numbers.
        deadline_s: Seconds after which a leaf without an answer is handed out again.
        clock: Returns seconds.
        evaluations: A file that keeps answers; leaves with an answer there are not handed out.
            ``evaluator_version`` says whose answers they are.
        **options: Any other field of `search.SearchRequest`, listed below; ``lanes`` is how many leaves are
            out at a time.

    Raises:
        InvalidInput: Something is wrong with an argument; the error names the field, the value, and what is
            accepted.
    """
    request, _ = read_call(
        open,
        game,
        moves,
        options,
        endless=True,
        strategy="leaf",
        evaluator=EXTERNAL,
        position=position,
        simulations=simulations,
        seed=seed,
    )
    return OpenSearch(
        foreign(open_search, request, external=True),
        deadline_s=deadline_s,
        clock=clock,
        evaluations=evaluations,
    )


def reopen(
    path: str | PathLike[str],
    *,
    deadline_s: float = DEADLINE_S,
    clock: Callable[[], float] = time.monotonic,
    evaluations: str | PathLike[str] | None = None,
) -> OpenSearch:
    """Continue a search from the file that `OpenSearch.save` has written; the file does not change.

    Leaves that had no answer are handed out again, with the same ids; no answer that was saved is asked for
    again (``evaluations``: as in `open`). With the same answers the search ends with the digest of one that
    was never interrupted. The file contains the game file of the search, and that code is run: reopen only
    files from a trusted source.

    >>> import banyan, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "search.banyan")
    >>> opened = banyan.open("tictactoe", simulations=100)
    >>> [first] = opened.ask()
    >>> opened.tell(first.id, 0.25, {"b2": 1.0, "a1": 0.5})
    >>> opened.save(path)
    >>> again = banyan.reopen(path)
    >>> [leaf.number for leaf in again.ask(1)], again.result().simulations
    ([1], 1)

    Raises InvalidInput (``file``, or a field of the request).
    """
    checkpoint = read_checkpoint(Path(path))
    for line in checkpoint.warnings:
        warnings.warn(line, RuntimeWarning, stacklevel=2)
    search = open_search(
        checkpoint.request, source=checkpoint.game_source, external=True, whole_spec=checkpoint.game
    )
    return checkpoint.read(
        lambda state: OpenSearch(
            search,
            deadline_s=deadline_s,
            clock=clock,
            evaluations=evaluations,
            state=state,
            elapsed_s=checkpoint.elapsed_s,
            stopped_by=checkpoint.stopped_by,
        )
    )


def run(
    request: SearchRequest,
    *,
    workers: int | str | None = None,
    address: str | None = None,
    executor: str = "auto",
    **options: Unpack[WorkerOptions],
) -> SearchResult:
    """Run a request to its end, on workers if that is faster, and return the result.

    The arguments after the request are described in `search`. Raises InvalidInput for a request without a
    budget, because it would never end.

    >>> import cluster
    >>> from search import SearchRequest
    >>> cluster.run(SearchRequest("tictactoe", simulations=2000)).simulations
    2000
    """
    refuse_endless(request)
    return _run(request, Placement(workers, executor, address, **split(run, options)[1]))


def _start(request: SearchRequest, placement: Placement) -> RunningSearch:
    return RunningSearch(foreign(begun, request), placement.start_quietly)


def _run(request: SearchRequest, placement: Placement) -> SearchResult:
    with _start(request, placement) as running:
        return running.result()
