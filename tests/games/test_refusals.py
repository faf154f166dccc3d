"""Options, positions and moves that a game refuses, with what its errors name as accepted instead."""

from __future__ import annotations

import pytest

import games
from games import InvalidInput
from games.spec import whole_number

OPTIONS: dict[str, dict[str, list[str]]] = {
    "othello": {"4 or 6 or 8": ["size=5", "size=10"], "size": ["rows=8"]},
    "breakthrough": {
        "a whole number from 4 to 16": ["rows=3", "rows=17", "columns=3"],
        "from 4 to 8 with rows=8": ["columns=9"],
        "rows, columns": ["size=8"],
    },
    "hex": {
        "a whole number from 2 to 19": ["size=1", "size=20"],
        "yes or no": ["swap=maybe"],
        "size, swap": ["rows=3"],
    },
    "gomoku": {
        "a whole number from 5 to 20": ["size=4", "size=21", "size=x"],
        "a whole number from 0 to 4": ["candidates=5"],
        "wins or not": ["overline=maybe"],
        "size, candidates, overline": ["colour=red"],
    },
    "connect_four": {
        "a whole number from 4 to 14": ["rows=3", "rows=15"],
        "a whole number from 4 to 12": ["columns=3", "columns=13"],
        "from 4 to 9 with rows=6": ["columns=10"],
        "from 4 to 7 with rows=8": ["rows=8,columns=8"],
        "rows, columns": ["size=7"],
    },
    "tictactoe": {"no options": ["size=3"]},
    "grundy": {"from 3 to 99": ["pile=2", "pile=100"], "pile": ["piles=7"]},
    "pig": {"": ["goal=1", "goal=1000", "moves=1", "players=3"]},
    "samegame": {
        "from 4 to 16": ["columns=17"],
        "from 4 to 15": ["rows=16"],
        "from 2 to 7": ["colours=1"],
        "a whole number from 0": ["seed=-1"],
        "columns, rows, colours, seed": ["size=8"],
    },
    "2048": {"": ["tile=4", "tile=100", "tile=65536", "seed=x"]},
    "jobshop": {
        "ft06, ft10, ft20, la01, or the path of a file such as ./mine.txt": ["instance=ft07"],
        "an instance file that can be read (No such file": ["instance=./missing.txt"],
        "machine-duration for each operation": ["data=0-3.1-2_0-2", "data=0-3.0-2"],
        "not both": ["data=0-3,instance=ft06"],
        "instance, data": ["size=3"],
    },
    "chinese_checkers": {"2 or 3 or 4 or 6": ["players=5"]},
    "thud": {"": ["subset=1", "troll_capture=subset", "turns=0", "turns=5001", "first=d", "ruleset=koom"]},
    "morris": {
        "": [
            "variant=four",
            "variant=three,fly=yes",
            "move=any",
            "variant=three,win_lines=7",
            "cap=0",
            "repetition=always",
        ]
    },
    "battleship": {
        "": [
            "fleet=7",
            "fleet=5-",
            "fleet=x",
            "size=4",
            "size=13",
            "fleet=5-5-5-5-5-5-5-5",
            "task=duel",
            "touch=some",
            "announce_sunk=true",
            "placement=random",
            "size=4,fleet=4-4-4-4-1",
            "size=5,fleet=5-5-5,touch=no_contact,task=solo,x=1",
        ]
    },
}
"""By game and what is accepted instead (a part of it), options."""

THUD = "dd1dd/d5d/d7d/d9d/d11d/d13d/d5TTT5d/6T*T6/d5TTT5d/d13d/d11d/d9d/d7d/d5d/dd1dd"

