"""Threads of one process in one tree under one lock: tree parallelisation with a global mutex (Chaslot et al.
2008, section 3.3).

By the clock, where no search can be repeated anyway, strategy tree has them select and back up in any order
(`grow_together`). Strategy leaf has them select, play and back up by turns (`take_turns`), in an order that
does not depend on threads: job j is selected when exactly the results of jobs 0 to j - lanes are in the tree,
as `search.strategies.leaf` does with workers elsewhere. So statistics are equal, bit for bit, for any number
of threads. A job that takes microseconds costs no call of Python.

Compiled code alone calls these functions, in threads that run without Python's global lock.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import PLAYERS, determinize, is_terminal, returns
from games.jit import inner_njit
from games.rng import Stream
from games.rules import State
from search.kernel.backup import back_up
from search.kernel.expand import step_in, step_out
from search.kernel.loop import absorb_leaves, descend, play_out_leaves, select_leaves
from search.kernel.params import SearchParams
from search.kernel.playout import leaf_playout
from search.kernel.threads import MONOTONIC, Marks, load, lock, pause, seconds_by, store, stream_of, unlock
from search.kernel.workspace import LEFT, LOCK, NUMBER, PLAYOUTS, STOPPED, VALUE, Leaves, Workspace
from search.tree.arena import DRAWN, FULL, ROOT, UNPROVEN, Tree, proof

NEXT, ABSORBED, ENDED, READY = 8, 16, 24, 32
"""Places of a ring's marks beside LOCK, a cache line each: the next job; the number of
results in the tree; whether the search has ended; from READY on, for each slot, if its job was played."""


class Ring(NamedTuple):
    """Jobs in flight: job j is in slot j % lanes, which has as many rows as a job may have leaves."""

    leaves: Leaves
    """The leaves of a slot are in the first of its rows."""
    rows: npt.NDArray[np.int64]
    """[lanes] number of leaves in each slot."""
    sums: npt.NDArray[np.float64]
    """[lanes x rows of a slot x players] what playouts came to, as `play_out_leaves` writes it."""
    playouts: npt.NDArray[np.int64]
    """[lanes + 1] number of playouts of each slot; the last: of all results in the tree."""
    values: npt.NDArray[np.float64]
    """[lanes + 1] value of the best line of each slot, -inf without one; the last: of all results in the
    tree."""
    lines: npt.NDArray[np.int32]
    """[lanes + 1, max_plies + 2] those lines, each after its length; [lanes + 1, 2] where none are kept."""
    totals: npt.NDArray[np.float64]
    """[players] from three players on, each one's scores at the end, summed over the results in the tree."""
    marks: Marks
    """[READY + lanes] LOCK, NEXT, ABSORBED, ENDED, READY."""


class Stretch(NamedTuple):
    """Consecutive jobs, and what they need to know of the request."""

    first: int
    """The number of the first of them."""
    sizes: npt.NDArray[np.int64]
    """[jobs] simulations of each."""
    drain: bool
    """Whether the results of the last jobs are waited for: no job comes after them."""
    playouts_per_leaf: int
    stop_when_full: bool
    """Whether the search ends when the memory is used up."""
    lines: bool
    """Whether best lines are kept."""
    selecting: np.uint64
    """The streams of selections: what `stream_of` makes a job's stream from."""
    playing: np.uint64
    """The streams of playouts."""


@inner_njit
def part(leaves: Leaves, begin: int, end: int) -> Leaves:
    """These rows of a batch, as a batch that shares its arrays."""
    return Leaves(
        leaves.moves[begin:end],
        leaves.slots[begin:end],
        leaves.movers[begin:end],
        leaves.depths[begin:end],
        leaves.visits[begin:end],
        leaves.draws[begin:end],
        leaves.scores[begin:end],
    )


@inner_njit
def wait_for(marks: Marks, slot: int, job: int) -> None:
    """Wait until the job in the slot has been played, another thread begins ``job``, or the search ends."""
    looks = 0
    while load(marks, READY + slot) == 0 and load(marks, NEXT) == job and load(marks, ENDED) == 0:
        looks += 1
        pause(looks)


@inner_njit
def add_totals(totals: npt.NDArray[np.float64], sums: npt.NDArray[np.float64]) -> None:
    """Add up what the leaves of a job came to ([leaves x players]), player by player."""
    players = len(totals)
    for player in range(players):
        of_job = 0.0
        for at in range(player, len(sums), players):
            of_job += sums[at]
        totals[player] += of_job


@inner_njit
def take_outlook(ring: Ring, slot: int) -> None:
    """Add the playouts of the job in a slot to those in the tree, and keep its best line if it is better."""
    last = len(ring.rows)
    ring.playouts[last] += ring.playouts[slot]
    if ring.values[slot] > ring.values[last]:
        ring.values[last] = ring.values[slot]
        for k in range(ring.lines.shape[1]):
            ring.lines[last, k] = ring.lines[slot, k]


