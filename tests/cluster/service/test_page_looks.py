"""What the page shows and how it looks, in a real browser: panels, pieces, boards, forms, lists, contrast."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.cluster.service.browser import REPORT, Visitor
from tests.cluster.service.process import Server
from tests.cluster.service.test_evaluations import Remote

pytestmark = pytest.mark.slow

ENDLESS = 50_000_000
SERVER = ("--allow-games", "openspiel:*") if find_spec("pyspiel") else ()


def test_a_search_that_has_ended_is_shown_by_its_final_answer(visitor: Visitor) -> None:
    """The curve, the merges and the headline agree, whatever the last partial answer was."""
    page = visitor.page
    visitor.begin("gomoku:size=9", "person", "person", ENDLESS)
    visitor.my_turn()
    page.click("#hint")
    expect(page.locator(".curves .series")).to_have_count(2)
    expect(page.locator(".merges li").first).to_be_hidden()
    page.click("text=Details of the search")
    expect(page.locator(".merges li").first).to_be_visible()
    page.click("[data-action=cancel]")
    expect(page.locator("[data-state=cancelled]")).to_be_visible()
    best = page.locator("[data-best]").inner_text()
    value = page.locator(".best .value").inner_text()
    expect(page.locator(".merges li").first).to_contain_text(f"{best} is the answer")
    captions = page.locator(".spark figcaption")
    expect(captions.first).to_contain_text(value)
    expect(captions.last).to_contain_text("on average")


@pytest.mark.parametrize(
    ("game", "mover", "token", "answering"),
    [
        ("gomoku:size=5", "x", "circle.dark", "o"),
        ("connect_four", "x", "circle.stone", "o"),
        ("tictactoe", "x", "line.mark.first", "o"),
        ("othello", "black", "circle.dark", "white"),
        ("breakthrough", "white", "circle.light", "black"),
        ("hex:size=5", "black", "circle.dark", "white"),
        ("morris:variant=three", "white", "circle.light", "black"),
        ("thud", "dwarfs", "circle.dwarf", "trolls"),
        ("battleship:size=4,fleet=2", "the first player", None, "the second player"),
    ],
)
def test_a_side_is_named_and_shown_by_its_piece(
    visitor: Visitor, game: str, mover: str, token: str | None, answering: str
) -> None:
    visitor.begin(game, "person", "search", 100)
    status = visitor.page.locator("#status")
    expect(status).to_have_text(f"Your move, as {mover}.")
    expect(status.locator("svg.token")).to_have_count(0 if token is None else 1)
    if token is not None:
        assert status.locator(f"svg.token {token}").count() > 0
    visitor.make(visitor.legal[0])
    visitor.my_turn()
    # The search was for the other side, and still is, though it is not to move any more.
    expect(visitor.page.locator(".best")).to_contain_text(re.compile(rf"\d %.* for {answering}$"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("game", "moves", "cells"), [("thud", [], ["F15"]), ("connect_four", ["d", "e"], ["d1", "e1"])]
)
def test_pieces_are_seen_without_their_hue(
    browser: Browser, server: Server, scheme: str, game: str, moves: list[str], cells: list[str]
) -> None:
    found = Visitor(browser, server.url, color_scheme=scheme)
    found.begin(game, "person", "person")
    found.my_turn()
    for move in moves:
        found.make(move)
    seen = [found.contrast_of(f'[data-cell="{cell}"] .stone') for cell in cells]
    # What WCAG 2.2 asks of graphics that are needed to understand a page (1.4.11), and between two pieces.
    assert min(seen) >= 3 and (len(seen) == 1 or max(seen) / min(seen) >= 3)
    found.leave()


def test_chances_have_a_unit_and_can_be_hidden(visitor: Visitor) -> None:
    page = visitor.page
    visitor.begin("tictactoe", "person", "search")
    switch = page.get_by_role("switch", name="Show the chance of a ship")
    expect(switch).to_be_hidden()
    visitor.begin("battleship:size=4,fleet=2", "person", "search", 100)
    visitor.my_turn()
    share = page.locator("svg.board").first.locator(".share").first
    expect(share).to_have_text(re.compile(r"^\d+\s%$"))
    switch.uncheck()
    expect(share).to_have_text("")
    assert "ship" not in (page.locator(".cell").first.get_attribute("aria-label") or "")
    # It stays as it was left, through a move and a new visit.
    visitor.make("b2")
    visitor.my_turn()
    expect(share).to_have_text("")
    page.reload()
    visitor.begin("battleship:size=4,fleet=2", "person", "search", 100)
    visitor.my_turn()
    expect(share).to_have_text("")
    switch.check()
    expect(share).to_have_text(re.compile(r"^\d+\s%$"))


@pytest.mark.parametrize(("width", "height", "aside"), [(1280, 720, True), (390, 844, False)])
def test_both_boards_are_seen_at_once(
    browser: Browser, server: Server, width: int, height: int, aside: bool
) -> None:
    """Side by side where there is room; where there is none, one's own fleet is still within the window."""
    found = Visitor(browser, server.url, viewport={"width": width, "height": height})
    found.begin("battleship", "person", "search", 100)
    found.my_turn()
    expect(found.page.locator("figure svg.board")).to_have_count(2)
    shots, fleet = (box.bounding_box() or {} for box in found.page.locator("figure svg.board").all())
    assert (shots["y"] == fleet["y"]) == aside
    assert fleet["y"] + fleet["height"] <= height
    found.leave()