POSITIONS: dict[str, dict[str, list[str]]] = {
    "othello": {
        "8 rows from the top": ["8/8/8/8/8/8/8 b"],
        "8 cells in each row .row 8 from the top has 9": ["8/8/8/3wb3/3bw3/8/8/9 b"],
        "b or w to move": ["8/8/8/3wb3/3bw3/8/8/8 x"],
        "b, w, or a number": ["8/8/8/3xo3/3ox3/8/8/8 b"],
    },
    "breakthrough": {
        "8 rows from the top": ["8/8/8/8/8/8/8 w"],
        "8 cells in each row": ["8/8/8/8/8/8/8/7 w"],
        "by the last move": [
            "8/8/8/8/8/8/8/8 w",
            "w7/8/8/8/8/8/8/7b w",
            "w7/8/8/8/8/8/8/7b b",
            "ww5b/8/8/8/8/8/8/8 b",
            "8/8/8/8/w7/8/8/8 w",
        ],
        "at most 16 pieces": ["b7/wwwwwwww/wwwwwwww/w7/8/8/8/8 w"],
    },
    "hex:size=3": {
        "3 rows from the top": ["3/3 b"],
        "3 cells in each row": ["3/3/4 b"],
        "one b more when w moves; after a swap one b less": ["3/3/b2 b"],
        "one b more when w moves": ["bb1/3/3 w"],
        "after a swap one b less": ["ww1/3/3 b"],
        "except by the last move": ["bw1/bw1/b1w b"],
    },
    "hex:size=3,swap=no": {"one b more when w moves$": ["w2/3/3 b"]},
    "hex:size=5,swap=no": {"except by the last move": ["bbww1/bbww1/bbww1/bbww1/bbw2 w"]},
    "gomoku:size=5": {
        "": [
            "5/5/5/5/5 o",
            "5/5/5/5/x4 x",
            "5/5/5/5/o4 x",
            "5/5/5/5/x3 o",
            "5/5/5/5/x5 o",
            "5/5/5/5/x04 o",
            "5/5/5/5/5/5 x",
            "5/5/5/5/11111x o",
            "5/5/5/5/5  x",
            "5/5/5/5/5",
            "xxxxx/5/5/5/5 x",
            "xxxxx/ooooo/5/5/5 x",
            "xxxxx/oooo1/1o3/5/5 x",
            "xxxxx/5/xxxxx/oooo1/ooooo o",
            "xxxxx/oooo1/xxxxx/oooo1/1o3 o",
        ]
    },
    "connect_four": {
        "6 rows from the top": ["7/7/7/7/7 x"],
        "7 cells in each row": ["7/7/7/7/7/8 x"],
        "no empty cell below a stone": ["7/7/7/7/3x3/7 o"],
        "one x more when o moves": ["7/7/7/7/7/3x3 x"],
        "except by the last move": [
            "7/7/7/7/oooo3/xxxx3 x",
            "7/7/7/7/oooo3/xxxxx2 o",
            "7/7/7/o6/oooo3/xxxxxx1 o",
        ],
        "one x more": ["7/7/7/4o2/o1oooo1/xoxxxxx x"],
    },
    "tictactoe": {
        "": [
            ".../.../... o",
            "x../.../... x",
            "o../.../... x",
            "xx./.../... x",
            "xxx/ooo/... x",
            "xxx/oo./o.. x",
            "ooo/xx./x.. o",
            ".../.../...x",
            ".../.../....  x",
            "..../.../... x",
            ".../... x",
            "X../.../... o",
            ".../.../... x\n",
        ]
    },
    "grundy:pile=16": {
        "": [
            "7+4+4 first",
            "7+4+4+1",
            "7+4+4+1 third",
            "7+4+4+1  first",
            "16 first\n",
            "16+0 first",
            "016 first",
        ]
    },
    "pig": {
        "two scores": ["0 0 0 first", "0 0 00 first 3", "0 0 0 third 3"],
        "at most 1000 decisions": ["0 0 0 first 1001"],
        "who has just held": ["100 0 0 first 40", "0 100 2 first 40"],
        "at most 6 points for each decision": ["13 0 0 first 2"],
        "a decision to roll": ["0 0 0 first 0 rolling"],
        "short of the goal": ["50 0 50 first 40 rolling"],
    },
    "samegame:columns=4,rows=4": {
        "4 rows from the top": ["4/4/4 0", "4/4/4/rgbz 0", "4/4/4/rrbb", "4/4/4/rrbb 1e3", "4/4/4/rrbb 01"],
        "4 cells in each row": ["4/4/4/rrb 0"],
        "no empty cell below a stone": ["4/4/rr2/1rbb 0"],
        "no empty column to the left of a stone": ["4/4/4/r1bb 0"],
        "points from 0 on": ["4/4/4/rrbb -1"],
        "points from 1000 on": ["4/4/4/4 999"],
        "points from -14 on": ["4/rgrg/grgr/rbyb -15"],
    },
    "2048": {
        "4 rows from the top": [
            ".,.,.,./.,.,.,./.,.,.,2 0",
            ".,.,.,./.,.,.,./.,.,.,2/.,.,. 0",
            ".,.,.,./.,.,.,./.,.,.,3/.,.,.,. 0",
            ".,.,.,./.,.,.,./.,.,.,2/.,.,.,. -4",
            ".,.,.,./.,.,.,./.,.,.,2/.,.,.,. 0 due",
        ],
        "a score of at most": [".,.,.,./.,.,.,./.,.,.,2/.,.,.,. 10000000000"],
        "at least one tile": [".,.,.,./.,.,.,./.,.,.,./.,.,.,. 0 tile"],
        "only on an empty cell": ["2,4,2,4/4,2,4,2/2,4,2,4/4,2,4,2 0 tile"],
        "tiles that can be made": ["8,8,8,8/8,8,8,8/8,8,8,8/8,8,8,8 0"],
    },
    "jobshop:data=0-3.1-2.2-2_0-2.2-1.1-4_1-4.2-3.0-1": {
        "the jobs of the moves so far": ["", "x", "1.", "2.1", "4", "start.1", "1.2.3.3"]
    },
    "chinese_checkers:players=2": {
        "17 rows from the top divided by '/' .b, y, or a number of empty cells., a space, and b or y": [
            "b b 0"
        ],
        "1 cells in this row .row 17": ["b/bb/bbb/bbbb/13/12/11/10/9/10/11/12/13/yyyy/yyy/yy/2 b 0"],
        "10 pieces of each player": ["b/bb/bbb/bbbb/13/12/11/10/9/10/11/12/13/yyyy/yyy/yy/1 b 0"],
        "the turns so far, from 0 to 1000": [
            "b/bb/bbb/bbbb/13/12/11/10/9/10/11/12/13/yyyy/yyy/yy/y b",
            "b/bb/bbb/bbbb/13/12/11/10/9/10/11/12/13/yyyy/yyy/yy/y b 1001",
        ],
        "turns after which blue is to move": ["b/bb/bbb/bbbb/13/12/11/10/9/10/11/12/13/yyyy/yyy/yy/y b 1"],
        "no full triangle except": ["y/yy/yyy/yyyy/13/12/11/10/9/10/11/12/13/bbbb/bbb/bb/b b 2"],
        "hops from which another hop": [
            "b/bb/bbb/bbbb/13/12/11/10/9/10/11/12/13/yyyy/yyy/yy/y b 0 i1,i3",
            "b/bb/bbb/bbbb/13/12/11/10/9/10/11/12/13/yyyy/yyy/yy/y b 0 x",
        ],
    },
    "morris": {
        "": [
            "",
            "w 9 9 0",
            ".../.../.../......./.../.../... w 9 9 0",
            ".../.../.../....../.../.../... w 9 9",
            ".../.../.../....../.../.../... z 9 9 0",
            ".../.../.../....../.../.../... w 10 9 0",
            ".../.../.../....../.../.../... w 9 9 201",
            ".../.../.../....../.../.../..w wx 9 9 0",
            "x../.../.../....../.../.../... w 9 9 0",
        ]
    },
    "thud": {
        "d or T to move": [f"{THUD} x", f"{THUD} d 0 0", f"{THUD} d 0 0 00"],
        "an even number of plies, at most 800": [f"{THUD} d 0 0 1", f"{THUD} d 0 0 802"],
        "no more moves since a capture": [f"{THUD} d 3 0 2"],
        "Thudstone": [f"{THUD.replace('*', '1')} d", f"{THUD.replace('13', '*12', 1)} d"],
        "7 cells in this row .row 2 from the top has 8": [f"{THUD.replace('5', '6', 1)} d"],
        "at most 32 dwarfs": [f"{THUD.replace('13', 'd12', 1)} d"],
        "15 rows from the top": [f"{THUD}/5 d"],
    },
    "battleship:size=4,fleet=3-2-2": {
        "": [
            "4/4/4/4 | 4/4/4/4 x",
            "4/4/4/4",
            "4/4/4/5 | 4/4/4/4",
            "4/4/4/3 | 4/4/4/4",
            "4/4/4/4 | 4/4/4/o3",
            "oo2/4/4/4 | 4/4/4/4",
            "??2/4/4/4 | 4/4/4/4",
            "?3/4/4/4 | ?3/4/4/4",
            "4/4/4/?3 | 4/4/4/o3",
            "oooo/oooo/oooo/4 | oooo/oooo/oooo/4",
            "xxxx/xxxx/4/4 | oooo/oooo/4/4",
            "xxxx/xxx1/4/4 | xxxx/xxx1/4/4",
            "xxxx/xxx1/4/4 | oooo/oooo/4/4",
            "4/4/4/4 a1=3a | 4/4/4/4",
            "4/4/4/xx2 a1b1=2a | 4/4/4/oo2",
            "4/4/4/4 fleet=a1c1,a2b2,a3b3 | 4/4/4/4",
            "4/4/4/4 fleet=a1c1,a2b2 | 4/4/4/4 fleet=a1c1,a2b2,a3b3",
            "4/4/4/4 fleet=a1c1,a2b2,3b3 | 4/4/4/4 fleet=a1c1,a2b2,a3b3",
            "4/4/4/4 fleet=a1c1,a2c2,a3b3 | 4/4/4/4 fleet=a1c1,a2b2,a3b3",
            "4/4/4/4 fleet=a1c1,c1c2,a3b3 | 4/4/4/4 fleet=a1c1,a2b2,a3b3",
            "4/4/4/o3 fleet=a1c1,a2b2,a3b3 | 4/4/4/o3 fleet=b1d1,a2b2,a3b3",
            "4/4/4/3x fleet=a1c1,a2b2,a3b3 | 4/4/4/3o fleet=a1c1,a2b2,a3b3",
        ]
    },
}
"""By spec and what is accepted instead (a pattern), positions."""

