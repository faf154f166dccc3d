"""What Rays of killed processes leave behind is removed, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster import ray_folder

pytestmark = pytest.mark.skipif(not Path("/proc/self/ns/pid").exists(), reason="there is no /proc")


def folder_of(parent: Path, name: str) -> Path:
    folder = parent / f"session_{name}"
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "raylet.out").write_text("a line\n")
    return folder


def test_only_folders_of_processes_that_are_gone_are_removed(tmp_path: Path) -> None:
    names = ("ours", "killed", "another_containers", "reused_number", "users", "torn")
    folders = {name: folder_of(tmp_path, name) for name in names}
    ray_folder.own(folders["ours"])
    program = "import sys, pathlib; from cluster import ray_folder; ray_folder.own(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", program, folders["killed"]], check=True)
    note = (folders["killed"] / ray_folder.NOTE).read_text()
    pid, started, place = note.split()
    assert place == (folders["ours"] / ray_folder.NOTE).read_text().split()[2]
    (folders["another_containers"] / ray_folder.NOTE).write_text(f"{pid} {started} pid:[1]elsewhere")
    ours = (folders["ours"] / ray_folder.NOTE).read_text().split()[0]
    # Its number is that of a process that began later.
    (folders["reused_number"] / ray_folder.NOTE).write_text(f"{ours} 1 {place}")
    (folders["torn"] / ray_folder.NOTE).write_text(pid)
    other = tmp_path / "other"
    other.mkdir()
    (other / ray_folder.NOTE).write_text(note)

    ray_folder.remove_left(tmp_path)
    left = {name for name, folder in folders.items() if (folder / "logs" / "raylet.out").exists()}
    assert left == {"ours", "another_containers", "users", "torn"}
    assert other.exists()
    ray_folder.remove(folders["ours"])
    assert not folders["ours"].exists()


def test_a_folder_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    ray_folder.own(tmp_path / "gone")
    ray_folder.remove_left(tmp_path / "gone")
    ray_folder.remove(tmp_path / "gone")


def test_a_process_that_cannot_be_looked_at_is_not_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path, "unseen")
    ray_folder.own(folder)
    ours = (folder / ray_folder.NOTE).read_text()
    (folder / ray_folder.NOTE).write_text(ours.replace(ours.split()[1], "1"))
    read = Path.read_text

    def refuse(path: Path, *arguments: str) -> str:
        if path.name == "stat":
            raise PermissionError
        return read(path, *arguments)

    monkeypatch.setattr(Path, "read_text", refuse)
    ray_folder.remove_left(tmp_path)
    assert folder.exists()
    monkeypatch.undo()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    ray_folder.remove_left(tmp_path)
    assert folder.exists()
    monkeypatch.undo()
    ray_folder.remove_left(tmp_path)
    assert not folder.exists()
