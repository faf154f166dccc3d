"""What `banyan benchmark` measures, on a clock that the test turns."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest
from rich.console import Console

import games
from cluster.lab.throughput.benchmark import OpenSpiel, benchmark, tables_of, timed
from games.game import Game


class Clock:
    """Each look at it is a quarter of a second later."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.looks / 4


class HalfAsFast:
    """A rival that makes five simulations a search, of tic-tac-toe alone."""

    name, version = "rival", "1.2"

    def __init__(self) -> None:
        self.asked: list[tuple[int, float, int]] = []

    def searcher(
        self, game: Game, simulations: int, exploration: float, seed: int
    ) -> Callable[[], int] | str:
        self.asked.append((simulations, exploration, seed))
        return (lambda: simulations // 2) if game.name == "tictactoe" else "knows no stones"


def test_work_is_repeated_until_the_time_has_passed_and_once_at_least() -> None:
    assert timed(lambda: 3, 1.0, Clock()) == (12, 1.0)
    assert timed(lambda: 3, 0.0, Clock()) == (3, 0.25)


@pytest.mark.slow
def test_a_row_has_the_fields_that_programs_rely_on() -> None:
    (bench,) = benchmark(
        [games.load("tictactoe")], simulations=[10], seconds=0.5, repeats=3, seed=4, clock=Clock()
    )
    (row,) = bench.rows()
    assert {
        *("game", "playouts_per_s", "moves_per_s", "simulations_per_s", "mean_length"),
        *("results", "seed", "repeats", "spread"),
    } <= set(row)
    assert (row["game"], row["seed"], row["repeats"], row["simulations"]) == ("tictactoe", 4, 3, 10)
    # Two searches of ten simulations in each half second of this clock.
    assert row["simulations_per_s"] == 40.0
    assert row["spread"]["simulations_per_s"] == [40.0, 40.0]
    assert row["moves_per_s"] == pytest.approx(row["playouts_per_s"] * row["mean_length"], rel=1e-3)
    assert sum(row["results"].values()) == pytest.approx(1.0)


@pytest.mark.slow
def test_cut_playouts_are_rows_of_their_own() -> None:
    (bench,) = benchmark(
        [games.load("thud:ruleset=seed")],
        simulations=[1],
        seconds=0.5,
        repeats=3,
        seed=4,
        cuts=[0, 5, 3000],
        clock=Clock(),
    )
    none, short, whole = bench.rows()[0]["cuts"]
    assert [cut["plies"] for cut in (none, short, whole)] == [0, 5, 3000]
    # The start position itself is even; after five plies few dwarfs are lost, in whole games nearly all.
    assert (none["mean_length"], none["mean_value"]) == (0.0, 0.0)
    assert short["mean_length"] == 5.0
    assert -0.1 < short["mean_value"] <= 0.0
    assert whole["mean_length"] == pytest.approx(268.9, rel=0.05)
    assert whole["mean_value"] == pytest.approx(-27.7 / 32, rel=0.05)
    assert short["playouts_per_s"] == whole["playouts_per_s"] > 0
    assert short["spread"]["playouts_per_s"] == [short["playouts_per_s"]] * 2


@pytest.mark.slow
def test_a_rival_is_measured_beside_with_the_same_searches() -> None:
    rival, lines = HalfAsFast(), []
    benches = benchmark(
        [games.load("tictactoe"), games.load("gomoku:size=5")],
        simulations=[10, 20],
        seconds=0.5,
        repeats=2,
        seed=4,
        rival=rival,
        clock=Clock(),
        report=lines.append,
    )
    rows = [row for bench in benches for row in bench.rows()]
    assert [row.get("against", {}).get("ratio") for row in rows] == [2.0, 2.0, None, None]
    assert rows[2]["against"] == {"name": "rival", "version": "1.2", "missing": "knows no stones"}
    printed = StringIO()
    Console(width=80, file=printed).print(*tables_of(rows))
    assert printed.getvalue().count("knows no stones") == 2
    assert rows[0]["against"]["name"] == "rival"
    assert rows[0]["against"]["version"] == "1.2"
    assert rows[0]["against"]["spread"]["ratio"] == [2.0, 2.0]
    assert [(simulations, seed) for simulations, _, seed in rival.asked] == [(10, 4), (20, 4)] * 2
    # Repeats are interleaved: every game once, and then every game again.
    repeats = [line.split(":")[0] for line in lines if "repeat" in line]
    assert repeats == ["tictactoe", "gomoku", "tictactoe", "gomoku"]


@pytest.mark.slow
def test_openspiel_makes_the_searches_that_it_is_asked_for() -> None:
    pytest.importorskip("pyspiel")
    rival = OpenSpiel()
    specs = ["tictactoe", "pig:goal=20", "chinese_checkers:players=2,turns=20"]
    benches = benchmark(
        list(map(games.load, specs)), simulations=[20], seconds=0.01, repeats=1, seed=0, rival=rival
    )
    for bench in benches:
        assert bench.rows()[0]["against"]["simulations_per_s"] > 0


@pytest.mark.parametrize(("spec", "why"), [("2048", "rewards before the end"), ("thud", "does not have")])
def test_openspiel_says_why_it_makes_no_searches(spec: str, why: str) -> None:
    pytest.importorskip("pyspiel")
    missing = OpenSpiel().searcher(games.load(spec), 10, 1.0, 0)
    assert isinstance(missing, str)
    assert why in missing
