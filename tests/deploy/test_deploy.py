"""deploy/: the image's programs, compose, the launcher and systemd, as far as they can be tried here."""

from __future__ import annotations

import fnmatch
import http.server
import importlib.util
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer.main
import yaml

from cluster.cli import app_of
from tests.cluster.prometheus import DEPLOY, free_port, need
from tests.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.slow

ROOT = DEPLOY.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
COMPOSE = yaml.safe_load((DEPLOY / "compose.yml").read_text())
CONTAINERFILE = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
IMAGE = DEPLOY / "image"
UNIT = DEPLOY / "systemd" / "banyan.service"


def instructions(name: str) -> list[str]:
    """What follows a word of the Containerfile, each time."""
    return re.findall(rf"^{name}\s+(.+)$", CONTAINERFILE, re.MULTILINE)


def parsed(command: str, arguments: list[str]) -> dict[str, Any]:
    """The options of a banyan command; fails if there is none such."""
    known = typer.main.get_command(app_of()).commands[command]  # type: ignore[attr-defined]
    return dict(known.make_context(command, arguments).params)


# The image.


def test_the_image_is_pinned_and_not_roots() -> None:
    (base,) = re.findall(r"^ARG PYTHON_IMAGE=(\S+)$", CONTAINERFILE, re.MULTILINE)
    assert re.fullmatch(r"docker\.io/library/python:3\.1[123]\.\d+-slim-\w+", base)
    assert [line.split()[0] for line in instructions("FROM")] == ["${PYTHON_IMAGE}"] * 2
    last_user = CONTAINERFILE.rindex("\nUSER ")
    assert CONTAINERFILE[last_user:].startswith("\nUSER 10001:10001\n")
    warm = CONTAINERFILE.index("\nRUN banyan warm --all\n", last_user)
    assert last_user < warm < CONTAINERFILE.index("\nENTRYPOINT")


def test_the_image_is_built_from_files_that_are_there_and_let_in() -> None:
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    let_in = [line[1:] for line in ignore if line.startswith("!")]
    assert "*" in ignore
    sources = [
        source
        for line in instructions("COPY")
        if "--from" not in line
        for source in [word for word in line.split() if not word.startswith("--")][:-1]
    ]
    assert len(sources) > 8
    for source in sources:
        assert any(ROOT.glob(source)), source
        assert any(fnmatch.fnmatch(source, each) or source.startswith(each + "/") for each in let_in), source


def test_constraints_of_the_image_add_to_those_of_the_project() -> None:
    def pins(path: Path) -> set[str]:
        lines = path.read_text().splitlines()
        return {line.split("==")[0].lower().replace("_", "-") for line in lines if "==" in line}

    both = pins(IMAGE / "constraints.txt") & pins(ROOT / "constraints.txt")
    assert not both
    assert {"aiohttp", "grpcio", "opencensus"} <= pins(IMAGE / "constraints.txt")


def test_all_files_name_this_version() -> None:
    version = PROJECT["version"]
    texts = {path: path.read_text() for path in DEPLOY.rglob("*") if path.suffix in {".yml", ".yaml", ".md"}}
    texts[DEPLOY / "Containerfile"] = CONTAINERFILE
    named = {
        (path.name, tag)
        for path, text in texts.items()
        for tag in re.findall(r"\bbanyan:(\d+\.[\w.]*\d)|newTag: (\S+)", text)
        for tag in tag
        if tag
    }
    assert {tag for _, tag in named} == {version}
    assert {"compose.yml", "Containerfile", "kustomization.yaml", "README.md"} <= {name for name, _ in named}


# The entry point, with a `ray` and a `banyan` that only say how they were called.

STUBS = {
    "ray": """
import socket, sys, time
print("ray", *sys.argv[1:], flush=True)
options = dict(each.split("=", 1) for each in sys.argv[1:] if "=" in each)
if "--port" in options:
    listener = socket.create_server((options["--node-ip-address"], int(options["--port"])))
while not __import__("os").path.exists("ray-ends"):
    time.sleep(0.05)
""",
    "banyan": """
import signal, sys, time
print("banyan", *sys.argv[1:], flush=True)
def end(*_):
    time.sleep(0.3)
    print("banyan drained", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
while sys.argv[1] == "serve":
    time.sleep(0.05)
""",
}


@pytest.fixture
def stubs(tmp_path: Path) -> Path:
    for name, text in STUBS.items():
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!{sys.executable}\n{text}")
        program.chmod(0o755)
    return tmp_path