MOVES: dict[tuple[str, str], dict[str, list[str]]] = {
    ("othello", ""): {"a cell that turns over a disc: d3, c4, f5, e6": ["a1"]},
    ("breakthrough", ""): {
        "a move of a piece of white, such as a2a3": ["a7a6", "a2"],
        "from a2 to a3 or b3": ["a2a4"],
        "such as a2a3": ["a2-a3-a4"],
    },
    ("hex", "f6"): {"an empty cell from a1 to k11, or swap": ["f6"]},
    ("gomoku:candidates=2", "f6"): {
        "from a1 to l12 within 2 cells of a stone": ["i6", "f6", "a1", "m1", "a13"],
    },
    ("connect_four", "a a a a a a"): {"a column that is not full: b, c, d, e, f, g": ["a"]},
    ("grundy:pile=16", "16-5+11 11-4+7 5-1+4"): {
        r"7-3\+4": ["7-3+5", "7-4+3", "4-2+2", "5-1+4", "7-0+7", "99-1+98", "7-03+4", "2-1+1"],
    },
    ("jobshop:data=0-3.1-2.2-2_0-2.2-1.1-4_1-4.2-3.0-1", ""): {
        "a job with an operation for the machine that is next: 1, 2": ["3", "0", "j", ""],
    },
}
"""By spec and the moves played, and by what is accepted instead (a pattern), moves."""


