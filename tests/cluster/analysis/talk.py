"""A dialogue with `banyan engine` in a process of its own, as managers and arbiters have it."""

from __future__ import annotations

import subprocess
import threading
import time
from contextlib import suppress
from queue import SimpleQueue
from types import TracebackType

from tests.cluster.command import BANYAN
from tests.waiting import PATIENCE_S


class Talk:
    """Writes lines, and hears those that come; the process is killed when a test fails."""

    def __init__(self, *arguments: str, end: str = "\r\n") -> None:
        """``end``: of each line that is written."""
        self._end = end
        self._process = subprocess.Popen(
            (*BANYAN, "engine", *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._heard: SimpleQueue[tuple[float, str | None]] = SimpleQueue()
        self._told_s = time.monotonic()
        self.took_s = 0.0
        """Seconds from the last line that was told to the last that was heard."""
        self.all: list[str] = []
        """All lines that were heard."""
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._heard.put((time.monotonic(), line.decode().rstrip("\n")))
        self._heard.put((time.monotonic(), None))

    def tell(self, *lines: str | bytes) -> None:
        assert self._process.stdin is not None
        text = b"".join(
            (each.encode() if isinstance(each, str) else each) + self._end.encode() for each in lines
        )
        self._process.stdin.write(text)
        self._process.stdin.flush()
        self._told_s = time.monotonic()

    def hear(self, *beginnings: str) -> str:
        """The next line that begins with one of these; those before it are passed over."""
        while True:
            came_s, line = self._heard.get(timeout=PATIENCE_S)
            assert line is not None, f"it has ended without {beginnings}: {self.all[-5:]}"
            self.all.append(line)
            if line.startswith(beginnings or ""):
                self.took_s = came_s - self._told_s
                return line

    def ask(self, line: str, *beginnings: str) -> str:
        """Tell a line, and hear the next that begins with one of these."""
        self.tell(line)
        return self.hear(*beginnings)

    def left(self) -> list[str]:
        """The lines until the process ends by itself, after its input has ended, and its exit status is 0."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        lines = []
        while (line := self._heard.get(timeout=PATIENCE_S)[1]) is not None:
            lines.append(line)
        assert self._process.wait(PATIENCE_S) == 0
        return lines

    def __enter__(self) -> Talk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            # What was not taken by a process that has ended cannot be written.
            with suppress(BrokenPipeError):
                pipe.close()
