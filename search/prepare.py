"""Prepares a search: from a request to a strategy that is ready to issue jobs."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from statistics import pstdev

import numpy as np
import numpy.typing as npt

import games
from games.compile.watch import compile_for
from games.contract.trial import try_out
from games.errors import InvalidInput, counted, refuse_if_any
from games.game import CHANCE, Game, State
from games.rng import new_stream
from games.spec import whole_number
from games.user_games import read_source
from search.evaluator import EXTERNAL, found_anywhere, source_of_evaluator
from search.job import SPREAD_STREAM, Context
from search.kernel.engine import Engine, engine_of
from search.kernel.loop import ANY_MOVE
from search.kernel.params import params_of, with_exploration
from search.options import is_class, refuse_first
from search.plan import SearchPlan
from search.request import IN_HOUSE, MAX_SIMULATIONS, SearchRequest, features_of
from search.strategies import Setup, Strategy, strategy_of
from search.tree.arena import Kept, visits_of

REPORTED_SHARE = 50
"""root: the children of a node are reported if it has at least 1 / REPORTED_SHARE of its lane's visits."""

LONG_PATH = 1_024
"""Moves of a leaf's path for which its memory is counted; few paths are longer."""
SPREAD_SAMPLES = 256
"""Playouts from which the spread of returns is estimated."""
LEAST_SAMPLES = 16
"""Unless two players have a return at the end: the least playouts, and how many simulations of the budget
there must be for each."""
SMALLEST_SPREAD = 0.001
"""Lower limit of the spread: even if playouts near the root have equal returns, deeper ones may differ."""


@dataclass(frozen=True, eq=False)
class Searched:
    """What is searched, here or elsewhere: enough to show progress and answer."""

    request: SearchRequest
    game: Game
    root_state: npt.NDArray[np.generic]
    """The whole position, or what `open_view` got."""


@dataclass(frozen=True, eq=False)
class Search(Searched):
    """A search that is ready to run."""

    plan: SearchPlan
    strategy: Strategy
    kept_visits: int = 0
    """Visits that the root had at the beginning, from an earlier search."""

    @property
    def context(self) -> Context:
        """What its jobs share: of the position only what the player to move sees."""
        return self.strategy.context


def root_position(request: SearchRequest, game: Game) -> npt.NDArray[np.generic]:
    """The state that a request searches; the array depends on the position alone, not on its description."""
    state = game.initial_state() if request.position is None else game.parse_position(request.position)
    game.play_text(state, request.moves)
    return game.canonical(state)


def unfinished_position(request: SearchRequest, game: Game) -> npt.NDArray[np.generic]:
    """`root_position`, checked: raises InvalidInput (moves, position) if the game is over or chance moves.

    Raises BrokenGame as `games.load` does.
    """
    state = root_position(request, game)
    if not game.trusted and request.position is not None:
        try_out(game, state)
    if game.calls.is_terminal(state):
        field = "moves" if request.moves else "position"
        value = " ".join(request.moves) if request.moves else request.position
        raise InvalidInput(field, value, "a position in which the game is not over")
    if game.has_chance and game.calls.current_player(state) == CHANCE:
        outcomes = [game.format_move(state, outcome) for outcome in game.legal_moves(state)]
        shown = ", ".join(outcomes[:12]) + (", ..." if len(outcomes) > 12 else "")
        accepted = f"a position in which a player moves; here chance does: add its outcome ({shown}) to moves"
        raise InvalidInput("moves", " ".join(request.moves), accepted)
    return state


def check_request(request: SearchRequest, *, files: bool = True, external: bool = False) -> Game:
    """The request's game; raises InvalidInput as `open_search` does, but compiles no kernels."""
    _refuse_others(request, files, external)
    game = games.load(request.game, files=files)
    root_state = unfinished_position(request, game)
    game.observation(root_state, int(game.calls.current_player(root_state)))
    _measure(request, game)
    _root_moves(request, game, root_state)
    return game


def check_search(request: SearchRequest, game: Game, *, files: bool = True) -> None:
    """Raises InvalidInput if the game cannot be searched with these options, whatever its position."""
    _refuse_others(request, files, False)
    _measure(request, game)


