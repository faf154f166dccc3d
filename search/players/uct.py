"""The player that searches: UCT in any of its forms, with every strategy."""

from __future__ import annotations

import time
from dataclasses import replace

from games.errors import InvalidInput
from games.game import Game
from games.spec import Options, Spec
from search.final_move import choose
from search.opening import open_view
from search.players.player import Choice, Player, Seen
from search.players.presets import NAMES, settings_of
from search.request import (
    EXPLORATION_SCALES,
    FINAL_MOVES,
    HIDDEN_INFORMATION,
    IN_FLIGHT,
    PLAYOUT_POLICIES,
    STRATEGIES,
    SearchRequest,
)
from search.run_here import run_here

DEFAULT_SECONDS = 1.0


class Uct(Player):
    """Searches each position anew, in this thread."""

    def __init__(self, spec: str, request: SearchRequest) -> None:
        super().__init__(spec)
        self.request = request

    @classmethod
    def from_options(cls, spec: Spec, options: Options, game: Game) -> Uct:
        """Options are fields of SearchRequest; some have shorter names. By default one lane, 1 s a move."""
        asked = settings_of(options.choice("preset", "none", NAMES), game)
        for field, kind in _NUMBERS.items():
            key = _SHORT.get(field, field)
            number = options.number(key) if kind is float else options.integer(key)
            if number is not None:
                asked[field] = number
        for field, accepted in _CHOICES.items():
            key = _SHORT.get(field, field)
            chosen = options.choice(key, "", ("", *accepted)) if key in spec.options else ""
            if chosen:
                asked[field] = chosen
        if evaluator := options.text("evaluator", ""):
            asked["evaluator"] = evaluator
            asked.setdefault("strategy", "leaf")
        for switch in ("solver", "decisive"):
            otherwise = "yes" if asked.get(switch) else "no"
            asked[switch] = options.choice(switch, otherwise, ("no", "yes")) == "yes"
        asked.setdefault("strategy", "root")
        asked.setdefault("lanes", 1)
        if "simulations" not in asked:
            asked.setdefault("seconds", DEFAULT_SECONDS)
        try:
            return cls(str(spec), SearchRequest(game=game.spec, **asked))
        except InvalidInput as error:
            field = _SHORT.get(error.field, error.field)
            raise InvalidInput(f"player option {field}", error.value, error.accepted) from None

    def choose(self, seen: Seen, seed: int) -> Choice:
        request = replace(self.request, seed=seed)
        game = seen.game
        opened = open_view(request, game, seen.state, seen.mover, len(seen.legal), game.source_text)
        strategy = opened[2]
        ran = run_here(*opened, seen.game.nominal_simulations_per_s, time.thread_time)
        children = [child for child in strategy.root_children() if child.visits > 0]
        best = choose(children, request.final_move)
        told = [
            f"{seen.game.format_move(seen.state, child.move)} {child.visits:,} ({child.value:+.3f})"
            for child in children[:3]
        ]
        thought = f"{ran.simulations:,} simulations: {', '.join(told)}{'; proven' if ran.proven else ''}"
        return Choice(best.move, best.value, ran.simulations, strategy.tree_nodes(), thought)


_SHORT = {
    "exploration": "c",
    "first_play_urgency": "fpu",
    "playout_policy": "policy",
    "exploration_scale": "scale",
    "hidden_information": "hidden",
    "memory_mb": "memory",
    "implicit_minimax": "implicit",
}
"""What an option is called in a spec, where that is not the field's name."""

_NUMBERS: dict[str, type] = {
    "simulations": int,
    "seconds": float,
    "exploration": float,
    "first_play_urgency": float,
    "lanes": int,
    "rounds": int,
    "anticipation": float,
    "perturbation": float,
    "lane_exploration": float,
    "share_visits": int,
    "staleness": int,
    "batch": int,
    "playouts_per_leaf": int,
    "widening": int,
    "paired": int,
    "implicit_minimax": float,
    "bias": float,
    "playout_plies": int,
    "memory_mb": int,
    "exploration_base": float,
    "urgency_reduction": float,
    "policy_temperature": float,
}
_CHOICES = {
    "strategy": STRATEGIES,
    "final_move": FINAL_MOVES,
    "playout_policy": PLAYOUT_POLICIES,
    "exploration_scale": EXPLORATION_SCALES,
    "in_flight": IN_FLIGHT,
    "hidden_information": HIDDEN_INFORMATION,
}
