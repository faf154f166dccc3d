"""Results that came early, as arrays that can be kept, so that their jobs need not be run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from search.job import Job, JobResult, LeafJob
from search.kept import Arrays, require, take, within
from search.packed_statistics import pack_statistics, unpack_statistics
from search.statistics import Statistics

_NUMBERS = ("index", "simulations", "playouts", "tree_nodes", "tree_bytes", "tree_full")


def pack_results(results: Sequence[JobResult], like: Statistics) -> Arrays:
    """``numbers`` [K, 6], ``durations_s`` [K], ``sums`` of leaf jobs joined, and increments as statistics."""
    numbers = [[int(getattr(result, name)) for name in _NUMBERS] for result in results]
    added = [result.added for result in results if result.added is not None]
    sums = [result.sums for result in results if result.sums is not None]
    return {
        "numbers": np.array(numbers, dtype=np.int64).reshape(len(results), len(_NUMBERS)),
        "durations_s": np.array([result.duration_s for result in results], dtype=np.float64),
        "sums": np.concatenate([np.empty(0), *sums]),
    } | pack_statistics(added, like)


def unpack_results(
    arrays: Arrays, jobs: Mapping[int, Job], most_rows: int, like: Statistics
) -> dict[int, JobResult]:
    """What was packed, by index. Each must be of one of these jobs. Raises Unsound."""
    numbers = take(arrays, "numbers", np.int64, None, len(_NUMBERS))
    count = len(numbers)
    durations_s = take(arrays, "durations_s", np.float64, count)
    indices = numbers[:, 0].tolist()
    require(len(set(indices)) == count and set(indices) <= jobs.keys(), "results are of no job that is out")
    of_leaves = [jobs[index] for index in indices if isinstance(jobs[index], LeafJob)]
    leaves = [len(job.visits) for job in of_leaves if isinstance(job, LeafJob)]
    require(len(leaves) in (0, count), "results are of two kinds")
    all_sums = take(arrays, "sums", np.float64, sum(leaves))
    sums = np.split(all_sums, np.cumsum(leaves)[:-1]) if leaves else []
    added = unpack_statistics(arrays, count - len(leaves), most_rows, like)
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
        )
    return results
