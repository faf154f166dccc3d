"""What Rays of killed processes leave behind is removed, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.ray_backend import session_folder

pytestmark = pytest.mark.skipif(not Path("/proc/self/ns/pid").exists(), reason="there is no /proc")


def folder_of(parent: Path, name: str) -> Path:
    folder = parent / f"session_{name}"
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "raylet.out").write_text("a line\n")
    return folder


def test_only_folders_of_processes_that_are_gone_are_removed(tmp_path: Path) -> None:
    names = ("ours", "killed", "another_containers", "reused_number", "users", "torn")
    folders = {name: folder_of(tmp_path, name) for name in names}
    session_folder.own(folders["ours"])
    program = (
        "import sys, pathlib; from cluster.ray_backend import session_folder\n"
        "session_folder.own(pathlib.Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", program, folders["killed"]], check=True)
    note = (folders["killed"] / session_folder.NOTE).read_text()
    pid, started, place = note.split()
    assert place == (folders["ours"] / session_folder.NOTE).read_text().split()[2]
    (folders["another_containers"] / session_folder.NOTE).write_text(f"{pid} {started} pid:[1]elsewhere")
    ours = (folders["ours"] / session_folder.NOTE).read_text().split()[0]
    # Its number is that of a process that began later.
    (folders["reused_number"] / session_folder.NOTE).write_text(f"{ours} 1 {place}")
    (folders["torn"] / session_folder.NOTE).write_text(pid)
    other = tmp_path / "other"
    other.mkdir()
    (other / session_folder.NOTE).write_text(note)

    session_folder.remove_left(tmp_path)
    left = {name for name, folder in folders.items() if (folder / "logs" / "raylet.out").exists()}
    assert left == {"ours", "another_containers", "users", "torn"}
    assert other.exists()
    session_folder.remove(folders["ours"])
    assert not folders["ours"].exists()


def test_a_folder_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    session_folder.own(tmp_path / "gone")
    session_folder.remove_left(tmp_path / "gone")
    session_folder.remove(tmp_path / "gone")


def test_a_process_that_cannot_be_looked_at_is_not_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path, "unseen")
    session_folder.own(folder)
    ours = (folder / session_folder.NOTE).read_text()
    (folder / session_folder.NOTE).write_text(ours.replace(ours.split()[1], "1"))
    read = Path.read_text

    def refuse(path: Path, *arguments: str) -> str:
        if path.name == "stat":
            raise PermissionError
        return read(path, *arguments)

    monkeypatch.setattr(Path, "read_text", refuse)
    session_folder.remove_left(tmp_path)
    assert folder.exists()
    monkeypatch.undo()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    session_folder.remove_left(tmp_path)
    assert folder.exists()
    monkeypatch.undo()
    session_folder.remove_left(tmp_path)
    assert not folder.exists()
