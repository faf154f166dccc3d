"""Battleship: answers, text, known numbers; and that fleets are drawn as if from a list of all that fit."""

from __future__ import annotations

import random
import re
import time
from fractions import Fraction
from functools import cache, partial

import numpy as np
import numpy.typing as npt
import pytest

import games
from games import InvalidInput
from games.battleship import Battleship, rules
from games.battleship.placements import WORD_BITS, WORDS, placements_of
from games.battleship.sampling import make_view
from games.compile.rule_stubs import determinize
from games.compile.specialise import specialise
from games.contract.findings import deal
from games.game import REST, State
from games.rng import Stream, new_stream
from tests.games import naive_battleship as naive
from tests.games.common import JIT, loaded, sample, start

SMALL = "battleship:task=solo,size=4,fleet=3-2-2"
_fleets = cache(lambda touch: list(naive.fleets(4, (3, 2, 2), touch)))


battleship = partial(loaded, Battleship)


def draw_fleets(view: State, state: State, stream: Stream, keys: npt.NDArray[np.int64]) -> None:
    """Generic: draw len(keys) times; a key holds the ship of each cell of a 4x4 board, two bits for each."""
    for i in range(len(keys)):
        determinize(view, state, stream)
        keys[i] = 0
        for cell in range(16):
            keys[i] |= np.int64(state[rules.CELLS + cell] >> 4) << (2 * cell)


def key_of(fleet: naive.Fleet) -> int:
    return sum((k + 1) << 2 * cell for k, ship in enumerate(fleet) for cell in ship)


def shoot(game: Battleship, fleet: naive.Fleet, shots: list[int], announce: bool) -> State:
    """The position after the shots, as somebody who knows no fleet enters it."""
    state = game.initial_state()
    for shot, told in zip(shots, naive.answers(fleet, shots, announce), strict=True):
        word = f"sunk-{game.ships[int(told[5:])]}" if told.startswith("sunk") else told
        game.play_text(state, [game.format_move(state, shot), word])
    return state


@pytest.mark.slow
@pytest.mark.parametrize("placement", ["uniform", "sequential"])
@pytest.mark.parametrize("announce", ["no", "yes"])
@pytest.mark.parametrize("touch", ["any", "no_side", "no_contact"])
@pytest.mark.parametrize("max_entries", [1, 40, 4096], ids=lambda n: f"{n} entries")
def test_fleets_are_drawn_as_from_a_list_of_all_that_fit(
    touch: str, announce: str, placement: str, max_entries: int
) -> None:
    game = battleship(f"{SMALL},touch={touch},announce_sunk={announce},placement={placement}")
    tables = placements_of(4, (3, 2, 2), touch)
    run = specialise([draw_fleets], game)["draw_fleets"]
    tested = 0
    for seed in range(8 if JIT else 2):
        pick = random.Random(seed)
        truth, _ = pick.choice(_fleets(touch))
        shots = pick.sample(range(16), (0, 2, 3, 4, 5, 6, 7, 9)[seed] if JIT else 7 + seed)
        told = naive.answers(truth, shots, announce == "yes")
        fitting = {
            key_of(fleet): chance if placement == "sequential" else Fraction(1)
            for fleet, chance in _fleets(touch)
            if naive.answers(fleet, shots, announce == "yes") == told
        }
        state = shoot(game, truth, shots, announce == "yes")
        view = make_view(state, tables, placement == "sequential", max_entries)
        assert view is not None
        number = 40 * len(fitting) + (2000 if JIT else 200)
        keys = np.zeros(number, dtype=np.int64)
        run(view, state, new_stream(seed), keys)
        found, counts = np.unique(keys, return_counts=True)
        assert set(found.tolist()) <= fitting.keys()
        order = {key: place for place, key in enumerate(fitting)}
        seen = np.zeros(len(fitting))
        seen[[order[key] for key in found.tolist()]] = counts
        whole = sum(fitting.values())
        expected = np.array([float(number * chance / whole) for chance in fitting.values()])
        assert expected.min() > 5
        if len(fitting) > 1:
            assert _normal(float(((seen - expected) ** 2 / expected).sum()), len(fitting) - 1) < 4.5
            tested += 1
    assert tested > 0


