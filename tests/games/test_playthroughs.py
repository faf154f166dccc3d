"""Recorded games are played again; tests/games/playthroughs tells how to record them anew."""

from __future__ import annotations

from pathlib import Path

import pytest

import games
from games import user_games as own
from tests.games.playthroughs import FILES, replay


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_recorded_games_go_as_they_went(file: Path) -> None:
    recorded = file.read_text(encoding="utf-8")
    assert replay(recorded) == recorded
    assert recorded.splitlines()[-1].startswith("returns ")


def test_every_game_has_a_recording() -> None:
    recorded = {file.read_text(encoding="utf-8").split("\ngame ")[1].split("\n")[0] for file in FILES}
    assert {games.load(spec).name for spec in recorded} == {*games.names()} - {*own.installed()}
