"""The host process, which is connected to Ray: the only module that imports Ray.

When Ray's own processes on the machine die, Ray's library ends the process that uses it; and it reads its
settings only once, on import. So it runs in a process of its own, which `RayProcess` (process.py) starts,
calls and replaces. The host has no logic: it starts actors, forwards calls, and returns their results. Jobs,
contexts and results pass through it as bytes.

Messages on the connection are tuples. To this process, first the arguments of `_join`, then:

    ("put", key, bytes)                             keep an argument of several calls
    ("drop", key)                                   forget it
    ("start", actor, options, machine, make_worker, gives_way)
    ("call", call, actor, method, arguments, keys)  the last arguments were put by these keys
    ("kill", actor, pid, node)                      end the actor and its process, even a stopped one
    ("ask", question)                               "machines", "available", "placed" or "held"
    ("want", bundles)                               request resources from the cluster's autoscaler
    ("close",)

From this process, first ("joined", facts) or ("refused", reason), then ("answer", call, value),
("lost", call, reason), (question, answer) and ("ending", reason). The host ends when the connection does.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import re
import shutil
import sys
import threading
from concurrent.futures import Future
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import ray
import ray.exceptions
from ray.autoscaler.sdk import request_resources
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from cluster.system.processes import kill, marked
from cluster.workers import session_folder as ray_folder
from cluster.workers.process import MARK, pack_answer

OBJECT_STORE_BYTES = 200 * 2**20
"""Size of the object store of an embedded Ray: room for a few snapshots of 1 to 18 MB each."""
WATCH_S = 0.25
"""Interval in seconds of checking the processes of an embedded Ray."""
PROBE_S = 20.0
"""Seconds that a cluster may take to run the first, tiny actor."""
NAME = "banyan-ray"
"""Name of this process in process lists."""


class Actor:
    """The Ray actor of a worker process. All answers are bytes: see `answer_of`."""

    def __init__(self, make_worker: bytes, gives_way: bool) -> None:
        # Imported in workers only: it takes a second.
        from cluster.workers.worker_process import WorkerProcess

        node = ray.get_runtime_context().get_node_id()
        self._process = WorkerProcess(pickle.loads(make_worker), gives_way, node)

    def call(self, method: str, *arguments: Any) -> bytes:
        """Call a method of the `WorkerProcess`."""
        return pack_answer(lambda: getattr(self._process, method)(*arguments))


class _Probe:
    """A test actor: joining a cluster does not yet mean that it runs actors of this process."""

    def node(self) -> str:
        return ray.get_runtime_context().get_node_id()  # type: ignore[no-any-return]


class _Host:
    """Handles messages until the connection ends."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self.logs: Path | None = None
        """Folder of the logs of Ray's processes on this machine."""
        self.closing = threading.Event()
        """Set when Ray is to be ended."""
        self._parts: dict[int, bytes] = {}
        self._stored: dict[int, Any] = {}
        """References to parts in the object store, by key."""
        self._actors: dict[int, Any] = {}
        self._calls: dict[int, Any] = {}
        """References of running calls, by call: Ray drops a call without a reference."""

    def send(self, *message: Any) -> None:
        """Send a message to the parent process, which may be gone."""
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        with self._sending, contextlib.suppress(OSError):
            self._connection.send_bytes(data)

    def serve(self) -> None:
        """Handle messages in order."""
        while True:
            try:
                kind, *values = pickle.loads(self._connection.recv_bytes())
            except (EOFError, OSError):
                return
            if kind == "close":
                return
            getattr(self, f"_{kind}")(*values)

    def _put(self, key: int, data: bytes) -> None:
        self._parts[key] = data

    def _drop(self, key: int) -> None:
        self._parts.pop(key, None)
        self._stored.pop(key, None)

    def _start(
        self, number: int, options: dict[str, Any], machine: str, make_worker: bytes, gives_way: bool
    ) -> None:
        kind = import_module("banyan.worker").Banyan
        if machine:
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(machine, soft=False)
        actor = ray.remote(**options, max_restarts=0, max_task_retries=0)(kind)
        self._actors[number] = actor.remote(make_worker, gives_way)

    def _call(self, call: int, number: int, method: str, arguments: list[Any], keys: list[int]) -> None:
        actor = self._actors.get(number)
        if actor is None:
            self.send("lost", call, "it was ended")
            return
        try:
            reference = actor.call.remote(method, *arguments, *map(self._put_before, keys))
        except ray.exceptions.RayError as error:
            self.send("lost", call, reason_of(error, self.logs))
            return
        self._calls[call] = reference
        reference.future().add_done_callback(lambda done: self._done(call, done))

    def _put_before(self, key: int) -> Any:
        if key not in self._stored:
            self._stored[key] = ray.put(self._parts[key])
        return self._stored[key]

    def _done(self, call: int, answer: Future[Any]) -> None:
        """Send the answer of a call; runs in a thread of Ray."""
        error = answer.exception()
        if error is None:
            self.send("answer", call, answer.result())
        else:
            self.send("lost", call, reason_of(error, self.logs))
        self._calls.pop(call, None)

    def _kill(self, number: int, pid: int, node: str) -> None:
        actor = self._actors.pop(number, None)
        if actor is not None:
            with contextlib.suppress(ray.exceptions.RayError, ValueError):
                ray.kill(actor, no_restart=True)
        if pid and node == ray.get_runtime_context().get_node_id():
            kill({pid})
        elif pid:
            strategy = NodeAffinitySchedulingStrategy(node, soft=False)
            ray.remote(kill).options(num_cpus=0, scheduling_strategy=strategy, max_retries=0).remote({pid})

    def _ask(self, question: str) -> None:
        """Answer a question, in a thread of its own: for a head that is gone, the call takes a minute."""

        def answer() -> None:
            with contextlib.suppress(Exception):
                self.send(question, self.answer(question))

        threading.Thread(target=answer, name=question, daemon=True).start()

    def answer(self, question: str) -> Any:
        """The answer to a question; see `RayProcess.latest`."""
        if question == "machines":
            return {node["NodeID"]: node["Resources"] for node in ray.nodes() if node["Alive"]}
        if question == "available":
            return ray.available_resources()
        if question == "placed":
            known, ours = ray._private.state.actors(), tuple(self._actors.items())
            # An actor has no port before a machine has given it its resources.
            placed = {
                key for key, each in known.items() if each["State"] != "DEAD" and each["Address"]["Port"]
            }
            return [number for number, actor in ours if actor._actor_id.hex() in placed]
        references = ray._private.worker.global_worker.core_worker.get_all_reference_counts()
        actors = sum(actor["State"] != "DEAD" for actor in ray._private.state.actors().values())
        return {"actors": actors, "references": len(references), "parts": len(self._parts)}

    def _want(self, bundles: list[dict[str, float]]) -> None:
        # Without an autoscaler this has no effect; a head that fails to answer now may answer later.
        with contextlib.suppress(ray.exceptions.RayError):
            request_resources(bundles=bundles)


