"""Players that follow a rule and search nothing."""

from __future__ import annotations

import random

from games.game import Game
from games.spec import Options, Spec
from search.players.player import Choice, Player, Seen


class Random(Player):
    """Any legal move, each as likely."""

    @classmethod
    def from_options(cls, spec: Spec, options: Options, game: Game) -> Random:
        """It has no options."""
        return cls(str(spec))

    def choose(self, seen: Seen, seed: int) -> Choice:
        return Choice(random.Random(seed).choice(seen.legal))
