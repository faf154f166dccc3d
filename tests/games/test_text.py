"""Cells, specs, streams and drawings: the small things that all games share."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import games
from games import FIRST, SECOND, Board, Cell, InvalidInput
from games.drawing import draw
from games.notation import format_cell, parse_cell
from games.rng import below, new_stream, next_uint64, uniform
from games.spec import Options, Spec, parse_spec

WORDS = st.text("abcxyz019_-.", min_size=1, max_size=8)


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
    rows = [[Cell("."), Cell("O", SECOND, last=True)], [Cell("X", FIRST), Cell(".")]]
    return Board(rows, ["2", "1"], ["a", "b"])


def test_a_drawing_without_colour_is_plain_text() -> None:
    assert draw(_board(), colour=False) == "2  . [O]\n1  X  .\n   a  b"


def test_a_heat_map_without_colour_shows_percent_on_empty_cells() -> None:
    text = draw(_board(), colour=False, heat={(0, 0): 0.42, (1, 1): 1.0, (1, 0): 0.3, (0, 1): 0.0})
    assert text == "2  42  [O]\n1   X  99\n    a   b"


def test_colour_adds_nothing_but_escape_sequences() -> None:
    for heat in (None, {(0, 0): 0.42, (1, 1): 0.001}):
        coloured = draw(_board(), colour=True, heat=heat)
        bare = "\n".join(line.rstrip() for line in re.sub("\x1b\\[[0-9;]*m", "", coloured).split("\n"))
        assert bare == draw(_board(), colour=False, heat=heat)
        assert "\x1b[" in coloured