class Container:
    """The entry point, run where the stubs are."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        self.out = folder / "out"
        with self.out.open("w") as out:
            self.process = subprocess.Popen(
                [IMAGE / "entrypoint", *arguments],
                cwd=folder,
                env={"PATH": path, "RAY_NODE_IP": "127.0.0.1", **environment},
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    @property
    def said(self) -> str:
        return self.out.read_text()

    def ended(self) -> int:
        return self.process.wait(PATIENCE_S)


def test_another_command_is_one_of_banyan(stubs: Path) -> None:
    container = Container(stubs, "search", "gomoku", "--moves", "f6 g7")
    assert container.ended() == 0
    assert container.said == "banyan search gomoku --moves f6 g7\n"


def test_a_head_is_ray_and_a_service_that_drains_first(stubs: Path) -> None:
    port = free_port()
    container = Container(stubs, "head", "--data", "/data", RAY_PORT=str(port))
    eventually(lambda: "banyan serve" in container.said, "no service")
    assert f"ray start --head --port={port} --num-cpus=0 --include-dashboard=false" in container.said
    assert f"banyan serve --address 127.0.0.1:{port} --data /data" in container.said
    assert container.process.poll() is None
    container.process.send_signal(signal.SIGTERM)
    assert container.ended() == 0
    assert container.said.endswith("banyan drained\n")


def test_a_head_ends_when_ray_does(stubs: Path) -> None:
    container = Container(stubs, "head", RAY_PORT=str(free_port()))
    eventually(lambda: "banyan serve" in container.said, "no service")
    (stubs / "ray-ends").touch()
    assert container.ended() == 1
    assert "entrypoint: Ray has ended\nbanyan drained\n" in container.said


def test_a_head_ends_when_ray_does_not_start(stubs: Path) -> None:
    (stubs / "ray-ends").touch()
    (stubs / "bin" / "ray").write_text("#!/bin/sh\nexit 3\n")
    container = Container(stubs, "head", RAY_PORT=str(free_port()))
    assert container.ended() == 1
    assert container.said == "entrypoint: Ray did not start\n"


def test_under_kuberay_ray_starts_as_the_operator_says(stubs: Path) -> None:
    port = free_port()
    command = f"ray start --head --port={port} --node-ip-address=127.0.0.1 --resources='{{\"a\": 1}}' --block"
    container = Container(stubs, "head", RAY_PORT=str(port), KUBERAY_GEN_RAY_START_CMD=command)
    eventually(lambda: "banyan serve" in container.said, "no service")
    assert "ray start --head" in container.said and '--resources={"a": 1} --block\n' in container.said
    container.process.send_signal(signal.SIGTERM)
    assert container.ended() == 0


def test_a_worker_joins_the_head(stubs: Path) -> None:
    (stubs / "ray-ends").touch()
    container = Container(stubs, "worker", RAY_HEAD="head:6379", BANYAN_CPUS="2")
    assert container.ended() == 0
    assert container.said.startswith(
        "ray start --address=head:6379 --num-cpus=2 --node-ip-address=127.0.0.1 --block"
    )
    (stubs / "bin" / "python").symlink_to(sys.executable)
    container = Container(stubs, "worker", RAY_HEAD="head:6379", PYTHONPATH=str(ROOT), SLURM_CPUS_ON_NODE="1")
    assert container.ended() == 0
    assert "--num-cpus=1 " in container.said
    container = Container(stubs, "worker", BANYAN_CPUS="2")
    assert container.ended() != 0
    assert "RAY_HEAD" in container.said


# The health check.


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def service_port() -> Iterator[int]:
    server = http.server.HTTPServer(("127.0.0.1", 0), _Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


def healthcheck(port: int, *arguments: str) -> tuple[int, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ran = subprocess.run(
        [IMAGE / "healthcheck", *arguments],
        env={"PATH": path, "BANYAN_PORT": str(port)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    return ran.returncode, ran.stderr


def test_the_health_check_asks_the_service(service_port: int) -> None:
    assert healthcheck(service_port) == (0, "")
    assert healthcheck(service_port, "readyz") == (1, "status 503\n")
    status, said = healthcheck(free_port())
    assert status == 1 and said.startswith("no answer: ")


# Compose.


def test_compose_is_valid() -> None:
    tool = Path(sys.executable).parent / "check-jsonschema"
    command = [tool, "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yml"]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert checked.returncode == 0, checked.stdout


def test_compose_mounts_what_is_there_and_opens_loopback_only() -> None:
    made = re.findall(r"for name in (.+); do", (DEPLOY / "make-secrets").read_text())[0].split()
    assert {Path(each["file"]).name for each in COMPOSE["secrets"].values()} == set(made)
    for name, service in COMPOSE["services"].items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"])
        assert service["cap_drop"] == ["ALL"] and service["read_only"] is True
        assert re.search(r":v?\d+\.\d+\.\d+$", service["image"]), "an image without a version"
        for volume in service.get("volumes", []):
            source = re.sub(r"\$\{\w+:-(.+?)\}", r"\1", volume).split(":")[0]
            assert (DEPLOY / source).exists() if source.startswith(".") else source in COMPOSE["volumes"], (
                volume
            )
        assert set(service["networks"]) <= set(COMPOSE["networks"])
    on_ray = [name for name, service in COMPOSE["services"].items() if "ray" in service["networks"]]
    assert on_ray == ["banyan", "worker"]
    assert COMPOSE["networks"]["ray"] == {"internal": True}


def test_secrets_are_made_once(tmp_path: Path) -> None:
    script = tmp_path / "make-secrets"
    script.write_text((DEPLOY / "make-secrets").read_text())
    for _ in range(2):
        subprocess.run(["sh", script], check=True, capture_output=True, timeout=PATIENCE_S)
        found = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    assert len(set(found.values())) == 3
    assert all(re.fullmatch("[0-9a-f]{64}", each) for each in found.values())
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    before = found
    subprocess.run(["sh", script], check=True, capture_output=True, timeout=PATIENCE_S)
    assert before == {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}


# What is asked of the service, wherever it is asked.


def served() -> dict[str, list[str]]:
    """The options that each file gives to `banyan serve`."""
    exec_start = re.findall(r"^ExecStart=\S+ (.+)$", UNIT.read_text(), re.MULTILINE)[0]
    cluster = yaml.safe_load((DEPLOY / "kubernetes" / "base" / "raycluster.yaml").read_text())
    head = cluster["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    found = {
        "Containerfile": json.loads(instructions("CMD")[-1]),
        "compose.yml": COMPOSE["services"]["banyan"]["command"],
        "banyan.service": shlex.split(exec_start),
        "raycluster.yaml": head["args"],
    }
    for overlay in ("small", "large"):
        patch = yaml.safe_load((DEPLOY / "kubernetes" / "overlays" / overlay / "raycluster.yaml").read_text())
        found[overlay] = head["args"] + [each["value"] for each in patch if each["path"].endswith("/args/-")]
        assert len(found[overlay]) > len(head["args"])
    return found


@pytest.mark.parametrize("name", served())
def test_the_service_has_the_options_that_it_is_given(name: str) -> None:
    role, *arguments = served()[name]
    assert role in ("serve", "head")
    options = parsed("serve", arguments)
    assert options["host"] == ("127.0.0.1" if name == "banyan.service" else "0.0.0.0")
    assert options["port"] == 8000
    assert options["token_file"]


# Ray's launcher, and systemd.


def test_the_launcher_file_is_as_ray_wants_it() -> None:
    spec = importlib.util.find_spec("ray")
    assert spec is not None and spec.origin is not None
    schema = json.loads((Path(spec.origin).parent / "autoscaler" / "ray-schema.json").read_text())
    config = yaml.safe_load((DEPLOY / "ray" / "cluster.yaml").read_text())
    jsonschema.Draft7Validator(schema).validate(config)
    for command in config["head_start_ray_commands"] + config["worker_start_ray_commands"]:
        subprocess.run(["bash", "-n", "-c", command], check=True, timeout=PATIENCE_S)
    assert "--include-dashboard=false" in config["head_start_ray_commands"][-1]


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    tool = need("systemd-analyze")
    # The program is not installed here; everything else is looked at.
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/banyan/bin/banyan", sys.executable))
    checked = subprocess.run(
        [tool, "verify", "--man=no", unit], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    command = [tool, "security", "--offline=true", "--threshold=20", "--no-pager", unit]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert checked.returncode == 0, checked.stdout[-200:]


# Games of others.


def test_an_installed_game_is_found_in_a_mounted_folder(tmp_path: Path) -> None:
    """What `pip install --target` leaves there: a module, and beside it what says that it brings a game."""
    (tmp_path / "their_game.py").write_text(
        "from games.tictactoe import TicTacToe\n\n\nclass Theirs(TicTacToe):\n    pass\n"
    )
    about = tmp_path / "their_game-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-game\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[banyan.games]\ntheirs = their_game:Theirs\n")
    ran = subprocess.run(
        [sys.executable, "-c", "from cluster.cli import main; main()", "show", "theirs"],
        env=os.environ | {"PYTHONSAFEPATH": "1", "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ran.returncode == 0, ran.stderr
    assert "position  .../.../... x" in ran.stdout
