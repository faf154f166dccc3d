"""The page, in a real browser, against a real server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from cluster.lab.predict.costs import write_costs
from tests.cluster.command import Here
from tests.cluster.lab.test_prediction import FREE
from tests.cluster.lab.test_strength import INLINE, SMALL
from tests.cluster.service.browser import MACHINE, REPORT, Visitor
from tests.cluster.service.process import Server

pytestmark = pytest.mark.slow

WIDTH = 360
ENDLESS = 50_000_000


@pytest.mark.parametrize("sides", [("person", "search"), ("search", "person")])
def test_tictactoe_against_the_search(visitor: Visitor, sides: tuple[str, str]) -> None:
    visitor.begin("tictactoe", *sides, 2000)
    while visitor.my_turn():
        visitor.make(visitor.legal[0])
    assert 5 <= len(visitor.played) <= 9
    # Whoever takes the first free cell loses to anybody who looks.
    assert sides[0] == "search" or "o wins" in visitor.status


def test_connect_four_is_played_by_columns(visitor: Visitor) -> None:
    visitor.begin("connect_four", "person", "person")
    for cell, landed in (("d6", "d1"), ("d1", "d2"), ("d4", "d3"), ("a1", "a1")):
        before = len(visitor.played)
        visitor.click_cell(cell)
        expect(visitor.page.locator("#moves li")).to_have_count(before + 1)
        expect(visitor.page.locator(f'[data-cell="{landed}"] circle.stone')).to_have_count(1)
        assert visitor.played[-1] == cell[0]


def test_gomoku_by_two_people(visitor: Visitor) -> None:
    visitor.begin("gomoku:size=5", "person", "person")
    for move in ["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "e1"]:
        visitor.my_turn()
        visitor.make(move)
    expect(visitor.page.locator("#status")).to_contain_text("x wins")
    label = visitor.page.locator('[data-cell="e1"]').get_attribute("aria-label")
    assert label == "e1, x, last move"


# The shortest of some random games in which the first player takes what he can; the second is shut in.
MORRIS = "c4 b2 f6 a1 g4 d7 d1 c3 b6 g7 g1 f4 d2 a4 d6 xf4 a7 xg4 d3 xc3 b4 g1-g4"
# The last nine pieces of a game of Thud, and what both sides take of each other until the dwarfs are gone.
THUD = "5/7/9/11/7d5/15/4d10/5d1*T6/6d8/4d3T6/13/11/9/7/5 d 0 0 0"
THUD_MOVES = "dJ11-F14 TJ6-H6xG7 dF8-H6xH6 TJ8-H7xH6 dF14-F6 TH7-G7xF6 dE6-E8 TG7-F8xE8xE9"


def test_a_whole_game_of_nine_mens_morris(visitor: Visitor) -> None:
    visitor.begin("morris", "person", "person")
    for move in MORRIS.split():
        assert visitor.my_turn()
        visitor.make(move)
        expect(visitor.page.locator("svg.board .taken")).to_have_count(int(move.startswith("x")))
        if move.startswith("x"):
            label = visitor.page.locator(f'[data-cell="{move[1:]}"]').get_attribute("aria-label")
            assert label == f"{move[1:]}, empty, a piece was taken here"
    expect(visitor.page.locator("#status")).to_contain_text("white wins")
    assert visitor.played == MORRIS.split()


def test_a_game_of_thud_to_its_end(visitor: Visitor, server: Server) -> None:
    with server.client() as client:
        body = {"game": "thud", "position": THUD, "simulations": 100, "lanes": 2}
        search_id = client.wait(client.submit(body)["id"])["id"]
    # A search in the list leads to its position, which can be played on.
    visitor.page.goto(f"{server.url}/#/searches/{search_id}")
    for move in THUD_MOVES.split():
        assert visitor.my_turn()
        visitor.make(move)
    expect(visitor.page.locator("#status")).to_contain_text("trolls win by 4 points to 0")
    assert visitor.played == THUD_MOVES.split()


def choose(visitor: Visitor, move: str) -> None:
    """Make a move by its button in the list of legal moves."""
    before = visitor.page.locator("#moves li").count()
    visitor.page.locator("#legal").evaluate("node => { node.open = true; }")
    visitor.page.click(f'#legal-moves button[data-move="{move}"]')
    expect(visitor.page.locator("#moves li")).not_to_have_count(before)


def test_one_player_with_chance(visitor: Visitor) -> None:
    """Chance is drawn by the service; the position can be searched; scores are no shares of wins."""
    visitor.begin("2048", "person", "search", 50)
    expect(visitor.page.locator("#second-who")).to_be_hidden()
    for moves in (2, 4):
        assert visitor.my_turn()
        choose(visitor, visitor.legal[0])
        # A tile has come by itself.
        expect(visitor.page.locator("#moves li")).to_have_count(moves)
    assert visitor.my_turn()
    drawn = visitor.page.locator("text.letter").count()
    assert 2 <= drawn == visitor.page.locator("rect.tile").count() <= 4
    assert "Score: " in visitor.status
    visitor.page.click("#hint")
    expect(visitor.page.locator("#status")).to_contain_text("The search\u2019s best move is")
    assert "%" not in visitor.page.locator("#watch .best").inner_text()
    visitor.page.click("#undo")
    expect(visitor.page.locator("#moves li")).to_have_count(2)


def test_the_best_line_of_one_player(visitor: Visitor) -> None:
    visitor.begin("samegame:columns=4,rows=4,colours=2", "person", "search", 100)
    assert visitor.my_turn()
    visitor.page.click("#hint")
    expect(visitor.page.locator("#watch")).to_contain_text("Best found")


def test_the_person_says_what_chance_brings(visitor: Visitor) -> None:
    visitor.begin("pig:goal=10", "person", "person")
    expect(visitor.page.locator('[data-cell="turn first"]')).to_have_text("0")
    visitor.page.uncheck("#dice")
    visitor.my_turn()
    choose(visitor, "roll")
    expect(visitor.page.locator("#status")).to_contain_text("Chance moves")
    assert visitor.page.locator("#hint").is_disabled()
    assert visitor.legal == ["1", "2", "3", "4", "5", "6"]
    assert "17 %" in visitor.page.locator('#legal-moves button[data-move="1"]').inner_text()
    choose(visitor, "5")
    visitor.my_turn()
    choose(visitor, "roll")
    visitor.page.click("#draw")
    expect(visitor.page.locator("#moves li")).to_have_count(4)
    visitor.page.click("#undo")
    expect(visitor.page.locator("#moves li")).to_have_count(2)


def test_three_players(visitor: Visitor) -> None:
    visitor.begin("chinese_checkers", "person", "search", 30)
    # An upright star: the tips are above each other, and so are the left corners.
    assert visitor.page.evaluate(
        """() => {
          const [top, upper, lower, bottom] = ["m1", "e5", "a13", "e17"].map(
            (name) => document.querySelector(`[data-cell=${name}]`).getBoundingClientRect().x);
          return top === bottom && upper === lower;
        }"""
    )
    expect(visitor.page.locator("#setup legend").nth(1)).to_have_text("The other players")
    assert visitor.my_turn()
    visitor.make(visitor.legal[0])
    assert visitor.my_turn()
    assert len(visitor.played) == 3
    expect(visitor.page.locator("#watch")).to_contain_text("Expected")
    assert visitor.page.locator("#watch .line .dot.p2").count() == 1


def test_battleship_by_its_chances(visitor: Visitor) -> None:
    """The search shoots too; nobody is asked for answers; ships of one's own are shown."""
    visitor.begin("battleship:size=4,fleet=2", "person", "search", 200)
    board = visitor.page.locator("svg.board")
    while visitor.my_turn():
        expect(board).to_have_count(2)
        assert visitor.page.locator("rect.ship").count() == 2
        shots = {
            cell.get_attribute("data-cell"): int(
                (cell.locator(".share").text_content() or "0").rstrip("\u202f%")
            )
            for cell in board.first.locator(".cell.open").all()
        }
        visitor.make(str(max(shots, key=lambda cell: shots[cell])))
    assert "wins" in visitor.status
    assert {"hit", "miss"} & set(visitor.played)