def _normal(chi_square: float, freedom: int) -> float:
    """A chi-square as standard deviations of a normal distribution (Wilson and Hilferty)."""
    spread = 2 / (9 * freedom)
    return float(((chi_square / freedom) ** (1 / 3) - (1 - spread)) / spread**0.5)


@pytest.mark.parametrize("announce", ["no", "yes"])
def test_a_view_is_the_same_for_all_fleets_that_fit(announce: str) -> None:
    game = battleship(f"battleship:size=4,fleet=3-2-2,announce_sunk={announce}")
    known = start(game, seed=3)
    draw = random.Random(5)
    for _ in range(18):
        game.rules.play(known, draw.choice(game.legal_moves(known)))
    view = game.observation(known, games.FIRST)
    assert np.array_equal(view, game.observation(known, games.SECOND))
    stream, other = new_stream(1), known.copy()
    texts = set()
    for _ in range(30):
        game.calls.determinize(view, other, stream)
        texts.add(game.format_position(other))
        assert np.array_equal(game.observation(game.parse_position(game.format_position(other)), 0), view)
    assert len(texts) > 10
    without = game.parse_position(
        " | ".join(s.split(" fleet=")[0] for s in game.format_position(known).split(" | "))
    )
    assert np.array_equal(game.observation(without, games.FIRST), view)


@pytest.mark.slow
@pytest.mark.parametrize("announce", ["no", "yes"])
def test_answers_are_those_of_the_naive_game(announce: str) -> None:
    game = battleship(f"battleship:announce_sunk={announce}")
    for seed in range(20 if JIT else 3):
        state, draw = start(game, seed), random.Random(seed)
        cells = state[rules.CELLS :].reshape(2, 100) >> 4
        fleets = [tuple(frozenset(np.flatnonzero(own == k + 1).tolist()) for k in range(5)) for own in cells]
        shots: list[list[int]] = [[], []]
        told: list[list[str]] = [[], []]
        shooter = games.FIRST
        while not game.rules.is_terminal(state):
            assert game.rules.current_player(state) == shooter
            assert game.legal_moves(state) == sorted(set(range(100)) - set(shots[shooter]))
            shots[shooter].append(draw.choice(game.legal_moves(state)))
            game.rules.play(state, shots[shooter][-1])
            assert game.rules.current_player(state) == 1 - shooter
            (answer,) = game.legal_moves(state)
            told[shooter].append(game.format_move(state, answer))
            game.rules.play(state, answer)
            shooter = 1 - shooter
        last = 1 - shooter
        for side in range(2):
            words = naive.answers(fleets[side], shots[side], announce == "yes")
            names = [f"sunk-{game.ships[int(word[5:])]}" if " " in word else word for word in words]
            assert names == told[side]
            assert (len(set().union(*fleets[side]) - set(shots[side])) == 0) == (side == last)
        assert game.rules.returns(state) == 1 - 2 * last


@pytest.mark.parametrize(("placement", "corner"), [("uniform", 0.08000), ("sequential", 0.0741)])
def test_occupancy_of_dealt_boards(placement: str, corner: float) -> None:
    """A separate program's numbers, exact for the uniform placement; whose centre cells are taken 0.21360."""
    game = battleship(f"battleship:task=solo,placement={placement}")
    number = 200_000 if JIT else 300
    counts = np.zeros(100, dtype=np.int64)
    state = game.initial_state()
    count = specialise([count_ships], game)["count_ships"]
    count(game.observation(state, games.FIRST), state, new_stream(7), number, counts)
    shares = counts.reshape(10, 10) / number
    assert shares.sum() == pytest.approx(17)
    corners = shares[[0, 0, -1, -1], [0, -1, 0, -1]].mean()
    assert corners == pytest.approx(corner, abs=5 * np.sqrt(0.02 / number) + 0.00005)
    if placement == "uniform":
        assert shares[4:6, 4:6].mean() == pytest.approx(0.21360, abs=5 * np.sqrt(0.17 / number))


