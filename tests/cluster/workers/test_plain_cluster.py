"""`--address` on clusters that `ray start` has started, by people who have never heard of our settings."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from tests.cluster.command import SEARCHES, interrupted
from tests.cluster.searches import compiled_only
from tests.cluster.service.process import Server, http
from tests.cluster.strangers import (
    BIN,
    PlainCluster,
    Stranger,
    clean_environment,
    installed,
    plain_cluster,
)
from tests.test_documents import command_lines
from tests.waiting import PATIENCE_S, eventually

pytestmark = [
    compiled_only,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds Ray's processes by /proc"),
]
SEARCH = ("search", "gomoku", "--moves", "f6 g7")
TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlainCluster]:
    """Without tokens, as Ray starts one where there is none; two machines."""
    home = tmp_path_factory.mktemp("home")
    with plain_cluster(clean_environment(home), 1, 1) as cluster:
        yield cluster


@pytest.mark.slow
def test_a_cluster_without_tokens_gives_the_answer_of_one_process_also_when_a_machine_dies(
    cluster: PlainCluster, stranger: Stranger
) -> None:
    budget = (*SEARCH, "--simulations", "4000000")
    there = (*budget, "--address", cluster.address, "--workers", "1..2")
    with stranger.start(*there, "--json") as process:
        assert process.stderr is not None
        errors = []
        for line in process.stderr:
            errors.append(line)
            if " 2 workers" in line or len(errors) > 2:
                cluster.kill_machine(1)
                break
        out, rest = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, "".join(errors) + rest
    found = json.loads(out)
    assert found["executor"] == "ray"
    assert found["digest"] == stranger.answer(*budget, "--executor", "inline")["digest"]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["tree", "root"])
def test_the_workers_of_a_machine_are_one_process_whose_death_changes_no_answer(
    tmp_path: Path, strategy: str
) -> None:
    stranger = Stranger(tmp_path)
    budget = (*SEARCH, "--strategy", strategy, "--lanes", "16", "--simulations", "12000000")
    with plain_cluster(stranger.environment, 1, 2) as cluster:
        there = (*budget, "--address", cluster.address, "--workers", "3..auto", "--json")
        with stranger.start(*there) as process:
            assert process.stderr is not None
            assert any("simulations" in line for line in process.stderr)
            before = cluster.workers()
            assert len(before) == 2
            for pid in before:
                os.kill(pid, signal.SIGKILL)
                # One that was killed may be listed for a moment.
                eventually(lambda pid=pid: len(cluster.workers() - {pid}) == 2)
            assert before.isdisjoint(cluster.workers())
            out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
    found = json.loads(out)
    assert (found["workers"], found["workers_lost"]) == (3, 3)
    assert found["digest"] == stranger.answer(*budget, "--executor", "threads")["digest"]


@pytest.mark.slow
def test_a_setting_for_tokens_does_no_harm_where_the_cluster_asks_for_none(
    cluster: PlainCluster, tmp_path: Path
) -> None:
    stranger = Stranger(tmp_path, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=TOKEN)
    there = ("--address", cluster.address, "--workers", "1")
    assert stranger.answer(*SEARCH, "--simulations", "20000", *there)["executor"] == "ray"


@pytest.mark.slow
def test_when_the_head_has_gone_for_good_a_line_says_what_was_kept_and_how_to_go_on(tmp_path: Path) -> None:
    stranger = Stranger(tmp_path, RAY_gcs_rpc_server_reconnect_timeout_s="3")
    with plain_cluster(stranger.environment) as cluster:
        search = ("search", "gomoku", "--simulations", "60000000", "--checkpoint", "kept.ckpt")
        there = (*search, "--address", cluster.address, "--workers", "1")
        with stranger.start(*there) as process:
            assert process.stderr is not None
            assert any("simulations" in line for line in process.stderr)
            cluster.end()
            out, err = process.communicate(timeout=PATIENCE_S)
    line = err.strip().splitlines()[-1]
    assert (process.returncode, out) == (1, "")
    assert line.startswith(f"banyan: error: the search failed: the cluster at {cluster.address} is gone")
    assert "simulations kept; to continue: banyan resume " in line
    # It goes on elsewhere.
    again = stranger.start("resume", "kept.ckpt", "--executor", "inline")
    assert interrupted(again, SEARCHES)[0] == 130


@pytest.mark.slow
def test_a_cluster_with_tokens_lets_in_who_has_the_token_and_tells_others_where_it_belongs(
    tmp_path: Path,
) -> None:
    right, wrong, none = (Stranger(tmp_path / name) for name in ("right", "wrong", "none"))
    for stranger, token in ((right, TOKEN), (wrong, TOKEN[::-1])):
        (stranger.folder / "home" / ".ray").mkdir()
        (stranger.folder / "home" / ".ray" / "auth_token").write_text(token)
    with plain_cluster(right.environment | {"RAY_AUTH_MODE": "token"}) as cluster:
        search = (*SEARCH, "--simulations", "20000", "--address", cluster.address, "--workers", "1")
        assert right.answer(*search)["executor"] == "ray"
        for stranger, said in ((wrong, "does not accept the token"), (none, "asks for a token")):
            status, out, err = stranger.banyan(*search)
            assert (status, out) == (2, "")
            assert err.startswith(f"banyan: error: --address: '{cluster.address}' is not accepted")
            assert said in err
            assert "~/.ray/auth_token" in err
            assert err.count("\n") == 1


@pytest.mark.slow
def test_a_cluster_with_another_banyan_is_told_from_ours_before_it_searches(tmp_path: Path) -> None:
    site = installed(tmp_path / "site")
    with (site / "search" / "plan.py").open("a") as file:
        file.write("# Of another version.\n")
    stranger = Stranger(tmp_path)
    with plain_cluster(stranger.environment | {"PYTHONPATH": str(site)}) as cluster:
        search = (*SEARCH, "--simulations", "20000", "--address", cluster.address, "--workers", "1")
        status, out, err = stranger.banyan(*search)
    assert (status, out) == (1, "")
    line = err.strip().splitlines()[-1]
    assert line.startswith("banyan: error: the search failed: a worker runs another code of games and search")
    assert "install the same Banyan on all machines" in line


HOLDER = """
import ray, sys
ray.init(address=sys.argv[1], log_to_driver=False)
kind = type("Held", (), {"here": lambda self: 1})
held = ray.remote(num_cpus=int(ray.cluster_resources()["CPU"]))(kind).remote()
print(ray.get(held.here.remote()), flush=True)
sys.stdin.read()
"""
"""A program that takes all CPUs of a cluster of one machine until its input ends."""


@pytest.mark.slow
def test_a_search_on_a_cluster_whose_cpus_others_hold_says_so_at_once_and_goes_on_when_they_are_free(
    stranger: Stranger,
) -> None:
    holder = (sys.executable, "-c", HOLDER)
    with (
        plain_cluster(stranger.environment) as cluster,
        subprocess.Popen(
            [*holder, cluster.address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=stranger.environment,
        ) as holds,
    ):
        assert holds.stdout is not None
        assert holds.stdout.readline() == b"1\n"
        there = (*SEARCH, "--simulations", "20000", "--address", cluster.address, "--workers", "1")
        with stranger.start(*there, "--json") as process:
            assert process.stderr is not None
            first = process.stderr.readline()
            holds.communicate()
            out, _ = process.communicate(timeout=PATIENCE_S)
    assert " 0 of 1 worker ready (other programs hold 1 of the 1 CPUs of this Ray: " in first
    assert json.loads(out)["executor"] == "ray"


@pytest.mark.slow
def test_the_uses_that_readme_begins_with(tmp_path: Path) -> None:
    """Their commands as they are printed, with other ports and less time; test_prometheus has Prometheus."""
    stranger = Stranger(tmp_path)
    cluster = PlainCluster(stranger.environment)
    stranger.environment = cluster._environment
    changes = {
        "127.0.0.1:6379": cluster.address,
        "--head": f"--head --port={cluster.port}",
        "--seconds 10 ": "--seconds 1 ",
        "--seconds 300 ": "--seconds 1 ",
        "--metrics-port 9101": "--metrics-port 0",
        "speedup gomoku": "speedup gomoku --simulations 20000 --repeats 1",
        "~/": f"{tmp_path}/",
    }
    seen = []
    try:
        for line in takewhile(lambda line: not line.startswith("prometheus"), command_lines("README.md")):
            for old, new in changes.items():
                line = line.replace(old, new)
            match shlex.split(line):
                case ["ray", *rest]:
                    command = (str(BIN / "ray"), *rest)
                    subprocess.run(command, env=cluster._environment, stdout=subprocess.DEVNULL, check=True)
                case ["banyan", "serve", *rest]:
                    with Server(tmp_path, *rest, executor="ray", environment=cluster._environment) as server:
                        ready = f"{server.url}/readyz"
                        eventually(lambda ready=ready: http.get(ready).is_success, "no worker has come")
                case ["banyan", *rest]:
                    status, out, err = stranger.banyan(*rest)
                    assert status == 0, err
                    seen.append(out)
    finally:
        cluster.end()
    assert ["ran on       2 workers, ray" in out for out in seen] == [True, False, True]
    assert (tmp_path / "speedup" / "speedup.json").exists()