@pytest.mark.parametrize("me", ["first", "second"])
def test_ones_own_ships_are_placed(visitor: Visitor, me: str) -> None:
    """By two clicks, by keys, by chance; a ship is taken back; then the game begins."""
    page, status = visitor.page, visitor.page.locator("#status")
    visitor.begin("battleship", *(("person", "search") if me == "first" else ("search", "person")), 100)
    assert visitor.my_turn()
    page.click("text=New game")
    expect(status).to_contain_text("Place your carrier (5 cells)")
    for ends, then in ((("c3", "g3"), "battleship (4 cells)"), (("b9", "b6"), "cruiser (3 cells)")):
        for end in ends:
            visitor.click_cell(end)
        expect(status).to_contain_text(f"Place your {then}")
    page.locator('[data-cell="j10"]').focus()
    for key in ("Enter", "ArrowLeft", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    expect(status).to_contain_text("submarine")
    assert page.locator("rect.ship").count() == 12
    page.click("#undo")
    expect(status).to_contain_text("cruiser")
    page.click("#rest")
    assert visitor.my_turn()
    expect(page.locator("rect.ship")).to_have_count(17)
    for cell in ("c3", "e3", "g3", "b6", "b9"):
        assert "your ship" in str(page.locator(f'[data-cell="{cell}"]').last.get_attribute("aria-label"))
    visitor.make("a1")


def test_grundys_piles(visitor: Visitor) -> None:
    visitor.begin("grundy:pile=8", "person", "search")
    while visitor.my_turn():
        visitor.page.locator('.pile[aria-disabled="false"]').first.click()
        visitor.page.locator(".chooser button").first.click()
        expect(visitor.page.locator(".chooser")).to_be_hidden()
    assert "wins" in visitor.status


def test_a_game_whose_moves_no_cell_makes_is_a_list_of_moves(visitor: Visitor) -> None:
    visitor.begin("explicit", "person", "search")
    while visitor.my_turn():
        visitor.page.locator("#legal-moves button").first.click()
        expect(visitor.page.locator("#status")).not_to_contain_text("Your move")
    assert len(visitor.played) == 3


@pytest.mark.parametrize(
    ("game", "players"),
    [
        ("tictactoe", ""),
        # It ends by the limit of its options, or before.
        ("morris:variant=three,cap=12", "alphabeta, 0.1 s a move, against alphabeta, 0.1 s a move"),
    ],
)
def test_two_searches_play_each_other_to_the_end(visitor: Visitor, game: str, players: str) -> None:
    visitor.begin(game, "search", "search", 500)
    expect(visitor.page.locator("#settings-shown")).to_contain_text(players)
    assert not visitor.my_turn()
    assert "a draw" in visitor.status or "wins" in visitor.status


def test_a_search_is_watched_and_cancelled(visitor: Visitor, server: Server) -> None:
    page = visitor.page
    visitor.begin("gomoku:size=9", "person", "search", ENDLESS)
    visitor.make("e5")
    expect(page.locator("[data-state=running]")).to_be_visible()
    expect(page.locator(".curves .series")).to_have_count(2)
    expect(page.locator(".merges li").first).to_contain_text(
        re.compile(r"nodes .*(below 0\.1|of (?!0\.0)[\d.]+) ms")
    )
    expect(page.locator(".workers li").first).to_contain_text(re.compile(r"0 busy.*%"))
    warm = page.locator(".cell .heat").evaluate_all(
        "all => all.filter(each => each.style.opacity > 0).length"
    )
    # How many of its first moves have a visible share.
    assert warm > 1
    page.click("[data-action=cancel]")
    expect(page.locator("#status")).to_contain_text("Your move")
    # The best answer so far was played.
    assert len(visitor.played) == 2
    with server.client() as client:
        assert next(iter(client.searches()["searches"]))["state"] == "cancelled"


def test_the_list_leads_to_a_search(visitor: Visitor) -> None:
    page = visitor.page
    visitor.begin("tictactoe", "person", "search")
    visitor.make("b2")
    visitor.my_turn()
    page.click("#to-searches")
    first = page.locator("#searches-rows tr").first
    expect(first).to_contain_text("Tic-tac-toe")
    first.locator("a").click()
    expect(page.locator("#moves li")).to_have_text(["b2"])
    expect(page.locator("#watch [data-state=done]")).to_be_visible()


def test_played_with_keys_alone(visitor: Visitor) -> None:
    page = visitor.page
    visitor.begin("tictactoe", "person", "person")
    visitor.my_turn()
    page.locator('.cell[tabindex="0"]').focus()
    # Wherever it begins: to a corner, then along the edges.
    for key in ["ArrowLeft", "ArrowLeft", "ArrowDown", "ArrowDown", "Enter"]:
        page.keyboard.press(key)
    expect(page.locator("#moves li")).to_have_text(["a1"])
    visitor.my_turn()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page.locator("#moves li")).to_have_text(["a1", "b1"])
    focus = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focus == "b1, o, last move"


