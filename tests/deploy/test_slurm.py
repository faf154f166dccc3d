"""deploy/slurm: the batch script, played from outside as Slurm does it.

This file plays Slurm: `srun`, `scontrol`, and the daemon of a node, which sends signals as proctrack/cgroup
does: to the shell of the batch script and to that of each node's task, and to none of their children.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import search
from search.request import SearchRequest
from tests.cluster.prometheus import DEPLOY
from tests.faults.harness import kill_tree
from tests.faults.hosts import Network, why_not
from tests.waiting import eventually

pytestmark = pytest.mark.slow

SCRIPT = str(DEPLOY / "slurm" / "banyan.sbatch")
KILL_WAIT_S = 30.0
"""Slurm sends SIGKILL so long after SIGTERM."""
SIMULATIONS = 6_000_000

SLURM = {
    # The second node takes its task from the folder of the job. Its end is not awaited; if the first one
    # fails, it is killed (--kill-on-bad-exit), and the highest status is told.
    "srun": r"""
while [[ $1 == --* ]]; do [[ $1 != --output=* ]] || output=${1#*=}; shift; done
{ declare -px; printf 'export SLURM_NODEID=1; exec'; printf ' %q' "$@"; } > step.new
mv step.new step
SLURM_NODEID=0 bash -c 'echo $$ > pid.task; exec "$@"' task "$@" >> "${output/\%t/0}" 2>&1 || exit 137
""",
    "scontrol": """
echo "scontrol $1" >> calls
[ "$1" != show ] || echo "   JobState=$STATE Reason=None"
""",
}
NODE = """
cd "$2" && mount --bind "$3" "$4" || exit
if [ "$1" = 0 ]; then
    trap 'kill -TERM $(cat pid.batch pid.task)' TERM
    bash "${@:5}" & echo $! > pid.batch
else
    trap 'kill -TERM $!' TERM
    until mv step step.1 2> /dev/null; do sleep 0.1; done
    bash step.1 &
fi
while kill -0 $! 2> /dev/null; do wait $!; status=$?; done
exit $status
"""
"""The daemon of a node is the first process of its namespace."""
STUBS = {
    "ray": """
while [ "$1" != -- ]; do shift; done
shift; "$@"
""",
    "banyan": """
echo "banyan $*" >> calls
[ "$1" = search ] || exit 0
trap 'echo told >> calls; told=yes' TERM
until [ "$told" ]; do sleep 0.05; done
sleep 0.5
exit 130
""",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder from which the job is submitted, with Slurm's programs in bin/."""
    (tmp_path / "bin").mkdir()
    put(tmp_path, SLURM)
    return tmp_path


def put(folder: Path, programs: dict[str, str]) -> None:
    for name, text in programs.items():
        (folder / "bin" / name).write_text(f"#!/bin/bash\n{text}")
        (folder / "bin" / name).chmod(0o755)


def settings(folder: Path, nodes: int, scratch: str, state: str = "RUNNING") -> dict[str, str]:
    slurm = {"SLURM_JOB_ID": "77", "SLURM_JOB_NUM_NODES": str(nodes), "SLURM_CPUS_PER_TASK": "1"}
    path = f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return os.environ | slurm | {"PATH": path, "STATE": state, "BANYAN_SCRATCH": scratch}


@pytest.mark.parametrize(
    ("told", "number", "state", "requeued"),
    [
        pytest.param(["batch"], signal.SIGUSR1, "RUNNING", True, id="the time limit is near"),
        pytest.param(["task"], signal.SIGTERM, "RUNNING", True, id="notice of a preemption to the steps"),
        pytest.param(["batch", "task"], signal.SIGTERM, "RUNNING", True, id="and to the script"),
        pytest.param(["batch", "task"], signal.SIGTERM, "COMPLETING", False, id="cancelled"),
    ],
)
def test_a_search_is_told_once_to_end_and_put_back_unless_the_job_was_cancelled(
    told: list[str], number: signal.Signals, state: str, requeued: bool, folder: Path
) -> None:
    put(folder, STUBS)
    environment = settings(folder, 1, str(folder), state)
    job = subprocess.Popen(["bash", SCRIPT, "search", "hex"], cwd=folder, env=environment)
    try:
        calls = folder / "calls"
        eventually(lambda: calls.exists() and "banyan search" in calls.read_text())
        (folder / "pid.batch").write_text(str(job.pid))
        for each in told:
            os.kill(int((folder / f"pid.{each}").read_text()), number)
            eventually(lambda: "told" in calls.read_text().splitlines(), within_s=30)
        assert job.wait(60) == 130
    finally:
        kill_tree(job)
    said = calls.read_text().splitlines()
    assert said[0] == "banyan warm hex --no-progress"
    assert said[2:] == ["told", "scontrol show", *["scontrol requeue"] * requeued]
    assert not (folder / "ray-77").exists()


@pytest.fixture
def network() -> Iterator[Network]:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    network = Network(f"slurm{os.getpid()}")
    try:
        network.build()
        yield network
    finally:
        network.remove()


def run_on_two_nodes(network: Network, folder: Path, *arguments: str, preempted: bool = False) -> int:
    """The exit status of the job. Each node has its own address, processes and scratch folder.

    ``preempted``: when the search has told of its progress, Slurm sends SIGTERM; SIGKILL would follow.
    """
    job = folder / "banyan-77"
    with ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp", prefix="b"))
        nodes = []
        for number in (0, 1):
            own = tempfile.mkdtemp(dir=folder)
            inside = ["bash", "-c", NODE, "node", str(number), str(folder), own, scratch, SCRIPT, *arguments]
            within = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", *inside]
            node = subprocess.Popen(
                ["ip", "netns", "exec", network.host(number + 1), *within],
                env=settings(folder, 2, scratch),
            )
            stack.callback(kill_tree, node)
            nodes.append(node)
        if preempted:
            log = job / "node-0.log"
            eventually(lambda: log.exists() and " simulations, " in log.read_text())
            told_s = time.time()
            for node in nodes:
                os.kill(int(Path(f"/proc/{node.pid}/task/{node.pid}/children").read_text()), signal.SIGTERM)
        status = nodes[0].wait()
        if preempted:
            assert (job / "search.ckpt").stat().st_mtime - told_s < KILL_WAIT_S
        return status


def test_a_search_on_two_nodes_continues_after_a_preemption_with_the_same_digest(
    network: Network, folder: Path
) -> None:
    # The test above sees kernels compiled.
    put(folder, {"banyan": f'[ "$1" = warm ] || exec {Path(sys.executable).parent}/banyan "$@"'})
    answer = folder / "banyan-77" / "answer.json"
    wanted = ["search", "gomoku", "--simulations", str(SIMULATIONS)]
    assert run_on_two_nodes(network, folder, *wanted, preempted=True) == 130
    assert json.loads(answer.read_text())["stopped_by"] == "cancelled"
    assert (folder / "calls").read_text() == "scontrol show\nscontrol requeue\n"
    assert run_on_two_nodes(network, folder, *wanted) == 0
    resumed = json.loads(answer.read_text())
    assert resumed["workers"] == 2
    expected = search.run(SearchRequest("gomoku", simulations=SIMULATIONS))
    assert (resumed["simulations"], resumed["digest"]) == (SIMULATIONS, expected.digest)
