"""Rules over positions that are known already, for a coordinator whose game is not compiled.

Selection asks the rules of a game who moves at a node, which moves are legal, and whether the game is over.
In a game in plain Python these questions cost more than the selection itself, and the loop that asks them is
not compiled. The workers answer them for each leaf, with its result; here the answers are kept, and read by
compiled functions with the names of the rules. A position that is not kept is *asked for*: the descent ends
at it, with nothing changed, the caller adds it with `remember` and selects again.

A position is an entry, which its parent's list of legal moves leads to; entry 0 is the root. The entries are
a cache: what is lost is asked for again, and no answer depends on it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from games.compile.specialise import cached_njit
from games.game import Game
from games.jit import Int, inner_njit, njit
from games.rng import Stream
from games.rules import Moves, Rules

HERE, ASKED, ENTRIES, LISTED = 0, 1, 2, 3
"""Places in `Known.counts`: the entry of the position that a descent has reached, or UNKNOWN; 1 once a
position without an entry was asked for; the number of entries, and of their legal moves."""
UNKNOWN = -1
FIRST_ENTRIES = 1_024
MOST_BYTES = 128 * 2**20
"""Limit of the memory for entries; beyond it they are all forgotten."""


class Known(NamedTuple):
    """Up to E known positions with L legal moves together, in the place of a state; see the module."""

    counts: npt.NDArray[np.int64]
    """[4] HERE, ASKED, ENTRIES, LISTED."""
    movers: npt.NDArray[np.uint8]
    """[E] who moves there."""
    scores: npt.NDArray[np.float64]
    """[E] the first player's return in a finished game; with rewards also the score so far in any other
    position: the first player's, or from three players on that of who moves."""
    num_legal: npt.NDArray[np.int32]
    """[E] the number of legal moves; 0 if the game is over."""
    first_legal: npt.NDArray[np.int64]
    """[E] the place of the first of them in ``legal``."""
    legal: npt.NDArray[np.uint16]
    """[L] the legal moves of all entries, in the order of the game's rules."""
    after: npt.NDArray[np.int32]
    """[L] the entry after each of these moves, or UNKNOWN."""


def new_known(entries: int = FIRST_ENTRIES, legal: int = 8 * FIRST_ENTRIES) -> Known:
    """No known positions, and room for that many, with that many legal moves together."""
    return Known(
        counts=np.array([UNKNOWN, 0, 0, 0], dtype=np.int64),
        movers=np.zeros(entries, dtype=np.uint8),
        scores=np.zeros(entries),
        num_legal=np.zeros(entries, dtype=np.int32),
        first_legal=np.zeros(entries, dtype=np.int64),
        legal=np.zeros(legal, dtype=np.uint16),
        after=np.full(legal, UNKNOWN, dtype=np.int32),
    )


def with_room(known: Known, entries: int, legal: int) -> Known:
    """The known positions with room for ``entries`` more, and ``legal`` more legal moves; without any
    position where they would take more than MOST_BYTES."""
    count, listed = int(known.counts[ENTRIES]), int(known.counts[LISTED])
    fits = count + entries <= len(known.movers) and listed + legal <= len(known.legal)
    if fits:
        return known
    larger = new_known(
        max(len(known.movers), 2 * (count + entries)), max(len(known.legal), 2 * (listed + legal))
    )
    if sum(column.nbytes for column in larger) > MOST_BYTES:
        return new_known(max(FIRST_ENTRIES, 2 * entries), max(8 * FIRST_ENTRIES, 2 * legal))
    for name, column in known._asdict().items():
        getattr(larger, name)[: len(column)] = column
    return larger


@inner_njit
def _place_of(known: Known, entry: Int, move: Int) -> int:
    """Where ``legal`` has a legal move of an entry; UNKNOWN if it is none."""
    first = np.int64(known.first_legal[entry])
    for place in range(first, first + np.int64(known.num_legal[entry])):
        if known.legal[place] == move:
            return place
    return UNKNOWN