def test_dark_and_narrow(browser: Browser, server: Server) -> None:
    """Nothing is wider than a phone, in any view, and colours are as the system has them, or as chosen."""
    found = Visitor(
        browser, server.url, color_scheme="dark", viewport={"width": WIDTH, "height": 740}, has_touch=True
    )
    page = found.page
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    for game in ("gomoku:size=20", "morris:variant=twelve", "thud", "battleship", "grundy:pile=99"):
        found.begin(game, "person", "search", 200)
        found.my_turn()
        assert page.evaluate("document.documentElement.scrollWidth") == WIDTH, game
    for view in ("searches", "reports", "cluster", "play"):
        page.click(f"#to-{view}")
        assert page.evaluate("document.documentElement.scrollWidth") == WIDTH, view
    page.click("#theme")
    light = page.evaluate(background)
    assert (
        sum(map(int, re.findall(r"\d+", dark)[:3])) < 150 < 600 < sum(map(int, re.findall(r"\d+", light)[:3]))
    )
    found.leave()
    assert found.complaints == []


def test_reports_are_drawn(visitor: Visitor, tmp_path: Path) -> None:
    (tmp_path / "speedup.json").write_text(json.dumps(REPORT))
    (tmp_path / "other.json").write_text("{}")
    page = visitor.page
    page.click("#to-reports")
    page.set_input_files("#report-file", tmp_path / "speedup.json")
    expect(page.locator("#report-shown figure.chart")).to_have_count(3)
    expect(page.locator("#report-shown svg").first).to_have_accessible_name(re.compile("speedup by workers"))
    expect(page.locator("#report-shown")).to_contain_text(f"Measured on {MACHINE}")
    page.set_input_files("#report-file", tmp_path / "other.json")
    expect(page.locator("#report-status")).to_contain_text("is not a report")


