"""The Universal Game Interface: an arbiter that knows no rules has whole games played."""

from __future__ import annotations

import re
import statistics
import time
from typing import Any

import pytest

import games
import search
from cluster.analysis.session import Ask, Change, Command, Lose, Ready, Stop, Think
from cluster.analysis.ugi import OPTIONS, Ugi
from cluster.matches.clock import Limit
from games.catalogue import built_in
from search.request import SearchRequest
from tests.cluster.analysis.talk import Talk
from tests.cluster.command import ROOT, Here

UGI = ("--protocol", "ugi", "--workers", "1")
DEFAULTS = SearchRequest("tictactoe", seconds=1.0)


def read(line: str) -> list[Command]:
    return Ugi(DEFAULTS, 4, "1.2.3").read(line)


def thought_of(line: str) -> Think:
    stop, think = read(line)
    assert stop == Stop()
    assert isinstance(think, Think)
    return think


def changes_of(line: str) -> dict[str, Any]:
    stop, change = read(line)
    assert stop == Stop()
    assert isinstance(change, Change)
    return dict(change.values)


def lines_of(line: str) -> tuple[str, ...]:
    lines = tuple(each for each in read(line) if isinstance(each, str))
    assert lines == tuple(each for each in read(line) if each != Lose())
    return lines


def test_commands_are_read() -> None:
    assert read("isready") == [Ready("readyok")]
    assert read("stop") == [Stop()]
    assert read("quit") == [Stop(answers=False, ends=True)]
    assert read("") == []
    assert changes_of("uginewgame") == changes_of("position startpos") == {"position": None, "moves": ()}
    assert changes_of("position startpos moves a1 b2") == {"position": None, "moves": ("a1", "b2")}
    assert changes_of("position fen 3/3/3 x moves a1") == {"position": "3/3/3 x", "moves": ("a1",)}
    assert changes_of("position fen 3/3/3 x")["position"] == "3/3/3 x"


def test_limits_of_go() -> None:
    assert thought_of("go") == Think()
    assert thought_of("go depth 5") == Think()
    assert thought_of("go infinite") == Think(endless=True)
    assert thought_of("go nodes 500 movetime 250") == Think((Limit(0.25), Limit(0.25)), 500)
    timed = thought_of("go p1time 1000 p2time -20 p1inc 100 p2inc 0")
    assert timed.limits == (Limit(None, 1.0, 0.1), Limit(None, -0.02, 0.0))


def test_options_are_declared_and_set() -> None:
    declared = lines_of("ugi")
    assert declared[0] == "id name Banyan 1.2.3"
    assert declared[-1] == "ugiok"
    names = [
        re.fullmatch(r"option name (\S+) type (spin|combo|check|string) default .+", each)
        for each in declared[2:-1]
    ]
    assert all(names)
    assert [each[1] for each in names if each] == ["workers", *OPTIONS]
    assert "option name workers type spin default 4 min 1 max 4" in declared
    assert "option name strategy type combo default tree var root var tree var leaf" in declared
    assert changes_of("setoption name Memory value 64") == {"memory_mb": 64}
    assert changes_of("setoption name lanes value 8") == {"lanes": 8}
    assert changes_of("setoption name lanes value <empty>") == {"lanes": None}
    assert changes_of("setoption name solver value true") == {"solver": True}
    assert changes_of("setoption name exploration value 0.5") == {"exploration": 0.5}
    assert changes_of("setoption name workers value 2") == {"workers": 2}


@pytest.mark.parametrize(
    "line",
    [
        "hello",
        "position",
        "position fen",
        "position startpos a1",
        "position 3/3/3 x",
        "query",
        "query score",
        "setoption",
        "setoption name ponder value true",
        "setoption name lanes value many",
        "setoption name lanes value 0",
        "setoption name workers value 5",
        "setoption name solver value maybe",
        "setoption name seed value <empty>",
        "setoption name strategy value luck",
    ],
)
def test_what_is_wrong_is_one_line_of_information(line: str) -> None:
    (said,) = lines_of(line)
    assert said.startswith("info string ")


def test_a_wrong_go_still_gets_a_move() -> None:
    assert lines_of("go movetime soon")[-1] == lines_of("go nodes")[-1] == "bestmove none"
    said, none = lines_of("go nodes -5")
    assert said.endswith("'-5' is not accepted; expected a whole number from 0 to 1000000000000000")
    assert none == "bestmove none"


def test_positions_of_all_games_end_at_the_word_moves() -> None:
    for name in built_in():
        game = games.load(name)
        text = game.format_position(game.initial_state())
        assert "moves" not in text.split()
        if game.is_two_player and not (game.hidden_information or game.has_chance):
            assert changes_of(f"position fen {text} moves") == {"position": text, "moves": ()}


