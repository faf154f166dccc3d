"""Players by exhaustive search: minimax, negamax, alpha-beta, and the greedy player."""

from __future__ import annotations

import random

from games.errors import InvalidInput, counted
from games.game import FIRST, Game, State
from games.spec import Options, Spec
from search.minimax.alphabeta import MAX_DEPTH
from search.minimax.lookahead import Trace, lookahead_of, trace
from search.players.player import Choice, Looker, Observation, Player, seconds_of

DEFAULT_DEPTH = 2


class Minimax(Player):
    """Minimax to a fixed depth; ties are broken at random, or by the first move (``ties=first``)."""

    prunes = False
    turns_values = False
    """Whether displayed values are from the viewpoint of the player to move."""

    def __init__(self, spec: Spec, options: Options, game: Game) -> None:
        """Options: depth, evaluator, ties; for alpha-beta also seconds, the move order, and when it cuts."""
        super().__init__(str(spec))
        if not game.is_two_player or game.has_chance:
            accepted = f"a player for {game.form} ({game.name} is one), such as uct or flat"
            raise InvalidInput("player", str(spec), accepted)
        refuse_hidden(spec, game)
        self._seconds, ordered, cuts_equals = None, False, True
        if self.prunes:
            self._seconds = seconds_of(options)
            ordered = options.choice("ordering", "priority", ("priority", "none")) == "priority"
            cuts_equals = options.choice("cuts", "equal", ("equal", "above")) == "equal"
        depth = DEFAULT_DEPTH if self._seconds is None else MAX_DEPTH
        depth = options.whole("depth", depth, 1, MAX_DEPTH)
        ties = options.choice("ties", "random", ("random", "first"))
        names = tuple(game.evaluators) or ("default",)
        self._lookahead = lookahead_of(game, options.choice("evaluator", names[0], names))
        self._limits = self._lookahead.limits(
            min(depth, game.max_plies),
            prunes=self.prunes,
            cuts_equals=cuts_equals,
            ordered=ordered,
            finds_ties=ties == "random",
        )

    def choose(self, seen: Observation, seed: int) -> Choice:
        if self._seconds is None:
            found = self._lookahead.search(seen.state, self._limits)
        else:
            seconds = seen.seconds or self._seconds
            found = self._lookahead.deepen(seen.state, self._limits, seconds, self.clock)
        move = random.Random(seed).choice(found.best_moves)
        value = found.value if seen.mover == FIRST else -found.value
        thought = f"depth {found.depth}, {counted(found.positions, 'position')}"
        thought += ", to the end" if found.complete else ""
        return Choice(move, value, nodes=found.positions, thought=thought)

    def trace(self, game: Game, state: State) -> Trace:
        """The tree that the player searches in an unfinished position, with visited and cut positions.

        Raises InvalidInput for a budget in seconds and for a tree that is too large to record.
        """
        if self._seconds is not None:
            raise InvalidInput("player option seconds", self._seconds, "a depth, such as depth=3")
        return trace(self._lookahead, game, state, self._limits)


class Negamax(Minimax):
    """Minimax in negamax notation: values are shown from the viewpoint of the player to move.

    It visits the positions of minimax in equal order and makes equal moves, so it uses minimax's kernel.
    """

    turns_values = True


class AlphaBeta(Minimax):
    """Minimax with alpha-beta pruning, to a fixed depth or for a given CPU time per move."""

    prunes = True


def greedy(spec: Spec, options: Options, game: Game) -> Player:
    """The player of a random move among those with the highest priority; minimax of depth 1 if the game
    defines no priorities. It has no options."""
    refuse_hidden(spec, game)
    if game.rules.priority is None:
        return Minimax(spec, Options(Spec("minimax", {"depth": "1"}), "player"), game)
    assert game.calls.priority is not None
    return Looker(spec, game.calls.priority)


def refuse_hidden(spec: Spec, game: Game) -> None:
    """Raise InvalidInput (field ``player``) if the game has hidden information."""
    if game.hidden_information:
        accepted = f"a player for hidden information ({game.name} has it)"
        raise InvalidInput("player", str(spec), accepted)