VIEWS = [
    # Where it is asked for, what is sent, what was shown before, how it is asked for again.
    ("play", "**/positions", {"legal_moves": None}, "#board svg", "text=New game"),
    ("searches", "**/searches?*", {"searches": [{"request": {}}]}, "#searches-rows a", "#searches-game"),
    (
        "reports",
        "**/reports/*",
        [{"speedup": 1, "workers": 1}],
        "#report-shown figure",
        "#report-list button",
    ),
    ("cluster", "**/cluster/events", "event: cluster\ndata: {}\n\n", "#machines canvas", "#to-cluster"),
    ("searches/ID", "**/searches/ID", {"result": {}}, "#watch .best", "#to-play"),
]


@pytest.mark.parametrize(("view", "asked", "sent", "former", "again"), VIEWS)
def test_what_cannot_be_drawn_is_one_sentence_in_place_of_the_former(
    browser: Browser, server: Server, view: str, asked: str, sent: Any, former: str, again: str
) -> None:
    (server.data / "one").mkdir(exist_ok=True)
    (server.data / "one" / "speedup.json").write_text(json.dumps(REPORT))
    with server.client() as client:
        search = client.wait(client.submit({"game": "tictactoe", "simulations": 100})["id"])
    found = Visitor(browser, server.url, view.replace("ID", search["id"]))
    page = found.page
    expect(page.locator(former).first).to_be_visible()
    if view == "searches/ID":
        sent = search | sent
    body = sent if isinstance(sent, str) else json.dumps(sent)
    kind = "text/event-stream" if isinstance(sent, str) else "application/json"
    page.route(asked.replace("ID", search["id"]), lambda route: route.fulfill(body=body, content_type=kind))
    if again.startswith("#to-"):
        page.goto(f"{server.url}/#/reports")
        page.goto(f"{server.url}/#/{view.replace('ID', search['id'])}")
    elif again == "#searches-game":
        page.fill(again, "tic")
    else:
        page.locator(again).first.click()
    fault = page.locator(".fault, #status.problem")
    expect(fault).to_have_text(
        re.compile(r"^(The page cannot show what the server sent|Gomoku: .* cannot be)")
    )
    expect(page.locator(former).first).not_to_be_visible()
    assert "TypeError" in found.complaints[0]
    assert "undefined" not in page.locator("main").inner_text()
    page.unroute_all()
    found.leave()