def reason_of(error: BaseException, logs: Path | None = None) -> str:
    """A Ray error in one line: the last statement about what happened in the worker.

    ``logs``: log folder of workers on this machine; if a process has ended, its last line is added.
    """
    text = str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any("creation task" in line for line in lines):
        # The traceback of an exception during the worker's start ends with its reason.
        return lines[-1]
    words = ("exit detail:", "never ran", " node")
    telling = next((line for line in lines if any(word in line for word in words)), "\n".join(lines[:1]))
    telling = telling.partition(" exit detail: ")[2] or telling
    said = f"{type(error).__name__}: {telling.partition('. Some common causes')[0]}".rstrip(": ")
    pid = re.search(r"\bpid[:=] ?(\d+)", text)
    written = "" if logs is None or pid is None else _last_line(logs, pid[1])
    return f"{said}; the worker wrote: {written}" if written else said


def _last_line(logs: Path, pid: str) -> str:
    """The last line of a worker's standard error; empty if it wrote nothing."""
    for file in logs.glob(f"worker-*-{pid}.err"):
        with contextlib.suppress(OSError):
            lines = [line.strip() for line in file.read_text(errors="replace").splitlines() if line.strip()]
            # Lines of Ray itself begin with "[" or ":".
            said = [line for line in lines if not line.startswith(("[", ":"))]
            return said[-1][:200] if said else ""
    return ""


def _join(address: str | None, cpus: int) -> Path:
    """Start a local Ray (address None) or join a cluster; returns its folder. Raises what Ray raises."""
    if address is None:
        started = ray.init(
            address="local",
            num_cpus=cpus,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            object_store_memory=OBJECT_STORE_BYTES,
        )
        folder = Path(started.address_info["session_dir"])
        ray_folder.own(folder)
        ray_folder.remove_left(folder.parent)
        return folder
    started = ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    probe = ray.remote(num_cpus=0, max_restarts=0)(_Probe).remote()
    ray.get(probe.node.remote(), timeout=PROBE_S)
    ray.kill(probe)
    return Path(started.address_info.get("session_dir", ""))


def _watch(host: _Host) -> None:
    """End this process when a process of an embedded Ray has ended; Ray's library does so much later."""
    node = ray._private.worker._global_node
    while not (dead := [name for name, _ in node.dead_processes() if name in ("raylet", "gcs_server")]):
        if host.closing.wait(WATCH_S):
            return
    host.send("ending", f"its {dead[0]} has died")
    _clear_up()
    os._exit(1)


def _clear_up() -> None:
    """Kill what is left of an embedded Ray; remove the folder of this process."""
    kill(marked(f"{MARK}={os.environ[MARK]}") - {os.getpid()})
    shutil.rmtree(Path.cwd(), ignore_errors=True)


def main() -> None:
    """Handle messages of the connection whose file descriptor is the first argument, until it ends."""
    connection = Connection(int(sys.argv[1]))
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(NAME)
    host = _Host(connection)
    address, cpus = pickle.loads(connection.recv_bytes())
    folder = None
    try:
        folder = _join(address, cpus)
        host.logs = folder / "logs"
        if address is None:
            threading.Thread(target=_watch, args=(host,), name="watch", daemon=True).start()
        facts = {question: host.answer(question) for question in ("machines", "available")}
        host.send("joined", facts | {"node": ray.get_runtime_context().get_node_id()})
        host.serve()
    except Exception as error:
        host.send("refused", reason_of(error))
    host.closing.set()
    ray.shutdown()
    _clear_up()
    if address is None and folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
