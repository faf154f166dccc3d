"""Leaves that are evaluated by a network: from the ways to them to values and priors.

A job's batch is made by the request alone, so an evaluator sees the same arrays in one batch
whichever worker runs the job. That matters: networks compute other last bits in other batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from games.errors import InvalidInput
from games.rules import Moves, State
from games.unbound import current_player, is_terminal, legal_moves, play, returns
from search.evaluator import FIELD, Evaluator, reason_of
from search.job import LeafJob, Policies

if TYPE_CHECKING:
    from search.engine import Engine

_Numbers = npt.NDArray[np.float64]


def reach_leaves(
    root_state: State,
    moves: npt.NDArray[np.uint16],
    depths: npt.NDArray[np.int32],
    states: npt.NDArray[Any],
    signs: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int32],
    legal: npt.NDArray[np.uint16],
    scratch: Moves,
) -> None:
    """Generic: play the first depths[b] of moves[b] from the root, for each b; all that follows is written.

    ``states`` [B, state length]; ``signs`` [B]: 1 where the first player moves, -1 where the second does, and
    for a finished game the first player's return; ``counts`` [B]: how many legal moves there are, 0 in a
    finished game; ``legal`` [B, max_moves]: these moves.
    """
    for b in range(len(depths)):
        state = states[b]
        for i in range(len(root_state)):
            state[i] = root_state[i]
        for d in range(depths[b]):
            play(state, np.int64(moves[b, d]))
        counts[b] = 0
        if is_terminal(state):
            signs[b] = returns(state)
            continue
        signs[b] = 1.0 - 2.0 * current_player(state)
        counts[b] = legal_moves(state, scratch)
        for k in range(counts[b]):
            legal[b, k] = scratch[k]


def evaluate_job(
    engine: Engine, evaluator: Evaluator, temperature: float, root_state: State, job: LeafJob
) -> tuple[npt.NDArray[np.float64], Policies, int]:
    """A job's sums ([B], the first player's viewpoint), policies, and how many states were evaluated.

    Finished games count their return. States that are alike are evaluated once. Raises InvalidInput
    (field ``evaluator``) if what the evaluator says makes no sense.
    """
    size = len(job.depths)
    states = np.zeros((size, len(root_state)), dtype=root_state.dtype)
    signs, counts = np.zeros(size), np.zeros(size, dtype=np.int32)
    legal = np.zeros((size, engine.game.max_moves), dtype=np.uint16)
    scratch = np.zeros(engine.game.max_moves, dtype=np.uint16)
    # Arrays that came over the network may be read-only, which is another type to a compiled kernel.
    moves, depths = np.array(job.moves), np.array(job.depths)
    engine.reach_leaves(root_state.copy(), moves, depths, states, signs, counts, legal, scratch)
    values = signs.copy()
    going = np.flatnonzero(counts)
    priors: list[npt.NDArray[np.float32]] = []
    evaluated = 0
    if len(going):
        first, place = _distinct(states[going])
        evaluated = len(first)
        said, policies = asked(evaluator, states[going[first]])
        values[going] *= said[place]
        for b, row in zip(going, place, strict=True):
            priors.append(priors_of(evaluator, policies[row], legal[b, : counts[b]], temperature))
    listed = np.arange(legal.shape[1]) < counts[:, None]
    joined = np.concatenate([np.empty(0, dtype=np.float32), *priors])
    return values * job.visits, Policies(counts, legal[listed], joined), evaluated


def asked(evaluator: Evaluator, states: npt.NDArray[Any]) -> tuple[_Numbers, _Numbers]:
    """Values [B] and policies [B, M] of the states; of the policies the numbers are not looked at."""
    size = len(states)
    try:
        answer = evaluator.evaluate(states)
    except InvalidInput:
        raise
    except Exception as error:
        raise _refused(evaluator, f"evaluate(states) that runs ({reason_of(error, evaluator)})") from error
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
    """[K] what the policy ([M]) of one position gives to its ``legal`` moves ([K]): positive, 1 in all.

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
            raise _refused(evaluator, f"logits of legal moves that are numbers, not {_first_unsound(said):g}")
    elif not (np.isfinite(said) & (said >= 0.0)).all() or said.sum() <= 0.0:
        raise _refused(
            evaluator,
            "probabilities of legal moves of at least 0, and not all 0 "
            f"(found: {said.min():g} to {said.max():g})",
        )
    else:
        with np.errstate(divide="ignore"):
            said = np.log(said)
    shares = np.exp((said - said.max()) / temperature)
    priors: npt.NDArray[np.float32] = (shares / shares.sum()).astype(np.float32)
    return priors


def _distinct(states: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """([U] where each distinct row stands first, [B] which of them each row is), in the order of rows."""
    seen: dict[bytes, int] = {}
    place = np.array([seen.setdefault(state.tobytes(), len(seen)) for state in states], dtype=np.intp)
    return np.unique(place, return_index=True)[1], place


def _numbers(evaluator: Evaluator, name: str, part: Any) -> _Numbers:
    try:
        return np.asarray(part, dtype=np.float64)
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise _refused(evaluator, f"{name} that NumPy makes an array of numbers of ({reason})") from None


def _first_unsound(said: _Numbers) -> float:
    unsound = said[~np.isfinite(said)]
    return float(unsound[0])


def _refused(evaluator: Evaluator, accepted: str) -> InvalidInput:
    return InvalidInput(FIELD, evaluator.spec, accepted)