@pytest.mark.parametrize("status", [200, 502])
def test_an_answer_that_is_not_of_the_server_is_said(browser: Browser, server: Server, status: int) -> None:
    found = Visitor(browser, server.url, "searches")
    login = "<!doctype html><title>Log in</title>"
    found.page.route("**/searches?*", lambda route: route.fulfill(status=status, body=login))
    said = found.page.locator("#searches-status")
    expect(said).to_contain_text(f"Status {status}, and not from Banyan: a proxy may ask for a login")
    found.page.route("**/searches?*", lambda route: route.abort())
    expect(said).to_have_text("The server does not answer.")
    found.page.unroute_all()
    expect(said).to_have_text("")
    found.leave()


@pytest.mark.parametrize("seed", [2**53 + 1, 2**63 - 1])
def test_integers_are_shown_as_they_are(visitor: Visitor, server: Server, seed: int) -> None:
    with server.client() as client:
        search = client.submit({"game": "tictactoe", "simulations": 100, "seed": seed})
    visitor.page.goto(f"{server.url}/#/searches/{search['id']}")
    expect(visitor.page.locator("#watch .state")).to_have_text("done")
    expect(visitor.page.locator("#watch")).to_contain_text(f"seed {seed}")
    # They are sent back as they came, and count.
    sums = f"""async () => {{
        const {{ read }} = await import("./page/api.js");
        const {{ whole }} = await import("./page/dom.js");
        const all = read('[{seed}, -{seed}, 1e300, 0.5, 7]');
        return [JSON.stringify(all), whole(all[0]), all[0] / 2 === {seed} / 2, typeof all[4]];
    }}"""
    written = f"[{seed},-{seed},1e+300,0.5,7]"
    assert visitor.page.evaluate(sums) == [written, f"{seed:,}", True, "number"]


