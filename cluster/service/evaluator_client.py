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
from concurrent.futures import ThreadPoolExecutor
from typing import Any

IN_FLIGHT = 32
"""Leaves that are evaluated at a time; no more than the lanes of the search."""
TRIES = 60


def evaluate(leaf: dict[str, Any]) -> tuple[float, dict[str, float] | None]:
    """The value for the player to move, in [-1, 1], and probabilities of moves: ask your model here."""
    return 0.0, dict.fromkeys(leaf["legal"], 1.0)


def call(url: str, body: dict[str, Any] | None = None) -> Any:
    """Send a GET request, or a POST request with this body, again if the server restarts; the answer."""
    headers = {"Content-Type": "application/json"}
    if token := os.environ.get("BANYAN_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers)
    for left in reversed(range(TRIES)):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except OSError as error:
            if not left or getattr(error, "code", 503) not in (429, 503):
                raise
            time.sleep(1)
    return None


def work(search: str, evaluate: Callable[[dict[str, Any]], Any] = evaluate) -> None:
    """Evaluate leaves of the search at this URL, one at a time, until it is over."""
    while (asked := call(f"{search}/leaves?n=1"))["state"] in ("queued", "running"):
        for leaf in asked["leaves"]:
            value, policy = evaluate(leaf)
            told = {"id": leaf["id"], "value": value, "policy": policy}
            for refused in call(f"{search}/evaluations", {"evaluations": [told]})["refused"]:
                # After a restart the server may ask for this leaf again.
                print(refused, file=sys.stderr)
        if not asked["leaves"]:
            time.sleep(0.05)


if __name__ == "__main__":
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        list(pool.map(work, sys.argv[1:] * IN_FLIGHT))
