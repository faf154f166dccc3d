"""How a process is ranked beside others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.system.processes import give_way

GROUP = Path("/proc/self/autogroup")
PROGRAM = """
import os, sys, threading
from pathlib import Path
from cluster.system.processes import give_way

if sys.argv[1] == "leader":
    os.setpgid(0, 0)
os.nice(7)
give_way()
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join(PATIENCE_S)
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