@inner_njit
def put_outlook(ring: Ring, slot: int, playouts: int, lines: bool, work: Workspace) -> None:
    """Keep with a job in its slot what it found beside the sums of its leaves."""
    ring.playouts[slot] = playouts
    ring.values[slot] = work.best[VALUE] if lines else -math.inf
    if ring.values[slot] > -math.inf:
        for k in range(1 + work.best_line[0]):
            ring.lines[slot, k] = work.best_line[k]


def take_turns(
    tree: Tree,
    params: SearchParams,
    root_state: State,
    ring: Ring,
    stretch: Stretch,
    work: Workspace,
    streams: npt.NDArray[np.uint64],
    number: int,
) -> int:
    """Generic: run jobs of a stretch, beside other threads that do the same, until none is left to begin.

    Tree and ring are common to all threads, ``work`` and ``streams`` ([2, 2]) are those of the thread with
    this ``number``, at least 1. Returns how many jobs it has played: all that it has selected.
    """
    marks = ring.marks
    lanes = len(ring.rows)
    slot_rows = len(ring.leaves.depths) // lanes
    players = len(work.ends)
    last = stretch.first + len(stretch.sizes)
    played = 0
    while True:
        lock(marks, LOCK, number)
        job = marks[NEXT]
        if marks[ENDED] != 0 or job >= last + (lanes if stretch.drain else 0):
            unlock(marks, LOCK)
            return played
        slot = job % lanes
        begin = slot * slot_rows
        if job >= lanes and marks[ABSORBED] <= job - lanes:
            if load(marks, READY + slot) == 0:
                unlock(marks, LOCK)
                wait_for(marks, slot, job)
                continue
            end = begin + ring.rows[slot]
            sums = ring.sums[begin * players : end * players]
            absorb_leaves(tree, params, part(ring.leaves, begin, end), sums, work)
            take_outlook(ring, slot)
            if PLAYERS > 2:
                add_totals(ring.totals, sums)
            store(marks, READY + slot, 0)
            marks[ABSORBED] += 1
            if proof(tree, ROOT) != UNPROVEN or (stretch.stop_when_full and tree.counts[FULL] != 0):
                store(marks, ENDED, 1)
                unlock(marks, LOCK)
                return played
        if job >= last:
            store(marks, NEXT, job + 1)
            unlock(marks, LOCK)
            continue
        left = stretch.sizes[job - stretch.first]
        end = begin
        while left > 0:
            ring.leaves.visits[end] = min(left, stretch.playouts_per_leaf)
            left -= stretch.playouts_per_leaf
            end += 1
        ring.rows[slot] = end - begin
        leaves = part(ring.leaves, begin, end)
        stream_of(streams[0], stretch.selecting, job)
        select_leaves(tree, params, root_state, leaves, np.int64(0), streams[0], work)
        store(marks, NEXT, job + 1)
        unlock(marks, LOCK)
        stream_of(streams[1], stretch.playing, job)
        sums = ring.sums[begin * players : end * players]
        moves, depths, visits, draws = leaves.moves, leaves.depths, leaves.visits, leaves.draws
        work.best[VALUE] = -math.inf
        before = work.tally[PLAYOUTS]
        play_out_leaves(root_state, params, moves, depths, visits, draws, sums, streams[1], work)
        put_outlook(ring, slot, work.tally[PLAYOUTS] - before, stretch.lines, work)
        store(marks, READY + slot, 1)
        played += 1


def grow_together(
    tree: Tree,
    params: SearchParams,
    root_state: State,
    deadline_s: float,
    work: Workspace,
    stream: Stream,
    clock: Marks,
    number: int,
) -> int:
    """Generic: grow the tree by simulations, beside other threads that do the same, until ``deadline_s`` of
    `time.monotonic`, or work.marks say that no more is to be begun, or the root is proven.

    Tree and work.marks are common to all threads; the other arguments are those of the thread with this
    ``number``, at least 1. ``clock`` ([2]) is scratch. Returns the simulations of this thread: one at least,
    if there is one to be begun. No thread has the lock while the rules find moves by force, or say what a
    leaf is worth. Meanwhile blocks of children may move: a path is known by its slots.
    """
    marks, place = work.marks, work.place
    place[NUMBER] = number
    made = 0
    while True:
        lock(marks, LOCK, number)
        if marks[LEFT] == 0 or load(marks, STOPPED) != 0 or proof(tree, ROOT) != UNPROVEN:
            break
        marks[LEFT] -= 1
        determinize(root_state, work.state, stream)
        work.nodes[0] = ROOT
        depth = descend(tree, params, np.int64(0), np.int64(1), work, stream)
        known = proof(tree, work.nodes[depth])
        if known != UNPROVEN:
            value = float(DRAWN - known)
        elif is_terminal(work.state):
            value = returns(work.state)
        else:
            step_out(tree, depth, work)
            value = leaf_playout(params, work, stream)
            step_in(tree, depth, work)
        back_up(tree, params, work, depth, value)
        unlock(marks, LOCK)
        made += 1
        if seconds_by(MONOTONIC, clock) >= deadline_s:
            place[NUMBER] = 0
            return made
    unlock(marks, LOCK)
    place[NUMBER] = 0
    return made
