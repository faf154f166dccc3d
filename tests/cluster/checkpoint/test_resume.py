"""`banyan search --checkpoint` and `banyan resume`, as people and programs call them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cluster.checkpoint.checkpoint import Keeper, begun, read_checkpoint
from cluster.launch import run_session
from cluster.runtime.session import Session
from search.coordinator import SearchFailed
from search.request import SearchRequest
from tests.cluster.command import ROOT, Here, start
from tests.cluster.searches import REQUESTS, alone, keep_after, never, session_of, unchanged
from tests.games.own_game import write
from tests.waiting import PATIENCE_S, eventually

INLINE = ("--executor", "inline", "--no-progress")


def answer(here: Here, *arguments: str) -> Any:
    return here.json(*arguments, *INLINE)


SMALL = ("search", "gomoku:size=5", "--simulations", "500")


def test_a_finished_search_is_kept_with_its_answer(here: Here, tmp_path: Path) -> None:
    file = str(tmp_path / "a.ckpt")
    first = answer(here, *SMALL, "--checkpoint", file)
    assert first["resumed"] == 0
    again = answer(here, "resume", file)
    assert again["elapsed_s"] == pytest.approx(first["elapsed_s"], abs=0.05)
    for name in first.keys() - {"elapsed_s", "simulations_per_s"}:
        assert again[name] == first[name]
    # Nothing is lost by another search in its place.
    assert answer(here, *SMALL, "--seed", "5", "--checkpoint", file)["seed"] == 5
    assert answer(here, "resume", file)["seed"] == 5


def test_a_finished_search_is_shown_without_ray(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "a.ckpt")
    first = answer(here, *SMALL, "--checkpoint", file)
    monkeypatch.setattr("cluster.workers.placement.make_executor", never)
    assert here.json("resume", file, "--workers", "2", "--no-progress")["digest"] == first["digest"]
    status, out, err = here("resume", file)
    assert (status, err) == (0, "banyan: this search is already over; its answer is shown\n")
    assert first["digest"][:12] in out


def test_one_process_at_a_time_has_a_checkpoint(here: Here, kept: Path, tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom cluster.system.kept_folder import held\n"
        "with held(Path(sys.argv[1]), 'file'):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, str(kept)]
    link = tmp_path / "link.ckpt"
    link.symlink_to(kept)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as holder:
        assert holder.stdout.readline() == "held\n"
        for arguments in (("resume", str(kept)), ("resume", str(link)), (*SMALL, "--checkpoint", str(kept))):
            err = here.refusal(*arguments, *INLINE)
            assert f"no other process keeps a search in (process {holder.pid} does)" in err
        # The lock of a process that was killed is nobody's.
        holder.kill()
        holder.wait()
    assert answer(here, "resume", str(kept))["resumed"] == 1
    assert not kept.with_name(kept.name + ".lock").exists()


def test_an_interrupted_search_goes_on_under_the_command(here: Here, kept: Path) -> None:
    status, out, err = here("resume", str(kept), *INLINE)
    assert (status, err) == (0, "")
    assert "inline, resumed 1 time\n" in out
    assert read_checkpoint(kept).stopped_by == "simulations"
    # One that is over says where it ran, not where its answer is shown.
    threads = ("--executor", "threads", "--workers", "2", "--checkpoint", str(kept))
    ran = here.text(*SMALL, *threads)
    assert "2 workers, threads\n" in ran and here.text("resume", str(kept), *INLINE) == ran
    assert "resumed" not in here.text("search", "gomoku:size=5", *INLINE, "--simulations", "9")


REFUSED: list[tuple[tuple[str, ...], str]] = [
    (("resume", "{folder}/none"), "FILE: '{folder}/none' is not accepted; expected a checkpoint that can be"),
    (("resume", "{folder}"), "FILE: '{folder}' is not accepted; expected a checkpoint in an ordinary file"),
    (("resume", "{text}"), "FILE: '{text}' is not accepted; expected a checkpoint of Ban"),
    (("resume", "{short}"), "expected a complete checkpoint (this one is truncated)"),
    (("resume", "{kept}", "--checkpoint-every", "0"), "--checkpoint-every: 0.0 is not accepted"),
    (("resume", "{kept}", "--workers", "0"), "--workers: '0' is not accepted"),
    (("resume",), "Missing argument 'FILE'"),
    ((*SMALL, "--checkpoint", "{text}"), "--checkpoint: '{text}' is not accepted; expected a checkpoint of"),
    ((*SMALL, "--checkpoint", "{kept}"), "a file without an unfinished search (continue it with banyan"),
    ((*SMALL, "--checkpoint", "{folder}"), "--checkpoint: '{folder}' is not accepted; expected a checkpoint"),
    ((*SMALL, "--checkpoint", "{folder}/no/a.ckpt"), "expected a file in a folder that is there"),
    ((*SMALL, "--checkpoint-every", "5"), "--checkpoint-every: 5.0 is not accepted; expected nothing"),
    ((*SMALL, "--checkpoint", "{new}", "--checkpoint-every", "-1"), "-every: -1.0 is not accepted"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "line"), REFUSED, ids=lambda value: None)
def test_what_is_wrong_with_a_checkpoint_is_one_line(
    arguments: tuple[str, ...], line: str, kept: Path, here: Here
) -> None:
    folder = kept.parent
    names = {"folder": str(folder), "kept": str(kept), "new": str(folder / "new.ckpt")}
    for name, content in (("text", b"my notes"), ("short", kept.read_bytes()[:-9])):
        (folder / name).write_bytes(content)
        names[name] = str(folder / name)
    err = here.refusal(*(part.format(**names) for part in arguments), *INLINE)
    assert line.format(**names) in err
    assert (folder / "text").read_bytes() == b"my notes"
    assert not (folder / "new.ckpt").exists()


LONG = ("search", "gomoku", "--strategy", "tree", "--simulations", "100000000", *INLINE)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_a_checkpoint_and_says_how_to_go_on(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "my search.ckpt"
    with start(*LONG, "--checkpoint", str(file), "--checkpoint-every", "0.1", "--json") as process:
        eventually(lambda: file.exists() and read_checkpoint(file).elapsed_s > 0)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert err == f"banyan: interrupted; to continue: banyan resume '{file}'\n"
    printed = json.loads(out)
    assert printed["stopped_by"] == "cancelled"
    checkpoint = read_checkpoint(file)
    assert checkpoint.stopped_by is None
    coordinator = checkpoint.open().coordinator
    assert coordinator.counters.simulations == printed["simulations"]
    assert checkpoint.elapsed_s == pytest.approx(printed["elapsed_s"], abs=0.01)


@pytest.mark.parametrize(
    "error", [SearchFailed("job 9 failed"), ConnectionError("no worker could be kept alive")]
)
def test_a_search_that_fails_is_kept_and_says_how_to_go_on(error: Exception, tmp_path: Path) -> None:
    file = tmp_path / "a.ckpt"
    session = session_of(begun(REQUESTS["tree"]))

    def fail(running: Session) -> None:
        if running.coordinator.counters.jobs_done >= 20:
            raise error

    keeper = Keeper(file, 1000.0, warn=never)
    with pytest.raises(type(error)) as raised:
        run_session(session, (fail,), keeper)
    kept = session.coordinator.counters.simulations
    assert kept > 0
    assert str(raised.value) == f"{error}; {kept} simulations kept; to continue: banyan resume {file}"
    opened = read_checkpoint(file).open()
    assert opened.coordinator.counters.jobs_done >= 20
    assert unchanged(session_of(opened).run()) == unchanged(alone(REQUESTS["tree"]))


@pytest.mark.slow
def test_the_source_of_a_game_travels_in_the_checkpoint(tmp_path: Path, here: Here) -> None:
    game, file = write(tmp_path), tmp_path / "a.ckpt"
    request = SearchRequest(game, simulations=300, lanes=2)
    calm = alone(request)
    keep_after(file, request, 4)
    Path(game).unlink()
    assert answer(here, "resume", str(file))["digest"] == calm.digest


@pytest.mark.slow
def test_searches_that_are_killed_at_random_moments_end_with_the_same_answer() -> None:
    """Three kills for each strategy; `make test-resume` has a hundred."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.kill_and_resume", "--times", "3", "--small"],
        cwd=ROOT, capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("wrong answers: 0") == 3
