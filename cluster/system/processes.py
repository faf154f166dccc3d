"""Processes: finding and ending descendants of this process, and its scheduling priority."""

from __future__ import annotations

import contextlib
import math
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Names of this machine that no other machine can reach."""
RANK_S = 60.0
"""Seconds for which a process retries to set its priority in the background; many may start at once."""
_PROC = Path("/proc")
_AUTOGROUP = _PROC / "self/autogroup"


def num_cores(root: Path = Path("/")) -> int:
    """The number of cores that this process may use: by its affinity, the quota of its container, what Slurm
    gave to a task (SLURM_CPUS_PER_TASK, or SLURM_CPUS_ON_NODE without one: not every Slurm limits processes),
    and what Python has been told (PYTHON_CPU_COUNT, from Python 3.13 on).

    ``root``: where /proc and /sys are.
    """
    return math.ceil(min(_cores_without_quota(), _quota(root)))


def tell_of_quota(say: Callable[[str], None], root: Path = Path("/")) -> None:
    """Call ``say`` with a line if a quota limits this process to fewer cores than there are."""
    cores, quota = _cores_without_quota(), _quota(root)
    if quota < cores:
        say(f"the CPU quota of this container is {quota:g} of {cores} cores: it counts as {num_cores(root)}")


def _cores_without_quota() -> int:
    told = getattr(os, "process_cpu_count", os.cpu_count)() or 1
    given = os.environ.get("SLURM_CPUS_PER_TASK") or os.environ.get("SLURM_CPUS_ON_NODE", "")
    if given.isdecimal():
        told = min(told, max(1, int(given)))
    return min(told, len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else told


def _quota(root: Path) -> float:
    """The cores that control groups of Linux leave this process, of version 1 or 2; inf without a limit.

    Those above its own limit it too. Within a container their names may be those outside: what is not there
    is passed over.
    """
    places = []
    with contextlib.suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            if not controllers or "cpu" in controllers.split(","):
                for mount in ("cpu", controllers) if controllers else ("", "unified"):
                    place = root / "sys/fs/cgroup" / mount
                    places += [place / each.relative_to("/") for each in (Path(group), *Path(group).parents)]
    least = math.inf
    for place in places:
        for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
            with contextlib.suppress(OSError, ValueError):
                quota, period = map(int, " ".join((place / name).read_text() for name in names).split())
                least = min(least, quota / period if quota > 0 else math.inf)
    return least


def descendants(pid: int | None = None) -> set[int]:
    """Process ids of all descendants of a process; by default of this one. Empty without /proc."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            # The program's name is in parentheses and may contain any character.
            fields = entry.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found: set[int] = set()
    left = [os.getpid() if pid is None else pid]
    while left:
        new = [pid for pid in children.get(left.pop(), []) if pid not in found]
        found.update(new)
        left += new
    return found


def marked(setting: str) -> set[int]:
    """Process ids of all processes that were started with the environment setting ``NAME=value``.

    Their current parent does not matter. Processes of other users are not found. Empty without /proc.
    """
    found = set()
    for entry in _PROC.glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if setting.encode() in entry.read_bytes().split(b"\0"):
                found.add(int(entry.parent.name))
    return found


def waited_s(pid: int, every_thread: bool = False) -> float:
    """Seconds in which the first thread of a process was ready to run and had no core; with ``every_thread``,
    those of the thread that waited most. 0 if not known."""
    most_s = 0.0
    for entry in (_PROC / str(pid)).glob("task/*/schedstat" if every_thread else "schedstat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            most_s = max(most_s, int(entry.read_text().split()[1]) / 1e9)
    return most_s


def kill(pids: set[int]) -> None:
    """End these processes with SIGKILL."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def bury(pids: set[int], session: int) -> None:
    """Reap dead children of this process: those in ``pids``, those of Ray, and those of ``session``.

    A process that adopts orphans, such as a service, has such children.
    """
    for entry in _PROC.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            before, _, after = entry.read_text().rpartition(")")
            state, parent, _, its_session = after.split()[:4]
            of_ray = before.partition("(")[2].startswith("ray::") or int(its_session) == session
            if state == "Z" and int(parent) == os.getpid() and of_ray:
                pids.add(int(entry.parent.name))
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def give_way() -> None:
    """Make the niceness of this process effective against all processes of the machine.

    With sched_autogroup Linux schedules sessions against each other, and niceness has an effect only within
    a session, so a session that computes all the time would slow down others. Does nothing on other systems.
    """
    if not _AUTOGROUP.exists():
        return
    with contextlib.suppress(OSError):
        if os.getpgrp() == os.getpid() != os.getsid(0):
            # Ray has made it a process group leader, which cannot create a session.
            os.setpgid(0, os.getpgid(os.getppid()))
        if os.getsid(0) != os.getpid():
            os.setsid()
    # Only if the session is its own: the setting applies to all processes of the session.
    if os.getsid(0) == os.getpid():
        threading.Thread(target=_rank_session, args=(os.nice(0),), daemon=True).start()


def _rank_session(niceness: int) -> None:
    """Set the niceness of the session, with retries: from processes of users other than root, Linux accepts
    one such change every 0.1 s."""
    until_s = time.monotonic() + RANK_S
    while time.monotonic() < until_s:
        try:
            _AUTOGROUP.write_text(str(niceness))
        except BlockingIOError:
            # Not from the generator of this process, which environments may use.
            time.sleep(random.SystemRandom().uniform(0.05, 0.2))
        except OSError:
            return
        else:
            return