def test_the_panel_and_the_options_are_shown_whole(visitor: Visitor) -> None:
    page = visitor.page
    visitor.begin("thud", "person", "search", 2000)
    visitor.my_turn()
    spec = page.locator("#spec-shown")
    expect(spec).to_contain_text("turns 800")
    page.click("text=About this game")
    assert spec.evaluate("node => node.scrollWidth <= node.clientWidth")
    visitor.make(visitor.legal[0])
    visitor.my_turn()
    meters = page.locator(".children meter").evaluate_all("all => all.map(each => each.value / each.max)")
    assert max(meters) == 1
    digest = page.get_by_text("Digest of the merged statistics")
    expect(digest).to_have_attribute("title", re.compile("equal digests mean equal statistics.*[0-9a-f]{64}"))


@pytest.mark.parametrize(
    ("game", "request_", "ending"),
    [
        ("gomoku:size=9", {"simulations": 2000}, "Ended after its 2,000 simulations."),
        ("gomoku:size=9", {"seconds": 2}, "Ended after its 2 s."),
        (
            "tictactoe",
            {"moves": ["a1", "a2", "b1", "b2"], "seconds": 20, "solver": True},
            "Ended: the result of the position is proven.",
        ),
    ],
)
def test_a_search_says_in_a_sentence_why_it_ended(
    visitor: Visitor, server: Server, game: str, request_: dict[str, object], ending: str
) -> None:
    """Rates read as rates, and its curves are there though it was opened after its end."""
    with server.client() as client:
        done = client.wait(client.submit({"game": game, "lanes": 2, **request_})["id"])
    visitor.page.goto(f"{server.url}/#/searches/{done['id']}")
    watch = visitor.page.locator("#watch")
    expect(watch).to_contain_text(ending)
    if ending == "Ended after its 2 s.":
        expect(watch.locator(".curves .series")).to_have_count(2)
    assert len(re.findall(r"[\d.]+(?: [kMG])?/s", str(watch.text_content()))) >= 2
    names = watch.locator("dt").all_text_contents()
    assert len(names) == len(set(names)) > 2
    # The form is that of its game, with its options.
    expect(visitor.page.locator("#game")).to_have_value(game.partition(":")[0])
    sizes = visitor.page.locator("#option-size").evaluate_all("all => all.map(({ value }) => value)")
    assert sizes == re.findall("size=(.*)", game)


