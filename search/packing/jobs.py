"""Jobs in flight and results that wait for their turn as arrays, to be kept in a checkpoint."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from search.job import Job, JobResult, LeafJob, Outlook, Policies
from search.kernel.params import CHANCE_CODE
from search.kernel.workspace import Leaves
from search.packing.arrays import (
    Arrays,
    joined,
    parts_of,
    prefixed,
    require,
    take,
    within,
    without_prefix,
)
from search.packing.tree import pack_snapshots, unpack_snapshots
from search.request import MAX_PLIES
from search.tree.arena import COUNT_MASK, MAX_CHILDREN, ROOT, Tree
from search.tree.merge import Statistics


def pack_outlooks(outlooks: Sequence[Outlook]) -> Arrays:
    """``lengths`` [K] of lines, ``lines`` joined, ``values`` [K] of them, ``totals`` of players joined."""
    lines = [np.array(outlook.line, dtype=np.uint16) for outlook in outlooks]
    return {
        "lengths": np.array([len(line) for line in lines], dtype=np.int64),
        "lines": joined(lines, np.uint16),
        "values": np.array([outlook.value for outlook in outlooks], dtype=np.float64),
        "totals": joined((np.array(outlook.totals) for outlook in outlooks), np.float64),
    }


def unpack_outlooks(arrays: Arrays, count: int, players: int) -> list[Outlook]:
    """The ``count`` outlooks that were packed, with totals of so many players; raises CorruptState."""
    lengths = take(arrays, "lengths", np.int64, count)
    within(lengths, 0, MAX_PLIES, "lengths")
    lines = take(arrays, "lines", np.uint16, int(lengths.sum()))
    values = take(arrays, "values", np.float64, count)
    totals = take(arrays, "totals", np.float64, count * players)
    require(np.isfinite(totals).all(), "totals are no numbers")
    require((values < math.inf).all(), "values are no numbers")
    each = zip(parts_of(lines, lengths), values.tolist(), totals.reshape(count, players), strict=True)
    return [Outlook(tuple(line.tolist()), value, tuple(scores.tolist())) for line, value, scores in each]


_PATHS = {"moves": np.uint16, "slots": np.uint16, "movers": np.uint8}
_SCORED_PATHS = _PATHS | {"scores": np.float64}


def pack_leaves(batches: Sequence[Leaves]) -> Arrays:
    """``depths`` and ``draws`` of all leaves, joined, and ``moves``, ``slots``, ``movers`` of their paths,
    with rewards also ``scores``."""
    arrays: Arrays = {
        "depths": joined((batch.depths for batch in batches), np.int32),
        "draws": np.concatenate([np.empty((0, 2), dtype=np.uint64), *(batch.draws for batch in batches)]),
    }
    for name, dtype in _paths_of(batches).items():
        arrays[name] = joined((getattr(batch, name)[_taken(batch)] for batch in batches), dtype)
    return arrays


def unpack_leaves(batches: Sequence[Leaves], arrays: Arrays, tree: Tree, players: int) -> None:
    """Fill these batches, whose visits are set, with the leaves that were packed, of a game of so many
    players.

    Raises CorruptState unless each path leads from node to node of the tree, and the tree has the visits of
    all leaves in flight.
    """
    leaves = sum(len(batch.visits) for batch in batches)
    depths = take(arrays, "depths", np.int32, leaves)
    draws = take(arrays, "draws", np.uint64, leaves, 2)
    longest = batches[0].moves.shape[1] - 1 if batches else 0
    within(depths, 0, longest, "depths")
    kept = _paths_of(batches).items()
    paths = {name: take(arrays, name, dtype, int(depths.sum())) for name, dtype in kept}
    known = (paths["movers"] < players) | (paths["movers"] == CHANCE_CODE)
    require(known.all(), "movers are no players")
    require(np.isfinite(paths.get("scores", 0.0)).all(), "scores are no numbers")
    leaf = step = 0
    for batch in batches:
        size = len(batch.visits)
        batch.depths[:] = depths[leaf : leaf + size]
        batch.draws[:] = draws[leaf : leaf + size]
        steps = int(batch.depths.sum())
        for name, path in paths.items():
            getattr(batch, name)[_taken(batch)] = path[step : step + steps]
        leaf, step = leaf + size, step + steps
        _walk(batch, tree)
    in_flight = sum(int(batch.visits.sum()) for batch in batches)
    require(in_flight == tree.unobserved[ROOT], "visits in flight are not those of the tree")


def _paths_of(batches: Sequence[Leaves]) -> dict[str, type[Any]]:
    scored = bool(batches) and batches[0].scores.shape == batches[0].moves.shape
    return _SCORED_PATHS if scored else _PATHS


def _taken(batch: Leaves) -> npt.NDArray[np.bool_]:
    """[B, max_plies + 1] which entries of the batch belong to its paths."""
    taken: npt.NDArray[np.bool_] = np.arange(batch.moves.shape[1]) < batch.depths[:, None]
    return taken


def _walk(batch: Leaves, tree: Tree) -> None:
    """Follow all paths of the batch, one ply at a time; raises CorruptState where one leaves the tree."""
    node = np.full(len(batch.depths), ROOT, dtype=np.int64)
    for step in range(int(batch.depths.max(initial=0))):
        going = batch.depths > step
        slots = batch.slots[going, step]
        known = slots < (tree.shape[node[going]] & COUNT_MASK)
        require(known.all(), "a path to a leaf leaves the tree")
        node[going] = tree.children[node[going]] + slots.astype(np.int64)
        agree = tree.move[node[going]] == batch.moves[going, step]
        require(agree.all(), "a path to a leaf has other moves")


_NUMBERS = ("index", "simulations", "playouts", "tree_nodes", "tree_bytes", "tree_full")


def pack_results(results: Sequence[JobResult], like: Statistics) -> Arrays:
    """``numbers`` [K, 6], ``durations_s`` [K], ``sums`` of leaf jobs joined, and increments as snapshots."""
    numbers = [[int(getattr(result, name)) for name in _NUMBERS] for result in results]
    added = [result.added for result in results if result.added is not None]
    sums = [result.sums for result in results if result.sums is not None]
    outlooks = [result.outlook for result in results if result.outlook is not None]
    return (
        {
            "numbers": np.array(numbers, dtype=np.int64).reshape(len(results), len(_NUMBERS)),
            "durations_s": np.array([result.duration_s for result in results], dtype=np.float64),
            "sums": joined(sums, np.float64),
        }
        | pack_snapshots(added, like)
        | _pack_policies(results)
        | (prefixed("outlooks.", pack_outlooks(outlooks)) if outlooks else {})
    )


def unpack_results(
    arrays: Arrays,
    jobs: Mapping[int, Job],
    most_rows: int,
    like: Statistics,
    evaluated: bool = False,
    players: int = 2,
) -> dict[int, JobResult]:
    """The results that were packed, by index; raises CorruptState unless each fits one of the jobs.

    ``evaluated``: whether leaves are evaluated by a network, so that results have policies.
    """
    scores = players if players > 2 else 0
    numbers = take(arrays, "numbers", np.int64, None, len(_NUMBERS))
    count = len(numbers)
    durations_s = take(arrays, "durations_s", np.float64, count)
    indices = numbers[:, 0].tolist()
    require(len(set(indices)) == count and set(indices) <= jobs.keys(), "results are of no job that is out")
    of_leaves = [jobs[index] for index in indices if isinstance(jobs[index], LeafJob)]
    leaves = [len(job.visits) for job in of_leaves if isinstance(job, LeafJob)]
    require(len(leaves) in (0, count), "results are of two kinds")
    widths = [max(1, scores) * size for size in leaves]
    sums = parts_of(take(arrays, "sums", np.float64, sum(widths)), widths)
    added = unpack_snapshots(arrays, count - len(leaves), most_rows, like)
    policies = _unpack_policies(arrays, leaves) if evaluated else [None] * count
    further = without_prefix("outlooks.", arrays)
    outlooks = unpack_outlooks(further, count, scores) if further else [None] * count
    results = {}
    for k, (index, simulations, playouts, nodes, num_bytes, full) in enumerate(numbers.tolist()):
        within(numbers[k, 1:], 0, 2**62, "results")
        require(simulations <= jobs[index].simulations and full in (0, 1), "results do not fit their jobs")
        results[index] = JobResult(
            index=index,
            simulations=simulations,
            added=None if leaves else added[k],
            sums=sums[k] if leaves else None,
            playouts=playouts,
            tree_nodes=nodes,
            tree_bytes=num_bytes,
            tree_full=bool(full),
            duration_s=float(durations_s[k]),
            policies=policies[k],
            outlook=outlooks[k],
        )
    return results


def _pack_policies(results: Sequence[JobResult]) -> Arrays:
    """``policy_counts``, ``policy_moves`` and ``policy_priors``, joined; no arrays without policies."""
    policies = [result.policies for result in results if result.policies is not None]
    if not policies:
        return {}
    return {
        "policy_counts": np.concatenate([policy.counts for policy in policies]),
        "policy_moves": np.concatenate([policy.moves for policy in policies]),
        "policy_priors": np.concatenate([policy.priors for policy in policies]),
    }


def _unpack_policies(arrays: Arrays, leaves: Sequence[int]) -> list[Policies | None]:
    if not leaves:
        return []
    all_counts = take(arrays, "policy_counts", np.int32, sum(leaves))
    within(all_counts, 0, MAX_CHILDREN, "policy_counts")
    counts = parts_of(all_counts, leaves)
    moves = take(arrays, "policy_moves", np.uint16, int(all_counts.sum()))
    priors = take(arrays, "policy_priors", np.float32, len(moves))
    require(np.isfinite(priors).all(), "policy_priors are no numbers")
    sizes = [int(each.sum()) for each in counts]
    return list(map(Policies, counts, parts_of(moves, sizes), parts_of(priors, sizes)))
