"""Value tables against the solution that they are made from, as files, and where a game has none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import games
from games.analysis import table as tables
from games.analysis.solving import solve
from games.analysis.table import ValueTable, folder_of, judge_of, table_of
from games.errors import InvalidInput


def test_every_value_is_that_of_the_solution() -> None:
    game = games.load("tictactoe")
    solution = solve(game, game.initial_state())
    table = table_of(game)
    assert table.num_positions == solution.num_positions
    for state in solution.states():
        assert table.value_of(state) == solution.value_of(state)
        assert [(o.move, o.value) for o in table.outcomes(state)] == [
            (o.move, o.value) for o in solution.outcomes(state)
        ]


def test_a_large_table_is_made_once_and_then_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANYAN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tables, "KEPT_FROM", 1)
    game = games.load("grundy:pile=9")
    made = table_of(game)
    assert folder_of(game).is_dir()
    assert [each.name for each in (tmp_path / "tables").iterdir()] == [folder_of(game).name]
    monkeypatch.setattr(tables, "solve", None)
    again = table_of(game)
    assert isinstance(again.keys, np.memmap)
    assert np.array_equal(again.keys, made.keys)
    assert np.array_equal(again.values, made.values)


@pytest.mark.parametrize("harm", ["cut", "other", "gone"])
def test_a_file_that_is_not_sound_is_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    game = games.load("grundy:pile=9")
    monkeypatch.setattr(tables, "KEPT_FROM", 1)
    monkeypatch.setenv("BANYAN_CACHE_DIR", str(tmp_path))
    sound = table_of(game)
    values = folder_of(game) / "values.npy"
    if harm == "cut":
        values.write_bytes(values.read_bytes()[:40])
    elif harm == "other":
        np.save(values, np.zeros(3, dtype=np.int8))
    else:
        values.unlink()
    assert ValueTable.load(game, folder_of(game)) is None
    again = table_of(game)
    assert np.array_equal(again.values, sound.values)
    # What was made anew takes the place of what was not sound.
    assert ValueTable.load(game, folder_of(game)) is not None


def test_games_of_other_options_have_other_tables() -> None:
    assert folder_of(games.load("grundy:pile=9")) != folder_of(games.load("grundy:pile=10"))


def test_a_position_that_cannot_be_reached_is_refused() -> None:
    table = table_of(games.load("tictactoe"))
    state = table.game.initial_state()
    state[:] = (0b111, 0, 9)
    with pytest.raises(InvalidInput) as refused:
        table.value_of(state)
    assert refused.value.field == "position"


def test_a_game_without_judge_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput) as refused:
        judge_of(games.load("gomoku"))
    assert refused.value.field == "judge"
    assert "gomoku" in refused.value.accepted


def test_too_many_positions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_POSITIONS", 100)
    with pytest.raises(InvalidInput) as refused:
        table_of(games.load("tictactoe"))
    assert refused.value.field == "game"