def test_what_a_store_of_evaluations_saves_is_shown(browser: Browser, server: Server) -> None:
    """While a search runs and at its end, on a phone too; a later search asks for nothing."""
    found = Visitor(browser, server.url, viewport={"width": 390, "height": 844}, color_scheme="dark")
    facts = found.page.locator("#watch .facts > div")
    for told in (True, False):
        remote = Remote(server, evaluator_version="m-1")
        found.page.goto(f"{server.url}/#/searches/{remote.id}")
        if told:
            remote.run(turns=12)
            found.page.click("text=Details of the search")
            expect(facts.filter(has_text="Recalled")).to_have_text(re.compile(r"Recalled[1-9]\d* \(\d+ %\)"))
            remote.run()
        asked, recalled = (remote.result()[name] for name in ("playouts", "recalled"))
        expect(facts.filter(has_text="asked for")).to_have_text(f"Evaluations asked for{asked}")
        share = int(100 * recalled / (recalled + asked) + 0.5)
        expect(facts.filter(has_text="Recalled")).to_have_text(f"Recalled{recalled} ({share} %)")
        assert (len(remote.told), recalled > 0) == (asked, True)
        expect(found.page.locator("#watch")).not_to_contain_text("Playouts")
    assert asked == 0
    assert found.page.evaluate("document.documentElement.scrollWidth") == 390
    found.leave()
    assert found.complaints == []


def test_while_a_game_is_prepared_the_board_of_another_is_out_of_reach(visitor: Visitor) -> None:
    page, held = visitor.page, list[Route]()
    visitor.my_turn()
    page.route("**/games/connect_four", lambda route: held.append(route))
    page.select_option("#game", "connect_four")
    page.click("text=New game")
    expect(page.locator("#status")).to_have_text("Preparing Connect four \u2026")
    expect(page.locator("#board")).to_have_attribute("inert", "")
    held[0].continue_()
    visitor.make("d")


def test_the_form_has_the_defaults_of_a_variant(visitor: Visitor) -> None:
    page = visitor.page
    page.locator("#game option").first.wait_for(state="attached")
    page.select_option("#game", "morris")
    visitor.unfold("game-options")
    expect(page.locator("#option-fly")).to_have_value("yes")
    page.select_option("#option-variant", "seven")
    expect(page.locator("#option-fly")).to_have_value("no")
    page.click("text=New game")
    expect(page.locator("#spec-shown")).to_contain_text("variant seven, fly no")


def test_a_phone_begins_with_the_choice_of_a_game(browser: Browser, server: Server) -> None:
    found = Visitor(browser, server.url, viewport={"width": 390, "height": 844}, has_touch=True)
    expect(found.page.locator("svg.board")).to_be_visible()
    game, board = (found.page.locator(name).bounding_box() or {} for name in ("#game", "svg.board"))
    assert game["y"] + game["height"] < board["y"]
    # What else can be chosen does not push the board away.
    assert board["y"] < 400
    found.page.get_by_text("Players and options").click()
    expect(found.page.locator("#first-who")).to_be_visible()
    found.leave()


def test_searches_are_dated_and_filtered(visitor: Visitor, server: Server) -> None:
    pytest.importorskip("pyspiel")
    page = visitor.page
    with server.client() as client:
        for game in ("connect_four", "openspiel:connect_four", "morris:variant=six", "tictactoe"):
            client.wait(client.submit({"game": game, "simulations": 50, "lanes": 2})["id"])
    page.click("#to-searches")
    rows = page.locator("#searches-rows tr")
    named = rows.filter(has=page.get_by_role("link", name="OpenSpiel: connect_four", exact=True)).first
    expect(named.locator("time")).to_have_text(re.compile(r"\b20\d\d\b.*\d:\d\d"))
    expect(named).to_contain_text(re.compile(r"\d\.\d s"))
    text = page.get_by_label("Game", exact=True).and_(page.locator("input"))
    # By the name that is shown, and by the spec.
    for typed, title in (
        ("tic-tac", "Tic-tac-toe"),
        ("openspiel: CONNECT", "OpenSpiel: connect_four"),
        ("=six", "Six men"),
    ):
        text.fill(typed)
        expect(rows.first.locator("a")).to_contain_text(title)
        expect(rows.filter(has_not_text=title)).to_have_count(0)
    text.fill("")
    page.get_by_label("State").select_option("failed")
    expect(rows).to_have_count(0)
    expect(page.locator("#searches-empty")).to_have_text("No search matches.")


