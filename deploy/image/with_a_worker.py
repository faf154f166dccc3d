"""Waits until a Ray cluster has a CPU for jobs, then becomes the command that it is given.

    with_a_worker.py ADDRESS COMMAND [ARG...]

The head of a cluster has none of its own, and its workers may take minutes to come: until then a service
would refuse to begin, and take the head with it.
"""

from __future__ import annotations

import logging
import os
import sys
import time

import ray

LOOK_S = 0.5


def main(address: str, command: list[str]) -> None:
    """Does not return."""
    ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    if not ray.cluster_resources().get("CPU"):
        print("entrypoint: waiting for a worker", file=sys.stderr, flush=True)
        while not ray.cluster_resources().get("CPU"):
            time.sleep(LOOK_S)
    ray.shutdown()
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