def open_search(
    request: SearchRequest,
    *,
    files: bool = True,
    source: str | None = None,
    evaluator: str | None = None,
    strategy: str | None = None,
    external: bool = False,
    whole_spec: str | None = None,
    kept: Kept | None = None,
    kept_visits: int = 0,
) -> Search:
    """Load the game, set up the position, make the plan and an empty shared tree.

    ``source``, ``evaluator`` and ``strategy`` are the texts of the request's files; None: the files are read.
    Loading such a file runs it: if ``files`` is False, as in a service, a request that names a file is
    refused before any file is read. ``external``: whether the caller evaluates the leaves, and so the request
    may, and must, name the evaluator EXTERNAL. ``whole_spec``: the full spec of the game, if it was
    loaded, and so tried out, before. ``kept`` and ``kept_visits``: as in `open_view`.

    Raises InvalidInput for an unknown game, an illegal move, a position in which the game is over, or too
    little memory. May take seconds, because kernels are compiled.
    """
    _refuse_others(request, files, external)
    if source is None:
        source = games.source_of_spec(request.game, files=files)
    game = games.load(whole_spec or request.game, source, files=files, tried=whole_spec is None)
    root_state = unfinished_position(request, game)
    mover = int(game.calls.current_player(root_state))
    view = game.observation(root_state, mover)
    mover = game.viewpoint(mover)
    allowed, least = _root_moves(request, game, root_state, strategy)
    num_legal = len(allowed or game.legal_moves(root_state))
    opened = open_view(
        request,
        game,
        view,
        mover,
        num_legal,
        source,
        evaluator,
        strategy,
        kept,
        allowed,
        least,
        kept_visits,
    )
    return replace(opened, request=request, root_state=root_state)


