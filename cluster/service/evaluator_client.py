"""A client that evaluates leaves of a search on a server. It needs nothing but Python: copy and change it.

    curl -s localhost:8000/api/v1/searches -H 'Content-Type: application/json' -d '{"game": "gomoku:size=9",
        "strategy": "leaf", "evaluator": "external", "simulations": 1000, "lanes": 32}'
    python evaluator_client.py http://localhost:8000/api/v1/searches/ID

Any number of clients may work on one search. A server that asks for a token gets BANYAN_TOKEN.
"""

import json
import os
import sys
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

IN_FLIGHT = 32
"""Leaves that are evaluated at a time; no more than the lanes of the search."""
PAUSE_S = 0.1
TRIES = 60
LOOPBACK = ("127.0.0.1", "[::1]", "localhost")


def evaluate(leaf: dict[str, Any]) -> tuple[float, dict[str, float] | None]:
    """The value for the player to move, in [-1, 1], and probabilities of moves: ask your model here."""
    return 0.0, dict.fromkeys(leaf["legal"], 1.0)


def call(url: str, body: dict[str, Any] | None = None) -> Any:
    """Send a GET request, or a POST request with ``body``; returns the answer as JSON values.

    The request is repeated while the server is busy or restarts. Raises OSError.
    """
    headers = {"Content-Type": "application/json"}
    if token := os.environ.get("BANYAN_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers)
    # This machine is not behind a proxy.
    direct = urllib.request.ProxyHandler({} if request.host.rpartition(":")[0] in LOOPBACK else None)
    opener = urllib.request.build_opener(direct)
    left = TRIES
    while True:
        try:
            with opener.open(request, timeout=60) as answer:
                return json.load(answer)
        except OSError as error:
            code = getattr(error, "code", None)
            # A search may wait for its place for long.
            left -= code is None
            if not left or code not in (None, 429, 503):
                raise
            time.sleep(1)


def work(search: str, evaluate: Callable[[dict[str, Any]], Any] = evaluate) -> None:
    """Evaluate leaves of the search at this URL, several at a time, until it is over."""
    out: dict[Future[Any], int] = {}
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        asked = call(f"{search}/leaves?n={IN_FLIGHT}")
        while asked["state"] in ("queued", "running"):
            out |= {pool.submit(evaluate, leaf): leaf["id"] for leaf in asked["leaves"]}
            # Other clients' answers may have made leaves for this one.
            done, _ = wait(out, None if len(out) == IN_FLIGHT else PAUSE_S, FIRST_COMPLETED)
            answers = ((out.pop(each), *each.result()) for each in done)
            told = [{"id": leaf_id, "value": value, "policy": policy} for leaf_id, value, policy in answers]
            if told:
                # The answer has the next leaves.
                asked = call(f"{search}/evaluations?n={IN_FLIGHT - len(out)}", {"evaluations": told})
                for refused in asked["refused"]:
                    # After a restart the server may ask for this leaf again.
                    print(refused, file=sys.stderr)
            else:
                time.sleep(0 if out else PAUSE_S)
                asked = call(f"{search}/leaves?n={IN_FLIGHT - len(out)}")


if __name__ == "__main__":
    work(sys.argv[1])
