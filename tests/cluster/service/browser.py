"""A real browser for tests of the page, and what a person does with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

BROWSERS = [Path("/usr/bin") / name for name in ("chromium-headless-shell", "chromium")]
"""The first one has no windows: a page with storage of its own takes a tenth of the time."""
COLOURS = (Path(__file__).parent / "colours.js").read_text().partition("\n")[2]
"""A function of the page that gives functions which measure contrast."""
WAIT_MS = 120_000
"""The first search of a game may have its kernels compiled."""
expect.set_options(timeout=WAIT_MS)
CELLS = re.compile(r"[A-Za-z][0-9]{1,2}")
STEP = re.compile(r"([A-Za-z][0-9]{1,2})-?([A-Za-z][0-9]{1,2})")
MACHINE = "a machine; 2026-01-02; banyan 0.1.0"
REPORT = [
    {"game": "gomoku", "strategy": "tree", "workers": workers, "simulations_per_s": 100.0 * workers}
    | {"speedup": float(workers), "spread": [99.0 * workers, 101.0 * workers], "of_ceiling": 0.97}
    | {"measured_on": MACHINE}
    for workers in (1, 2)
]
"""What `banyan speedup` writes."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Skips the test where there is none."""
    path = next(filter(Path.exists, BROWSERS), None)
    if path is None:
        pytest.skip(f"there is no {' and no '.join(map(str, BROWSERS))}")
    with sync_playwright() as play:
        # Its sandbox refuses to run for root, as whom containers run tests.
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """Somebody who looks at the page; notes what the page complains of and whom it asks."""

    def __init__(self, browser: Browser, url: str, view: str = "play", **options: object) -> None:
        self.url = url
        self.context = browser.new_context(**options)  # type: ignore[arg-type]
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(WAIT_MS)
        self.complaints: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        self.page.goto(f"{url}/#/{view}")

    def leave(self) -> None:
        self.context.close()

    def begin(self, game: str, first: str, second: str, simulations: int = 300) -> None:
        """Fill in the form, and begin. ``game`` is a spec; sides are ``person``, ``search`` or a player."""
        name, _, options = game.partition(":")
        self.page.locator("#game option").first.wait_for(state="attached")
        self.page.select_option("#game", name)
        for folded in ("settings", "game-options", "more") if options else ("settings", "more"):
            self.unfold(folded)
        for option in filter(None, options.split(",")):
            key, _, value = option.partition("=")
            control = self.page.locator(f"#option-{key}")
            if control.evaluate("node => node.tagName") == "SELECT":
                control.select_option(value)
            else:
                control.fill(value)
        for side, who in (("first", first), ("second", second)):
            if not self.page.locator(f"#{side}-who").is_visible():
                # A problem of one player.
                continue
            self.page.select_option(f"#{side}-who", who)
            if not self.page.locator(f"#{side}-amount").is_visible():
                # A program, whose options have its budget.
                continue
            # Where the opponent is no search, it thinks for some time.
            timed = self.page.input_value(f"#{side}-unit") == "seconds"
            self.page.fill(f"#{side}-amount", "0.1" if timed else str(simulations))
            self.page.fill(f"#{side}-lanes", "4")
        self.page.click("text=New game")
        if first == "person":
            expect(self.page.locator("#moves li")).to_have_count(0)
        expect(self.page.locator("#spec-shown")).to_contain_text(name)
        if name == "battleship" and [first, second].count("person") == 1:
            self.page.click("#rest")

    def unfold(self, name: str) -> None:
        """Open what is folded up, if it is."""
        folded = self.page.locator(f"details.{name}")
        if folded.get_attribute("open") is None:
            folded.locator("summary").first.click()

    @property
    def over(self) -> bool:
        return "The game is over" in self.status

    @property
    def status(self) -> str:
        return self.page.locator("#status").inner_text()

    @property
    def played(self) -> list[str]:
        return self.page.locator("#moves li").all_inner_texts()

    @property
    def legal(self) -> list[str]:
        """What the page lists as legal for the person who moves."""
        # In one step: the page may draw another list between two.
        moves = self.page.locator("#legal-moves button").evaluate_all("all => all.map((b) => b.dataset.move)")
        return [str(move) for move in moves]

    def contrast_of(self, selector: str) -> float:
        """How much the fill of a drawn shape differs from what is behind it, from 1 (not at all) to 21."""
        found: float = self.page.evaluate(f"({COLOURS})().shape({json.dumps(selector)})")
        return found

    def contrasts(self) -> list[dict[str, Any]]:
        """Each text within the window, with the ratio of its contrast: {words, where, ratio}."""
        found: list[dict[str, Any]] = self.page.evaluate(f"({COLOURS})().texts()")
        return found

    def my_turn(self) -> bool:
        """Wait until a person is to move, or the game is over; whether it goes on."""
        status = self.page.locator("#status")
        expect(status).to_have_text(re.compile("Your move|To move|game is over"))
        return not self.over

    def click_cell(self, name: str) -> None:
        self.page.locator(f'[data-cell="{name}"]').first.click()

    def make(self, move: str) -> None:
        """A move by clicks on the cells that its notation names, and on its name where cells mean several."""
        before = len(self.played)
        step = STEP.search(move)
        # A letter is a column, which any of its cells stands for.
        cells = list(step.groups()) if step else CELLS.findall(move)[:1] or [f"{move}1"] * (len(move) == 1)
        for cell in cells:
            self.click_cell(cell)
        choice = self.page.locator(f'.chooser button[data-move="{move}"]')
        if choice.is_visible():
            choice.click()
        expect(self.page.locator("#moves li")).not_to_have_count(before)
