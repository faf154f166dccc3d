"""What is made of moves and their worth: losses, read on the line of the sequential search."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cluster.lab.move_loss import (
    Known,
    contested,
    losses,
    main,
    parallel,
    simulations_that_lose,
    table_of,
)
from cluster.lab.strength.strength import read_strategies
from cluster.report.table import markdown

WAYS = [("a1",), ("b2",)]
WELL, BADLY = "uct:simulations=200", "uct:simulations=100"


@pytest.fixture
def known(tmp_path: Path) -> Known:
    """One always plays c3, which is best; the other once a3 (loses 0.1) and once c1 (loses 0.5)."""
    known = Known("tictactoe", ThreadPoolExecutor(1), tmp_path / "kept.json")
    for way in WAYS:
        name = " ".join(way)
        known.moves |= {f"{WELL} {name} #{seed}": "c3" for seed in (0, 1)}
        known.moves |= {f"{BADLY} {name} #{seed}": move for seed, move in enumerate(("a3", "c1"))}
        known.worths |= {f"judge {name} c3": 0.3, f"judge {name} a3": 0.2, f"judge {name} c1": -0.2}
    return known


def test_a_move_loses_what_it_is_worth_less_than_the_best_and_not_more_than_most(known: Known) -> None:
    assert losses(known, "judge", [WELL, BADLY], WAYS, 2) == [[0.0, 0.0], [pytest.approx(150.0)] * 2]


def test_the_table_measures_players_by_the_sequential_search() -> None:
    players = [WELL, BADLY, "uct:strategy=root"]
    lines = markdown(table_of(players, [[10.0, 12.0], [20.0, 22.0], [15.0, 17.0]]))
    assert lines[2:] == [
        "| `uct:simulations=200` | 11.0 | +0.0 ± 0.0 |  |",
        "| `uct:simulations=100` | 21.0 | +10.0 ± 0.0 |  |",
        "| `uct:strategy=root` | 16.0 | +5.0 ± 0.0 | 141 (141 to 141) |",
    ]
    # Nothing to measure by.
    assert (
        markdown(table_of(players[1:], [[20.0, 22.0], [15.0, 17.0]]))[3]
        == "| `uct:strategy=root` | 16.0 | -5.0 ± 0.0 |"
    )


def test_losses_are_read_between_two_points_and_beyond_the_last() -> None:
    curve = [(400, 5.0), (100, 20.0), (200, 10.0)]
    assert simulations_that_lose(curve, 15.0) == pytest.approx(100 * 2**0.5)
    assert simulations_that_lose(curve, 7.5) == pytest.approx(200 * 2**0.5)
    assert simulations_that_lose(curve, 0.0) == pytest.approx(800)
    assert simulations_that_lose(curve, 30.0) == pytest.approx(50)
    assert math.isnan(simulations_that_lose([(100, 5.0), (200, 6.0)], 5.5))


def test_contested_is_where_they_do_not_always_make_the_same_move(known: Known) -> None:
    for way in WAYS:
        known.moves |= {f"{spec} {' '.join(way)} #-{seed}": "c3" for spec in (WELL, BADLY) for seed in (1, 2)}
    known.moves[f"{BADLY} b2 #-2"] = "a3"
    assert contested(known, [WELL, BADLY], iter(WAYS), 2) == [("b2",)]


def test_strategies_are_players_with_the_same_total() -> None:
    assert parallel(read_strategies("tree:rounds=8,share_visits=8,leaf"), [4, 16], 6400) == [
        "uct:simulations=6400",
        "uct:simulations=3200",
        "uct:strategy=tree,lanes=4,simulations=6400,rounds=8,share_visits=8",
        "uct:strategy=tree,lanes=16,simulations=6400,rounds=8,share_visits=8",
        "uct:strategy=leaf,lanes=4,simulations=6400",
        "uct:strategy=leaf,lanes=16,simulations=6400",
    ]


def test_it_plays_and_judges(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """From positions of games of its own; what is kept is read and not computed again."""
    kept = tmp_path / "k"
    words = "tictactoe --strategies tree --lanes 2 --total 60 --positions 3 --seeds 2 --workers 1"
    arguments = [*words.split(), "--judge", "uct:simulations=500", "--keep", str(kept)]
    main(arguments)
    found = capsys.readouterr().out
    assert found.startswith(
        "tictactoe, 3 positions, 2 moves in each, judged by uct:simulations=500\n\n| player |"
    )
    assert "| `uct:strategy=tree,lanes=2,simulations=60` | " in found
    moves, worths = json.loads(kept.read_text())
    main(arguments)
    assert capsys.readouterr().out == found
    # Had they been judged again, no move would be worth 5.
    kept.write_text(json.dumps([moves, dict.fromkeys(worths, 5.0)]))
    main(arguments)
    assert "| 0.0 | +0.0 ± 0.0 |" in capsys.readouterr().out
    assert set(json.loads(kept.read_text())[1].values()) == {5.0}
