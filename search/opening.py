"""From a request to a search that is ready to hand out jobs."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from statistics import pstdev

import numpy as np
import numpy.typing as npt

import games
from games.errors import InvalidInput
from games.game import Game, State
from games.rng import new_stream
from search.engine import Engine, engine_of
from search.evaluator import source_of_evaluator
from search.job import SPREAD_STREAM, Context
from search.knobs import knobs_of
from search.plan import (
    Plan,
    expected_simulations,
    make_plan,
    playouts_per_leaf,
    rows_at_most,
    staleness_of,
)
from search.request import SearchRequest, features_of
from search.strategies import STRATEGY_CLASSES, Setup, Strategy
from search.warm_up import warm_up_coordinator

REPORTED_SHARE = 50
"""root: a node that has one in this many of its lane's visits has its children reported."""

SPREAD_SAMPLES = 256
SMALLEST_SPREAD = 0.001
"""Where all that is near turns out alike, what is far away may still differ."""


@dataclass(frozen=True, eq=False)
class Search:
    """An opened search."""

    request: SearchRequest
    game: Game
    root_state: npt.NDArray[np.generic]
    """The position as it was described; what the search itself gets is in ``context``."""
    context: Context
    plan: Plan | None
    """None under a budget in seconds or memory."""
    strategy: Strategy


def root_position(request: SearchRequest, game: Game) -> npt.NDArray[np.generic]:
    """The state that a request searches, the same array whichever way it was described."""
    state = game.initial_state() if request.position is None else game.parse_position(request.position)
    game.play_text(state, request.moves)
    return game.canonical(state)


def unfinished_position(request: SearchRequest, game: Game) -> npt.NDArray[np.generic]:
    """The same; raises InvalidInput (moves, position) if the game is over there."""
    state = root_position(request, game)
    if game.calls.is_terminal(state):
        field = "moves" if request.moves else "position"
        value = " ".join(request.moves) if request.moves else request.position
        raise InvalidInput(field, value, "a position in which the game is not over")
    return state


def check_request(request: SearchRequest, *, files: bool = True) -> Game:
    """The request's game; raises InvalidInput as `open_search` does, and compiles no kernels of a search."""
    _refuse_evaluators(request, files)
    game = games.load(request.game, files=files)
    root_state = unfinished_position(request, game)
    game.observation(root_state, int(game.calls.current_player(root_state)))
    _measure(request, game)
    return game


def open_search(
    request: SearchRequest, *, files: bool = True, source: str | None = None, evaluator: str | None = None
) -> Search:
    """Load the game, set up the position, make the plan and an empty shared tree.

    ``source`` and ``evaluator`` are the texts of the game's and the evaluator's file that the request
    names, if they are not to be read here. Such files are run when they are loaded: who searches for others
    opens without ``files``, and a request that names one is refused before any file is touched.

    Raises InvalidInput for an unknown game, an illegal move, a position where the game is
    over, or a memory that is too small. May take seconds: kernels are compiled here.
    """
    _refuse_evaluators(request, files)
    if source is None:
        source = games.source_of_spec(request.game, files=files)
    game = games.load(request.game, source, files=files)
    root_state = unfinished_position(request, game)
    mover = int(game.calls.current_player(root_state))
    view = game.observation(root_state, mover)
    opened = open_view(request, game, view, mover, len(game.legal_moves(root_state)), source, evaluator)
    return Search(request, game, root_state, *opened)


