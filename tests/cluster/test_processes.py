"""How a process is ranked beside others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os
from pathlib import Path
from cluster.processes import give_way

if {leader}:
    os.setpgid(0, 0)
os.nice(7)
give_way()
group = Path("/proc/self/autogroup")
print(os.getsid(0) == os.getpid(), group.read_text().split()[-1] if group.exists() else "none")
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
@pytest.mark.parametrize("leader", [False, True], ids=["one of a group", "leader of a group"])
def test_niceness_counts_beyond_the_session(leader: bool) -> None:
    group = Path("/proc/self/autogroup")
    before = group.read_text() if group.exists() else ""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(leader=leader)], check=True, capture_output=True, text=True
    )
    session_of_its_own, niceness = done.stdout.split()
    assert session_of_its_own == "True"
    assert niceness == (str(min(19, os.nice(0) + 7)) if before else "none")
    # Ours is as it was.
    assert before == (group.read_text() if group.exists() else "")
