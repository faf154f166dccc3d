"""The options of a plan's searches. Nothing heavy is imported here, so that `banyan --help` is quick."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from search.options import knob_of, option_of
from search.request import FINAL_MOVES, PLAYOUT_POLICIES, SearchRequest

if TYPE_CHECKING:
    from games.game import Game

DEFAULT_SIMULATIONS = 1_000
"""The budget of a move, if none is given."""
DEFAULT_EPISODES = 10
MAX_SEED = 2**31 - 1
"""The largest seed of an episode."""
AUTO = "auto"


@dataclass(frozen=True)
class MoveSearch(SearchRequest):
    """The options of the search of a move: those of a search, with other defaults and without a position."""

    moves: tuple[str, ...] = ()
    position: str | None = None
    allow: str | None = None
    avoid: str | None = None
    least_visits: str | None = None
    simulations: int | None = option_of(
        SearchRequest,
        "simulations",
        None,
        help="Budget of each move: exactly N simulations.",
        unset=f"{DEFAULT_SIMULATIONS}, if no other budget is given",
    )
    seconds: float | None = option_of(
        SearchRequest,
        "seconds",
        None,
        help="Budget of each move: the time of its search in seconds.",
        unset="",
    )
    seed: int = option_of(
        SearchRequest,
        "seed",
        0,
        help="Seed of the first episode; the others have the numbers that follow.",
        bounds=(0, MAX_SEED),
    )
    lanes: int = option_of(
        SearchRequest,
        "lanes",
        1,
        help="Logical streams into which the search of a move is divided. Episodes are played side by side, "
        "so more than one lane makes nothing faster.",
        unset="",
    )

    playout_policy: str = option_of(
        SearchRequest,
        "playout_policy",
        AUTO,
        help="How the player moves in playouts, as in banyan search; auto: as in --preset best of banyan "
        "search, with its --playout-plies, in 2048 and SameGame; learnt with one lane of strategy tree, if "
        "the rules of the problem have pack; else random.",
        choices=(AUTO, *PLAYOUT_POLICIES),
        accepted=f"{AUTO}, or as in banyan search",
    )
    final_move: str = option_of(
        SearchRequest,
        "final_move",
        AUTO,
        help="The rule for the move to make, as in banyan search; auto: max if playouts are learnt, else "
        "robust.",
        choices=(AUTO, *FINAL_MOVES),
    )

    @classmethod
    def default_budget(cls) -> dict[str, float]:
        """The budget of a move, if none is given."""
        return {"simulations": DEFAULT_SIMULATIONS}

    def of_game(self, game: Game) -> SearchRequest:
        """The request of a search of this game."""
        from search.players.presets import STRONGEST, settings_of
        from search.prepare import can_learn
        from search.strategies import strategy_of

        values = {each.name: getattr(self, each.name) for each in fields(SearchRequest)}
        if self.playout_policy == AUTO:
            by_rounds = strategy_of(self.strategy).by_rounds
            alone = self.lanes == 1 and by_rounds and self.playout_plies is None
            learns = alone and self.evaluator is None and can_learn(game)
            values["playout_policy"] = "learnt" if learns else "random"
            if self.playout_plies is None and self.evaluator is None:
                # What was given stays.
                values |= {
                    name: best
                    for name, best in settings_of(STRONGEST, game).items()
                    if getattr(self, name) in (AUTO, knob_of(SearchRequest, name).default)
                }
        if self.final_move == AUTO:
            learnt = "learnt" in values["playout_policy"]
            values["final_move"] = "max" if learnt else knob_of(SearchRequest, "final_move").default
        return SearchRequest(**values)