def open_view(
    request: SearchRequest,
    game: Game,
    view: State,
    mover: int,
    num_legal: int,
    source: str | None = None,
    evaluator: str | None = None,
) -> tuple[Context, Plan | None, Strategy]:
    """The same for what ``mover`` sees of a position (Game.observation), whatever the request says of one.

    ``num_legal`` is how many legal moves there are; ``evaluator`` the text of the evaluator's file, if it is
    not to be read here. Raises InvalidInput as `open_search` does.
    """
    hidden, plan, engine, lanes = _measure(request, game)
    if request.evaluator is not None and evaluator is None:
        evaluator = source_of_evaluator(request.evaluator)
    memory_bytes = request.memory_mb * 2**20
    total = plan.simulations if plan else memory_bytes // engine.bytes_per_node
    simulations = expected_simulations(request, game, plan)
    snapshot_rows, increment_rows = rows_at_most(request, plan, lanes, game)
    context = Context(
        search_id=uuid.uuid4().hex,
        request=request,
        game=game.spec,
        game_source=source,
        root_state=view,
        hidden=hidden,
        exploration_scale=1.0,
        tree_slots=_job_slots(request, plan, memory_bytes, lanes, engine, snapshot_rows),
        report_visits=max(2, simulations // lanes // REPORTED_SHARE),
        snapshot_rows=snapshot_rows,
        increment_rows=increment_rows,
        evaluator_source=evaluator,
        staleness=staleness_of(request, plan),
    )
    if request.scales_exploration:
        context = replace(context, exploration_scale=_spread(engine, context))
    shared_bytes = memory_bytes if request.strategy == "leaf" else memory_bytes // 2
    setup = Setup(
        context=context,
        engine=engine,
        knobs=knobs_of(context),
        lanes=lanes,
        playouts_per_leaf=playouts_per_leaf(request, game),
        tree=engine.new_tree(engine.capacity_for(shared_bytes, total)),
        mover=mover,
        num_legal=num_legal,
    )
    strategy = STRATEGY_CLASSES[request.strategy](setup)
    warm_up_coordinator(engine, context)
    return context, plan, strategy


def _refuse_evaluators(request: SearchRequest, files: bool) -> None:
    if not files and request.evaluator is not None:
        raise InvalidInput("evaluator", request.evaluator, "none: files of others are not run here")


def _measure(request: SearchRequest, game: Game) -> tuple[str, Plan | None, Engine, int]:
    """How hidden information is treated, the plan, the kernels, and lanes; refuses what cannot be."""
    hidden = _treatment(request, game)
    plan = None if request.simulations is None else make_plan(request, game)
    engine = engine_of(game, features_of(request, hidden))
    lanes = plan.lanes if plan else request.lanes
    _check_memory(request, game, lanes, engine.bytes_per_node)
    return hidden, plan, engine, lanes


def _treatment(request: SearchRequest, game: Game) -> str:
    """Context.hidden; refuses what makes no sense where something is hidden."""
    if request.paired > 1 and (
        not game.hidden_information
        or request.hidden_information != "ismcts"
        or request.strategy == "leaf"
        or request.paired > game.max_moves
    ):
        accepted = f"1, or with ismcts and root or tree at most {game.max_moves} in {game.name}"
        raise InvalidInput("paired", request.paired, accepted)
    if not game.hidden_information:
        return ""
    if request.evaluator is not None:
        accepted = f"none with {game.name}, where something is hidden: it evaluates whole positions"
        raise InvalidInput("evaluator", request.evaluator, accepted)
    if request.hidden_information == "ismcts":
        for field in ("implicit_minimax", "bias", "decisive"):
            if getattr(request, field):
                raise InvalidInput(
                    field,
                    getattr(request, field),
                    f"nothing with ismcts, so with {game.name}: it goes by whole positions",
                )
    if request.solver:
        raise InvalidInput(
            "solver", "yes", f"no: nothing is proven in {game.name}, where something is hidden"
        )
    if request.hidden_information == "determinized" and request.strategy != "root":
        accepted = "root with hidden_information=determinized"
        raise InvalidInput("strategy", request.strategy, accepted)
    return request.hidden_information


def _spread(engine: Engine, context: Context) -> float:
    """Context.exploration_scale: the standard deviation of what the positions after root moves are worth."""
    values = np.zeros(SPREAD_SAMPLES)
    stream = new_stream(context.request.seed, SPREAD_STREAM)
    root_state = engine.lane_root(context, 0)
    with np.errstate(over="ignore"):
        engine.sample_leaves(root_state, knobs_of(context), values, stream, engine.new_workspace())
    return max(SMALLEST_SPREAD, pstdev(values.tolist()))


def _job_slots(
    request: SearchRequest,
    plan: Plan | None,
    memory_bytes: int,
    lanes: int,
    engine: Engine,
    snapshot_rows: int,
) -> int:
    """Slots of a job's own tree, such that the trees of all jobs in one process keep within the memory.

    root: one process may come to hold the trees of all lanes. tree: half is the shared tree's.
    """
    if request.strategy == "leaf":
        return 0
    if request.strategy == "root":
        per_lane = plan.simulations // lanes + 1 if plan else memory_bytes
        return engine.capacity_for(memory_bytes // 2 // lanes, per_lane)
    per_job = plan.size(plan.jobs - 1) + 1 if plan else memory_bytes
    return engine.capacity_for(memory_bytes // 2, per_job + snapshot_rows)


def _check_memory(request: SearchRequest, game: Game, lanes: int, node_bytes: int) -> None:
    """Every tree must have room for the root's children, with their block as it grows."""
    trees = {"root": 2 * lanes, "tree": 2, "leaf": 1}[request.strategy]
    needed_mb = -(-trees * 4 * (game.max_moves + 1) * node_bytes // 2**20)
    if request.memory_mb < needed_mb:
        accepted = f"at least {needed_mb} MB for {lanes} lanes of {request.strategy} with {game.name}"
        raise InvalidInput("memory", request.memory_mb, accepted)