@pytest.mark.parametrize("view", ["play", "searches"])
def test_the_first_link_leads_to_the_board(visitor: Visitor, view: str) -> None:
    page = visitor.page
    visitor.begin("tictactoe", "person", "person")
    visitor.my_turn()
    page.click(f"#to-{view}")
    page.locator(".brand").focus()
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("link", name="To the board")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator('svg.board .cell[tabindex="0"]')).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#moves li")).to_have_count(1)


LEAST_CONTRAST = 4.5
"""Of text and what is behind it, by WCAG 2.2 (1.4.3)."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(browser: Browser, server: Server, tmp_path: Path, scheme: str) -> None:
    """Idle fields, buttons that cannot be pressed and numbers on warm cells too."""
    (tmp_path / "speedup.json").write_text(json.dumps(REPORT))
    found = Visitor(browser, server.url, color_scheme=scheme, viewport={"width": 1366, "height": 2600})
    page = found.page
    seen: dict[str, float] = {}

    def look(where: str) -> None:
        for text in found.contrasts():
            name = f"{where}: {text['where']}: {text['words']}"
            seen[name] = min(text["ratio"], seen.get(name, 21))

    for game, second in (("gomoku:size=5", "search"), ("morris", "person"), ("grundy:pile=8", "person")):
        found.begin(game, "person", second, 2000)
        found.my_turn()
        look(f"{game} at first")
        page.click("#hint")
        expect(page.locator("#watch [data-state=done]")).to_be_visible()
        look(game)
    for game in ("thud", "battleship", "samegame", "2048", "chinese_checkers:players=6"):
        found.begin(game, "person", "person")
        found.my_turn()
        look(game)
    page.click("#to-searches")
    expect(page.locator("#searches-rows tr").first).to_be_visible()
    look("searches")
    page.click("#to-reports")
    page.set_input_files("#report-file", tmp_path / "speedup.json")
    expect(page.locator("figure.chart")).to_have_count(3)
    look("reports")
    found.leave()
    # Each of these is found: a field, a button, numbers on boards, a placeholder, a label of a chart.
    for words in ("first-amount", "undo", "share", "label", "letter", "searches-game", "tick"):
        assert any(words in name for name in seen), words
    assert {name: round(ratio, 2) for name, ratio in seen.items() if ratio < LEAST_CONTRAST} == {}


def test_a_search_plays_with_the_strongest_settings_and_says_so(visitor: Visitor) -> None:
    """The first search of Thud prefers some of 570 moves; the settings can be the textbook's instead."""
    page = visitor.page
    page.locator("#game option").first.wait_for(state="attached")
    page.select_option("#game", "thud")
    page.click("text=New game")
    line = page.locator("#settings-shown")
    expect(line).to_have_text(re.compile("strongest search settings known .*implicit minimax 0.4"))
    page.click("#hint")
    expect(page.locator("#status")).to_contain_text("The search\u2019s best move is")
    shares = page.locator("#watch").inner_text()
    best = int(re.findall(r"\t(\d+) %", shares)[0])
    assert best >= 5
    visitor.unfold("settings")
    visitor.unfold("more")
    for side in ("first", "second"):
        page.select_option(f"#{side}-settings", "plain")
    page.click("text=New game")
    expect(line).to_have_text("Searches play with textbook settings.")
