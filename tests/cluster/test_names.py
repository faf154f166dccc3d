"""Banyan works from any folder: what is called like its packages there, or on PYTHONPATH, does no harm."""

from __future__ import annotations

import json
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.cluster.searches import compiled_only
from tests.cluster.strangers import BANYAN, Stranger, installed

BAD = "raise SystemExit('imported from the current folder')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of somebody who names files as we do."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("search.py", "cluster.py", "report.py", "ray.py"):
        (folder / name).write_text(BAD)
    (folder / "games").mkdir()
    return folder


@compiled_only
def test_a_search_on_workers_imports_nothing_from_the_current_folder(folder: Path) -> None:
    stranger, search = Stranger(folder), ("search", "tictactoe", "--simulations", "20000")
    found = stranger.answer(*search, "--executor", "ray", "--workers", "1")
    # As a module the command has the current folder in its path.
    inline = (*search, "--executor", "inline", "--json")
    status, out, err = stranger.banyan(*inline, command=BANYAN_AS_MODULE)
    assert status == 0, err
    assert (found["executor"], found["digest"]) == ("ray", json.loads(out)["digest"])


BANYAN_AS_MODULE = (sys.executable, "-m", "banyan")


@pytest.mark.parametrize("command", [BANYAN, BANYAN_AS_MODULE])
def test_the_command_works_where_its_names_are_taken(folder: Path, command: tuple[str, ...]) -> None:
    stranger = Stranger(folder, PYTHONPATH=str(folder))
    status, out, err = stranger.banyan("perft", "tictactoe", "2", command=command)
    # Beside other programs compiling takes so long that it is said.
    assert (status, [line for line in err.splitlines() if "compiling" not in line]) == (0, [])
    assert "72" in out


@pytest.mark.skipif(
    not Path(sysconfig.get_path("purelib"), "banyan").exists(),
    reason="an editable installation that make did not make: Python asks it after all folders",
)
def test_beside_a_clone_of_its_own_name_the_package_is_found(stranger: Stranger) -> None:
    (stranger.folder / "banyan").mkdir()
    program = "import banyan; print(banyan.search)"
    status, out, err = stranger.banyan("-c", program, command=(sys.executable,))
    assert (status, err) == (0, "")
    assert out.startswith("<function search")


def test_an_installed_copy_imports_its_own_packages(folder: Path, tmp_path: Path) -> None:
    site = installed(tmp_path / "site")
    stranger = Stranger(folder, PYTHONPATH=f"{folder}:{site}")
    where = "import banyan, search, games, cluster; print(banyan.ROOT, search.__file__, games.__file__)"
    status, out, err = stranger.banyan("-c", where, command=(sys.executable, "-P"))
    assert status == 0, err
    assert out.split() == [str(site), f"{site}/search/__init__.py", f"{site}/games/__init__.py"]


def test_a_package_of_another_distribution_in_the_place_of_ours_is_named_in_one_line(tmp_path: Path) -> None:
    site = installed(tmp_path / "site")
    (site / "search" / "__init__.py").write_text('"""Full-text search for everybody."""\n')
    record = site / "fulltext-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: fulltext\nVersion: 1.0\n")
    (record / "RECORD").write_text("search/__init__.py,,\n")
    status, out, err = Stranger(tmp_path, PYTHONPATH=str(site)).banyan("games")
    assert (status, out) == (1, "")
    assert err.startswith("banyan: error: the package 'search' in ")
    assert "(it was installed by fulltext)" in err
    assert err.count("\n") == 1


def test_a_program_that_has_imported_another_search_is_told_so(folder: Path) -> None:
    (folder / "search.py").write_text("")
    program = "import search, banyan\nimport cluster.system.processes\nimport search.request"
    status, _, err = Stranger(folder).banyan("-c", program, command=(sys.executable,))
    assert status == 1
    assert "this process has imported another package 'search'" in err.splitlines()[-1]
