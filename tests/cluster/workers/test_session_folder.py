"""What Rays of killed processes leave behind is removed, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.workers import session_folder

OWNER = """
import pathlib, sys
from cluster.workers import session_folder

session_folder.own(pathlib.Path(sys.argv[1]))
print("locked", flush=True)
sys.stdin.read()
"""


def test_only_folders_of_processes_that_are_gone_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = {name: tmp_path / f"session_{name}" for name in ("ours", "killed", "users")}
    for folder in (*folders.values(), tmp_path / "other"):
        (folder / "logs").mkdir(parents=True)
    session_folder.own(folders["ours"])
    command = [sys.executable, "-c", OWNER, folders["killed"]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout.readline() == b"locked\n"
        (tmp_path / "other" / session_folder.LOCK).touch()
        session_folder.remove_left(tmp_path)
        assert all((folder / "logs").exists() for folder in folders.values())
        owner.kill()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: 12345)
        session_folder.remove_left(tmp_path)
    assert folders["killed"].exists(), "it is another user's"
    session_folder.remove_left(tmp_path)
    assert {folder.name for folder in tmp_path.iterdir()} == {"session_ours", "session_users", "other"}


def test_a_folder_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    session_folder.own(tmp_path / "gone")
    session_folder.remove_left(tmp_path / "gone")
