"""Leaves that are evaluated by a network: from the paths that lead to them to values and priors.

The batch of a job follows from the request alone, so an evaluator sees equal batches whichever worker runs
the job. That matters because a network's answers differ in their last bits from one batch size to another.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from games.errors import PASSING, InvalidInput
from games.rules import State
from search.evaluator import FIELD, Evaluator, Places, reason_of, wait_for
from search.job import JobResult, LeafJob, Policies, Positions
from search.kernel.engine import Engine

_Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reached:
    """The positions of a job's B leaves; U of the unfinished ones are different."""

    states: npt.NDArray[Any]
    """[B, state length]: the leaves' states."""
    signs: npt.NDArray[np.float64]
    """[B]: 1 where the first player moves, -1 where the second does; of a finished game the first player's
    return."""
    counts: npt.NDArray[np.int32]
    """[B]: the number of legal moves, 0 in a finished game."""
    legal: npt.NDArray[np.uint16]
    """[B, max_moves]: the legal moves."""
    going: npt.NDArray[np.intp]
    """The leaves that are not finished games, in order."""
    first: npt.NDArray[np.intp]
    """[U]: the first leaf with each of the different unfinished states, in order."""
    place: npt.NDArray[np.intp]
    """For each leaf of ``going``: the place of its state in ``first``."""

    def legal_moves(self, leaf: int) -> npt.NDArray[np.uint16]:
        """[K]: the legal moves of a leaf."""
        return self.legal[leaf, : self.counts[leaf]]


def reach(engine: Engine, root_state: State, job: LeafJob) -> Reached:
    """The positions to which the paths of a job lead from the root."""
    positions, states, legal = positions_of(engine, root_state, job.moves, job.depths)
    counts = positions.counts
    signs = np.where(counts > 0, 1.0 - 2.0 * positions.movers, positions.scores)
    going = np.flatnonzero(counts)
    first, place = _distinct(states[going])
    return Reached(states, signs, counts, legal, going, going[first], place)


def positions_of(
    engine: Engine, root_state: State, moves: npt.NDArray[np.uint16], depths: npt.NDArray[np.int32]
) -> tuple[Positions, npt.NDArray[Any], npt.NDArray[np.uint16]]:
    """What the rules say of the positions to which the first depths[b] of moves[b] lead from the root, with
    `Reached.states` and `Reached.legal`."""
    size, max_moves = len(depths), engine.game.max_moves
    states = np.zeros((size, len(root_state)), dtype=root_state.dtype)
    movers, scores, counts = np.zeros(size, np.uint8), np.zeros(size), np.zeros(size, np.int32)
    legal, scratch = np.zeros((size, max_moves), np.uint16), np.zeros(max_moves, np.uint16)
    # Arrays that came over the network may be read-only, which is another type to a compiled kernel.
    moves, depths = np.array(moves), np.array(depths)
    engine.reach_leaves(root_state.copy(), moves, depths, states, movers, scores, counts, legal, scratch)
    listed = legal[np.arange(max_moves) < counts[:, None]]
    return Positions(movers, scores, counts, listed), states, legal


def evaluate_job(
    engine: Engine, evaluator: Evaluator, temperature: float, root_state: State, job: LeafJob
) -> JobResult:
    """A job's result, without its duration.

    Finished games count their return. Equal states are evaluated once. Raises InvalidInput (field
    ``evaluator``) if an answer has a wrong shape or values out of range.
    """
    reached = reach(engine, root_state, job)
    if not len(reached.first):
        return outcome_of(reached, job, np.zeros(0), [])
    answers = answer_of(evaluator, reached.states[reached.first])
    return _evaluated(evaluator, temperature, reached, job, answers)


async def await_job(
    evaluator: Evaluator, temperature: float, reached: Reached, job: LeafJob, places: Places
) -> JobResult:
    """What `evaluate_job` returns, of an evaluator with ``async def evaluate``.

    ``reached``: the job's positions, U of them different; U of ``places`` are held while the answer is
    awaited. Raises InvalidInput as `evaluate_job` does.
    """
    if not len(reached.first):
        return outcome_of(reached, job, np.zeros(0), [])
    states = reached.states[reached.first]
    async with places.held(len(states)):
        try:
            with _errors_refused(evaluator):
                answer: Any = await evaluator.evaluate(states)  # type: ignore[misc]
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Not this job was cancelled, but what it awaits.
            raise _refused(evaluator, "evaluate(states) that runs (CancelledError)") from None
    with np.errstate(over="ignore"):
        return _evaluated(evaluator, temperature, reached, job, _checked(evaluator, len(states), answer))


def _evaluated(
    evaluator: Evaluator,
    temperature: float,
    reached: Reached,
    job: LeafJob,
    answers: tuple[_Numbers, _Numbers],
) -> JobResult:
    """What `evaluate_job` returns, from the values [U] and policies [U, M]."""
    said, policies = answers
    priors = []
    for leaf, row in zip(reached.first, policies, strict=True):
        priors.append(priors_of(evaluator, row, reached.legal_moves(leaf), temperature))
    return outcome_of(reached, job, said, priors)


