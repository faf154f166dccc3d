"""A leaf that is handed out, and the answer to it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from games.errors import InvalidInput
from games.game import Game
from search.kernel.evaluation import of_probabilities
from search.packing.arrays import Arrays, joined, parts_of, require, take, within
from search.tree.arena import MAX_CHILDREN

Policy = Mapping[str, float] | Sequence[float] | npt.NDArray[Any]
"""Probabilities of the legal moves of a leaf: by their text, or in the order of `Leaf.legal`."""
_SHOWN = 12


@dataclass(frozen=True, eq=False)
class Leaf:
    """An unfinished position that waits for its evaluation."""

    id: str
    """`number` and a hash of game and position, such as ``17-9f86d081884c7d65``: an answer to it is taken
    for this position only, also where a search goes on from an earlier state and numbers are used again."""
    number: int
    """The number of the simulation that selected it, 0 for the searched position itself. The same request
    with the same answers gives the same numbers to the same leaves."""
    state: npt.NDArray[Any]
    """[state length]: the game's state array, read-only."""
    moves: tuple[str, ...]
    """The moves from the searched position to the leaf, in the game's notation."""
    legal: tuple[str, ...]
    """The K legal moves in the game's notation, in the game's own order."""
    codes: npt.NDArray[np.uint16]
    """[K]: the codes of ``legal``, read-only."""
    player: int
    """Who moves: 0 for the first player, 1 for the second. The value of the leaf is from this player's
    viewpoint."""
    game: Game = field(repr=False)

    @property
    def position(self) -> str:
        """The position as one line of text, which the game's `parse_position` and `--position` accept."""
        return self.game.format_position(self.state)


class Answer(NamedTuple):
    """What a leaf is worth."""

    value: float
    """In [-1, 1], from the viewpoint of the player to move."""
    priors: npt.NDArray[np.float32]
    """[K]: the priors of the legal moves, which add up to 1."""


def aligned(answer: Answer, codes: npt.NDArray[np.uint16], legal: npt.NDArray[np.uint16]) -> Answer:
    """The answer whose priors are of the moves ``codes`` [K], in that order, with priors in the order of
    ``legal`` [K]: the same moves."""
    priors = np.empty_like(answer.priors)
    priors[np.argsort(legal)] = answer.priors[np.argsort(codes)]
    return Answer(answer.value, priors)


def leaf_of(
    game: Game,
    number: int,
    root_state: npt.NDArray[Any],
    path: npt.NDArray[np.uint16],
    codes: npt.NDArray[np.uint16],
) -> Leaf:
    """The leaf to which the moves of ``path`` lead; ``codes`` [K] are its legal moves."""
    state, moves = root_state.copy(), []
    for move in path:
        moves.append(game.format_move(state, int(move)))
        game.calls.play(state, int(move))
    legal = tuple(game.format_move(state, int(code)) for code in codes)
    codes = codes.copy()
    state.flags.writeable = codes.flags.writeable = False
    player = int(game.calls.current_player(state.copy()))
    place = hashlib.blake2b(
        game.spec.encode(errors="surrogateescape") + b"\0" + state.tobytes(), digest_size=8
    ).hexdigest()
    return Leaf(f"{number}-{place}", number, state, tuple(moves), legal, codes, player, game)


def number_of(leaf_id: object) -> int:
    """The number of the leaf with this id; -1 for what is no id."""
    found = re.fullmatch(r"([0-9]{1,15})-[0-9a-f]{16}", leaf_id) if isinstance(leaf_id, str) else None
    return -1 if found is None else int(found[1])


def answer_of(leaf: Leaf, value: float, policy: Policy | None, temperature: float) -> Answer:
    """The checked answer; priors are the policy to the power 1 / ``temperature``, scaled to add up to 1.

    Raises InvalidInput (``value``, ``policy``).
    """
    number = _number(value)
    if number is None or not -1.0 <= number <= 1.0:
        raise InvalidInput("value", value, "a number from -1 to 1, from the viewpoint of the player to move")
    # No minus zero, which would be another answer than zero.
    return Answer(number + 0.0, of_probabilities(_probabilities(leaf, policy), temperature))