@pytest.mark.parametrize(
    ("spec", "accepted"),
    [
        (f"{game}:{option}", accepted)
        for game, refused in OPTIONS.items()
        for accepted, options in refused.items()
        for option in options
    ],
)
def test_options_that_a_game_does_not_have_are_refused(spec: str, accepted: str) -> None:
    with pytest.raises(InvalidInput, match="game") as caught:
        games.load(spec)
    assert accepted in caught.value.accepted


@pytest.mark.parametrize(
    ("spec", "text", "accepted"),
    [
        (spec, text, accepted)
        for spec, refused in POSITIONS.items()
        for accepted, texts in refused.items()
        for text in texts
    ],
)
def test_impossible_positions_are_refused(spec: str, text: str, accepted: str) -> None:
    with pytest.raises(InvalidInput, match=accepted or "position") as caught:
        games.load(spec).parse_position(text)
    assert (caught.value.field, caught.value.value) == ("position", text)


@pytest.mark.parametrize(
    ("spec", "played", "text", "accepted"),
    [
        (spec, played, text, accepted)
        for (spec, played), refused in MOVES.items()
        for accepted, texts in refused.items()
        for text in texts
    ],
)
def test_illegal_moves_are_refused(spec: str, played: str, text: str, accepted: str) -> None:
    game = games.load(spec)
    state = game.initial_state()
    game.play_text(state, played.split())
    with pytest.raises(InvalidInput, match=accepted) as caught:
        game.parse_move(state, text)
    assert (caught.value.field, caught.value.value) == ("moves", text)


@pytest.mark.parametrize(
    "text", ["2500000", "2.5e6", "2.5M", "2500k", "2_500_000", "2,500,000", "0.0025e9", "25E5"]
)
def test_a_whole_number_may_be_written_in_short(text: str) -> None:
    assert whole_number(text) == 2_500_000


def test_an_option_of_a_game_in_short_is_the_same_game() -> None:
    assert games.load("gomoku:size=1e1").spec == games.load("gomoku:size=10").spec