def test_reports_that_commands_wrote_are_drawn(visitor: Visitor, tmp_path: Path, here: Here) -> None:
    """The very files of `banyan predict` and `banyan strength`."""
    write_costs({"root": FREE, "tree": FREE}, tmp_path / "costs.json")
    costs = ("--costs", str(tmp_path / "costs.json"), "--strategies", "root,tree")
    predict = ("predict", "tictactoe", "--workers", "1,4,16", "--simulations", "100000", *costs)
    page = visitor.page
    page.click("#to-reports")
    names = {"predict": ["Tic-tac-toe, predicted", "How busy the coordinator is"]}
    names["strength"] = ["what lanes are worth", "Score against one lane", "Strength of one lane"]
    for command in (predict, (*SMALL, "--pairs", "4", *INLINE)):
        assert here(*command, "--out", str(tmp_path))[0] == 0
        name = command[0]
        page.set_input_files("#report-file", tmp_path / f"{name}.json")
        expect(page.locator("#report-status")).to_have_text(f"{name}.json is shown.")
        charts = page.locator("#report-shown .report").first.locator("figure.chart")
        expect(charts).to_have_count(len(names[name]))
        for i, words in enumerate(names[name]):
            expect(charts.nth(i)).to_contain_text(words)
            assert charts.nth(i).locator("svg path, svg polyline").count() > 0


def test_what_is_wrong_is_said(visitor: Visitor) -> None:
    visitor.page.locator("#game option").first.wait_for(state="attached")
    visitor.page.select_option("#game", "")
    visitor.page.fill("#spec", "chess")
    visitor.page.click("text=New game")
    expect(visitor.page.locator("#status")).to_contain_text("expected one of 2048, battleship")
    # The browser itself tells of every answer that is an error.
    assert visitor.complaints.pop().startswith(
        "Failed to load resource: the server responded with a status of 422"
    )


def test_a_server_that_is_killed_and_comes_back(browser: Browser, tmp_path: Path) -> None:
    """The page goes on with the same search, which goes on too, and plays its answer."""
    with Server(tmp_path, "--checkpoint-every", "0.2") as first:
        found = Visitor(browser, first.url)
        found.begin("gomoku:size=9", "person", "search", ENDLESS)
        found.make("e5")
        expect(found.page.locator(".merges li").first).to_be_attached()
        first.kill()
        expect(found.page.locator("#watch .state")).to_have_text("connecting again")
        with Server(tmp_path, port=first.port) as second:
            expect(found.page.locator("#watch .state")).to_have_text("searching")
            found.page.click("[data-action=cancel]")
            assert found.my_turn()
            assert len(found.played) == 2
            with second.client() as client:
                ended = client.searches()["searches"]
            assert len(ended) == 1
            assert ended[0]["result"]["resumed"] == 1
        found.leave()


def test_the_computer_goes_on_from_its_last_search(browser: Browser, tmp_path: Path) -> None:
    """Unless a move was taken back, or the server was started again."""
    with Server(tmp_path) as first:
        found = Visitor(browser, first.url)
        found.begin("connect_four", "person", "search", 3000)

        def searched(move: str, server: Server = first) -> dict[str, Any]:
            """The search that answers a move."""
            number = len(found.played)
            found.make(move)
            expect(found.page.locator("#moves li")).to_have_count(number + 2)
            assert found.my_turn()
            with server.client() as client:
                return dict(next(iter(client.searches()["searches"])))

        one = searched("d")
        reply = one["result"]["pv"][1]
        two = searched(reply)
        assert (one["request"]["continues"], two["request"]["continues"]) == (None, one["id"])
        kept = two["result"]["kept_visits"]
        assert kept > 0
        told = f"It began with {kept} visits of the search before."
        expect(found.page.locator("#watch")).to_contain_text(told)
        found.page.click("#undo")
        expect(found.page.locator("#moves li")).to_have_count(2)
        three = searched("a" if reply != "a" else "b")
        assert three["request"]["continues"] is None
        assert found.complaints == []
        first.kill()
        with Server(tmp_path, port=first.port) as second:
            four = searched("c", second)
            assert four["request"]["continues"] is None and four["state"] == "done"
            assert "422" in found.complaints.pop()
        found.leave()