def count_ships(
    view: State, state: State, stream: Stream, number: int, counts: npt.NDArray[np.int64]
) -> None:
    """Generic: draw fleets and count how often each cell of a 10x10 board is taken."""
    for _ in range(number):
        determinize(view, state, stream)
        for cell in range(100):
            counts[cell] += (state[rules.CELLS + cell] >> 4) != 0


@pytest.mark.parametrize(("size", "lengths"), [(10, (5, 4, 3, 3, 2)), (5, (3, 1))])
@pytest.mark.parametrize("touch", ["any", "no_side", "no_contact"])
def test_placements_and_what_may_lie_beside_them(touch: str, size: int, lengths: tuple[int, ...]) -> None:
    """All ships of each length, and which pairs of them may be on the board together."""
    tables = placements_of(size, lengths, touch)
    found, halos = ([cells_of(mask) for mask in masks] for masks in (tables.cells, tables.halos))
    starts = tables.starts.tolist()
    for length, first, end in zip(lengths, starts[:-1], starts[1:], strict=True):
        assert {*found[first:end]} == {*naive.ships(size, length)} and len({*found[first:end]}) == end - first
    for ship, halo in zip(found, halos, strict=True):
        for other in found[:: 7 if size == 10 else 1]:
            assert halo.isdisjoint(other) == naive.may_lie(size, touch, other, [ship])