def test_the_position_is_asked_about() -> None:
    game = games.load("tictactoe")

    def answer(question: str, *moves: str) -> str:
        (ask,) = read(f"query {question}")
        assert isinstance(ask, Ask)
        state = game.initial_state()
        game.play_text(state, moves)
        return ask.text_of(game, state)

    won = ("a1", "b1", "a2", "b2", "a3")
    assert answer("gameover") == "response false"
    assert answer("gameover", *won) == "response true"
    assert answer("p1turn") == "response true"
    assert answer("p1turn", "a1") == "response false"
    assert answer("result", "a1") == "response none"
    assert answer("result", *won) == "response p1win"
    assert answer("result", "c3", *won[:4], "b3") == "response none"
    assert answer("result", "c3", "a1", "b1", "a2", "b2", "a3") == "response p2win"
    assert answer("result", "a1", "b2", "c3", "b1", "b3", "a3", "c1", "c2", "a2") == "response draw"


def test_games_with_chance_or_hidden_information_are_refused(here: Here) -> None:
    for name in ("pig", "battleship", "chinese_checkers", "samegame"):
        assert "two players" in here.refusal("engine", name, "--protocol", "ugi")


@pytest.mark.slow
def test_a_dialogue_with_all_that_arbiters_send() -> None:
    with Talk("connect_four", *UGI, "--preset", "plain") as engine:
        assert engine.ask("ugi", "ugiok")
        assert engine.ask("isready") == "readyok"
        engine.tell("uginewgame", "position startpos moves d d")
        assert engine.ask("query p1turn") == "response true"
        # As many simulations as asked for give the answer that the search has anywhere.
        alone = search.run(SearchRequest("connect_four", moves=("d", "d"), simulations=3000, seed=5))
        engine.tell("setoption name seed value 5")
        assert engine.ask("go nodes 3000", "bestmove") == f"bestmove {alone.move}"
        assert " nodes 3000 " in engine.all[-2]
        assert f"score cp {100 * alone.value:.0f} pv {' '.join(alone.pv)}" in engine.all[-2]
        assert engine.ask("go movetime 200", "bestmove")
        assert 0.05 < engine.took_s < 1.0
        # While it thinks.
        engine.tell("go infinite")
        assert engine.hear("info nodes")
        assert engine.ask("isready") == "readyok"
        assert engine.took_s < 1.0
        assert engine.ask("query gameover", "response") == "response false"
        assert engine.ask("stop", "bestmove")
        assert engine.took_s < 3.0
        assert engine.ask("stop\r\nisready") == "readyok"
        engine.tell("go infinite", "go nodes 10")
        assert [engine.hear("bestmove")[:8] for _ in range(2)] == ["bestmove"] * 2
        # After a position that was refused no move is made in another one, whatever comes between.
        for wrong in ("position startpos moves z9", "position fen x", "position somewhere"):
            assert engine.ask(wrong).startswith("info string ")
            assert engine.ask("\0\xff junk " * 999).startswith("info string unknown")
            engine.tell("setoption name seed value 6")
            assert engine.ask("query p1turn").startswith("info string position")
            assert engine.ask("go movetime 50", "bestmove") == "bestmove none"
            engine.tell("position startpos")
            assert engine.ask("query p1turn") == "response true"
        engine.tell("position fen 7/7/7/6x/o5o/oxxxo1x o moves f")
        assert engine.ask("query p1turn") == "response true"
        # A line of four: there is no move.
        engine.tell("position startpos moves a b a b a b a")
        assert engine.ask("query result") == "response p1win"
        assert engine.ask("go movetime 100", "bestmove") == "bestmove none"
        engine.tell("position startpos", "go infinite", "quit")
        assert not any(line.startswith("bestmove") for line in engine.left())


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["tree", "leaf", "root"])
def test_a_search_goes_on_from_the_last_one_and_says_so(strategy: str) -> None:
    """The same dialogue has the same answers on any number of workers."""
    heard: list[list[str]] = []
    for workers in ("1", "2"):
        options = ("--workers", workers, "--lanes", "4", "--strategy", strategy, "--preset", "plain")
        with Talk("connect_four", "--protocol", "ugi", *options) as engine:
            lines = []
            # Another game has nothing of this one, nor has another search than the last one's.
            played = ("d d", "d d c c", "d d c c e b", "d d c c e b a a", "d d c")
            for line in (
                *(f"position startpos moves {moves}" for moves in played),
                "setoption name seed value 9",
            ):
                engine.tell(line)
                engine.ask("go nodes 400000", "bestmove")
                last = max(at for at, each in enumerate(engine.all) if each.startswith("info nodes"))
                lines += [re.sub(r"nps \d+ time \d+ ", "", each) for each in engine.all[last:]]
            heard.append(lines)
    assert heard[0] == heard[1]
    kept = [line for line in heard[0] if "visits were kept" in line]
    assert len(kept) == 3
    assert all(int(line.split()[2]) > 0 for line in kept)


