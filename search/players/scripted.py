"""Players that follow a rule without a search: random moves, and the opponents of a thesis on mill games."""

from __future__ import annotations

import random
from collections.abc import Callable

from games.compile.specialise import specialise
from games.errors import InvalidInput
from games.game import FIRST, Game, State
from games.morris import Morris
from games.morris.insight import look_of_blocker, look_of_own_mills
from games.spec import Options, Spec
from search.players.player import Choice, Player, Seen

STRATEGIES = ("random", "own-mills", "blocker", "mixed")
"""Names of the thesis' strategies 1 to 4, in this order."""
Look = Callable[[State, int], tuple[float, ...]]


class Random(Player):
    """Plays uniformly random legal moves."""

    @classmethod
    def from_options(cls, spec: Spec, options: Options, game: Game) -> Random:
        """The random player, which has no options."""
        return cls(str(spec))

    def choose(self, seen: Seen, seed: int) -> Choice:
        return Choice(random.Random(seed).choice(seen.legal))


class Scripted(Player):
    """Plays mill games: the move with the highest score by a simple rule; ties are broken at random."""

    def __init__(self, spec: str, look: Look) -> None:
        super().__init__(spec)
        self._look = look

    @classmethod
    def from_options(cls, spec: Spec, options: Options, game: Game) -> Scripted:
        """Options: strategy, one of `STRATEGIES`."""
        if not isinstance(game, Morris):
            raise InvalidInput("player", str(spec), "another player: scripted ones play morris only")
        strategy = options.choice("strategy", "mixed", STRATEGIES)
        if strategy == "random":
            return cls(str(spec), lambda state, move: ())
        if strategy == "mixed":
            return cls(str(spec), lambda state, move: _look_of_mixed(game, state, move))
        generic = look_of_own_mills if strategy == "own-mills" else look_of_blocker
        rule = specialise([generic], game)[generic.__name__]
        return cls(str(spec), lambda state, move: (rule(state, move),))

    def choose(self, seen: Seen, seed: int) -> Choice:
        looks = [self._look(seen.state, move) for move in seen.legal]
        moves = [move for move, look in zip(seen.legal, looks, strict=True) if look == max(looks)]
        return Choice(random.Random(seed).choice(moves), nodes=len(looks))


def _look_of_mixed(game: Game, state: State, move: int) -> tuple[float, float]:
    """Score of a player who closes a mill if possible, else blocks one; ties are broken by the evaluation of
    the position after the move."""
    calls, after = game.calls, state.copy()
    assert calls.priority is not None and calls.evaluate is not None
    calls.play(after, move)
    sign = 1.0 if calls.current_player(state) == FIRST else -1.0
    value = 2.0 * calls.returns(after) if calls.is_terminal(after) else calls.evaluate(after)
    return calls.priority(state, move), sign * value