def outcome_of(
    reached: Reached, job: LeafJob, said: _Numbers, priors: Sequence[npt.NDArray[np.float32]]
) -> JobResult:
    """A job's result from the answers to its U positions.

    ``said`` [U]: values in [-1, 1] of the player to move; ``priors``: of the legal moves, by position.
    """
    values = reached.signs.copy()
    values[reached.going] *= said[reached.place]
    listed = np.arange(reached.legal.shape[1]) < reached.counts[:, None]
    joined = np.concatenate([np.empty(0, dtype=np.float32), *(priors[row] for row in reached.place)])
    policies = Policies(reached.counts, reached.legal[listed], joined)
    sums, evaluated = values * job.visits, len(reached.first)
    return JobResult(job.index, job.simulations, sums=sums, playouts=evaluated, policies=policies)


def answer_of(evaluator: Evaluator, states: npt.NDArray[Any]) -> tuple[_Numbers, _Numbers]:
    """Values [B] and policies [B, M] of the states, as float64. Raises InvalidInput (field ``evaluator``),
    but does not check the numbers of policies: `priors_of` does."""
    with _errors_refused(evaluator):
        answer: Any = evaluator.evaluate(states)
        if inspect.isawaitable(answer):
            answer = wait_for(answer)
    return _checked(evaluator, len(states), answer)


@contextmanager
def _errors_refused(evaluator: Evaluator) -> Iterator[None]:
    """Turn errors of ``evaluate`` into InvalidInput (field ``evaluator``)."""
    try:
        yield
    except (InvalidInput, asyncio.CancelledError, *PASSING):
        raise
    except BaseException as error:
        raise _refused(evaluator, f"evaluate(states) that runs ({reason_of(error, evaluator)})") from error


def _checked(evaluator: Evaluator, size: int, answer: Any) -> tuple[_Numbers, _Numbers]:
    """The answer for ``size`` states as values and policies; raises InvalidInput as `answer_of` does."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise _refused(
            evaluator, f"evaluate(states) to return (values, policies), not {type(answer).__name__}"
        )
    values = _numbers(evaluator, "values", answer[0])
    policies = _numbers(evaluator, "policies", answer[1])
    if values.shape not in ((size,), (size, 1)):
        raise _refused(evaluator, f"values of shape ({size},) for {size} states, not {values.shape}")
    if policies.ndim != 2 or len(policies) != size:
        raise _refused(
            evaluator, f"policies of shape ({size}, moves) for {size} states, not {policies.shape}"
        )
    values = values.reshape(size)
    sound = np.abs(values) <= 1.0
    if not sound.all():
        raise _refused(evaluator, f"values from -1 to 1, not {values[~sound][0]:g}")
    return values, policies


def priors_of(
    evaluator: Evaluator, policy: _Numbers, legal: npt.NDArray[np.uint16], temperature: float
) -> npt.NDArray[np.float32]:
    """Priors [K] of the ``legal`` moves ([K]) of a position by its ``policy`` ([M]); they add up to 1.

    Raises InvalidInput (field ``evaluator``).
    """
    highest = int(legal.max())
    if highest >= len(policy):
        raise _refused(
            evaluator, f"policies with a number for move code {highest}, not of {len(policy)} moves"
        )
    said = policy[legal]
    if evaluator.policy == "logits":
        # Minus infinity is a prior of 0; not so if every move has it.
        if np.isnan(said).any() or not np.isfinite(said.max()):
            unsound = said[~np.isfinite(said)][0]
            raise _refused(evaluator, f"logits of legal moves that are numbers, not {unsound:g}")
    elif not (np.isfinite(said) & (said >= 0.0)).all() or said.sum() <= 0.0:
        raise _refused(
            evaluator,
            "probabilities of legal moves of at least 0, and not all 0 "
            f"(found: {said.min():g} to {said.max():g})",
        )
    else:
        return of_probabilities(said, temperature)
    return _of_logits(said, temperature)


def of_probabilities(probabilities: _Numbers, temperature: float) -> npt.NDArray[np.float32]:
    """Priors [K], which add up to 1: ``probabilities`` [K] to the power 1 / ``temperature``, scaled. The
    probabilities are at least 0 and not all 0, but need not add up to 1."""
    with np.errstate(divide="ignore"):
        return _of_logits(np.log(probabilities), temperature)


def _of_logits(logits: _Numbers, temperature: float) -> npt.NDArray[np.float32]:
    shares = np.exp((logits - logits.max()) / temperature)
    priors: npt.NDArray[np.float32] = (shares / shares.sum()).astype(np.float32)
    return priors


def _distinct(states: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Indices [U] of the first of equal rows, in order, and for each row the place [B] of its own in them."""
    seen: dict[bytes, int] = {}
    place = np.array([seen.setdefault(state.tobytes(), len(seen)) for state in states], dtype=np.intp)
    return np.unique(place, return_index=True)[1], place


def _numbers(evaluator: Evaluator, name: str, part: Any) -> _Numbers:
    try:
        return np.asarray(part, dtype=np.float64)
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise _refused(evaluator, f"{name} that NumPy makes an array of numbers of ({reason})") from None


def _refused(evaluator: Evaluator, accepted: str) -> InvalidInput:
    return InvalidInput(FIELD, evaluator.spec, accepted)