@cached_njit
def remember(
    known: Known,
    moves: npt.NDArray[np.uint16],
    depths: npt.NDArray[np.int32],
    movers: npt.NDArray[np.uint8],
    scores: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int32],
    legal: npt.NDArray[np.uint16],
) -> None:
    """Add the positions to which the first depths[b] of moves[b] lead, for each b.

    ``movers``, ``scores`` and ``counts`` ([B]) are their `Known.movers`, `Known.scores` and
    `Known.num_legal`, ``legal`` their legal moves, one position after the other. A position whose parent is
    not known is left out; one that is known already is left as it is. There must be room (`with_room`)."""
    start = 0
    for b in range(len(depths)):
        end = start + counts[b]
        place: Int = UNKNOWN
        entry: Int = 0 if known.counts[ENTRIES] > 0 else UNKNOWN
        for d in range(depths[b]):
            place = _place_of(known, entry, np.int64(moves[b, d])) if entry != UNKNOWN else UNKNOWN
            entry = np.int64(known.after[place]) if place != UNKNOWN else UNKNOWN
        if entry == UNKNOWN and (place != UNKNOWN or depths[b] == 0):
            entry, first = known.counts[ENTRIES], known.counts[LISTED]
            known.counts[ENTRIES] = entry + 1
            known.counts[LISTED] = first + counts[b]
            if place != UNKNOWN:
                known.after[place] = entry
            known.movers[entry] = movers[b]
            known.scores[entry] = scores[b]
            known.num_legal[entry] = counts[b]
            known.first_legal[entry] = first
            for k in range(counts[b]):
                known.legal[first + k] = legal[start + k]
                known.after[first + k] = UNKNOWN
        start = end


@njit
def go_to_root(view: Known, state: Known, stream: Stream) -> None:
    """`Rules.determinize`: makes the root the position that is asked about, and forgets what was asked for.

    ``state`` is modified in place; nothing is drawn.
    """
    state.counts[HERE] = 0 if state.counts[ENTRIES] > 0 else UNKNOWN
    state.counts[ASKED] = 0


@inner_njit
def is_missing(state: Any) -> bool:
    """Whether the descent has ended at a position without an entry."""
    return state.counts[ASKED] != 0  # type: ignore[no-any-return]


@njit
def _current_player(state: Known) -> int:
    return np.int64(state.movers[state.counts[HERE]])  # type: ignore[return-value]


@njit
def _legal_moves(state: Known, moves: Moves) -> int:
    here = state.counts[HERE]
    first = state.first_legal[here]
    for k in range(state.num_legal[here]):
        moves[k] = state.legal[first + k]
    return np.int64(state.num_legal[here])  # type: ignore[return-value]


@njit
def _play(state: Known, move: Int) -> None:
    place = _place_of(state, state.counts[HERE], move)
    state.counts[HERE] = state.after[place] if place != UNKNOWN else UNKNOWN


@njit
def _is_terminal(state: Known) -> bool:
    """Without an entry True, which ends a descent."""
    here = state.counts[HERE]
    if here == UNKNOWN:
        state.counts[ASKED] = 1
        return True
    return state.num_legal[here] == 0  # type: ignore[no-any-return]


@njit
def _returns(state: Known) -> float:
    """Without an entry no number, which proves nothing (`search.kernel.backup.note_result`)."""
    here = state.counts[HERE]
    return np.nan if here == UNKNOWN else state.scores[here]


@njit
def _score(state: Known, player: int) -> float:
    """That of who moves, the only one that is asked for."""
    return state.scores[state.counts[HERE]]  # type: ignore[no-any-return]


class KnownGame:
    """The rules of any game, over positions that are known; for `games.compile.specialise`."""

    name = "known"
    # The rules of a game are those of arrays; kernels are compiled for what they are called with.
    rules = Rules(_current_player, _legal_moves, _play, _is_terminal, _returns, score=_score)  # type: ignore[arg-type]

    def __init__(self, game: Game) -> None:
        """With the form of ``game``, on which kernels depend."""
        self.num_players, self.rewards, self.discount = game.num_players, game.rewards, game.discount
        self.has_lines, self.is_two_player = game.has_lines, game.is_two_player
