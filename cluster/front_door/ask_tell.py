"""`banyan.open` and `banyan.reopen`: searches whose leaves are evaluated by the calling program."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Unpack

from cluster.checkpoint.archive import write_archive
from cluster.checkpoint.checkpoint import described, read_checkpoint
from cluster.front_door.options import RequestOptions, request_of, split, with_options
from games.errors import InvalidInput
from games.game import Game
from search.ask_tell.search import DEADLINE_S, AskTellSearch
from search.evaluator import EXTERNAL
from search.prepare import open_search


class OpenSearch(AskTellSearch):
    """A search that hands out leaves and is told what they are worth; made by `banyan.open`.

    Beside the methods of `search.AskTellSearch` it has `save`.
    """

    def save(self, path: str | PathLike[str]) -> None:
        """Write a checkpoint for `banyan.reopen`; an existing file is replaced as a whole.

        It has all answers that were told before this call, also those that wait for earlier ones. Raises
        InvalidInput (``checkpoint``) if the file cannot be written.
        """
        file = Path(path)
        if file.is_dir() or not file.parent.is_dir():
            raise InvalidInput("checkpoint", str(file), "a file in a folder that is there")
        description = described(self.search, self.stopped_by, self.elapsed_s)
        try:
            # The target of a link is replaced, not the link.
            write_archive(file.resolve(), description, self.state())
        except OSError as error:
            accepted = f"a file that can be written ({error.strerror})"
            raise InvalidInput("checkpoint", str(file), accepted) from None


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
        **options: Any other field of `search.SearchRequest`, listed below; ``lanes`` is how many leaves are
            out at a time.

    Raises:
        InvalidInput: Something is wrong with an argument; the error names the field, the value, and what is
            accepted.
    """
    asked = {"strategy": "leaf", "evaluator": EXTERNAL, "position": position, "simulations": simulations}
    of_search, _ = split(open, options)
    request = request_of(game, moves, asked | {"seed": seed} | of_search, endless=True)
    return OpenSearch(open_search(request, external=True), deadline_s=deadline_s, clock=clock)


def reopen(
    path: str | PathLike[str],
    *,
    deadline_s: float = DEADLINE_S,
    clock: Callable[[], float] = time.monotonic,
) -> OpenSearch:
    """Continue a search from the file that `OpenSearch.save` has written; the file does not change.

    Leaves that had no answer are handed out again, with the same ids; no answer that was saved is asked for
    again. With the same answers the search ends with the digest of one that was never interrupted. The file
    contains the game file of the search, and that code is run: reopen only files from a trusted source.

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
            state=state,
            elapsed_s=checkpoint.elapsed_s,
            stopped_by=checkpoint.stopped_by,
        )
    )
