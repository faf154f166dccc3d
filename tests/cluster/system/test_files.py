"""Files on a full disk, and standard files that cannot be written."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import pytest

from cluster.cli import explain
from cluster.system.files import KEPT, append, naming, replace_text
from tests.cluster.command import BANYAN, ROOT
from tests.waiting import PATIENCE_S

FULL = Path("/dev/full")


def test_an_error_of_writing_names_the_file_and_says_what_is_kept() -> None:
    with (
        pytest.raises(OSError, match="space") as caught,
        naming(Path("results.json")),
        FULL.open("w") as file,
    ):
        file.write("x")
    assert explain(caught.value) == (f"results.json: No space left on device; {KEPT}", 1)


def test_a_file_is_replaced_whole_or_stays_as_it_was(tmp_path: Path) -> None:
    path, link = tmp_path / "a.json", tmp_path / "link.json"
    link.symlink_to(path)
    replace_text(link, "first")
    with pytest.raises(UnicodeEncodeError):
        replace_text(path, "\ud800")
    assert (path.read_text(), link.is_symlink(), len([*tmp_path.iterdir()])) == ("first", True, 2)


def test_what_cannot_be_appended_leaves_no_part(tmp_path: Path) -> None:
    path = tmp_path / "full.txt"
    path.symlink_to(FULL)
    with pytest.raises(OSError, match="space") as caught:
        append(path, "line\n")
    assert (caught.value.filename, caught.value.errno) == (str(path), errno.ENOSPC)


@pytest.mark.parametrize(
    ("where", "status", "said"),
    [(">/dev/full", 1, "banyan: error: standard output: No space left on device\n"), ("2>/dev/full", 0, "")],
)
def test_a_full_standard_file_is_named_or_costs_nothing(where: str, status: int, said: str) -> None:
    words = ["bash", "-c", f'"$@" {where}', "bash", *BANYAN, "players", "--json"]
    environment = {"PYTHONWARNINGS": "error", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (status, said)
