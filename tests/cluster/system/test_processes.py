"""How a process is ranked beside others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.commands.speedup import measured_counts
from cluster.runtime.workers import AUTO
from cluster.system.processes import give_way, num_cores, tell_of_quota
from cluster.workers.choose import on_this_machine

GROUP = Path("/proc/self/autogroup")
PROGRAM = """
import os, sys, threading
from pathlib import Path
from cluster.system.processes import give_way, num_cores, tell_of_quota

if sys.argv[1] == "leader":
    os.setpgid(0, 0)
os.nice(7)
give_way()
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join(30)
print(os.getsid(0) == os.getpid() == os.getpgrp(), Path("/proc/self/autogroup").read_text().split()[-1])
"""
grouped = pytest.mark.skipif(not GROUP.exists(), reason="this kernel does not group processes by session")


def start(kind: str, *before: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*before, sys.executable, "-c", PROGRAM, kind], stdout=subprocess.PIPE, text=True, process_group=0
    )


@grouped
@pytest.mark.parametrize("kind", ["leader", "one of a group"])
def test_niceness_counts_beyond_the_session(kind: str) -> None:
    before = GROUP.read_text()
    session_of_its_own, niceness = start(kind).communicate()[0].split()
    assert session_of_its_own == "True"
    assert niceness == str(min(19, os.nice(0) + 7))
    # Ours is as it was.
    assert before == GROUP.read_text()


@grouped
@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="only root can give rights up")
def test_all_of_several_are_ranked_where_one_at_a_time_may_be() -> None:
    """Linux takes one change in a tenth of a second from those who may not administer it."""
    processes = [start("leader", "setpriv", "--bounding-set", "-sys_admin") for _ in range(4)]
    found = [process.communicate()[0].split() for process in processes]
    assert found == [["True", str(min(19, os.nice(0) + 7))]] * 4


def test_elsewhere_nothing_is_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("cluster.system.processes._AUTOGROUP", tmp_path / "none")
    session = os.getsid(0)
    give_way()
    assert os.getsid(0) == session


@pytest.mark.parametrize(
    ("groups", "files", "share"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "50000 100000"}, 0.5),
        ("0::/a\n", {"unified/a/cpu.max": "25000 100000"}, 0.25),
        (
            "3:cpu,cpuacct:/docker/x\n",
            {"cpu/cpu.cfs_quota_us": "10000", "cpu/cpu.cfs_period_us": "20000"},
            0.5,
        ),
        ("3:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ("3:memory:/a\n", {"cpu/a/cpu.cfs_quota_us": "10000", "cpu/a/cpu.cfs_period_us": "20000"}, None),
        ("", {"cpu.max": "x"}, None),
    ],
)
def test_the_quota_of_a_container_limits_the_cores_and_a_line_says_so(
    groups: str, files: dict[str, str], share: float | None, tmp_path: Path
) -> None:
    places = {tmp_path / "sys/fs/cgroup" / name: text for name, text in files.items()}
    for place, text in (places | {tmp_path / "proc/self/cgroup": groups}).items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    said: list[str] = []
    tell_of_quota(said.append, tmp_path)
    cores = num_cores(tmp_path / "none")
    assert num_cores(tmp_path) == (cores if share is None else 1)
    assert [f"is {share:g} of " in line for line in said] == ([] if share is None else [True])


@pytest.mark.parametrize(
    ("given", "cores"),
    [
        ({"SLURM_CPUS_PER_TASK": "1", "SLURM_CPUS_ON_NODE": "4096"}, 1),
        ({"SLURM_CPUS_ON_NODE": "1"}, 1),
        ({"SLURM_CPUS_PER_TASK": "4096"}, None),
        ({"SLURM_CPUS_PER_TASK": "0"}, 1),
        ({"SLURM_CPUS_PER_TASK": "many"}, None),
    ],
)
def test_what_slurm_gave_limits_the_cores_of_threads_ray_and_speedup(
    given: dict[str, str], cores: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"):
        monkeypatch.delenv(name, raising=False)
    expected = cores or num_cores()
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert num_cores() == on_this_machine(AUTO) == measured_counts("auto", None)[-1] == expected
