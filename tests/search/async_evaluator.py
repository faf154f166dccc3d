"""The evaluator of hashed_evaluator.py as a coroutine, which awaits all positions of a batch at once."""

import asyncio
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from games import Game
from search.evaluator import Evaluator


class Waiting(Evaluator):
    """``wait_ms``: how long each position takes. ``log``: a file that gets a line for each new largest number
    of positions awaited at once, and for each call that was cancelled. ``hang``: a file; a call that finds it
    removes it and never returns. ``fail``: the number of the call that fails."""

    def __init__(
        self,
        game: Game,
        wait_ms: int = 0,
        concurrency: int = 32,
        log: str = "",
        hang: str = "",
        fail: int = -1,
    ) -> None:
        super().__init__(game)
        self.wait_s, self.concurrency, self.log, self.hang = wait_ms / 1000, concurrency, log, hang
        self.loop: asyncio.AbstractEventLoop | None = None
        self.now = self.most = self.calls = 0
        self.fail = fail

    async def evaluate(self, states: npt.NDArray[Any]) -> tuple[Any, Any]:
        self.loop = self.loop or asyncio.get_running_loop()
        assert self.loop is asyncio.get_running_loop(), "what is kept between calls belongs to one loop"
        self.calls += 1
        if self.calls == self.fail:
            raise RuntimeError("the server is down")
        self.now += len(states)
        if self.now > self.most:
            self.most = self.now
            self.say(self.most)
        try:
            if self.hang and self.calls > 20 and Path(self.hang).exists():
                Path(self.hang).unlink()
                await asyncio.sleep(3600)
            answers = await asyncio.gather(*(self.one(state) for state in states))
        except asyncio.CancelledError:
            self.say("cancelled")
            raise
        finally:
            self.now -= len(states)
        return [value for value, _ in answers], [policy for _, policy in answers]

    async def one(self, state: npt.NDArray[Any]) -> tuple[float, npt.NDArray[np.float64]]:
        digest = crc32(state.tobytes())
        # The later ones are not always ready later.
        await asyncio.sleep(self.wait_s * (1 + digest % 2))
        return (digest % 2001 - 1000) / 1000, digest // (np.arange(self.game.max_moves) + 1) % 997 / 300

    def say(self, what: object) -> None:
        if self.log:
            with Path(self.log).open("a") as file:
                file.write(f"{what}\n")
