"""OpenSpiel's C++ MCTS as a player, if OpenSpiel is installed: an independent program to compare with."""

from __future__ import annotations

import time
from typing import Any

from games.errors import InvalidInput, counted
from games.game import Game
from games.openspiel import name_of
from games.spec import OPENSPIEL, Options, Spec
from games.user_games import library_or_refuse
from search.players.player import Choice, Observation, Player, number_of, seconds_of

DEFAULT_SECONDS = 1.0
EXPLORATION = 2.0
"""The exploration constant of OpenSpiel's examples, for values in [-1, 1]."""
MAX_EXPLORATION = 1000.0
MAX_MEMORY_MB = 1000
MAX_SIMULATIONS = 2_000_000_000
MAX_ROLLOUTS = 10_000
FIRST_PROBE = 8
"""Simulations of the first measurement of the rate; the number is increased until PROBE_SHARE is reached."""
PROBE_SHARE = 0.03
"""Share of the time budget that a measurement of the rate must take at least."""
MAX_GROWTH = 16
MAX_GAIN = 4.0


class OpenSpielPlayer(Player):
    """`pyspiel.MCTSBot` with random rollouts: a new tree for each move, in the calling thread.

    The bot can only be given a number of simulations. For a budget in CPU seconds, that number is computed
    from the rate, which is measured in the position to search, in addition to the budget (about 3 % of it).
    The rate of a large tree may differ from that of the small measured tree; the ratio is taken from
    earlier moves of the game.
    """

    def __init__(self, spec: Spec, options: Options, game: Game) -> None:
        """Options: simulations or seconds (default 1), c, rollouts, solve.

        Raises InvalidInput (field ``player``) if OpenSpiel or a game of equal rules in it is missing.
        """
        super().__init__(str(spec))
        self._simulations, seconds = options.integer("simulations"), seconds_of(options)
        self._exploration = number_of(options, "c", EXPLORATION, MAX_EXPLORATION)
        if self._simulations is not None and not 1 <= self._simulations <= MAX_SIMULATIONS:
            accepted = f"a whole number from 1 to {MAX_SIMULATIONS}"
            raise InvalidInput("player option simulations", self._simulations, accepted)
        if self._simulations is not None and seconds is not None:
            budgets = f"simulations={self._simulations}, seconds={seconds:g}"
            raise InvalidInput("player option budget", budgets, "either simulations or seconds, not both")
        self._seconds = DEFAULT_SECONDS if seconds is None else seconds
        self._rollouts = options.whole("rollouts", 1, 1, MAX_ROLLOUTS)
        self._solve = options.choice("solve", "no", ("no", "yes")) == "yes"
        self._pyspiel = library_or_refuse(OPENSPIEL, "player", self.spec)
        name = name_of(game)
        if name is None:
            accepted = (
                "connect_four, tictactoe, gomoku without candidates and with overlines, othello, "
                "breakthrough, hex, morris:repetition=none"
            )
            accepted = f"a game that OpenSpiel plays by the same rules: {accepted}"
            raise InvalidInput("player", f"{spec} for {game.spec}", accepted)
        self._game = self._pyspiel.load_game(name)
        kind = self._game.get_type()
        if kind.reward_model != self._pyspiel.GameType.RewardModel.TERMINAL or game.open_loop:
            accepted = "a game with returns at its end: OpenSpiel's MCTS knows no rewards before it"
            raise InvalidInput("player", f"{spec} for {game.spec}", accepted)
        self._gain, self._ply = 1.0, 0
        """The rate of complete searches divided by the measured rate, and the ply of the game it is from."""

    def choose(self, seen: Observation, seed: int) -> Choice:
        """Raises InvalidInput (field ``player``) if the game's moves are unknown or illegal in OpenSpiel."""
        state = self._replay(seen)
        if self._simulations is not None:
            root, _ = self._search(state, self._simulations, seed)
        else:
            if len(seen.past or ()) <= self._ply:
                self._gain = 1.0
            self._ply = len(seen.past or ())
            root = self._search_for_seconds(state, seed)
        best = root.best_child()
        value = best.outcome[seen.mover] if best.outcome else best.total_reward / best.explore_count
        told = [
            f"{seen.game.format_move(seen.state, child.action)} {child.explore_count:,}"
            for child in sorted(root.children, key=lambda child: -child.explore_count)[:3]
        ]
        count = int(root.explore_count)
        thought = f"{counted(count, 'simulation')}: {', '.join(told)}"
        return Choice(int(best.action), float(value), count, 0, thought)

    def _replay(self, seen: Observation) -> Any:
        """The position as a pyspiel.State, made by replaying the moves of the game."""
        if seen.past is None:
            raise InvalidInput("player", self.spec, "a game from its start, whose moves can be played again")
        state = self._game.new_initial_state()
        for move in seen.past:
            state.apply_action(move)
        if state.current_player() != seen.mover or sorted(state.legal_actions()) != list(seen.legal):
            position = seen.game.format_position(seen.state)
            raise InvalidInput(
                "player", self.spec, f"the same moves in OpenSpiel (they differ in {position})"
            )
        return state

    def _search_for_seconds(self, state: Any, seed: int) -> Any:
        count, enough_s = FIRST_PROBE, PROBE_SHARE * self._seconds
        while True:
            root, took_s = self._search(state, count, seed)
            if root.explore_count < count or took_s >= self._seconds:
                return root
            if took_s >= enough_s / 2:
                break
            count *= max(2, min(MAX_GROWTH, round(enough_s / max(took_s, 1e-9))))
        rate = count / took_s
        count = max(1, min(MAX_SIMULATIONS, round(rate * self._gain * self._seconds)))
        root, took_s = self._search(state, count, seed)
        if root.explore_count == count:
            gain = min(MAX_GAIN, max(1 / MAX_GAIN, count / took_s / rate))
            self._gain += (gain - self._gain) / 2
        return root

    def _search(self, state: Any, simulations: int, seed: int) -> tuple[Any, float]:
        """(root of one search, CPU seconds). A solved root has fewer visits than ``simulations``."""
        seed %= 2**31
        evaluator = self._pyspiel.RandomRolloutEvaluator(self._rollouts, seed)
        bot = self._pyspiel.MCTSBot(
            self._game,
            evaluator,
            uct_c=self._exploration,
            max_simulations=simulations,
            max_memory_mb=MAX_MEMORY_MB,
            solve=self._solve,
            seed=seed,
            verbose=False,
        )
        began = time.thread_time()
        root = bot.mcts_search(state)
        return root, time.thread_time() - began