def open_view(
    request: SearchRequest,
    game: Game,
    view: State,
    mover: int,
    num_legal: int,
    source: str | None = None,
    evaluator: str | None = None,
    strategy_source: str | None = None,
    kept: Kept | None = None,
    allowed: tuple[int, ...] = (),
    least: tuple[tuple[int, int], ...] = (),
    kept_visits: int = 0,
) -> Search:
    """A search from ``view``: what ``mover`` sees (Game.observation).

    Position and moves of the request are not used. ``num_legal`` is the number of legal moves, ``evaluator``
    the text of the evaluator's file, ``strategy_source`` that of the strategy's; None reads it. ``kept``: an
    earlier search's trees, each with its node at ``view``, from which this one goes on, unless moves of the
    root are chosen or lanes have states of their own; empty: it begins with none, but another one may go on
    from it; None: none will. ``kept_visits``: those of a search that is restored. ``allowed``: the moves that
    are searched, empty: all; ``least``: the least visits of some. Raises InvalidInput as `open_search`
    does.
    """
    compile_for(f"{game.name}, strategy {request.strategy}")
    if strategy_source is None and is_class(request.strategy):
        strategy_source = read_source(request.strategy.rpartition(":")[0], "strategy")
    hidden, plan, engine = _measure(request, game, strategy_source)
    request = with_exploration(request, game)
    if request.evaluator is not None and request.evaluator != EXTERNAL:
        evaluator = source_of_evaluator(request.evaluator) if evaluator is None else evaluator
        request = replace(request, evaluator=found_anywhere(request.evaluator))
    strategy, memory_bytes = strategy_of(request.strategy, strategy_source), request.memory_mb * 2**20
    context = Context(
        search_id=uuid.uuid4().hex,
        request=request,
        game=game.spec,
        game_source=source,
        root_state=view,
        hidden=hidden,
        exploration_scale=1.0,
        tree_slots=strategy.job_slots(plan, memory_bytes, engine),
        report_visits=max(2, plan.expected_simulations // plan.lanes // REPORTED_SHARE),
        snapshot_rows=plan.snapshot_rows,
        increment_rows=plan.increment_rows,
        evaluator_source=evaluator,
        strategy_source=strategy_source,
        lanes=plan.lanes,
        allowed=allowed,
        least=least,
    )
    if request.scales_exploration:
        context = replace(context, exploration_scale=_spread(engine, context))
    total = plan.simulations if plan.simulations is not None else memory_bytes // engine.layout.bytes_per_node
    keeps, trees = kept is not None, plan.lanes if strategy.lanes_alone else 1
    own_states = strategy.lanes_alone and hidden == "determinized"
    if kept is None or len(kept) != trees or allowed or least or own_states:
        kept = None
    else:
        kept_visits = visits_of(kept)
    total += kept_visits
    tree = engine.new_tree(engine.capacity_for(memory_bytes // (2 if strategy.grows_trees else 1), total))
    if kept is not None:
        context = strategy.go_on(kept, tree, context, engine, memory_bytes)
    setup = Setup(
        context=context,
        engine=engine,
        params=params_of(context),
        plan=plan,
        tree=tree,
        mover=mover,
        num_legal=num_legal,
        keeps=keeps,
    )
    made = strategy(setup)
    kind = strategy, request.solver, plan.lanes > 1
    if kind not in engine.warm:
        made.warm_up()
        engine.warm.add(kind)
    return Search(request, game, view, plan, made, kept_visits)


def _root_moves(
    request: SearchRequest, game: Game, state: State, source: str | None = None
) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """`Context.allowed` and `Context.least`, as the request names them; raises InvalidInput as `open_search`
    does."""
    if not features_of(request, "").chosen:
        return (), ()
    hidden, plan, _ = _measure(request, game, source)
    field = "avoid" if request.allow is None else "allow"
    named, least = _read_moves(request, field, game, state), _read_moves(request, "least_visits", game, state)
    kept = tuple(move for move in game.legal_moves(state) if (move in named) == (field == "allow"))
    refuse_if_any(field, getattr(request, field), [(not kept, "what leaves a move to search")])
    strategy, budget = strategy_of(request.strategy, source), plan.simulations or MAX_SIMULATIONS
    grain = strategy.grain(plan, hidden)
    # Jobs differ by one simulation: what all lanes have for sure is that of equal jobs.
    uneven = plan.root_first if grain == 1 or strategy.by_leaves else budget % plan.jobs
    most = budget - uneven - (grain - 1) * len(least)
    refuse_if_any(
        "least_visits",
        request.least_visits,
        (
            (not least.keys() <= set(kept), "moves that are searched"),
            (sum(least.values()) > most, f"at most {most:,} visits in all"),
        ),
    )
    return kept if named else (), tuple(least.items())


def _read_moves(request: SearchRequest, field: str, game: Game, state: State) -> dict[int, int]:
    """The moves that a field names, each with its least visits; 1 but for least_visits. Raises
    InvalidInput."""
    found = {}
    for text in (getattr(request, field) or "").replace(",", " ").split():
        name, _, count = text.rpartition("=") if field == "least_visits" else (text, "", "1")
        try:
            found[game.parse_move(state, name)] = whole_number(count, 1, MAX_SIMULATIONS)
        except ValueError as error:
            # An illegal move, or no number.
            raise InvalidInput(
                field, text, getattr(error, "accepted", "a move and a number of visits, such as c3=1000")
            ) from None
    return found


def _refuse_others(request: SearchRequest, files: bool, external: bool) -> None:
    """Raise InvalidInput for files of others where none are run, and for an evaluator that nobody is."""
    outside, others = request.evaluator == EXTERNAL, "files of others are not run here"
    elsewhere = "a file: leaves are evaluated outside with banyan.open, banyan.reopen, or a service"
    checks = (
        ("evaluator", external and not outside, f"{EXTERNAL}, where the caller evaluates leaves"),
        ("evaluator", outside and not external, elsewhere),
        ("evaluator", not (files or outside) and request.evaluator is not None, f"none: {others}"),
        ("strategy", not files and is_class(request.strategy), f"{IN_HOUSE}: {others}"),
    )
    refuse_first(request, checks)


def _measure(request: SearchRequest, game: Game, source: str | None = None) -> tuple[str, SearchPlan, Engine]:
    """Context.hidden, the plan and the kernels; raises InvalidInput if the request cannot be searched.
    ``source``: the text of the strategy's file, if that is read."""
    check_form(request, game)
    strategy = strategy_of(request.strategy, source)
    hidden = _treatment(request, game, strategy)
    plan = strategy.make_plan(request, game)
    engine = engine_of(game, features_of(request, hidden))
    least_bytes = strategy.least_slots(plan.lanes, game) * engine.layout.bytes_per_node
    if request.memory_mb < (needed_mb := -(-least_bytes // 2**20)):
        of = f"{counted(plan.lanes, 'lane')} of {request.strategy}"
        raise InvalidInput("memory", request.memory_mb, f"at least {needed_mb} MB for {of} with {game.name}")
    _check_in_flight(request, game, plan)
    return hidden, plan, engine


def _treatment(request: SearchRequest, game: Game, strategy: type[Strategy]) -> str:
    """Context.hidden; raises InvalidInput for options that hidden information, or others, exclude."""
    hidden = game.hidden_information
    ismcts = hidden and request.hidden_information == "ismcts"
    pairs = ismcts and strategy.grows_trees and request.paired <= game.max_moves
    where = f"{game.name}, where something is hidden"
    whole = f"nothing with ismcts, so with {game.name}: it goes by whole positions"
    none = f"none with {where}: it evaluates whole positions"
    few = f"1, or with ismcts and root or tree at most {game.max_moves} in {game.name}"
    lanes = "root with hidden_information=determinized"
    # What wins at once is then the only move; a root whose moves are chosen asks no `decisive_moves`.
    alone = request.decisive and game.rules.decisive_moves is None
    checks = (
        ("paired", request.paired > 1 and not pairs, few),
        ("evaluator", hidden and request.evaluator is not None, none),
        ("implicit_minimax", ismcts and request.implicit_minimax > 0.0, whole),
        ("decisive", ismcts and request.decisive, whole),
        ("solver", hidden and request.solver, f"no: nothing is proven in {where}"),
        ("strategy", hidden and not ismcts and not strategy.lanes_alone, lanes),
        ("avoid", request.allow is not None and request.avoid is not None, "nothing with allow"),
        ("decisive", alone and bool(request.least_visits), f"no with least_visits in {game.name}"),
    )
    refuse_first(request, checks)
    return request.hidden_information if hidden else ""


def can_learn(game: Game) -> bool:
    """Whether playouts of the game can be learnt (search/kernel/learning.py)."""
    return game.num_players == 1 and not game.hidden_information and game.rules.pack is not None


def check_form(request: SearchRequest, game: Game) -> None:
    """Raise InvalidInput for options that do not fit the form of the game: learnt playouts unless it
    `can_learn`, and unless two players play without rewards and chance, those that suit only such games."""
    if "learnt" in request.policies and not can_learn(game):
        others = "another one: only problems of one player whose rules have pack are learnt"
        raise InvalidInput("playout_policy", request.playout_policy, others)
    if game.is_two_player and not game.has_chance:
        return
    playouts = not set(request.policies) <= {"random", "greedy", "learnt"}
    loss = request.in_flight == "virtual-loss" and not game.is_two_player
    secure = request.final_move == "secure" and not game.is_two_player
    checks = (
        ("solver", request.solver, "nothing"),
        ("decisive", request.decisive, "nothing"),
        ("implicit_minimax", request.implicit_minimax > 0.0, "nothing"),
        ("evaluator", request.evaluator is not None, "nothing"),
        ("in_flight", loss, "unobserved"),
        ("playout_policy", playouts, "random, greedy or learnt"),
        ("final_move", secure, "robust, max, robust-max or vote"),
    )
    form = f"with {game.name}, {game.form}"
    refuse_first(request, ((field, refused, f"{accepted} {form}") for field, refused, accepted in checks))


def _spread(engine: Engine, context: Context) -> float:
    """Context.exploration_scale: the standard deviation of playouts after random moves of the root, or after
    each of those that are searched.

    It stays what it is before the first job. Measured anew after each of 8 rounds, as the spread of values
    that were visited once, it changed the mean return of episodes of dice, job-shop scheduling, SameGame and
    FrozenLake by less than its error.
    """
    samples = SPREAD_SAMPLES
    if not engine.game.is_two_player:
        # A share of the search, where a simulator may be slow.
        rate, seconds = engine.game.nominal_simulations_per_s, context.request.seconds
        budget = SPREAD_SAMPLES * LEAST_SAMPLES if seconds is None else int(rate * seconds)
        budget = context.request.simulations or budget
        samples = max(LEAST_SAMPLES, min(samples, budget // LEAST_SAMPLES))
    moves = np.resize(np.array(context.allowed or (ANY_MOVE,), dtype=np.uint16), samples)
    values = np.zeros(samples)
    stream = new_stream(context.request.seed, SPREAD_STREAM)
    root_state = engine.lane_root(context, 0)
    with np.errstate(over="ignore"):
        engine.play_flat(root_state, params_of(context), moves, values, stream, engine.new_workspace())
    spread = pstdev(values.tolist())
    if spread == 0.0 and not engine.game.is_two_player:
        # Rewards that random play never meets: nothing is known of their size.
        return 1.0
    return max(SMALLEST_SPREAD, spread)


def _check_in_flight(request: SearchRequest, game: Game, plan: SearchPlan) -> None:
    """Raise InvalidInput unless the leaves in flight fit into as much memory as the tree."""
    if request.batch is None:
        return
    # Paths and, with an evaluator, positions and priors; outside of the search also the texts of moves.
    leaf_bytes = 16 * min(game.max_plies, LONG_PATH) + 10 * game.max_moves
    if request.evaluator == EXTERNAL:
        leaf_bytes += 2_000 + 80 * game.max_moves
    most = request.memory_mb * 2**20 // leaf_bytes
    if min(plan.lanes * request.batch, request.most_simulations) > most:
        accepted = f"lanes times batch of at most {most:,} with {request.memory_mb} MB of memory: so many "
        accepted += f"leaves may be in flight (here {plan.lanes:,} times {request.batch:,})"
        raise InvalidInput("batch", request.batch, accepted)
