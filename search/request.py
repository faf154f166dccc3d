"""What a search is asked to do. Everything that can change its statistics is in here; placement is not."""

from __future__ import annotations

import math
from dataclasses import dataclass

from games.errors import InvalidInput
from search.evaluator import evaluator_spec
from search.features import Features
from search.playouts import MINIMAX, POLICIES

STRATEGIES = ("root", "tree", "leaf")
FINAL_MOVES = ("robust", "max", "robust-max", "secure", "vote")
IN_FLIGHT = ("unobserved", "virtual-loss")
HIDDEN_INFORMATION = ("ismcts", "determinized")
EXPLORATION_SCALES = ("fixed", "spread")
PLAYOUT_POLICIES = (*POLICIES, *(f"{one}-{other}" for one in POLICIES for other in POLICIES if one != other))
EXPLORATION = 0.35
"""The default of C, from matches at gomoku..."""
ISMCTS_EXPLORATION = 0.7
"""...and with information sets (Cowling, Powley and Whitehouse 2012)."""
PUCT_EXPLORATION = 1.25
"""...and with an evaluator: c_init of Silver et al. 2018."""

DEFAULT_SECONDS = 5.0
DEFAULT_MEMORY_MB = 1024
MAX_LANES = 65_536
MAX_BATCH = 65_536
MAX_PLAYOUTS_PER_LEAF = 65_536
NARROW_SIMULATIONS = 2_000_000_000
"""So many visits are counted in 32 bits, as most searches do..."""
MAX_SIMULATIONS = 1_000_000_000_000
"""...and so many in 64."""
WIDE_LANE_SECONDS = 4_000.0
"""From so many seconds times lanes on, a budget in seconds is one for many workers: it counts in 64 bits."""
_NOT_WITH_EVALUATOR = {
    "exploration_scale": None,
    "decisive": False,
    "widening": None,
    "playout_plies": None,
    "playout_policy": "random",
    "playouts_per_leaf": None,
}
"""Fields that say what an evaluator says instead, or that playouts and priorities have a use for."""


