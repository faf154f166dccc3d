"""Episodes of problems of one player: search, act, observe, and go on in the same tree, to the end.

An episode has a number, its seed: on it depend its start (`Game.episode_state`), what chance brings, and the
seeds of its searches, each with a stream of its own. So an episode is a pure function of the request and its
number, and no search ever sees what chance will bring.

A search goes on from what the search before it knew of the position that was reached: the node of the move
and, where chance moves, of its outcome. Nodes of an open loop stand for moves whatever came of them, so there
each search begins with nothing. Where nothing is left to chance, the best line that any search has found is
followed until a better one is found.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from games.errors import InvalidInput, refuse_if_any
from games.game import CHANCE, Game, State
from games.rng import new_stream
from search.kept_tree import KeptTree
from search.prepare import open_view
from search.request import SearchRequest
from search.run_inline import run_inline
from search.strategies import Strategy, strategy_of
from search.summary import choose
from search.tree.arena import Kept
from search.worker import Worker

EPISODE_STREAM = 30
"""The second number of the identity of an episode's random streams, after its seed."""
OUTCOMES, SEARCHES = range(2)


@dataclass(frozen=True)
class Episode:
    """An episode that was played."""

    seed: int
    """Its number."""
    value: float
    """Sum of the rewards, not discounted."""
    actions: tuple[str, ...]
    """The player's moves, in the game's notation."""
    terminated: bool
    """Whether it ended by itself."""
    truncated: bool
    """Whether a limit of its length ended it."""
    steps: int
    """Number of the player's moves."""
    simulations: int
    seconds: float
    """CPU time."""


def check_plannable(request: SearchRequest, game: Game) -> None:
    """Raises InvalidInput (game, budget, moves and others of a position) unless episodes of this game can be
    planned."""
    if game.num_players != 1:
        accepted = f"a problem of one player ({game.name} has {game.num_players}: see banyan match)"
        raise InvalidInput("game", request.game, accepted)
    for field in ("moves", "position", "allow", "avoid", "least_visits"):
        value = " ".join(request.moves) if field == "moves" else getattr(request, field)
        refuse_if_any(field, value, [(value, "nothing: episodes begin at their start")])
    if request.simulations is None and request.seconds is None:
        raise InvalidInput("budget", None, "simulations or seconds for each move")


class Planner:
    """Plays episodes of one game with one request, whose budget is that of each move."""

    def __init__(
        self,
        request: SearchRequest,
        game: Game,
        source: str | None,
        steps: int | None = None,
        stepped: Callable[[int, int, float], None] = lambda seed, steps, value: None,
    ) -> None:
        """``source``: the text of the game's file; ``steps``: the most moves of an episode.

        ``stepped`` is called after each move with the episode's seed, its moves and its rewards so far.
        """
        if request.lanes == 1 and request.rounds is None and request.simulations is not None:
            # One lane learns nothing from rounds.
            request = replace(request, rounds=1)
        self._request, self._game, self._source, self._steps = request, game, source, steps
        self._stepped = stepped
        self._worker = Worker()
        # What simulations have met is kept instead of the tree that it was told.
        self._learns = (
            "learnt" in request.policies and request.lanes == 1 and strategy_of(request.strategy).by_rounds
        )
        self._worker.goes_on = self._learns
        self._prepared = self._begun = False
        # From when on the CPU time of the episode counts.
        self._began = 0.0

    def play(self, seed: int) -> Episode:
        """The episode with this number, from its start to its end."""
        self._began, self._begun = time.thread_time(), False
        game, calls = self._game, self._game.calls
        state = game.episode_state(seed)
        texts: list[str] = []
        outcomes, step = new_stream(seed, EPISODE_STREAM, OUTCOMES), game.episode_steps(seed)
        scratch = np.zeros(game.max_moves, dtype=np.uint16)
        steps = simulations = outcome = 0
        kept, past = KeptTree(game), list[int]()
        line: list[int] = []
        worth = -np.inf
        # What the last move brings counts too.
        while not calls.is_terminal(state) and (
            steps != self._steps or calls.current_player(state) == CHANCE
        ):
            if calls.current_player(state) == CHANCE:
                assert calls.chance is not None
                move = outcome if step is not None else int(calls.chance(state, scratch, outcomes))
            else:
                legal = game.legal_moves(state)
                move = legal[0]
                if len(legal) > 1:
                    searched, ran = self._search(state, seed, steps, len(legal), kept.at(past))
                    if not self._learns:
                        kept.keep(searched.left(), past)
                    simulations += ran
                    if searched.outlook.value > worth:
                        line, worth = list(searched.outlook.line), searched.outlook.value
                    visited = [child for child in searched.root_children() if child.visits > 0]
                    move = line[0] if line else choose(visited, self._request.final_move).move
                steps += 1
                texts.append(game.format_move(state, move))
                outcome = 0 if step is None else step(state, move)
            before = calls.returns(state) if game.rewards else 0.0
            calls.play(state, move)
            self._stepped(seed, steps, float(calls.returns(state)) if game.rewards else 0.0)
            if line:
                after = calls.returns(state) if game.rewards or calls.is_terminal(state) else 0.0
                line, worth = line[1:], (worth - (after - before)) / game.discount
            past.append(move)
        ended = bool(calls.is_terminal(state))
        truncated = not ended or game.is_truncated(state)
        return Episode(
            seed=seed,
            value=float(calls.returns(state)) if game.rewards or ended else 0.0,
            actions=tuple(texts),
            terminated=ended and not truncated,
            truncated=truncated,
            steps=steps,
            simulations=simulations,
            seconds=time.thread_time() - self._began,
        )

    def _search(self, state: State, seed: int, step: int, num_legal: int, kept: Kept) -> tuple[Strategy, int]:
        """Search a position of an episode; the strategy with its tree, and the number of simulations."""
        game = self._game
        view = game.observation(state, 0)
        search_seed = int(new_stream(seed, EPISODE_STREAM, SEARCHES, step)[0]) >> 1
        request = replace(self._request, seed=search_seed)
        opened = open_view(request, game, view, 0, num_legal, self._source, kept=kept)
        if not self._prepared:
            self._worker.prepare(opened.context)
            self._prepared = True
            # Loading and compiling kernels is no work of the episode.
            self._began = time.thread_time()
        if not self._begun:
            # Not before, because the first moves may need no search.
            self._worker.begin_episode(opened.context)
            self._begun = True
        coordinator, _ = run_inline(opened, time.perf_counter, self._worker)
        return opened.strategy, coordinator.counters.simulations