def fingerprint_of(leaf_id: str, value: float, policy: Policy | None) -> int:
    """A hash of an answer as it was given, 64 bits and never 0; 0 for what is no answer.

    The id stands for the leaf. A policy by texts has another hash than the same policy as an array.
    """
    if policy is not None and not isinstance(policy, Mapping | Sequence | np.ndarray):
        return 0
    given = [value, *(policy.values() if isinstance(policy, Mapping) else () if policy is None else policy)]
    numbers = [_number(each) for each in given]
    if None in numbers:
        return 0
    found: object = policy is not None and numbers[1:]
    if isinstance(policy, Mapping):
        found = sorted(item for item in zip(map(str, policy), numbers[1:], strict=True) if item[1])
    # No minus zero, which is no other answer than zero.
    sha = hashlib.blake2b(repr((leaf_id, numbers[0] or 0.0, found)).encode(), digest_size=8)
    return int.from_bytes(sha.digest(), "little") or 1


def _probabilities(leaf: Leaf, policy: Policy | None) -> npt.NDArray[np.float64]:
    """[K] the probabilities of the legal moves as they are given, not all 0. Raises InvalidInput."""
    size = len(leaf.legal)
    if policy is None:
        return np.ones(size)
    if isinstance(policy, Mapping):
        unknown = policy.keys() - leaf.legal
        if unknown:
            shown = ", ".join(leaf.legal[:_SHOWN]) + (", ..." if size > _SHOWN else "")
            first = next(move for move in policy if move in unknown)
            raise InvalidInput("policy", first, f"legal moves of leaf {leaf.id}: {shown}")
        policy = [policy.get(move, 0.0) for move in leaf.legal]
    accepted = f"a probability for each legal move of leaf {leaf.id}, by its text, or {size} numbers in order"
    if isinstance(policy, str | bytes) or not isinstance(policy, Sequence | np.ndarray):
        raise InvalidInput("policy", policy, accepted)
    if len(policy) != size or (isinstance(policy, np.ndarray) and policy.ndim != 1):
        raise InvalidInput("policy", policy, accepted)
    numbers = [_number(each) for each in policy]
    for given, number in zip(policy, numbers, strict=True):
        if number is None or not 0.0 <= number < np.inf:
            raise InvalidInput("policy", given, "probabilities of at least 0 (they need not add up to 1)")
    found = np.array(numbers, dtype=np.float64)
    if not 0.0 < found.sum() < np.inf:
        raise InvalidInput("policy", float(found.sum()), "probabilities that are not all 0")
    return found


def _number(value: object) -> float | None:
    """The value as a float; None unless it is a real number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def pack_answers(answers: Mapping[int, Answer]) -> Arrays:
    """K answers, by number of the leaf, as arrays: ``ids`` [K], these numbers; ``values`` [K]; ``sizes`` [K],
    the number of priors of each; ``priors`` [sum of sizes]."""
    priors = [answer.priors for answer in answers.values()]
    return {
        "ids": np.array([*answers], dtype=np.int64),
        "values": np.array([answer.value for answer in answers.values()], dtype=np.float64),
        "sizes": np.array([len(each) for each in priors], dtype=np.int32),
        "priors": joined(priors, np.float32),
    }


def unpack_answers(arrays: Arrays) -> dict[int, Answer]:
    """The answers that were packed, by number of the leaf; raises CorruptState for values or priors out of
    range."""
    numbers = take(arrays, "ids", np.int64, None)
    values = take(arrays, "values", np.float64, len(numbers))
    sizes = take(arrays, "sizes", np.int32, len(numbers))
    within(sizes, 1, MAX_CHILDREN, "sizes")
    priors = take(arrays, "priors", np.float32, int(sizes.sum()))
    require((np.abs(values) <= 1.0).all(), "values are not from -1 to 1")
    require(((priors >= 0.0) & (priors <= 1.0)).all(), "priors are not from 0 to 1")
    answers = map(Answer, values.tolist(), parts_of(priors, sizes))
    return dict(zip(numbers.tolist(), answers, strict=True))
