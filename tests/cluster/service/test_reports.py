"""Results of measurements in the data folder, and measurements on the server's own workers."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from cluster.lab.throughput.speedup import SpeedupRow
from cluster.report.plot_frame import COLOURS
from cluster.service.errors import Problem
from cluster.service.limits import Limits
from cluster.service.reports import MOST, MOST_FOLDERS, MOST_VALUES, Reports, Speedups, newest
from cluster.service.request_models import SpeedupBody
from search.request import SearchRequest
from tests.cluster.searches import alone
from tests.cluster.service.process import Server, http
from tests.waiting import PATIENCE_S, eventually

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROWS: list[dict[str, Any]] = [
    {"game": "hex", "strategy": strategy, "workers": workers, "simulations_per_s": 10.0}
    | {"speedup": 1.0, "spread": [9.0, 11.0], "of_ceiling": None}
    for strategy in ("root", "tree")
    for workers in (1, 8)
]
STRENGTH = {"game": "hex", "rows": [{"strategy": "tree", "lanes": 4}], "curve": [], "matches": []}

TOKEN = "correct.horse.battery.staple"
SERVER = ("--max-seconds", "60", "--max-lanes", "16")


def write(path: Path, value: object, modified: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    os.utime(path, (modified, modified))


@pytest.fixture
def api(server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{server.url}/api/v1", timeout=PATIENCE_S) as client:
        yield client


def test_results_are_listed_with_titles_and_served_as_they_are(server: Server, api: httpx.Client) -> None:
    write(server.data / "old" / "speedup.json", ROWS, 1000)
    write(server.data / "a/b/c" / "predict.json", {"predicted": ROWS[:1], "costs": {}}, 2000)
    write(server.data / "strength.json", STRENGTH, 3000)
    write(server.data / "a/b/c/d" / "speedup.json", ROWS)
    write(server.data / "checkpoints" / "speedup.json", ROWS)
    write(server.data / "a" / "other.json", ROWS)
    listed = api.get("/reports").json()["reports"]
    assert [(each["name"], each["kind"], each["title"], each["modified"]) for each in listed] == [
        ("", "strength", "hex: strength of tree with 4 lanes", 3000),
        ("a/b/c", "predict", "hex: root on 1 worker", 2000),
        ("old", "speedup", "hex: root and tree on 1 to 8 workers", 1000),
    ]
    assert {each["problem"] for each in listed} == {None}
    assert api.get(f"/reports/{listed[2]['id']}").json() == ROWS
    for name in ("old", "old%2Fspeedup.json", "..%2Fsearches.sqlite", "searches.sqlite"):
        assert api.get(f"/reports/{name}").status_code == 404
    write(server.data / "old" / "speedup.json", ROWS[:1], 4000)
    assert api.get("/reports").json()["reports"][0]["title"] == "hex: root on 1 worker"


CARELESS: dict[str, tuple[Any, str]] = {
    "half": (json.dumps(ROWS)[:-9], "JSON"),
    "nan": ('[{"game": "hex", "strategy": "root", "workers": NaN}]', "JSON"),
    "beyond": ('[{"game": "hex", "strategy": "root", "workers": 1e999}]', "version"),
    "half a letter": ('[{"game": "\\ud800", "strategy": "root", "workers": 1}]', "JSON"),
    "long": (f"[{'[],' * (MOST_VALUES // 2)}[]]", "400,000 values"),
    "digits": ("9" * 10_000, "JSON"),
    "deep": ("[" * 100_000, "JSON"),
    "other version": ([{"game": "hex", "rate": 1}], "version"),
    "no rows": ([], "version"),
    "table": ({"game": "hex"}, "version"),
}


def test_careless_and_hostile_files_are_listed_with_a_line_and_break_nothing(
    server: Server, api: httpx.Client, tmp_path: Path
) -> None:
    data = server.data / "careless"
    for name, (content, _) in CARELESS.items():
        write(data / name / "speedup.json", content)
    expected = {name: words for name, (_, words) in CARELESS.items()}
    expected |= {"pipe": "not a file", "large": "5 MB", "bytes": "JSON", "link": "link"}
    for name in ("pipe", "large", "bytes", "link"):
        (data / name).mkdir()
    os.mkfifo(data / "pipe" / "speedup.json")
    (data / "large" / "speedup.json").write_bytes(b"")
    os.truncate(data / "large" / "speedup.json", 200 * 10**6)
    (data / "bytes" / "speedup.json").write_bytes(b"\xff\xfe[")
    write(tmp_path / "outside" / "speedup.json", ROWS)
    (data / "link" / "speedup.json").symlink_to(tmp_path / "outside" / "speedup.json")
    (data / "linked folder").symlink_to(tmp_path / "outside")
    (data / "loop").symlink_to(data)
    write(data / os.fsdecode(b"\xe9\n") / "speedup.json", [{**ROWS[0], "game": "x" * 300}])
    listed = [each for each in api.get("/reports").json()["reports"] if each["name"].startswith("careless/")]
    found = {each["name"].removeprefix("careless/"): each for each in listed}
    odd = found.pop("?\n")
    assert odd["problem"] is None
    assert len(odd["title"]) < 210
    assert found.keys() == expected.keys()
    for name, words in expected.items():
        assert words in found[name]["problem"], name
        answer = api.get(f"/reports/{found[name]['id']}")
        assert answer.status_code == 409
        assert words in answer.json()["detail"]
    assert http.get(f"{server.url}/readyz").status_code == 200


def test_the_newest_are_listed_and_what_has_gone_is_not(tmp_path: Path) -> None:
    for number in range(MOST + 5):
        write(tmp_path / f"{number}" / "speedup.json", ROWS, number)
    reports = Reports(tmp_path)
    listed = asyncio.run(reports.listed())
    assert [each.name for each in listed] == [f"{number}" for number in reversed(range(5, MOST + 5))]
    (tmp_path / "7" / "speedup.json").unlink()
    assert asyncio.run(reports.content(next(each.id for each in listed if each.name == "7"))) is None
    assert asyncio.run(reports.content(listed[0].id)) == json.dumps(ROWS).encode()
    assert asyncio.run(Reports(tmp_path / "none").listed()) == []


def test_many_requests_share_a_walk_of_the_folder_and_wait_outside_of_the_loop(tmp_path: Path) -> None:
    write(tmp_path / "a" / "speedup.json", ROWS)
    walks, gate = list[str](), threading.Event()

    def walk(folder: str) -> Any:
        walks.append(folder)
        assert gate.wait(PATIENCE_S)
        return newest(folder)

    async def ask() -> list[bytes | None]:
        reports = Reports(tmp_path, walk)
        [report_id] = newest(str(tmp_path))
        asked = [asyncio.create_task(reports.content(each)) for each in [report_id, "none"] * 50]
        await asyncio.sleep(0)
        gate.set()
        return await asyncio.gather(*asked)

    assert asyncio.run(ask()) == [json.dumps(ROWS).encode(), None] * 50
    # The first one is under way when the others come.
    assert len(walks) <= 2


def test_of_too_many_folders_those_that_have_changed_last_are_searched(tmp_path: Path) -> None:
    for number in range(MOST_FOLDERS + 2):
        (tmp_path / f"{number}").mkdir()
        os.utime(tmp_path / f"{number}", (number, number))
    for number in (0, MOST_FOLDERS + 1):
        write(tmp_path / f"{number}" / "speedup.json", ROWS)
        os.utime(tmp_path / f"{number}", (number, number))
    assert [place for place, *_ in newest(str(tmp_path)).values()] == [
        str(tmp_path / f"{MOST_FOLDERS + 1}" / "speedup.json")
    ]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"game": "nogame"}, "game"),
        ({"game": "./mygame.py"}, "game"),
        ({"game": "hex", "workers": 2}, "workers"),
        ({"game": "hex", "workers": 0}, "workers"),
        ({"game": "hex", "seconds": 61}, "seconds"),
        ({"game": "hex", "seconds": 9.9}, "seconds"),
        ({"game": "hex", "strategies": []}, "strategies"),
        ({"game": "hex", "strategies": ["branch"]}, "strategies.0"),
        ({"game": "hex", "data": "/"}, "data"),
    ],
)
def test_measurements_that_cannot_be_are_refused_by_their_field(
    api: httpx.Client, body: dict[str, Any], field: str
) -> None:
    answer = api.post("/speedups", json=body)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert api.get("/speedups").json()["last"] is None


def ended(api: httpx.Client) -> dict[str, Any]:
    """The last measurement, when it is over."""

    def last() -> dict[str, Any]:
        found: dict[str, Any] = api.get("/speedups").json()["last"]
        assert found["state"] != "running" or found["left_s"] >= 0
        return found

    eventually(lambda: last()["state"] != "running")
    return last()


def result(api: httpx.Client, last: dict[str, Any]) -> list[dict[str, Any]]:
    assert (last["state"], last["error"], last["left_s"]) == ("done", None, 0)
    newest = api.get("/reports").json()["reports"][0]
    assert newest["id"] == last["report"]
    assert newest["name"].startswith("reports/2")
    rows: list[dict[str, Any]] = api.get(f"/reports/{newest['id']}").json()
    return rows


@pytest.mark.slow
def test_a_measurement_has_the_form_and_the_digests_of_the_command_line(
    server: Server, api: httpx.Client
) -> None:
    """The calibration, one at a time, a cancelled one, and one beside another search; the newest are kept."""
    reports = server.data / "reports"
    own = [f"2020-01-01-{number:06}-hex" for number in range(101)]
    for name in (*own, "2020-of-others"):
        write(reports / name / "speedup.json", ROWS, 1)
    write(reports / own[1] / "notes", "of a person")
    body = {"game": "tictactoe", "seconds": 10}
    first = api.post("/speedups", json=body)
    assert first.status_code == 202
    assert api.post("/speedups", json=body).status_code == 409
    rows = result(api, ended(api))
    assert sorted({*own, "2020-of-others"} - set(os.listdir(reports))) == own[:1]
    assert len(os.listdir(reports)) == 102
    assert [(row["strategy"], row["workers"], row["speedup"]) for row in rows] == [
        ("root", 1, 1.0),
        ("tree", 1, 1.0),
    ]
    for row in rows:
        assert {each.name for each in fields(SpeedupRow)} <= row.keys()
        assert (row["of_ceiling"], row["ceiling_simulations_per_s"]) == (None, None)
        names = ("game", "strategy", "lanes", "simulations")
        request = SearchRequest(**{name: row[name] for name in names})
        assert alone(request).digest == row["digest"]
    search = api.post("/searches", json={"game": "tictactoe", "seconds": 60}).json()["id"]
    api.post("/speedups", json=body | {"strategies": ["root"]})
    rows = result(api, ended(api))
    assert [row["trusted"] for row in rows] == [False]
    assert any("other searches" in line for line in rows[0]["warnings"])
    api.delete(f"/searches/{search}")
    begun = api.post("/speedups", json=body | {"seconds": 60}).json()["id"]
    assert api.delete(f"/speedups/{begun}").status_code == 200
    last = ended(api)
    assert (last["state"], last["error"], last["report"]) == ("cancelled", "it was cancelled", None)
    assert api.delete("/speedups/other").status_code == 404


def test_a_measurement_can_follow_one_that_is_cancelled_while_it_compiles(tmp_path: Path) -> None:
    executor = SimpleNamespace(name="none", workers=[SimpleNamespace(alive=True)])
    of_service: Any = SimpleNamespace(
        pool=SimpleNamespace(executor=executor, alive=True),
        limits=Limits(),
        games=SimpleNamespace(check=lambda *_: None),
        draining=False,
        store=SimpleNamespace(folder=tmp_path),
    )
    speedups, gate = Speedups(of_service, allowed=True), threading.Event()
    # Kernels that another has begun to compile.
    speedups.thread.submit(gate.wait, 60)
    first = speedups.start(SpeedupBody(game="hex"), "")
    with pytest.raises(Problem, match="a measurement is running"):
        speedups.start(SpeedupBody(game="hex"), "")
    assert speedups.cancel(first.now.id).view().state == "cancelled"
    second = speedups.start(SpeedupBody(game="hex"), "")
    assert second.view().state == "running"
    speedups.cancel(second.now.id)
    gate.set()
    speedups.thread.shutdown()
    assert [run.now.error for run in (first, second)] == ["it was cancelled"] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "variable"), [("--no-allow-speedup", "NO_TOKEN"), ("--max-running=4", "BANYAN_TOKEN")]
)
def test_a_server_that_does_not_allow_it_says_so(tmp_path: Path, option: str, variable: str) -> None:
    """When told not to, and when others than this machine may have access."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with Server(tmp_path, option, environment=os.environ | {variable: TOKEN}) as server:
        answer = http.post(f"{server.url}/api/v1/speedups", json={"game": "hex"}, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (403, "application/problem+json")
        assert "--allow-speedup" in answer.json()["detail"]
        found = http.get(f"{server.url}/api/v1/speedups", headers=headers).json()
        assert "--allow-speedup" in found["reason"]


@pytest.mark.slow
def test_the_page_lists_draws_and_measures(browser: Browser, server: Server, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    from tests.cluster.service.browser import Visitor

    write(server.data / "page" / "speedup.json", ROWS, int(time.time()))
    write(server.data / "bad" / "speedup.json", "[", 5000)
    write(tmp_path / "endless.json", json.dumps(ROWS).replace("8", "1e999"))
    found = Visitor(browser, server.url)
    page = found.page
    # Its workers come later, and the first answer for a report is none.
    early = {"reason": None, "workers": 0, "last": None}
    page.route("**/api/v1/speedups", lambda route: route.fulfill(json=early), times=1)
    page.route("**/api/v1/reports/*", lambda route: route.fulfill(json={}), times=1)
    page.click("#to-reports")
    expect(page.locator("#speedup-workers")).to_have_value("1")
    shown = page.locator("#report-shown")
    expect(shown).to_contain_text(re.compile(r"^Hex: .* cannot be drawn: it is not what banyan speedup"))
    assert "no report" in found.complaints.pop()
    page.locator("#report-list button").first.click()
    opened = page.locator("#report-list [aria-pressed=true]")
    expect(opened).to_contain_text("Hex: root and tree on 1 to 8 workers")
    expect(shown.locator("h2")).to_contain_text("Hex: root and tree on 1 to 8 workers")
    expect(shown.locator("figure.chart")).to_have_count(2)
    expect(shown).to_contain_text("root makes 10 simulations/s on 1 worker")
    expect(shown.locator(".of-tree .marker").first).to_have_css(
        "fill", f"rgb{tuple(bytes.fromhex(COLOURS['tree'][1:]))}"
    )
    expect(page.locator("#report-list")).to_contain_text("bad/speedup.json: not a JSON file")
    page.set_input_files("#report-file", tmp_path / "endless.json")
    expect(page.locator("#report-status")).to_contain_text("endless.json is not a report")
    page.select_option("#speedup-game", "tictactoe")
    page.uncheck("#speedup [value=root]")
    page.fill("#speedup-seconds", "10")
    page.click("#speedup-begin")
    expect(page.locator("#speedup-now")).to_contain_text("left")
    expect(shown.locator("h2")).to_contain_text("Tic-tac-toe: tree on 1 worker")
    expect(shown).to_contain_text("tree makes")
    page.fill("#speedup-seconds", "60")
    page.click("#speedup-begin")
    page.click("#speedup-cancel")
    expect(page.locator("#speedup-status")).to_contain_text("it was cancelled")
    page.locator("#report-list button", has_text="Hex: root and tree").first.click()
    expect(shown.locator("h2")).to_contain_text("Hex")
    found.leave()
    assert found.complaints == []


@pytest.mark.slow
def test_real_workers_are_measured_and_a_server_that_stops_ends_it(tmp_path: Path) -> None:
    options = ("--workers", "2", "--nice", "1")
    with (
        Server(tmp_path, *options, executor="ray") as server,
        httpx.Client(base_url=f"{server.url}/api/v1", timeout=PATIENCE_S) as api,
    ):
        eventually(lambda: api.get("/speedups").json()["workers"] == 2)
        api.post("/speedups", json={"game": "gomoku:size=5", "seconds": 10})
        rows = result(api, ended(api))
        assert [(row["strategy"], row["workers"], row["executor"]) for row in rows] == [
            (strategy, workers, "ray") for strategy in ("root", "tree") for workers in (1, 2)
        ]
        assert len({row["digest"] for row in rows}) == 2
        api.post("/speedups", json={"game": "gomoku:size=5", "seconds": 60})
        assert server.end() == 0
    assert any("failed, the server is stopping" in line for line in server.lines)
