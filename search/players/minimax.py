"""Players by exhaustive search: minimax, negamax, alpha-beta, and the greedy player."""

from __future__ import annotations

import random

from games.errors import InvalidInput, counted
from games.game import FIRST, Game, State
from games.spec import Options, Spec
from search.minimax.alphabeta import MAX_DEPTH, Limits
from search.minimax.lookahead import Foresight, Trace, lookahead_of, trace
from search.players.player import Choice, Player, Seen, seconds_of

DEFAULT_DEPTH = 2


class Minimax(Player):
    """Minimax to a fixed depth; ties are broken at random, or by the first move (``ties=first``)."""

    prunes = False
    turns_values = False
    """Whether displayed values are from the viewpoint of the player to move."""

    def __init__(
        self, spec: str, game: Game, limits: Limits, evaluator: str, seconds: float | None = None
    ) -> None:
        super().__init__(spec)
        self._limits, self._seconds = limits, seconds
        self._lookahead = lookahead_of(game, evaluator)

    @classmethod
    def from_options(cls, spec: Spec, options: Options, game: Game) -> Minimax:
        """Options: depth, evaluator, ties; for alpha-beta also seconds, the move order, and when it cuts."""
        if not game.is_two_player or game.has_chance:
            accepted = f"a player for {game.form} ({game.name} is one), such as uct or flat"
            raise InvalidInput("player", str(spec), accepted)
        refuse_hidden(spec, game)
        seconds, ordered, cuts_equals = None, False, True
        if cls.prunes:
            seconds = seconds_of(options)
            ordered = options.choice("ordering", "priority", ("priority", "none")) == "priority"
            cuts_equals = options.choice("cuts", "equal", ("equal", "above")) == "equal"
        depth = options.whole("depth", DEFAULT_DEPTH if seconds is None else MAX_DEPTH, 1, MAX_DEPTH)
        ties = options.choice("ties", "random", ("random", "first"))
        names = tuple(game.evaluators) or ("default",)
        evaluator = options.choice("evaluator", names[0], names)
        limits = lookahead_of(game, evaluator).limits(
            min(depth, game.max_plies),
            prunes=cls.prunes,
            cuts_equals=cuts_equals,
            ordered=ordered,
            finds_ties=ties == "random",
        )
        return cls(str(spec), game, limits, evaluator, seconds)

    def choose(self, seen: Seen, seed: int) -> Choice:
        if self._seconds is None:
            found = self._lookahead.search(seen.state, self._limits)
        else:
            found = self._lookahead.deepen(seen.state, self._limits, self._seconds, self.clock)
        move = random.Random(seed).choice(found.best_moves)
        value = found.value if seen.mover == FIRST else -found.value
        return Choice(move, value, nodes=found.positions, thought=self._thought(seen, found))

    def trace(self, game: Game, state: State) -> Trace:
        """The tree that the player searches in an unfinished position, with visited and cut positions.

        Raises InvalidInput for a budget in seconds and for a tree that is too large to record.
        """
        if self._seconds is not None:
            raise InvalidInput("player option seconds", self._seconds, "a depth, such as depth=3")
        return trace(self._lookahead, game, state, self._limits)

    def _thought(self, seen: Seen, found: Foresight) -> str:
        text = f"depth {found.depth}, {counted(found.positions, 'position')}"
        if self.prunes and self._seconds is None:
            share = self._lookahead.share_cut(seen.state, found)
            text += "" if share is None else f", {100 * share:.0f} % cut"
        return text + (", to the end" if found.complete else "")


class Negamax(Minimax):
    """Minimax in negamax notation: values are shown from the viewpoint of the player to move.

    It visits the positions of minimax in equal order and makes equal moves, so it uses minimax's kernel.
    """

    turns_values = True


class AlphaBeta(Minimax):
    """Minimax with alpha-beta pruning, to a fixed depth or for a given CPU time per move."""

    prunes = True


class Greedy(Player):
    """Plays a random move among those with the highest priority; minimax of depth 1 if the game defines no
    priorities."""

    def __init__(self, spec: str, game: Game) -> None:
        super().__init__(spec)
        self._game = game

    @classmethod
    def from_options(cls, spec: Spec, options: Options, game: Game) -> Player:
        """The greedy player, which has no options."""
        refuse_hidden(spec, game)
        if game.rules.priority is None:
            return Minimax.from_options(spec, Options(Spec("minimax", {"depth": "1"}), "player"), game)
        return cls(str(spec), game)

    def choose(self, seen: Seen, seed: int) -> Choice:
        priority = self._game.calls.priority
        assert priority is not None
        looks = [priority(seen.state, move) for move in seen.legal]
        best = [move for move, look in zip(seen.legal, looks, strict=True) if look == max(looks)]
        return Choice(random.Random(seed).choice(best), nodes=len(looks))


def refuse_hidden(spec: Spec, game: Game) -> None:
    """Raise InvalidInput (field ``player``) if the game has hidden information."""
    if game.hidden_information:
        accepted = f"a player for hidden information ({game.name} has it)"
        raise InvalidInput("player", str(spec), accepted)
