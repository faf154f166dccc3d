"""What `banyan predict` says of simulators that wait, held against runs on more workers than there are cores.

    python -m tests.waiting_predict --wait-ms 20 --out DIR

The game is that of games/README.md ("A simulator that waits"). DIR gets its file, and what the command says.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tests.games.own_game import write_waiting

ROOT = Path(__file__).parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description="predictions for a simulator that waits, and runs of it")
    parser.add_argument("--wait-ms", type=float, default=20.0, help="what a playout takes")
    parser.add_argument("--workers", default="1,2,4,8,16,32,64,128,256,512,1024", help="to predict")
    parser.add_argument("--measure", default="1,2,4,8,16,32", help="to run as well")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    game = f"./{Path(write_waiting(options.out)).name}:wait_ms={options.wait_ms:g}"
    command = [sys.executable, "-c", "from cluster.cli import main; main()", "predict", game]
    command += ["--strategies", "leaf", "--workers", options.workers, "--measure", options.measure]
    command += ["--repeats", "1", "--out", ".", "--no-color"]
    # The file is named as a user in its folder would name it.
    done = subprocess.run(command, cwd=options.out, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