@pytest.mark.slow
def test_the_time_of_the_other_is_used() -> None:
    """In it nothing is written; then the tree has visits that no search with an answer made."""
    with Talk("connect_four", *UGI, "--ponder", "--preset", "plain") as engine:
        engine.tell("isready", "position startpos", "go nodes 100")
        made = engine.hear("bestmove").split()[1]
        time.sleep(1.5)
        assert engine.ask(f"position startpos moves {made} d\r\nisready") == "readyok"
        assert engine.took_s < 1.0
        engine.ask("go nodes 100", "bestmove")
        (kept,) = (line.split()[2] for line in engine.all if "visits were kept" in line)
        assert int(kept) > 1000
        # What it says afterwards is about this search alone, and it ends as without.
        assert " nodes 100 " in engine.all[-3]
        engine.tell("position startpos moves a b a b a b", "go nodes 100")
        engine.hear("bestmove a")
        assert engine.left() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "argument"), [("go infinite", "--wait"), ("go movetime 999999", "--no-wait")]
)
def test_at_the_end_of_the_input_the_search_that_runs_is_answered(limit: str, argument: str) -> None:
    with Talk("tictactoe", *UGI, argument, end="\n") as engine:
        engine.tell("isready", limit)
        assert engine.left()[-1].startswith("bestmove ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "time_ms", "increment_ms", "workers"),
    [("connect_four", 1500, 20, 1), ("othello", 1000, 50, 2), ("morris", 1000, 10, 1)],
)
def test_whole_games_by_an_arbiter_that_asks_the_engines(
    game: str, time_ms: int, increment_ms: int, workers: int
) -> None:
    """It asks both engines whether the game is over, whose turn it is and how it ended, and has a clock."""
    arguments = (game, *UGI[:2], "--workers", str(workers))
    with Talk(*arguments) as first, Talk(*arguments) as second:
        engines = (first, second)
        for engine in engines:
            assert engine.ask("ugi", "ugiok")
            assert engine.ask("isready") == "readyok"
            engine.tell("uginewgame")
        moves: list[str] = []
        left_ms = [float(time_ms), float(time_ms)]
        over = False
        while not over:
            for engine in engines:
                engine.tell(" ".join(["position startpos", *["moves"][: len(moves)], *moves]))
            states = {engine.ask("query gameover", "response") for engine in engines}
            assert len(states) == 1
            if over := states == {"response true"}:
                continue
            turn = [engine.ask("query p1turn", "response") for engine in engines]
            assert turn[0] == turn[1]
            side = 0 if turn[0] == "response true" else 1
            clocks = " ".join(f"p{player + 1}time {left_ms[player]:.0f}" for player in (0, 1))
            line = engines[side].ask(f"go {clocks} p1inc {increment_ms} p2inc {increment_ms}", "bestmove")
            left_ms[side] -= 1000 * engines[side].took_s
            assert left_ms[side] > 0
            left_ms[side] += increment_ms
            moves.append(line.removeprefix("bestmove "))
        results = {engine.ask("query result", "response") for engine in engines}
        assert len(results) == 1
        assert results < {"response p1win", "response p2win", "response draw"}
        # An arbiter that knows the rules: all moves were legal, and no more could be made.
        known = games.load(game)
        state = known.initial_state()
        known.play_text(state, moves)
        assert known.calls.is_terminal(state)
        assert statistics.mean(left_ms) < time_ms + increment_ms * len(moves)
        for engine in engines:
            engine.tell("quit")
            assert engine.left() == []


def test_games_with_sanmill_ended_as_is_recorded() -> None:
    """Those in records/morris_games.txt, by our rules; and 100 moves without a stone taken are a draw."""
    game = games.load("morris:repetition=threefold")
    for line in (ROOT / "cluster/lab/records/morris_games.txt").read_text().splitlines()[2:]:
        about, _, played = line.partition(": ")
        colour, result, *how = about.split(maxsplit=2)
        state, moves = game.initial_state(), played.replace(" /", "").split()
        game.play_text(state, moves)
        if how == ["(100 moves without a stone taken)"]:
            assert all("-" in move for move in moves[-100:])
        else:
            value = float(game.calls.returns(state)) * (1 if colour == "white" else -1)
            assert game.calls.is_terminal(state)
            assert value == {"won": 1, "drawn": 0, "lost": -1}[result]
