"""An evaluator whose answers are functions of the position, whatever moves led to it, and that logs them."""

import time
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from games import Game
from search.evaluator import Evaluator

CODES = 1024


class Counting(Evaluator):
    """``log``: a file that gets a line for each position; ``wait_ms``: how long each takes. ``weights``: a
    file whose text is the version."""

    def __init__(
        self, game: Game, log: str = "", wait_ms: int = 0, weights: str = "", shift: int = 0
    ) -> None:
        super().__init__(game)
        self.log, self.wait_s, self.shift = log, wait_ms / 1000, shift
        self.version = Path(weights).read_text() if weights else ""

    def evaluate(self, states: npt.NDArray[Any]) -> Any:
        hashes = np.array([self.hash_of(state) for state in states], dtype=np.int64) + self.shift
        policies = hashes[:, None] // (np.arange(CODES) + 1) % 997 / 300
        return (hashes % 2001 - 1000) / 1000, policies

    def hash_of(self, state: npt.NDArray[Any]) -> int:
        time.sleep(self.wait_s)
        found = crc32(self.game.canonical(state).tobytes())
        if self.log:
            with Path(self.log).open("a") as file:
                file.write(f"{found}\n")
        return found
