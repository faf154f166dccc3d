"""Short lines of moves, most of them from positions set by hand: where they lead, and how the game ends."""

from __future__ import annotations

from typing import NamedTuple

import pytest

import games


class Case(NamedTuple):
    """A line of a game, played from a position or from the start; it does not end before its last move."""

    spec: str
    position: str
    moves: str
    outcome: str | None = None
    """None if the game goes on."""
    after: str | None = None
    """The position that the line leads to, if that is of interest."""


DANCE = "w../..w/.w./.b..../w.b/.b./..b w 0 0"
THERE_AND_BACK = "a7-a4 g1-g4 a4-a7 g4-g1 "
TWO_WAYS = "bb6/8/8/2bb4/3w4/8/8/w7 w"
EMPTY, COLUMN = "/.,.,.,./.,.,.,./.,.,.,.", "4,.,.,./2,.,.,./.,.,.,./2,.,.,."
CASES = [
    # The last stone joined two fours, and made two fives at once.
    Case("connect_four", "7/7/7/7/ooo1ooo/xxxxxxx o", "", "x wins"),
    Case("gomoku:size=5", "xxxxx/x1ooo/xoo2/xo3/xoo2 o", "", "x wins"),
    Case("gomoku:size=5", "xxxxx/oooo1/5/5/5 o", "", "x wins"),
    # No line runs over the edge.
    Case("gomoku:size=5", "", "c1 a3 d1 b3 e1 c4 a2 d4 b2"),
    # Six in a row.
    Case("gomoku", "", "a1 a12 b1 c12 c1 e12 e1 g12 f1 i12 d1", "x wins"),
    Case("gomoku:overline=not", "", "a1 a12 b1 c12 c1 e12 e1 g12 f1 i12 d1"),
    Case("othello:size=4", "bbbb/bbbb/wwww/wwww b", "", "a draw 8-8"),
    # The shortest game, found by Emmanuel Lazard among others: black takes everything.
    Case("othello", "", "e6 f4 e3 f6 g5 d6 e7 f5 c5", "black wins 13-0"),
    # The last row or the last piece.
    Case("breakthrough", "8/w6b/8/8/8/8/8/8 w", "a7a8", "white wins"),
    Case("breakthrough", "8/w6b/8/8/8/8/8/8 w", "a7b8", "white wins"),
    Case("breakthrough", "7w/8/8/8/8/8/b7/7w b", "", "white wins"),
    Case("breakthrough", "8/7b/8/8/8/8/b7/7w b", "a2b1", "black wins"),
    Case("breakthrough", "8/8/8/4b3/3w4/8/8/8 w", "d4e5", "white wins"),
    Case("breakthrough", "8/8/8/4b3/3w4/8/8/8 b", "e5d4", "black wins"),
    Case("breakthrough", "8/w6b/8/8/8/8/7b/w7 w", "a7b8", "white wins"),
    # A capture may be written with a cross, and any move with a line.
    Case("breakthrough", TWO_WAYS, "d4xc5", None, "bb6/8/8/2wb4/8/8/8/w7 b"),
    Case("breakthrough", TWO_WAYS, "d4-c5", None, "bb6/8/8/2wb4/8/8/8/w7 b"),
    # All turns are played; the opposite triangle is full.
    Case("chinese_checkers:turns=3", "", "j4i5 m10m9 d10e9", "a draw"),
    Case(
        "chinese_checkers:players=2",
        "1/2/3/4/13/yyyyy7/yyyyy6/10/9/10/11/12/4b8/1bbb/bbb/bb/b b 100",
        "e13e14",
        "blue wins",
    ),
    # A position comes again; one that was given counts, also with stones in hand that may move.
    Case("morris:repetition=first", f"{DANCE} 18", THERE_AND_BACK, "a draw", f"{DANCE} 22 drawn"),
    Case("morris:repetition=threefold", f"{DANCE} 18", THERE_AND_BACK * 2, "a draw", f"{DANCE} 26 drawn"),
    Case("morris:repetition=none", f"{DANCE} 18", THERE_AND_BACK * 40),
    Case("morris:variant=lasker", f"{DANCE} 18", THERE_AND_BACK, "a draw", f"{DANCE} 22 drawn"),
    Case(
        "morris:variant=lasker",
        ".../.w./.../....../.../.b./... w 9 9 2",
        "d6-f6 d2-f2 f6-d6 f2-d2",
        "a draw",
        ".../.w./.../....../.../.b./... w 9 9 6 drawn",
    ),
    # Nobody is ahead, and each has made a move without a capture: both are willing to end.
    Case("thud:ruleset=seed,agreement_moves=1", "", "dO11-O9 TG7-F7", "a draw, 32 points each"),
    # The order of piles does not matter, nor from which end a ship is told.
    Case("grundy:pile=16", "", "16-5+11 11-4+7 5-1+4", None, "7+4+4+1 second"),
    Case("grundy:pile=16", "4+1+7+4 second", "", None, "7+4+4+1 second"),
    Case(
        "battleship:size=4,fleet=3-2-2",
        "4/4/4/4 fleet=c1a1,b2a2,d4d3 | 4/4/4/4 fleet=c1a1,a2b2,d4d3",
        "",
        None,
        "4/4/4/4 fleet=a1c1,a2b2,d3d4 | 4/4/4/4 fleet=a1c1,a2b2,d3d4",
    ),
    # An empty board gives a thousand points.
    Case("samegame:columns=4,rows=4", "4/r3/gg2/rr2 7", "b2", None, "4/4/r3/rr2 7"),
    Case("samegame:columns=4,rows=4", "4/4/r3/rr2 7", "b1", "a score of 1008", "4/4/4/4 1008"),
    # Stones that are left cost 3² points for five red ones, 2² for four green ones, and 1 for one.
    Case("samegame:columns=4,rows=4", "4/rgrg/grgr/rbyb -14", "", "a score of -14"),
    # A tile merges once in a move.
    Case("2048", f"2,2,2,2{EMPTY} 0", "left", None, f"4,4,.,.{EMPTY} 8 tile"),
    Case("2048", f"2,2,2,.{EMPTY} 0", "right", None, f".,.,2,4{EMPTY} 4 tile"),
    Case("2048", f"8,4,2,2{EMPTY} 0", "left", None, f"8,4,4,.{EMPTY} 4 tile"),
    Case("2048", f"{COLUMN} 10", "down", None, ".,.,.,./.,.,.,./4,.,.,./4,.,.,. 14 tile"),
    Case("2048", f"{COLUMN} 10", "up", None, "4,.,.,./4,.,.,./.,.,.,./.,.,.,. 14 tile"),
    # The tile that ends the game is counted.
    Case(
        "2048",
        "16384,16384,.,./.,.,.,./.,.,.,./2,.,.,. 400000",
        "right",
        "a score of 432768",
        ".,.,.,32768/.,.,.,./.,.,.,./.,.,.,2 432768",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.spec} {case.position} {case.moves[:40]}")
def test_a_line_leads_where_it_should(case: Case) -> None:
    game = games.load(case.spec)
    state = game.parse_position(case.position) if case.position else game.initial_state()
    for move in case.moves.split():
        assert not game.rules.is_terminal(state)
        game.play_text(state, [move])
    assert case.after in (None, game.format_position(state))
    for each in (state, game.parse_position(game.format_position(state))):
        assert (game.outcome_text(each) if game.rules.is_terminal(each) else None) == case.outcome