@dataclass(frozen=True)
class SearchRequest:
    """A search, validated: raises InvalidInput that names the field, the value and what is accepted."""

    game: str
    """A game spec, such as ``gomoku:size=15``."""
    moves: tuple[str, ...] = ()
    """Moves from the start (or from ``position``), in the game's notation."""
    position: str | None = None
    """A position as `banyan show` prints it; the start position if None."""
    strategy: str = "tree"
    lanes: int = 16
    """Logical streams of the search. Does not depend on how many workers there are."""
    simulations: int | None = None
    seconds: float | None = None
    memory_mb: int = DEFAULT_MEMORY_MB
    """The most that the trees of one process take. A tree that is full is searched on, not grown."""
    stop_when_full: bool = False
    """Whether the search ends when the memory is used up (when memory is its only budget)."""
    seed: int = 0

    exploration: float | None = None
    """C in Q + C sqrt(ln N / n), rewards in [0, 1], and in PUCT; None: EXPLORATION, ISMCTS_EXPLORATION
    or PUCT_EXPLORATION."""
    hidden_information: str = "ismcts"
    """Games with hidden information: ``ismcts`` grows one tree over information sets, with a new
    determinization for each simulation; ``determinized`` gives each lane one determinization and
    a tree of its own, searched as if nothing were hidden (root only)."""
    first_play_urgency: float = math.inf
    """The value, in [-1, 1], at which an untried move competes with tried ones; infinity tries all first."""
    exploration_scale: str | None = None
    """What C is multiplied with: ``fixed``, nothing, or ``spread``, the standard deviation of what
    the positions after the root's moves turn out to be worth (about 1 for even games that are won
    or lost). None: spread where playouts are cut, else fixed."""
    implicit_minimax: float = 0.0
    """root: the share of the minimax of evaluations in what a child is worth (Lanctot et al. 2014)."""
    bias: float = 0.0
    """root: progressive bias, the weight of a child's evaluation / (visits + 1) in selection."""
    decisive: bool = False
    """Whether a move that wins at once is the only one that a node tries."""
    widening: int | None = None
    """Progressive unpruning: the moves that a node begins with, by the game's priority; None: all."""
    paired: int = 1
    """Where something is hidden: how many of the root's moves search each determinization, so that
    they are compared by what the same deals made of them."""
    playout_plies: int | None = None
    """Plies after which a playout is cut and its position evaluated; None: it runs to the end."""
    playout_policy: str = "random"
    """How both players move in playouts, or each of them: ``random``, ``greedy`` (by the game's priority),
    ``minimax1`` or ``minimax2`` (of that depth, by its evaluation), or ``greedy-random``."""
    solver: bool = False
    """MCTS-Solver: propagate proven results and stop when the root is proven."""
    final_move: str = "robust"
    """How the move is chosen from the root's children, one of FINAL_MOVES: search/final_move.py."""

    rounds: int | None = None
    """tree: how often the lanes share what they found; None: as plan.py says."""
    anticipation: float = 1.0
    """tree: how many visits of each other lane are expected for one of one's own (0 expects none)."""
    perturbation: float = 0.0
    """tree: how many standard errors a lane moves the means of its snapshot."""
    lane_exploration: float = 1.0
    """tree: the share of C that a lane explores with."""
    share_visits: int = 2
    """tree: nodes with fewer visits keep their children out of snapshots and increments; more when
    they would not fit."""
    staleness: int | None = None
    """tree: how many rounds a lane lags behind, so that no worker waits at the end of a round; None: as
    plan.py says, and 0 if rounds are given."""

    evaluator: str | None = None
    """leaf: a file whose evaluator says what leaves are worth and which moves look good (evaluator.py), such
    as ``./net.py`` or ``./net.py:key=value``; None: playouts. Selection is PUCT (puct.py)."""
    exploration_base: float = 19_652.0
    """With an evaluator: c_base, the visits at which C has grown by ln 2."""
    urgency_reduction: float = 0.2
    """With an evaluator: how much less than its parent a move without visits is worth, times the root of the
    priors of those that have some. A ``first_play_urgency`` that is not inf is taken instead."""
    policy_temperature: float = 1.0
    """With an evaluator: priors are its policy to the power of one over this; more makes them more alike."""

    in_flight: str = "unobserved"
    """leaf: what a visit in flight counts as."""
    batch: int | None = None
    """leaf: leaves a job; None lets the budget decide."""
    playouts_per_leaf: int | None = None
    """leaf: playouts from each leaf, each a simulation; None lets the game's cost decide."""

    def __post_init__(self) -> None:
        _one_of("strategy", self.strategy, STRATEGIES)
        _one_of("final_move", self.final_move, FINAL_MOVES)
        _one_of("in_flight", self.in_flight, IN_FLIGHT)
        _one_of("hidden_information", self.hidden_information, HIDDEN_INFORMATION)
        _whole("lanes", self.lanes, 1, MAX_LANES)
        _whole("simulations", self.simulations, 1, MAX_SIMULATIONS)
        _whole("memory", self.memory_mb, 1, 1_000_000)
        _whole("seed", self.seed, 0, 2**63 - 1)
        _one_of("exploration_scale", self.exploration_scale or "fixed", EXPLORATION_SCALES)
        _one_of("playout_policy", self.playout_policy, PLAYOUT_POLICIES)
        _whole("widening", self.widening, 1, 4095)
        _whole("paired", self.paired, 1, 4095)
        _whole("playout_plies", self.playout_plies, 0, 1_000_000)
        _whole("rounds", self.rounds, 1, 1_000_000)
        _whole("share_visits", self.share_visits, 2, NARROW_SIMULATIONS)
        _whole("staleness", self.staleness, 0, 1000)
        _whole("batch", self.batch, 1, MAX_BATCH)
        _whole("playouts_per_leaf", self.playouts_per_leaf, 1, MAX_PLAYOUTS_PER_LEAF)
        _number("seconds", self.seconds, 0.001, 1e6)
        _number("exploration", self.exploration, 0.0, 1000.0)
        _number("implicit_minimax", self.implicit_minimax, 0.0, 1.0)
        _number("bias", self.bias, 0.0, 1000.0)
        if (self.implicit_minimax or self.bias) and self.strategy != "root":
            # What travels between the lanes of the others has no evaluations.
            raise InvalidInput("strategy", self.strategy, "root with implicit_minimax or bias")
        _number("anticipation", self.anticipation, 0.0, 1000.0)
        _number("perturbation", self.perturbation, 0.0, 100.0)
        _number("lane_exploration", self.lane_exploration, 0.0, 100.0)
        _number("exploration_base", self.exploration_base, 1.0, 1e9)
        _number("urgency_reduction", self.urgency_reduction, 0.0, 2.0)
        _number("policy_temperature", self.policy_temperature, 0.01, 100.0)
        if self.evaluator is not None:
            self._fits_evaluator()
        if self.final_move == "vote" and self.strategy != "root":
            raise InvalidInput(
                "strategy", self.strategy, "root with final_move=vote: only its lanes disagree"
            )
        if not self.first_play_urgency > -math.inf:
            raise InvalidInput("first_play_urgency", self.first_play_urgency, "a number or inf")
        if self.simulations is not None and self.seconds is not None:
            raise InvalidInput(
                "budget",
                f"simulations={self.simulations}, seconds={self.seconds}",
                "either simulations or seconds, not both",
            )

    def _fits_evaluator(self) -> None:
        evaluator_spec(self.evaluator or "")
        if self.strategy != "leaf":
            raise InvalidInput("strategy", self.strategy, "leaf with an evaluator")
        if self.simulations == 1:
            raise InvalidInput("simulations", 1, "at least 2 with an evaluator: the first is the root's")
        for field, otherwise in _NOT_WITH_EVALUATOR.items():
            if (value := getattr(self, field)) != otherwise:
                raise InvalidInput(field, value, f"{otherwise} with an evaluator, which takes its place")

    @property
    def wide(self) -> bool:
        """Whether visits are counted in 64 bits; then a node takes 4 bytes more."""
        if self.seconds is not None:
            return self.seconds * self.lanes >= WIDE_LANE_SECONDS
        return (self.simulations or 0) > NARROW_SIMULATIONS

    @property
    def most_simulations(self) -> int:
        """Where a search ends whatever its budget: visit counts have an end."""
        return MAX_SIMULATIONS if self.wide else NARROW_SIMULATIONS

    @property
    def policies(self) -> tuple[str, str]:
        """How the first and the second player move in playouts."""
        first, _, second = self.playout_policy.partition("-")
        return first, second or first

    @property
    def scales_exploration(self) -> bool:
        """Whether C is multiplied with the spread of values."""
        if self.exploration_scale is None:
            return self.playout_plies is not None
        return self.exploration_scale == "spread"


def features_of(request: SearchRequest, hidden: str) -> Features:
    """The form of the loop that a request needs; ``hidden`` as in Context."""
    steered = request.playout_plies is not None or request.policies != ("random", "random")
    thinking = any(POLICIES[policy] >= MINIMAX for policy in request.policies)
    return Features(
        hidden=hidden == "ismcts",
        steered=steered,
        thinking=thinking,
        widened=request.widening is not None,
        paired=hidden == "ismcts" and request.paired > 1,
        evaluated=request.implicit_minimax > 0.0 or request.bias > 0.0,
        decisive=request.decisive,
        wide=request.wide,
        priors=request.evaluator is not None,
    )


def _one_of(field: str, value: str, accepted: tuple[str, ...]) -> None:
    if value not in accepted:
        raise InvalidInput(field, value, " or ".join(accepted))


def _whole(field: str, value: int | None, low: int, high: int) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInput(field, value, f"a whole number from {low} to {high}")


def _number(field: str, value: float | None, low: float, high: float) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InvalidInput(field, value, f"a number from {low:g} to {high:g}")
