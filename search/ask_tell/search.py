"""A search whose leaves are evaluated by its caller, in any order, from any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from os import PathLike

from games.errors import InvalidInput, counted
from search.ask_tell.desk import Desk
from search.ask_tell.leaf import Leaf, Policy
from search.coordinator import Coordinator
from search.job import JobResult
from search.packing.arrays import Arrays, prefixed, without_prefix
from search.prepare import Search, open_search
from search.request import SearchRequest
from search.result import SearchResult

DEADLINE_S = 600.0
"""Default of the seconds after which a leaf without an answer is handed out again."""
SETTLED = 10_000
"""The most simulations, all of finished games, that one call makes without new answers: a second or less."""


class AskTellSearch:
    """A search that hands out leaves and is told what they are worth; made by `search.open`.

    - ``ask(n)`` returns up to n leaves, ``tell(leaf.id, value, policy)`` takes the answer to one.
    - ``done`` says whether the search is over; ``result()`` is the answer found so far.

    Leaf i is selected when the results of all leaves up to i - lanes are in the tree, in the order of their
    numbers (with the request's ``batch``, by default 1, leaves are selected that many at a time). So up to
    ``lanes`` leaves, or batches, are out at a time, and the same answers give the same digest in whatever
    order they come, and however many are asked for at once: the digest of a search with an evaluator file
    that gives these answers, with the same lanes and batch.

    Finished games are never handed out. A position that is selected again while an earlier leaf with the same
    state is in flight is handed out once. All methods may be called from any thread.
    """

    def __init__(
        self,
        search: Search,
        *,
        deadline_s: float = DEADLINE_S,
        clock: Callable[[], float] = time.monotonic,
        evaluations: str | PathLike[str] | None = None,
        state: Arrays | None = None,
        elapsed_s: float = 0.0,
        stopped_by: str | None = None,
    ) -> None:
        """``search`` is opened with ``external``. ``evaluations``: the file of an
        `EvaluationStore`. The last three arguments continue an equal search: its
        `state`, its elapsed seconds, and why it was over, if it was.

        Raises InvalidInput (``deadline_s``, ``seconds``, ``evaluations``, ``evaluator_version``),
        CorruptState.
        """
        if isinstance(deadline_s, bool) or not isinstance(deadline_s, int | float) or not deadline_s > 0:
            raise InvalidInput("deadline_s", deadline_s, "seconds, more than 0; inf: never asked again")
        if search.request.seconds is not None:
            accepted = "None with an external evaluator: stop asking when the time is over"
            raise InvalidInput("seconds", search.request.seconds, accepted)
        self.search = search
        self._clock = clock
        self._began_s = clock() - elapsed_s
        self._changed = threading.Condition()
        self._deadline_s = float(deadline_s)
        self._coordinator = Coordinator(search, 1)
        self._desk = Desk(self._coordinator, evaluations)
        if state is not None:
            self._coordinator.restore(state, stopped_by)
            self._desk.restore(without_prefix("ask_tell.", state))
        self._desk.begin()
        self._ended_s = self._began_s + elapsed_s if self.done else None
        self._settle(())

    def __repr__(self) -> str:
        state = f"stopped by {self.stopped_by}" if self.done else "open"
        made = counted(self._coordinator.counters.simulations, "simulation")
        return f"<AskTellSearch of {self.search.game.spec}, {state}: {made}>"

    @property
    def done(self) -> bool:
        """Whether the search is over: its budget is used up, or the result is proven."""
        return self._coordinator.finished

    @property
    def stopped_by(self) -> str | None:
        """Why the search is over: ``simulations``, ``memory`` or ``proven``; None before that."""
        return self._coordinator.stopped_by

    @property
    def elapsed_s(self) -> float:
        """Seconds from the opening of the search to its end or until now, with those of earlier parts."""
        return (self._clock() if self._ended_s is None else self._ended_s) - self._began_s

    def ask(self, n: int = 1, wait_s: float = 0.0) -> list[Leaf]:
        """Up to ``n`` leaves that nobody has been asked for, in the order of their numbers.

        Returns an empty list if the search is over, or if all leaves are out: others follow when some of
        these, above all the earliest, are answered. ``wait_s``: how many seconds to wait for a leaf.
        A leaf that got no answer within the deadline is returned again, with the same id.

        Raises InvalidInput (``n``, ``wait_s``).
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise InvalidInput("n", n, "a whole number from 1")
        if isinstance(wait_s, bool) or not isinstance(wait_s, int | float) or not wait_s >= 0:
            raise InvalidInput("wait_s", wait_s, "seconds, at least 0")
        until_s = self._clock() + wait_s
        with self._changed:
            while True:
                settled = self._settle(())
                now_s = self._clock()
                leaves = [] if self.done else self._desk.ask(n, now_s, self._deadline_s)
                if leaves or self.done or now_s >= until_s:
                    return leaves
                due_s = self._desk.next_due_s()
                wake_s = until_s if due_s is None else min(until_s, due_s)
                self._changed.wait(min(wake_s - now_s, threading.TIMEOUT_MAX) if settled else 0.0)

    def tell(self, id: str, value: float, policy: Policy | None = None) -> None:  # noqa: A002
        """Take the answer to the leaf with this id.

        ``value``: in [-1, 1] from the viewpoint of the player to move at the leaf (1: a certain win).
        ``policy``: probabilities of the legal moves, which need not add up to 1: by their text (moves that
        are left out have 0), or as an array in the order of ``leaf.legal``; None: all are equally likely.

        The same answer to the same leaf again, in the same form, changes nothing; nor does an answer after
        the end of the search. Raises InvalidInput (``id``, ``value``, ``policy``), also for another answer to
        a leaf that has one, and to a leaf of an earlier run whose number is another position in this one.
        Then nothing has changed, and the leaf can be handed out again at once.
        """
        with self._changed:
            self._settle(self._desk.tell(id, value, policy))
            self._changed.notify_all()

    def _settle(self, results: Iterable[JobResult]) -> bool:
        """Take results, and up to SETTLED simulations that follow; returns whether no more can follow."""
        counters = self._coordinator.counters
        most = counters.simulations + SETTLED
        settled = self._desk.settle(results, lambda: counters.simulations < most)
        if self.done and self._ended_s is None:
            self._ended_s = self._clock()
        return settled

    def result(self) -> SearchResult:
        """The result of the answers that are in the tree; ``stopped_by`` is ``cancelled`` before the end.

        ``playouts`` counts evaluations, ``jobs_retried`` leaves that were asked for again after the deadline.
        """
        with self._changed:
            answer = self._coordinator.result(self.elapsed_s, "external")
            return replace(answer, workers=0, jobs_retried=self._desk.asked_again)

    def state(self) -> Arrays:
        """The state of the search as arrays, from which an equal search can be continued.

        Answers that wait for their turn are kept. Leaves that are out will be handed out again, with the same
        ids.
        """
        with self._changed:
            return self._coordinator.state() | prefixed("ask_tell.", self._desk.state())


def open(  # noqa: A001
    request: SearchRequest,
    *,
    deadline_s: float = DEADLINE_S,
    clock: Callable[[], float] = time.monotonic,
    evaluations: str | PathLike[str] | None = None,
) -> AskTellSearch:
    """Open a search whose leaves are evaluated by the caller: a model server, a simulator, a laboratory.

    The request has ``strategy="leaf"`` and ``evaluator="external"``, and no budget in seconds. Leaves that
    get no answer within ``deadline_s`` seconds of ``clock`` are handed out again. ``evaluations``: a
    file that keeps answers; leaves that have one there are not handed out. The request's
    ``evaluator_version`` says whose answers they are. Raises InvalidInput.

    >>> import search
    >>> moves = ("a1", "b1", "a2", "b2")
    >>> asked = {"strategy": "leaf", "evaluator": "external", "simulations": 200}
    >>> opened = search.open(search.SearchRequest("tictactoe", moves=moves, **asked))
    >>> while not opened.done:
    ...     for leaf in opened.ask(8):
    ...         opened.tell(leaf.id, 0.0, {move: 2.0 if move == "a3" else 1.0 for move in leaf.legal})
    >>> opened.result().move, opened.result().simulations
    ('a3', 200)
    """
    return AskTellSearch(
        open_search(request, external=True), deadline_s=deadline_s, clock=clock, evaluations=evaluations
    )
