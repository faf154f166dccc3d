"""The player `uct`: Monte Carlo tree search with all options of a search request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from games.errors import counted
from games.game import Game
from games.spec import Options, Spec
from search.evaluator import source_of_evaluator
from search.job import Context
from search.kernel.workspace import PLIES
from search.players.player import Choice, Player, Seen
from search.players.presets import NAMES, PLAIN, settings_of
from search.players.request_options import PliesClock, read_budget, read_options, request_of_player
from search.prepare import open_view
from search.request import SearchRequest
from search.run_inline import run_inline
from search.summary import choose
from search.worker import Worker


class Uct(Player):
    """Runs a new search for each move, in the calling thread."""

    def __init__(self, spec: str, request: SearchRequest, plies: int | None) -> None:
        super().__init__(spec)
        self.request, self.plies = request, plies

    @classmethod
    def from_options(cls, spec: Spec, options: Options, game: Game) -> Uct:
        """Its options are those of SearchRequest by their names for players, and ``preset``.

        Its budget is simulations, seconds or ``plies`` of playouts. By default it has one lane of `root`, or
        `leaf` with an evaluator, and 1 s a move.
        """
        asked = settings_of(options.choice("preset", PLAIN, NAMES), game) | {"lanes": 1}
        asked |= read_options(spec, options)
        asked.setdefault("strategy", "leaf" if "evaluator" in asked else "root")
        plies = read_budget(options, asked)
        request = request_of_player(game, asked)
        if request.evaluator is not None:
            # Read where the player is first made: workers get the text from there.
            source_of_evaluator(request.evaluator)
        return cls(str(spec), request, plies)

    def choose(self, seen: Seen, seed: int) -> Choice:
        request = replace(self.request, seed=seed)
        game = seen.game
        mover = game.viewpoint(seen.mover)
        opened = open_view(request, game, seen.state, mover, len(seen.legal), game.source_text)
        if self.plies is None:
            coordinator, _ = run_inline(opened, self.clock)
        else:
            worker = PliesWorker(PliesClock(self.plies, self.clock))
            worker.prepare(opened.context)
            coordinator, _ = run_inline(opened, worker.clock, worker)
        simulations = coordinator.counters.simulations
        children = [child for child in opened.strategy.root_children() if child.visits > 0]
        best = choose(children, request.final_move)
        told = [
            f"{seen.game.format_move(seen.state, child.move)} {child.visits:,} ({child.value:+.3f})"
            for child in children[:3]
        ]
        proven = "; proven" if coordinator.stopped_by == "proven" else ""
        thought = f"{counted(simulations, 'simulation')}: {', '.join(told)}{proven}"
        return Choice(best.move, best.value, simulations, coordinator.tree_nodes, thought)


class PliesWorker(Worker):
    """A worker by whose clock a job lasts as long as its playouts have plies."""

    def __init__(self, clock: PliesClock) -> None:
        super().__init__()
        self.clock = clock

    def run(self, context: Context, job: Any) -> Any:
        began_s = self.clock()
        done = super().run(context, job)
        self.clock.spent += max(1, done.simulations, int(self._work.tally[PLIES]))
        return replace(done, duration_s=self.clock() - began_s)
