"""``python -m tests.games.playthroughs``: write all recordings anew."""

from tests.games.playthroughs import write

write()
