"""Makes the pictures of the page and of Prometheus in READMEs: python -m tests.cluster.service.pictures

Two workers on Ray search for three minutes; one of them is killed.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cluster.processes import named
from tests.cluster.prometheus import free_port, prometheus
from tests.cluster.service.browser import Visitor, chromium
from tests.cluster.service.process import Server


def shoot(
    name: str, wide: int, tall: int, wait_s: int, url: str, view: str, moves: str = "", scheme: str = "light"
) -> None:
    """A picture of a view after a while; with ``moves`` of a game, while the position is searched."""
    with chromium() as browser:
        found = Visitor(browser, url, view, viewport={"width": wide, "height": tall}, color_scheme=scheme)
        if moves:
            found.begin(name, "person", "person", 20_000_000)
            for move in moves.split():
                found.make(move)
            found.page.locator("details.more").evaluate("folded => (folded.open = false)")
            found.page.click("#hint")
            # The game may have to be compiled.
            found.page.locator(".best .value").wait_for()
        found.page.wait_for_timeout(1000 * wait_s)
        found.page.screenshot(path=Path("cluster", "plots", f"{'page_' if view else ''}{name}.png"))


if __name__ == "__main__":
    port = free_port()
    with (
        TemporaryDirectory() as kept,
        Server(Path(kept, "searches"), "--workers", "2", "--nice", "1", executor="ray") as server,
        prometheus(Path(kept), {"127.0.0.1:8000": f"127.0.0.1:{server.port}"}, port),
    ):
        shoot("gomoku", 1280, 860, 12, server.url, "play", "h8 h9 g8 g9 i9 i8 h7 g7")
        shoot("morris", 1280, 860, 12, server.url, "play", "b6 d6 f6 b4 f4 c4 d3 b2 d2 f2", "dark")
        for game, strategy in ("connect_four", "tree"), ("gomoku", "root"), ("gomoku", "tree"):
            server.client().submit({"game": game, "strategy": strategy, "lanes": 4, "seconds": 200})
        time.sleep(70)
        os.kill(named("ray::Banyan", server.process.pid)[0], signal.SIGKILL)
        shoot("cluster", 1400, 1050, 40, server.url, "cluster")
        query = "graph?g0.tab=0&g0.range_input=3m&g0.expr=sum(rate(banyan_playouts_total[15s]))&end="
        shoot("prometheus", 1000, 745, 3, f"http://127.0.0.1:{port}/{query}", "")
