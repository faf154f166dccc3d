"""Compiles the kernels of the games that come with Banyan, or of those named, while an image is built.

They go into NUMBA_CACHE_DIR. Options of games that change the rules (gomoku:size=9) have kernels of their
own: these are compiled when they are first met, as anywhere else.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

import games
from cluster.cli import run

SPECS = {"explicit": "explicit:([1 3][2 8])"}
"""What is searched where a name alone is no game."""
SEARCH = ("--simulations", "64", "--lanes", "2", "--executor", "inline", "--no-progress", "--json")


def main(names: Sequence[str]) -> int:
    """1 if a search fails: then the image is not to be built."""
    begin_s = time.monotonic()
    failed = 0
    for name in names or games.names():
        for strategy in ("tree", "root", "leaf"):
            with open(os.devnull, "w") as nowhere:
                standard, sys.stdout = sys.stdout, nowhere
                try:
                    status = run(["search", SPECS.get(name, name), "--strategy", strategy, *SEARCH])
                finally:
                    sys.stdout = standard
            print(f"{name} {strategy}: {'compiled' if status == 0 else f'status {status}'}", flush=True)
            failed += status != 0
    print(f"{time.monotonic() - begin_s:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
