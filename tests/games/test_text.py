"""Text of all games: cells, specs and drawings; positions and moves of every game, there and back."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
from games import FIRST, SECOND, Board, Cell, Game, InvalidInput, State
from games.board import board_svg, draw, format_cell, parse_cell
from games.rng import below, new_stream, next_uint64, uniform
from games.spec import Options, Spec, parse_spec
from tests.games.common import JIT, SPECS, start

WORDS = st.text("abcxyz019_-.", min_size=1, max_size=8)
MAX_PLIES = 120 if JIT else 30
EXAMPLES = settings(max_examples=80 if JIT else 30)


@st.composite
def positions(pick: st.DrawFn) -> tuple[Game, State]:
    """A game and a position of it after any legal moves; where something is hidden, dealt or not."""
    game = games.load(pick(st.sampled_from(SPECS)))
    dealt = game.hidden_information and pick(st.booleans())
    state = start(game, pick(st.integers(0, 99))) if dealt else game.initial_state()
    choices = pick(st.integers(0, MAX_PLIES).flatmap(lambda plies: st.binary(min_size=plies, max_size=plies)))
    for choice in choices:
        moves = game.legal_moves(state)
        if not moves:
            break
        # All are within reach of a byte, the first and the last too.
        game.calls.play(state, moves[choice * (len(moves) - 1) // 255])
    return game, state


@st.composite
def misprints(pick: st.DrawFn, text: str) -> str:
    """The text with one to three misprints: a wrong sign, one twice, two exchanged, some lost or moved."""
    signs = st.sampled_from(sorted({*text, *"0192xo?.-/+=| abwdT\u0663"}))
    place = st.integers(0, len(text) - 1)
    for _ in range(pick(st.integers(1, 3))):
        i, j = sorted((pick(place), pick(place)))
        kind = pick(st.sampled_from(["wrong sign", "wrong sign", "exchanged", "lost", "moved"]))
        if kind == "wrong sign":
            text = text[:i] + pick(signs) + text[i + 1 :]
        elif kind == "exchanged":
            # A sign exchanged with itself stands there twice.
            text = text[:i] + text[j : j + 1] + text[i + 1 : j] + text[i : i + 1] + text[j + 1 :]
        else:
            end = min(i + pick(st.integers(1, 6)), j)
            text = text[:i] + text[end:j] + (text[i:end] if kind == "moved" else "") + text[j:]
    return text


def answer(parse: Callable[..., Any], *arguments: Any) -> tuple[tuple[str, object], Any]:
    """What was read, or None; and the field and value of the refusal."""
    try:
        return ("", None), parse(*arguments)
    except InvalidInput as error:
        return (error.field, error.value), None


@given(st.integers(0, 25), st.integers(0, 25))
def test_cells_read_back(row: int, column: int) -> None:
    assert parse_cell(format_cell(row, column), 26, 26) == (row, column)


@given(st.text(max_size=4))
def test_any_other_text_is_no_cell(text: str) -> None:
    cell = parse_cell(text, 12, 12)
    assert cell is None or format_cell(*cell) == text


@given(WORDS, st.dictionaries(WORDS, WORDS, max_size=4))
def test_specs_read_back(name: str, options: dict[str, str]) -> None:
    spec = Spec(name, options)
    assert parse_spec(str(spec), "game") == spec


@given(st.text(max_size=12))
def test_any_other_text_is_refused_or_reads_back(text: str) -> None:
    try:
        spec = parse_spec(text, "game")
    except InvalidInput:
        return
    assert parse_spec(str(spec), "game") == spec


@pytest.mark.parametrize(
    "text", ["", ":", "a:", "a:b", "a:b=", "a:=c", "a:b=c,", "a:b=c,b=d", "a b", "a:b=c=d"]
)
def test_malformed_specs_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_spec(text, "game")
    assert (caught.value.field, caught.value.value) == ("game", text)


def test_options_name_what_is_wrong() -> None:
    options = Options(Spec("gomoku", {"size": "99", "speed": "high"}), "game")
    with pytest.raises(InvalidInput, match=r"game option size: '99' .* from 5 to 20"):
        options.whole("size", 12, 5, 20)
    with pytest.raises(InvalidInput, match=r"game option: 'speed' .* size"):
        options.close()


def test_errors_survive_a_journey_between_processes() -> None:
    error = InvalidInput("moves", "z9", "a cell")
    again = pickle.loads(pickle.dumps(error))
    assert (again.field, again.value, again.accepted, str(again)) == ("moves", "z9", "a cell", str(error))


def test_an_unknown_game_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(InvalidInput, match=", ".join(games.names())):
        games.load("chess")


@given(st.integers(1, 2**32 - 1), st.integers())
def test_draws_are_below_their_bound(bound: int, seed: int) -> None:
    stream = new_stream(seed)
    assert all(0 <= below(stream, bound) < bound for _ in range(3))
    assert 0.0 <= uniform(stream) < 1.0


def test_streams_differ_by_any_part_of_their_identity() -> None:
    identities = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (-1,)]
    streams = [new_stream(*identity) for identity in identities]
    assert len({int(next_uint64(stream)) for stream in streams}) == len(identities)
    assert all(stream[1] & np.uint64(1) for stream in streams)
    assert np.array_equal(new_stream(5, 6), new_stream(5, 6))


def _board() -> Board:
    return Board(
        [[Cell("."), Cell("O", SECOND, last=True)], [Cell("X", FIRST), Cell(".")]], ["2", "1"], ["a", "b"]
    )


def test_a_drawing_without_colour_is_plain_text_with_percent_on_empty_cells() -> None:
    assert draw(_board(), colour=False) == "2  . [O]\n1  X  .\n   a  b"
    text = draw(_board(), colour=False, heat={(0, 0): 0.42, (1, 1): 1.0, (1, 0): 0.3, (0, 1): 0.0})
    assert text == "2  42  [O]\n1   X  99\n    a   b"


def test_coloured_pieces_keep_their_letter_beside_shares() -> None:
    board = Board(
        [[Cell("R", colour=0), Cell(".")], [Cell("16384"), Cell("O", colour=6)]], ["2", "1"], ["a", "b"]
    )
    heat = {(0, 0): 0.4, (0, 1): 0.6}
    assert draw(board, colour=False, heat=heat) == "2      R     60\n1  16384      O\n       a      b"
    assert "\x1b[1;31m" in draw(board, colour=True) and "\x1b[1;38;5;208m" in draw(board, colour=True)
    svg = board_svg(board, heat)
    # Tiles, as they are nobody's.
    assert svg.count('rx="4"') == 2 and all(sign in svg for sign in (">R<", ">60<", 'font-size="8">16384<'))


def test_the_page_has_the_colours_of_pictures() -> None:
    page = (Path(games.__file__).parents[1] / "cluster/service/page/boards/shapes.js").read_text()
    drawn = board_svg(Board([[Cell("1", colour=colour) for colour in range(20)]], [""], [""] * 20))
    assert re.findall(r'fill="(#\w+)" stroke', drawn) == re.findall(r'"(#\w{6})"', page)[:20]


def test_connect_four_is_red_and_yellow_in_a_frame() -> None:
    game = games.load("connect_four")
    drawn = board_svg(game.board(game.parse_position("7/7/7/7/7/3xo2 x")))
    assert drawn.count("<circle") == 44 and re.findall(r'fill="(#\w+)" stroke', drawn) == [
        "#c62f2f",
        "#f2c811",
    ]


def test_colour_adds_nothing_but_escape_sequences() -> None:
    for heat in (None, {(0, 0): 0.42, (1, 1): 0.001}):
        coloured = draw(_board(), colour=True, heat=heat)
        bare = "\n".join(line.rstrip() for line in re.sub("\x1b\\[[0-9;]*m", "", coloured).split("\n"))
        assert bare == draw(_board(), colour=False, heat=heat) and "\x1b[" in coloured


@EXAMPLES
@given(positions(), st.data())
def test_moves_of_every_game_read_back(drawn: tuple[Game, State], data: st.DataObject) -> None:
    game, state = drawn
    moves = game.legal_moves(state)
    texts = [game.format_move(state, move) for move in moves]
    assert [game.parse_move(state, text) for text in texts] == moves
    assert all(text and not re.search(r"\s", text) for text in texts)
    wrong = data.draw(misprints(data.draw(st.sampled_from(texts or ["a1"]))))
    refusal, meant = answer(game.parse_move, state, wrong)
    assert refusal == ("moves", wrong) if meant is None else meant in moves


@EXAMPLES
@given(positions())
def test_boards_of_every_game_are_whole_grids(drawn: tuple[Game, State]) -> None:
    game, state = drawn
    board = game.board(state)
    assert len(board.rows) == len(board.row_labels) >= 1
    assert {len(cells) for cells in board.rows} == {len(board.column_labels)}
    assert not any(cell.last for cells in board.rows for cell in cells)
    signs = [cell.text for cells in board.rows for cell in cells]
    assert max(map(len, signs)) <= 5
    assert [cell.text for cells in game.board(game.canonical(state)).rows for cell in cells] == signs
    for move in game.legal_moves(state):
        if (cell := game.cells_of(move)) is not None:
            assert 0 <= cell[0] < len(board.rows) and 0 <= cell[1] < len(board.column_labels)


@settings(EXAMPLES, max_examples=300 if JIT else 100)
@given(positions(), st.data())
def test_misprinted_positions_are_refused_or_read_back(
    drawn: tuple[Game, State], data: st.DataObject
) -> None:
    game, state = drawn
    wrong = data.draw(misprints(game.format_position(state)))
    refusal, read = answer(game.parse_position, wrong)
    if read is None:
        assert refusal == ("position", wrong)
        return
    text = game.format_position(read)
    assert np.array_equal(game.parse_position(text), read)
    assert len(game.legal_moves(read)) <= game.max_moves
    assert bool(game.legal_moves(read)) != game.calls.is_terminal(read)
