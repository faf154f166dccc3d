"""The view Cluster of the page, in a real browser: real Ray workers that are killed, 500 that are made up."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.cluster.processes import named
from tests.cluster.service.browser import Visitor
from tests.cluster.service.process import Server

pytestmark = pytest.mark.slow

FAKE = (Path(__file__).parent / "fake_cluster.js").read_text().partition("\n(")[2]
"""A function of the page that answers its requests for events of a cluster."""
LEAST_CONTRAST = 4.5
WORKING = re.compile(r"^(working|\d+ % of a core)$")
"""What a worker with a job shows; it may be that other tests use its core."""
THICKNESS = """path => {
    const points = path.getAttribute("d").split("Z")[0].slice(1).split("L");
    const ys = points.map((point) => Number(point.split(" ")[1]));
    return [...Array(ys.length / 2).keys()].map((i) => ys[ys.length - 1 - i] - ys[i]);
}"""
"""How high an area of the plot is at each point of time, up to the first gap."""
LEFT = """() => {
    const view = [...document.querySelectorAll("main > *")].find((each) => !each.hidden);
    const first = [document.querySelector(".brand"), view.firstElementChild];
    return first.map((each) => each.getBoundingClientRect().x);
}"""
TICK_MS = 30
"""Of the processor, for the scripts of a tick with 500 workers: about 12, those of this test among them."""
COLOURS = """canvas => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const pixels = new Uint32Array(data.buffer);
    return [...Array(canvas.width).keys()].map((x) => pixels[(canvas.height - 4) * canvas.width + x]);
}"""
"""The colour of each second of a strip, near the ground."""
HIDE = """() => {
    Object.defineProperty(document, "hidden", { value: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def fake(browser: Browser, server: Server, settings: dict[str, int], **options: object) -> Visitor:
    found = Visitor(browser, "about:blank", "", **options)
    found.page.add_init_script(f"(({FAKE})({json.dumps(settings)})")
    found.page.goto(server.url)
    return found


@pytest.fixture(scope="module")
def ray_server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("ray")
    with Server(data, "--workers", "2", "--nice", "1", executor="ray") as found:
        yield found


def test_a_worker_that_is_killed_is_seen(browser: Browser, ray_server: Server) -> None:
    """From an empty server by its button to a search, whose worker dies and comes back."""
    found = Visitor(browser, ray_server.url, "")
    page = found.page
    expect(page.locator("#to-cluster")).to_have_attribute("aria-current", "page")
    expect(page.locator("#cluster-command")).to_have_text(f"banyan search gomoku --server {ray_server.url}")
    expect(page.locator("#throughput")).to_be_hidden()
    page.click("#cluster-begin")
    client = ray_server.client()
    # One that does not end meanwhile.
    client.submit({"game": "gomoku:size=9", "seconds": 100, "strategy": "tree", "lanes": 4})
    states = page.locator("#machines .state")
    expect(states).to_have_text([WORKING, WORKING])
    expect(page.locator("#cluster-figures")).to_contain_text(re.compile(r"[1-9][\d.]* [kM] simulations/s"))
    expect(page.locator("#throughput-searches a").first).to_have_text(re.compile("Gomoku, "))
    expect(page.locator("#machines h3")).to_have_count(1)
    expect(page.locator("#cluster-empty")).to_be_hidden()
    killed = named("ray::Banyan", ray_server.process.pid)[0]
    os.kill(killed, signal.SIGKILL)
    expect(page.locator("#cluster-marks .lost").first).to_contain_text(
        re.compile(r"Worker \d on .+ was lost: its process ended \(ActorDiedError\)$")
    )
    expect(page.locator("#throughput-plot .mark.lost")).to_have_count(1)
    expect(page.locator("#machines .process", has_text=re.compile(r"pid \d+, 1 restart"))).to_have_count(1)
    expect(states).to_have_text([WORKING, WORKING])
    row = page.locator("#machines li", has_text="1 restart")
    strip = row.locator("canvas")
    expect(strip).to_have_attribute("title", re.compile(r"working \d+ %, merging <?\d+ %, .+, lost \d+ s"))
    # Of its strip too: the seconds without a process have a colour that seconds of work have not.
    other = page.locator("#machines li", has_not_text="1 restart").locator("canvas")
    assert set(strip.evaluate(COLOURS)) - set(other.evaluate(COLOURS))
    row.locator("a").click()
    expect(page.locator("#watch")).to_be_visible()
    found.leave()
    assert found.complaints == []


def test_the_view_goes_on_with_the_next_server(browser: Browser, tmp_path: Path) -> None:
    """What was seen before stays, with a gap where there was no server."""
    with Server(tmp_path, "--max-seconds", "29") as first:
        found = Visitor(browser, first.url, "cluster")
        found.page.click("#cluster-begin")
        expect(found.page.locator("#cluster-problem")).to_contain_text("29")
        expect(found.page.locator("#cluster-state")).to_contain_text("Ready")
        first.client().submit({"game": "tictactoe", "seconds": 3})
        area = found.page.locator("#throughput-plot .area").first
        expect(area).to_have_attribute("d", re.compile("^M[^M]+L[^M]+L[^M]+L"))
        first.kill()
        state = found.page.locator("#cluster-state")
        expect(state).to_contain_text("No connection")
        # Longer than two points are apart.
        found.page.wait_for_timeout(5000)
        with Server(tmp_path, port=first.port):
            expect(state).to_contain_text("Ready: 1 of 1 workers alive")
            expect(area).to_have_attribute("d", re.compile("^M[^M]+M"))
        found.leave()


def test_five_hundred_workers_are_seen_at_once(browser: Browser, server: Server) -> None:
    found = fake(
        browser, server, {"machines": 20, "each": 25, "searches": 9}, viewport={"width": 1400, "height": 900}
    )
    page = found.page
    strips = page.locator("#machines canvas")
    expect(strips).to_have_count(500)
    expect(page.locator("#machines h3")).to_have_count(20)
    expect(page.locator("#cluster-state")).to_contain_text("of 500 workers alive")
    expect(page.locator("#throughput-plot .area")).to_have_count(7)
    assert all(all(colours) for colours in strips.evaluate_all(f"all => all.map({COLOURS})"))
    # All of them are read, one of them in words; keys lead from one to the next.
    expect(strips.nth(499)).to_have_accessible_name(re.compile("Worker 499, the last minute: working"))
    page.locator("#machines li").nth(24).hover()
    shown = page.locator("#worker-shown")
    expect(shown).to_contain_text("24 on node-0")
    page.locator("#machines [tabindex='0']").press("ArrowRight")
    expect(shown).to_contain_text("25 on node-1")
    page.get_by_label("Only those that do not work").check()
    expect(page.locator("#machines li").nth(24)).to_be_hidden()
    expect(page.locator("#machines li").nth(3)).to_be_visible()
    page.get_by_label("Only those that do not work").uncheck()
    session = found.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def script_s() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "ScriptDuration"))

    before_s = script_s()
    page.wait_for_timeout(8000)
    assert 0.001 < (script_s() - before_s) / 8 < TICK_MS / 1000
    # A clock that is set back, fewer workers than the one that is shown, and an hour later no search.
    marks = page.locator("#cluster-marks li")
    expect(marks).to_have_count(8)
    page.evaluate("ahead_s = -1800")
    expect(marks).to_have_count(0)
    page.locator("#machines li").nth(400).hover()
    expect(shown).to_contain_text("400 on node-16")
    # Or else whichever worker comes to lie under the pointer is shown.
    page.mouse.move(0, 0)
    page.evaluate("become(100, 9)")
    expect(strips).to_have_count(100)
    expect(shown).to_contain_text("0 on node-0")
    page.evaluate("ahead_s = 3600; become(100, 0)")
    expect(page.locator("#cluster-empty")).to_be_visible()
    words = page.evaluate("import('/page/dom.js').then((dom) => [dom.seconds(119.7), dom.short(999600)])")
    assert words == ["2 min 0 s", "1.00 M"]
    # A hidden page does nothing.
    page.evaluate(HIDE)
    before_s = script_s()
    page.wait_for_timeout(2000)
    assert (script_s() - before_s) / 2 < 0.001
    found.leave()
    assert found.complaints == []


def test_starved_workers_and_searches_that_have_ended_are_told(browser: Browser, server: Server) -> None:
    settings = {"machines": 2, "each": 4, "searches": 4, "ended": 6}
    found = fake(browser, server, settings, viewport={"width": 1900, "height": 900})
    page = found.page
    starved = page.locator("#machines li").nth(5)
    expect(starved).to_contain_text(re.compile(r"[1-6]\d % of a core.*pid 4005"))
    expect(starved.locator("canvas")).to_have_accessible_name(re.compile("waiting for the machine [3-7]. %"))
    page.get_by_label("Only those that do not work").check()
    expect(starved).to_be_visible()
    expect(page.locator("#machines li").nth(4)).to_be_hidden()
    expect(page.locator("#cluster-figures")).to_contain_text(re.compile(r"jobs get [89]\d % of a core"))
    expect(page.locator("#merge-figures")).to_be_hidden()
    page.click("#cluster-more summary")
    expect(page.locator("#merge-figures")).to_contain_text("Merge lag")
    # Those of gomoku are one, and the one of hex would be lower than a pixel.
    key = page.locator("#throughput-searches li")
    expect(key).to_have_count(5)
    expect(key.first).to_have_text("Gomoku 5 ended")
    # They ran for 30 s: points 100 to 114 of two seconds.
    heights = page.locator("#throughput-plot .area").last.evaluate(THICKNESS)
    assert sum(height > 0.99 * max(heights) for height in heights) >= 9
    among = [i for i, height in enumerate(heights) if height > 0.01 * max(heights)]
    assert (among[0], among[-1]) == (97, 117)
    for view in ("cluster", "play", "searches", "reports"):
        page.click(f"#to-{view}")
        assert len({round(x) for x in page.evaluate(LEFT)}) == 1
    found.leave()
    assert found.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("each", "searches"), [(4, 9), (50, 2), (4, 0)])
def test_it_fits_a_phone_and_can_be_read(
    browser: Browser, server: Server, each: int, searches: int, scheme: str
) -> None:
    """Rows, strips only, and a server that has searched nothing yet."""
    settings = {"machines": 2, "each": each, "searches": searches}
    found = fake(browser, server, settings, color_scheme=scheme, viewport={"width": 390, "height": 3000})
    expect(found.page.locator("#machines canvas")).to_have_count(2 * each)
    expect(found.page.locator("#cluster-empty")).to_be_visible(visible=not searches)
    assert found.page.evaluate("document.documentElement.scrollWidth") == 390
    seen = {f"{text['where']}: {text['words']}": round(text["ratio"], 2) for text in found.contrasts()}
    assert len(seen) > 15
    expect(found.page.get_by_role("button", name="Colours: auto")).to_have_text("\u25d0 Colours: auto")
    expect(found.page.locator("#theme span")).to_be_hidden()
    assert {name: ratio for name, ratio in seen.items() if ratio < LEAST_CONTRAST} == {}
    found.leave()
