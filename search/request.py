"""The request of a search: everything that can change its statistics, and nothing about placement."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from search.features import POLICIES, Features
from search.options import (
    GROUPS,
    LOWEST,
    NETWORK,
    check,
    knob_of,
    option,
    refuse,
    refuse_first,
)

STRATEGIES = ("root", "tree", "leaf")
IN_HOUSE = ", ".join(STRATEGIES)
FINAL_MOVES = ("robust", "max", "robust-max", "secure", "vote")
IN_FLIGHT = ("unobserved", "virtual-loss")
HIDDEN_INFORMATION = ("ismcts", "determinized")
EXPLORATION_SCALES = ("fixed", "spread")
_OF_TWO = [policy for policy in POLICIES if policy != "learnt"]
PLAYOUT_POLICIES = (*POLICIES, *(f"{one}-{other}" for one in _OF_TWO for other in _OF_TWO if one != other))
EXPLORATION = 0.35
"""The default of C in UCT for games that state none of their own (`Game.exploration`)."""
ISMCTS_EXPLORATION = 0.7
"""The default of C with information sets (Cowling, Powley and Whitehouse 2012)."""
SCORED_EXPLORATION = 1.0
"""The default of C unless two players have a return at the end; it is multiplied by the spread of returns."""
PUCT_EXPLORATION = 1.25
"""The default of C with an evaluator: c_init of Silver et al. 2018."""

MAX_EXPLORATION = 1000.0
"""The greatest C; games state none above it either (`games.game.MAX_EXPLORATION`)."""

DEFAULT_SECONDS = 5.0
DEFAULT_MEMORY_MB = 1024
DEFAULT_LANES = 16
MAX_LANES = 65_536
MAX_BATCH = 65_536
MAX_PLIES = 2**31 - 1
"""No line of moves is longer."""
MAX_PLAYOUTS_PER_LEAF = 65_536
NARROW_SIMULATIONS = 2_000_000_000
"""The most simulations of a search whose visits are counted in 32 bits."""
MAX_SIMULATIONS = 1_000_000_000_000
"""The most simulations of any search; above NARROW_SIMULATIONS visits are counted in 64 bits."""
WIDE_LANE_SECONDS = 4_000.0
"""A search with a budget in seconds counts visits in 64 bits if its seconds times its lanes reach this."""
_NOT_WITH_EVALUATOR = (
    "exploration_scale",
    "decisive",
    "widening",
    "playout_plies",
    "playout_policy",
    "playouts_per_leaf",
)
"""Fields of playouts and priorities, which a search with an evaluator does not have."""
_basic, _search, _playouts, _parallel, _hidden, _network = (
    partial(option, group=group, api=group != NETWORK) for group in GROUPS
)
"""`option` for the fields under each heading. The HTTP API does not take those of evaluators."""


@dataclass(frozen=True)
class SearchRequest:
    """A search, validated: raises InvalidInput that names the field, the value and what is accepted.

    Each field has a description (search/options.py). The command line, the HTTP API, the player `uct`, the
    checks of values and the reference are made from these descriptions: a new option is one field here, and
    the code that uses it.
    """

    game: str
    """A game spec, such as ``gomoku:size=15``."""
    moves: tuple[str, ...] = _basic(
        (),
        help="Moves from the start, or from the position, in the game's notation.",
        metavar="'M1 M2 ...'",
        key=None,
    )
    position: str | None = _basic(
        None,
        help="The position to search, as banyan show prints it.",
        unset="the start position",
        key=None,
    )
    simulations: int | None = _basic(
        None,
        help="Budget: exactly N simulations. The same seed gives the same answer on any number of workers.",
        bounds=(1, MAX_SIMULATIONS),
        unit="simulations",
    )
    seconds: float | None = _basic(
        None,
        help="Budget: the time of the search in seconds.",
        bounds=(0.001, 1e6),
        unit="seconds",
        metavar="S",
        unset=f"{DEFAULT_SECONDS:g}, if no other budget is given",
    )
    memory_mb: int = _basic(
        DEFAULT_MEMORY_MB,
        help="Memory limit for the trees of one process. A full tree is searched further without adding "
        "nodes; if this is the only budget, the search ends when it is full (root: the trees of all lanes).",
        bounds=(1, 1_000_000),
        unit="MB",
        metavar="MB",
        unset=f"{DEFAULT_MEMORY_MB}",
        cli="memory",
        key="memory",
        told_apart=True,
    )
    stop_when_full: bool = False
    """Whether the search ends when the memory is used up, beside any other budget; set where memory is the
    only one."""
    strategy: str = _basic(
        "tree",
        help="What the lanes share: their results at the end (root), the top of the tree in rounds (tree), "
        "or one tree whose leaves are evaluated by workers (leaf). A strategy of your own is a class in a "
        "file: ./mine.py:Mine.",
        choices=STRATEGIES,
        classes=True,
        accepted=f"{IN_HOUSE}, or a class in a file: ./mine.py:Mine",
        metavar="root|tree|leaf|FILE.py:CLASS",
    )
    seed: int = _basic(0, help="Seed of all random numbers.", bounds=(0, 2**63 - 1), key=None)

    exploration: float | None = _search(
        None,
        help="The exploration constant C of UCT (for rewards from 0 to 1) and of PUCT.",
        bounds=(0.0, MAX_EXPLORATION),
        metavar="C",
        unset=f"the game's own; if it has none, {EXPLORATION:g}, or {ISMCTS_EXPLORATION:g} with hidden "
        f"information, {SCORED_EXPLORATION:g} beyond two players; {PUCT_EXPLORATION:g} with an evaluator",
        key="c",
    )
    exploration_scale: str | None = _search(
        None,
        help="The factor of C: 1 (fixed), or the standard deviation of the values of positions after the "
        "root's moves (spread), for returns that differ little or have any size.",
        choices=EXPLORATION_SCALES,
        unset="spread if playouts are cut or there are not two players, else fixed",
        key="scale",
    )
    first_play_urgency: float = _search(
        math.inf,
        help="First-play urgency: the value of an untried move in selection, from -1 to 1; inf tries each "
        "move once before any twice.",
        bounds=(LOWEST, math.inf),
        accepted="a number or inf",
        metavar="Q",
        cli="fpu",
        key="fpu",
    )
    implicit_minimax: float = _search(
        0.0,
        help="Strategy root: the weight of the minimax value of the game's evaluations in the value of a "
        "move (Lanctot et al. 2014).",
        bounds=(0.0, 1.0),
        key="implicit",
    )
    decisive: bool = _search(
        False,
        help="Where a move wins at once, in gomoku by fours alone, search no other move; nor there any that "
        "loses to fours.",
    )
    widening: int | None = _search(
        None,
        help="Progressive unpruning: a node begins with its N moves of highest priority (Chaslot et al. "
        "2008).",
        bounds=(1, 4095),
        unit="moves",
        unset="all",
    )
    solver: bool = _search(
        False,
        help="MCTS-Solver: propagate proven wins, losses and draws, and stop when the root is proven.",
    )
    early_stop: bool = _search(
        False,
        help="Stop when no other move can get as many visits as the best one with what is left of the "
        "budget. In seconds, what is left is estimated.",
    )
    allow: str | None = _search(
        None,
        help="Of the moves of the position, search only these, divided by blanks or commas.",
        metavar="'M1 M2 ...'",
        unset="all",
        key=None,
    )
    avoid: str | None = _search(
        None,
        help="Moves of the position that are not searched; not together with allow.",
        metavar="'M1 M2 ...'",
        unset="none",
        key=None,
    )
    least_visits: str | None = _search(
        None,
        help="Moves of the position that get at least so many visits, before the search goes on as usual; at "
        "most the budget in all. By most visits, a move that has no more than that is the best only if its "
        "value is higher too. A proven move needs no visits.",
        metavar="'M1=N M2=N ...'",
        unset="none",
        key=None,
    )
    final_move: str = _search(
        "robust",
        help="The rule for the best move: most visits (robust), highest value (max), most visits and highest "
        "value if one move has both, else most visits (robust-max), highest lower bound (secure), or a "
        "majority vote of the lanes (vote, strategy root).",
        choices=FINAL_MOVES,
        metavar="RULE",
    )

    playout_plies: int | None = _playouts(
        None,
        help="Cut playouts after N plies and evaluate the position.",
        bounds=(0, 1_000_000),
        unit="plies",
        unset="never",
    )
    playout_policy: str = _playouts(
        "random",
        help="How both players move in playouts: random, greedy (by the game's priority), decisive (a move "
        "that wins at once, else random), minimax1 or minimax2 (depth 1 or 2; any of equal moves, or with "
        "_first the first), learnt (one player: the best by all that earlier simulations of the job met); or "
        "one policy for each player: greedy-random.",
        choices=PLAYOUT_POLICIES,
        accepted=f"{', '.join(POLICIES)}, or two of them for the first and the second player: greedy-random",
        metavar="POLICY",
        key="policy",
    )

    lanes: int | None = _parallel(
        None,
        help="Logical streams into which the search is divided, independent of the number of workers; use at "
        "least one per worker.",
        bounds=(1, MAX_LANES),
        unit="lanes",
        unset=f"{DEFAULT_LANES}; with tree 1 for less than a second of one core, 1 for each 10 s of many, "
        "and by the clock 2 for each worker, 1 where leaves are evaluated",
    )
    rounds: int | None = _parallel(
        None,
        help="The number of jobs of each lane; with strategy tree they are rounds, after each of which the "
        "lanes share their results. Not with leaf.",
        bounds=(1, 1_000_000),
        unit="rounds",
        unset="by the budget and the number of lanes",
    )
    share_visits: int = _parallel(
        2,
        help="Strategy tree: the least visits of a node whose children are shared. A larger number sends "
        "less over a slow network; the search raises it by itself if snapshots would not fit.",
        bounds=(2, NARROW_SIMULATIONS),
        unit="visits",
    )
    in_flight: str = _parallel(
        "unobserved",
        help="Strategy leaf: how a visit counts while its result is missing: as a visit only (unobserved), "
        "or as a loss (virtual-loss).",
        choices=IN_FLIGHT,
    )
    batch: int | None = _parallel(
        None,
        help="Strategy leaf: the number of leaves in a job. As many jobs are in flight as there are lanes. "
        "More leaves need fewer calls of workers, and play worse.",
        bounds=(1, MAX_BATCH),
        unit="leaves",
        unset="1, and more in long searches; up to 64 with a network",
    )
    playouts_per_leaf: int | None = _parallel(
        None,
        help="Strategy leaf: the number of playouts from each leaf; each counts as a simulation. More of "
        "them are quicker, and play much worse.",
        bounds=(1, MAX_PLAYOUTS_PER_LEAF),
        unit="playouts",
        unset="1",
    )

    hidden_information: str = _hidden(
        "ismcts",
        help="How hidden information is searched: one tree over information sets with a new "
        "determinization for each simulation (ismcts), or one determinization and tree for each lane "
        "(determinized, strategy root).",
        choices=HIDDEN_INFORMATION,
        key="hidden",
    )
    paired: int = _hidden(
        1,
        help="The number of root moves that are searched with each determinization, so that their results "
        "are comparable.",
        bounds=(1, 4095),
        unit="moves",
    )

    evaluator: str | None = _network(
        None,
        help="Strategy leaf: a file that evaluates leaves by a network's value and policy, instead of "
        "playouts, with PUCT in the tree; ./net.py:key=value sets its options. external: the caller "
        "of banyan.open, or clients of a service, evaluate leaves.",
        metavar="FILE.py",
        unset="playouts",
    )
    evaluator_version: str | None = _network(
        None,
        help="What the evaluator's answers depend on beside its file: a store of evaluations has those of "
        "each version. For a store, an external one needs a name and version, such as model-7b-2.",
        unset="none",
        key=None,
    )
    cpuct_base: float = _network(
        19_652.0,
        help="PUCT: the number of visits after which C has grown by ln 2 (c_base of Silver et al. 2018).",
        bounds=(1.0, 1e9),
        unit="visits",
    )
    fpu_reduction: float = _network(
        0.2,
        help="PUCT: an untried move has its parent's value minus this number times the square root of the "
        "sum of the priors of tried moves; --fpu, if it is not inf, is used instead.",
        bounds=(0.0, 2.0),
    )
    policy_temperature: float = _network(
        1.0,
        help="PUCT: priors are the policy to the power 1/X; a larger X makes them more uniform.",
        bounds=(0.01, 100.0),
    )

    @classmethod
    def default_budget(cls) -> dict[str, float]:
        """The budget of a request that was made without one (`request_of`)."""
        return {"seconds": DEFAULT_SECONDS}

    def __post_init__(self) -> None:
        check(self)
        if self.evaluator is not None:
            self._check_evaluator()
        root, vote, stops = self.strategy == "root", self.final_move == "vote", self.early_stop
        untimed_leaf = self.strategy == "leaf" and self.seconds is None
        checks = (
            # The increments and snapshots of the other strategies contain no evaluations.
            ("strategy", self.implicit_minimax > 0 and not root, "root with implicit_minimax"),
            ("strategy", vote and not root, "root with final_move=vote: only its lanes disagree"),
            (
                "final_move",
                stops and self.final_move != "robust",
                "robust with early_stop: it looks at visits",
            ),
            # How many of its jobs end together depends on the clock.
            ("strategy", stops and untimed_leaf, "root or tree with early_stop, or a budget in seconds"),
        )
        refuse_first(self, checks)
        if self.simulations is not None and self.seconds is not None:
            budgets = f"simulations={self.simulations}, seconds={self.seconds}"
            refuse("budget", budgets, "either simulations or seconds, not both")

    def _check_evaluator(self) -> None:
        """Check the fields that an evaluator restricts. Raises InvalidInput."""
        from search.evaluator import evaluator_spec

        evaluator_spec(self.evaluator or "")
        defaults = [(field, knob_of(type(self), field).default) for field in _NOT_WITH_EVALUATOR]
        taken = "with an evaluator, which takes its place"
        checks = (
            ("strategy", self.strategy != "leaf", "leaf with an evaluator"),
            ("simulations", self.simulations == 1, "at least 2 with an evaluator: the first is the root's"),
            *((field, getattr(self, field) != default, f"{default} {taken}") for field, default in defaults),
        )
        refuse_first(self, checks)

    @property
    def wide(self) -> bool:
        """Whether visits are counted in 64 bits; then a node takes 4 bytes more."""
        if self.seconds is not None:
            return self.seconds * self.most_lanes >= WIDE_LANE_SECONDS
        return (self.simulations or 0) > NARROW_SIMULATIONS

    @property
    def most_simulations(self) -> int:
        """The largest number of simulations at any budget: visit counts are limited."""
        return MAX_SIMULATIONS if self.wide else NARROW_SIMULATIONS

    @property
    def by_the_clock(self) -> bool:
        """Whether the budget is in seconds alone."""
        return self.seconds is not None and self.simulations is None

    @property
    def certain(self) -> bool:
        """Whether what a leaf is worth is no matter of chance: it is evaluated at once, without a playout."""
        return self.playout_plies == 0

    @property
    def most_lanes(self) -> int:
        """The lanes, or DEFAULT_LANES if the request names none: the most that a search by the clock has
        then."""
        return self.lanes or DEFAULT_LANES

    @property
    def policies(self) -> tuple[str, str]:
        """How the first and the second player move in playouts."""
        first, _, second = self.playout_policy.partition("-")
        return first, second or first

    @property
    def scales_exploration(self) -> bool:
        """Whether C is multiplied by the spread of values."""
        if self.exploration_scale is None:
            return self.playout_plies is not None
        return self.exploration_scale == "spread"


def features_of(request: SearchRequest, hidden: str) -> Features:
    """The kernel features that a request needs; ``hidden`` as in Context."""
    steered = request.playout_plies is not None or request.policies != ("random", "random")
    thinking = any(policy.startswith("minimax") for policy in request.policies)
    return Features(
        hidden=hidden == "ismcts",
        steered=steered,
        thinking=thinking,
        widened=request.widening is not None,
        paired=hidden == "ismcts" and request.paired > 1,
        evaluated=request.implicit_minimax > 0.0,
        decisive=request.decisive,
        wide=request.wide,
        learnt="learnt" in request.policies,
        priors=request.evaluator is not None,
        chosen=not (request.allow is request.avoid is request.least_visits is None),
    )


def request_of(
    values: Mapping[str, Any], kind: type[SearchRequest] = SearchRequest, *, endless: bool = False
) -> SearchRequest:
    """The request with these values of fields; None leaves a field at its default.

    Without a budget it gets the default of its kind, or none if it may be ``endless``; a given memory counts
    as a budget: reaching it ends the search. Raises InvalidInput.
    """
    given = {name: value for name, value in values.items() if value is not None}
    if not given.keys() & {"simulations", "seconds"}:
        if "memory_mb" in given:
            given["stop_when_full"] = given.get("stop_when_full", True) if endless else True
        elif not endless:
            given |= kind.default_budget()
    return kind(**given)