def test_a_token_is_asked_for(browser: Browser, tmp_path: Path) -> None:
    token = "a-token-of-this-test"
    (tmp_path / "tokens").write_text(token)
    with Server(tmp_path / "data", "--token-file", str(tmp_path / "tokens")) as server:
        found = Visitor(browser, server.url, "cluster")
        dialog = found.page.locator("#token-dialog")
        for act in ("#token-again", "#to-play"):
            expect(dialog).to_be_visible()
            found.page.keyboard.press("Escape")
            # The page connects again every three seconds at most.
            found.page.wait_for_timeout(4000)
            expect(dialog).to_be_hidden()
            found.page.click(act)
        found.page.click("#to-cluster")
        found.page.fill("#token", token)
        found.page.keyboard.press("Enter")
        found.page.click("#to-play")
        found.begin("tictactoe", "person", "search")
        found.make("b2")
        assert found.my_turn()
        found.leave()


def test_whoever_plays_morris_meets_alphabeta_or_the_textbook_search(visitor: Visitor) -> None:
    """The strongest player known there is no search; a line says who plays, and the form has the other."""
    page = visitor.page
    visitor.begin("morris:variant=three", "person", "search")
    line = page.locator("#settings-shown")
    expect(line).to_have_text(re.compile(r"^You play against alphabeta, 0\.1 s a move\. .*textbook"))
    # It makes no simulations, so none can be chosen.
    expect(page.locator('#second-unit option[value="simulations"]')).to_be_disabled()
    assert visitor.my_turn()
    visitor.make("a1")
    assert visitor.my_turn()
    assert len(visitor.played) == 2
    expect(page.locator("#watch")).to_contain_text("alphabeta:seconds=0.1")
    expect(page.locator("#watch .best")).to_contain_text(visitor.played[1])
    expect(page.locator("#watch .line")).to_contain_text("positions")
    # A hint is a search still, and what was played can be taken back.
    page.click("#undo")
    expect(page.locator("#moves li")).to_have_count(0)
    page.select_option("#second-settings", "plain")
    visitor.begin("morris:variant=three", "person", "search", 200)
    expect(line).to_contain_text("textbook settings")
    assert visitor.my_turn()
    visitor.make("a1")
    assert visitor.my_turn()
    expect(page.locator("#watch [data-state=done]")).to_be_visible()
    expect(page.locator("#watch")).to_contain_text("4 lanes")


def test_the_programs_of_the_sources_are_played_against(visitor: Visitor) -> None:
    """With their source and options, also where they see what is hidden; too large a budget is refused."""
    page = visitor.page
    visitor.begin("battleship", "person", "omniscient-minimax")
    visitor.my_turn()
    visitor.make("a1")
    visitor.my_turn()
    assert visitor.played[-1] == "hit"
    # Who does not play another game gives way to the computer.
    page.select_option("#game", "gomoku")
    expect(page.locator("#second-who")).to_have_value("search")
    visitor.begin("morris:variant=three", "person", "morris-agent")
    expect(page.locator("#setup")).to_contain_text("From: Šemrl: nine men's morris")
    page.fill("#second-player", "morris-agent:simulations=50")
    page.click("text=New game")
    visitor.make("a1")
    expect(page.locator("#watch .line")).to_contain_text("50 simulations")
    # Before anybody has moved.
    for spec, words in (("uct:seconds=99", "at most 10 for a move"), ("morris-agent:depth=2", "depth")):
        page.fill("#second-player", spec)
        page.click("text=New game")
        expect(page.locator("#status.problem")).to_contain_text(words)
        assert visitor.complaints.pop().startswith("Failed to load resource")
    # Who is not asked for is not checked.
    visitor.begin("samegame", "person", "")


def test_moves_that_no_cell_makes_are_listed(visitor: Visitor) -> None:
    page = visitor.page
    visitor.begin("hex:size=4", "person", "person")
    visitor.my_turn()
    assert not page.locator("#legal").evaluate("node => node.open")
    visitor.make("b1")
    visitor.my_turn()
    page.locator('#legal-moves [data-move="swap"]').click()
    expect(page.locator('[data-cell="a2"] circle.light')).to_have_count(1)
    expect(page.locator('[data-cell="b1"] circle.stone')).to_have_count(0)
    assert visitor.played == ["b1", "swap"]
