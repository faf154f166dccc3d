"""`banyan experiment`: the list, a run, what is wrong with a request, and the same results on Ray."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cluster.lab.sources.report import HOW
from cluster.lab.sources.table import names
from tests.cluster.command import ROOT, Here, banyan

INLINE = ("--executor", "inline", "--no-progress")


@pytest.mark.slow
def test_the_list_says_what_has_been_run(tmp_path: Path, here: Here) -> None:
    rows = {row["table"]: row for row in here.json("experiment", "--out", str(tmp_path))}
    assert (rows["002/2"]["quick"]["done"], rows["002/11"]["full"]["units"]) == (0, 3000)
    assert rows["002/11"]["full"]["cpu_s"] > rows["002/11"]["quick"]["cpu_s"] > 60
    here("experiment", "002/2", "--out", str(tmp_path), *INLINE)
    found = here.json("experiment", "--out", str(tmp_path))
    row = next(row for row in found if row["table"] == "002/2")
    assert row["quick"]["done"] == row["quick"]["units"] > 0
    out = here.text("experiment", "--out", str(tmp_path))
    assert "002/2" in out
    assert "a thesis in Czech" in out
    assert max(map(len, out.splitlines()[:-1])) <= 100


def test_the_report_of_the_repository_has_every_table_in_at_most_10000_words() -> None:
    text = (ROOT / "cluster/lab/sources/RESULTS.md").read_text(encoding="utf-8")
    for name in names():
        assert name.startswith("claims") or f"### {name} " in text, f"run {name} and write the report again"
    assert len(text.split()) <= 10000
    assert HOW in text and len(HOW.split()) <= 60


def test_a_table_is_printed_and_reported(tmp_path: Path, here: Here) -> None:
    reports = [tmp_path / "r.md", tmp_path / "r.html"]
    options = [part for path in reports for part in ("--report", str(path))]
    status, out, err = here("experiment", "002/2", "--out", str(tmp_path / "out"), *INLINE, *options)
    assert status == 0
    assert "423.93" in out and "662.2" in out
    assert all(f"wrote {path}" in err for path in reports)
    assert (tmp_path / "pictures" / "r-002.svg").exists()
    for text in (path.read_text(encoding="utf-8") for path in reports):
        # Conclusions come first, and lead on.
        assert (
            -1
            < text.find("The median values moves best")
            < text.find("of 2 rows in this report")
            < text.find("662.2")
        )
        assert "CLAIMS.md" in text.partition("The median")[0]


@pytest.mark.slow
def test_smoke_on_ray_and_inline_gives_the_same_figures(tmp_path: Path, here: Here) -> None:
    """A program against itself, two games a row, and counts."""
    tables = ("004/draws", "002/2", "claims/samples")
    asked = ("experiment", *tables, "--scale", "smoke", "--seed", "3", "--json", "--no-progress")
    status, out, err = banyan(*asked, "--workers", "2", "--out", str(tmp_path / "ray"))
    assert status == 0, err
    first = json.loads(out)
    second = here.json(*asked, "--executor", "inline", "--out", str(tmp_path / "inline"))
    assert [row["figures"] for table in first for row in table["rows"]] == [
        row["figures"] for table in second for row in table["rows"]
    ]
    # Nothing is left to run.
    folders = ("--out", str(tmp_path / "ray"), "--report", str(tmp_path / "r.md"))
    status, kept, err = here(*asked, "--executor", "inline", *folders)
    assert "not in the report: claims; banyan experiment claims --report FILE.md writes them" in err
    assert json.loads(kept) == first