def cells_of(mask: npt.NDArray[np.int64]) -> frozenset[int]:
    return frozenset(c for c in range(WORDS * WORD_BITS) if mask[c // WORD_BITS] >> c % WORD_BITS & 1)


def test_random_shooting_alone_needs_1717_18ths_shots() -> None:
    game = battleship("battleship:task=solo")
    number = 200_000 if JIT else 2_000
    lengths, results = sample(game, start(game, 1), number, 3, own=True)
    shots = lengths / 2
    assert shots.mean() == pytest.approx(1717 / 18, abs=5 * shots.std() / number**0.5)
    assert np.median(shots) == 97
    assert np.allclose(results, 1 - 2 * (shots - 17) / 83)


def test_position_text_of_a_game_on_paper() -> None:
    game = battleship("battleship:announce_sunk=yes")
    state = game.initial_state()
    game.play_text(
        state, ["e5", "miss", "b2", "hit", "f6", "hit", "c3", "miss", "f7", "sunk-destroyer", "b3"]
    )
    assert game.format_position(state) == (
        "10/10/10/5x4/5x4/4o5/10/10/10/10 f6f7=destroyer | 10/10/10/10/10/10/10/1?o7/1x8/10"
    )
    texts = [game.format_move(state, move) for move in game.legal_moves(state)]
    assert texts == ["miss", "hit", "sunk-destroyer"]


def test_nobody_searches_before_a_shot_is_answered() -> None:
    game = battleship("battleship")
    state = game.initial_state()
    game.play_text(state, ["e5", "miss", "b2"])
    with pytest.raises(InvalidInput, match="'b2'") as caught:
        game.observation(state, games.FIRST)
    assert caught.value.field == "moves"
    game.play_text(state, ["hit"])
    game.observation(state, games.FIRST)


@pytest.mark.parametrize("touch", ["any", "no_side", "no_contact"])
def test_answers_are_refused_if_and_only_if_none_of_all_fleets_fits(touch: str) -> None:
    game = battleship(f"{SMALL},touch={touch}")
    fleets = {frozenset().union(*fleet) for fleet, _ in _fleets(touch)}
    draw = random.Random(5)
    seen = set()
    for _ in range(400 if JIT else 100):
        signs = draw.choices(".xo", (5, draw.randint(0, 5), draw.randint(0, 5)), k=16)
        hits, misses = ({cell for cell in range(16) if signs[cell] == sign} for sign in "xo")
        rows = "/".join("".join(signs[4 * row : 4 * row + 4]) for row in (3, 2, 1, 0))
        text = re.sub(r"\.+", lambda run: str(len(run[0])), rows)
        possible = any(hits <= cells and not misses & cells for cells in fleets)
        try:
            game.observation(game.parse_position(text), games.FIRST)
        except InvalidInput:
            assert not possible
        else:
            assert possible
        seen.add(possible)
    assert seen == {False, True}


@pytest.mark.slow
def test_hits_too_far_apart_for_the_fleet_are_refused_at_once() -> None:
    """Eight hits that no two of seven ships share; trying all ways to cover seven of them takes hours."""
    game = battleship("battleship:task=solo,size=12,fleet=6-6-6-6-6-6-6")
    text = "x11/2x9/4x7/6x5/8x3/10x1/1x10/3x8/12/12/12/12"
    with pytest.raises(InvalidInput, match="position"):
        game.observation(game.parse_position(text), games.FIRST)
    one_less = text.replace("3x8", "12")
    assert len(game.observation(game.parse_position(one_less), games.FIRST))


@pytest.mark.parametrize(
    "text",
    [
        "4/4/4/xx2 a1=2a",
        "4/4/4/xx2 a1b1=9z",
        "4/4/4/xx2 a1a1=2a",
        "4/4/4/xx2 a1c1=2a",
        "4/4/4/xx2 a1b1=2a a1b1=2b",
        "4/4/4/xxx1 a1b1=3a",
        "4/4/4/xx2 a1b1",
        "4/4/4/xx2 a1b1=2a fleet=a4c4,a2b2,a1b1",
        "4/4/4/xx2 fleet=a4c4,a2b2,a1b1",
        "4/4/x3/xx2 a2a1b1=2a fleet=a4c4,a1a2,b1b2",
    ],
)
def test_impossible_announcements_are_refused(text: str) -> None:
    """At once, or, where only no fleet fits, when it is searched."""
    game = games.load(f"{SMALL},announce_sunk=yes")
    with pytest.raises(InvalidInput, match="position"):
        game.observation(game.parse_position(text), games.FIRST)


def test_a_fleet_that_only_just_fits_is_accepted_and_one_that_does_not_is_refused() -> None:
    assert games.load("battleship:size=4,fleet=3-3-3-3-1-1-1").options["fleet"] == "3-3-3-3-1-1-1"
    with pytest.raises(InvalidInput, match="fleet"):
        games.load("battleship:size=4,fleet=2-2-2-2-2,touch=no_contact")


def test_the_board_shows_hits_and_no_ship() -> None:
    game = games.load("battleship:size=4,fleet=3-2-2")
    state = game.parse_position("4/4/4/3x fleet=b1d1,a2b2,a3b3 | 4/4/4/2o1 fleet=d1d3,a2b2,a3b3")
    rows = game.board(state).rows
    assert ["".join(cell.text for cell in row) for row in rows] == [
        ".... ....",
        ".... ....",
        ".... ....",
        "...x ..o.",
    ]


def test_each_player_sees_the_own_fleet_and_where_it_was_shot_at() -> None:
    game = games.load("battleship:size=4,fleet=3-2-2")
    state = game.parse_position("4/4/4/3x fleet=b1d1,a2b2,a3b3 | 4/4/4/2o1 fleet=d1d3,a2b2,a3b3")
    seen = []
    for owner in (games.FIRST, games.SECOND):
        board = game.secret(state, owner)
        assert board is not None
        seen.append(["".join(cell.text for cell in row) for row in board.rows])
    assert seen[games.FIRST] == ["....", "33.1", "22.1", "..o1"], "the fleet that the second player shoots at"
    assert seen[games.SECOND] == ["....", "33..", "22..", ".11X"]
    assert game.secret(game.initial_state(), games.FIRST) is None, "not dealt"
    solo = games.load("battleship:size=4,fleet=2,task=solo")
    dealt = solo.parse_position("4/4/4/4 fleet=a1b1")
    assert solo.secret(dealt, games.FIRST) is None, "a shooter alone has none"


@pytest.mark.parametrize("owner", [0, 1])
@pytest.mark.parametrize(
    "options", ["fleet=3-2-2", "fleet=3-2-2,touch=no_side", "fleet=4-2,touch=no_contact", "fleet=4-4-4-4"]
)
def test_ships_are_placed_where_all_others_still_fit(options: str, owner: int) -> None:
    """The places are those of all complete fleets; a direction means what both ends mean."""
    game, draw = battleship(f"battleship:size=4,{options}"), random.Random(options)
    dealt = deal(game, 5)
    every = [fleet for fleet, _ in naive.fleets(4, game.lengths, game.touch)]
    places: list[str] = []
    for ship, length in enumerate(game.lengths):
        _, piece, free = game.hide(dealt, owner, places, new_stream(1))
        assert piece == f"{game.ships[ship]} ({length} cells)"
        cells = {text: frozenset(map(_cell, (text[:2], text[2:]))) for text in free}
        assert set(cells.values()) == {frozenset((min(fleet[ship]), max(fleet[ship]))) for fleet in every}
        text = draw.choice(free)
        every = [fleet for fleet in every if {min(fleet[ship]), max(fleet[ship])} == cells[text]]
        ways = {1: "right", -1: "left", 4: "up", -4: "down"}
        way = ways[(_cell(text[2:]) - _cell(text[:2])) // (length - 1)]
        for wrong in ("a1", "e1 left", "a1c2", f"{text[:2]} north", "a1 left"):
            with pytest.raises(InvalidInput, match="fleet"):
                game.hide(dealt, owner, [*places, wrong, REST], new_stream(1))
        first, end = text[:2], text[2:]
        places.append(draw.choice([text, f" {first}-{end}", f"{first.upper()} {way}", first + way[0]]))
        whole, last, _ = game.hide(dealt, owner, [*places, f" {REST.title()} "], new_stream(ship))
        # The fleet is complete, and that of the other player as before.
        before, after = (game.format_position(each).split(" | ") for each in (dealt, whole))
        assert (last, before[owner]) == (None, after[owner])
        game.parse_position(" | ".join(after))
    assert game.hide(dealt, owner, places, new_stream(1))[0].tolist() == whole.tolist()
    with pytest.raises(InvalidInput, match=r"expected \d ships"):
        game.hide(dealt, owner, [*places, "a1 right"], new_stream(1))


@pytest.mark.skipif(not JIT, reason="the CPU time of compiled code")
def test_places_on_a_tight_board_are_found_in_three_seconds_of_cpu_time() -> None:
    game = battleship("battleship:size=8,fleet=2-3-3-4-5-5-6,touch=no_contact")
    begun = time.process_time()
    assert len(game.hide(game.initial_state(), 0, [], new_stream(1))[2]) == 128
    assert time.process_time() - begun < 3.0


def _cell(text: str) -> int:
    return (int(text[1:]) - 1) * 4 + "abcd".index(text[0])


def test_chances_share_out_what_is_still_to_be_found() -> None:
    game = Battleship(size=6, fleet="4-2")
    state = game.initial_state()
    game.play_text(state, ["c3", "hit", "a1", "miss"])
    chances = game.chances(state, 50, new_stream(3))
    # Five cells of six are left, and the cell that was hit is not guessed at.
    assert sum(chances.values()) == pytest.approx(5)
    assert len(chances) == 35
    assert game.cells_of(game.parse_move(game.initial_state(), "c3")) not in chances
    game.play_text(state, ["d3"])
    assert game.chances(state, 50, new_stream(3)) == {}
