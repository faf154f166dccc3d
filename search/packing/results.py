"""Results of jobs as arrays: those that wait for their turn when a search is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from search.job import Job, JobResult, LeafJob, Policies
from search.packing.arrays import Arrays, prefixed, require, take, within, without_prefix
from search.packing.outlooks import pack_outlooks, unpack_outlooks
from search.packing.snapshots import pack_snapshots, unpack_snapshots
from search.tree.arena import MAX_CHILDREN
from search.tree.snapshot import Statistics

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
            "sums": np.concatenate([np.empty(0), *sums]),
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
    all_sums = take(arrays, "sums", np.float64, sum(widths))
    sums = np.split(all_sums, np.cumsum(widths)[:-1]) if leaves else []
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
            sums=sums[k].copy() if leaves else None,
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
    counts = np.split(all_counts, np.cumsum(leaves)[:-1])
    moves = take(arrays, "policy_moves", np.uint16, int(all_counts.sum()))
    priors = take(arrays, "policy_priors", np.float32, len(moves))
    require(np.isfinite(priors).all(), "policy_priors are no numbers")
    ends = np.cumsum([int(each.sum()) for each in counts])[:-1]
    parts = zip(counts, np.split(moves, ends), np.split(priors, ends), strict=True)
    return [Policies(*(column.copy() for column in columns)) for columns in parts]
