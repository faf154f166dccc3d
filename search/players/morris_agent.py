"""Players of theses on mill games: an agent as printed, for `morris`, and its scripted opponents; `random`.

The agent's differences from UCT are kept, because the tables of the thesis are about this program:

- A node's power is victories / visits, plus (actions of the agent) or minus (actions of the other player)
  c sqrt(ln N / visits), where N are the visits of its parent. The strongest action is chosen for the agent,
  the weakest for the other player. Only won games count, so that a draw is worth as much as a loss.
- Of equal actions one is drawn by a call that never returns the last of them, unless there is one only.
- Before a move is searched its stone is: two levels of the tree. A removal is one level.
- Pruning, of placements, in the tree and in playouts: only actions with the highest rating stay, and those
  are the ones that close a mill, else those that block one, else all. Removals are all equal. The text
  (4.2.1) says so of placements, as an example, and of no other phase.
- A simulation ends in a node without visits, from which the playout starts, or in a final position. A node
  that has visits but no children gets all of them at once. That holds for the root too.
- The final move has the best victories / visits; the target of a stone is taken from the same tree.

The print leaves open what options choose: the number of simulations, ``c``, whether the division is one of
integers (the types of both numbers are not shown), whether unvisited children come first, as the text says,
or have the power 0, as the printed method calculates it, and what is pruned. Where it is silent: children
have the order of the rules' moves, playouts draw from all actions that the pruning leaves, and they ignore
the repetition rule, as the game's own do. A pruned stone has the highest rating of its moves.
"""

from __future__ import annotations

import math
import random
from functools import partial

import numpy as np
import numpy.typing as npt

from games.compile.specialise import cached_njit, specialise
from games.game import FIRST, Game, State
from games.jit import Int, njit, source_of
from games.morris import Morris
from games.morris.play import counts, look_of_blocker, look_of_own_mills, rating
from games.morris.rules import (
    HANDS,
    MOVE,
    MOVER,
    NO_REPETITION,
    OVER,
    REMOVING,
    REPETITION,
    RESULT,
    legal_moves,
    play,
)
from games.rng import Stream, below, new_stream
from games.rules import Moves
from games.spec import Options, Spec
from search.kernel.logarithms import TABLE, Table, sqrt_log
from search.players.player import Choice, Looker, Observation, Player, number_of, only

STRATEGIES = ("random", "own-mills", "blocker", "mixed")
"""Names of the thesis' strategies 1 to 4, in this order."""


class Random(Player):
    """Plays uniformly random legal moves."""

    def __init__(self, spec: Spec, options: Options, game: Game) -> None:
        """The random player has no options."""
        super().__init__(str(spec))

    def choose(self, seen: Observation, seed: int) -> Choice:
        return Choice(random.Random(seed).choice(seen.legal))


def scripted(spec: Spec, options: Options, game: Game) -> Player:
    """The player of mill games that makes the best move by a simple rule. Options: strategy."""
    only(spec, game, Morris)
    strategy = options.choice("strategy", "mixed", STRATEGIES)
    if strategy == "random":
        return Looker(spec, lambda state, move: 0.0)
    if strategy == "mixed":
        return Looker(spec, partial(_look_of_mixed, game))
    generic = look_of_own_mills if strategy == "own-mills" else look_of_blocker
    return Looker(spec, specialise([generic], game)[generic.__name__])


# The rules themselves would be compiled anew in each process.
_counts, _rating = cached_njit(source_of(counts)), cached_njit(source_of(rating))


def _look_of_mixed(game: Game, state: State, move: int) -> tuple[float, float]:
    """Score of a player who closes a mill if possible, else blocks one; ties are broken by the evaluation of
    the position after the move."""
    calls, after = game.calls, state.copy()
    calls.play(after, move)
    sign = 1.0 if calls.current_player(state) == FIRST else -1.0
    value = 2.0 * calls.returns(after) if calls.is_terminal(after) else _counts(after)
    return _rating(state, move), sign * value


MAX_SIMULATIONS, MAX_EXPLORATION = 100_000, 1000.0
NEVER, PLACING, ALWAYS = range(3)
"""When actions are pruned."""
PRUNING = {
    "placing": (PLACING, PLACING, PLACING),
    "all": (ALWAYS, ALWAYS, ALWAYS),
    "tree": (ALWAYS, ALWAYS, NEVER),
    "root": (ALWAYS, NEVER, NEVER),
    "none": (NEVER, NEVER, NEVER),
}
"""When actions are pruned: those of the position that is searched, of others in the tree, and in playouts."""
MAX_ACTIONS = 24
"""The largest number of children: placements on an empty board; a stone is one action, whatever its moves."""
ANY = -1
"""Stands for the stone of a move as long as none is chosen. An action below 0 chooses the stone ``~action``;
other actions are the game's moves."""
PARENT, FIRST_CHILD, CHILDREN, VISITS, VICTORIES, ACTION = range(6)
"""Columns of the tree, in which a row is a node."""
Tree = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int64]


class MorrisAgent(Player):
    """Player of the thesis' program; mill games only."""

    def __init__(self, spec: Spec, options: Options, game: Game) -> None:
        """Options: simulations, c, prune (unset: placing, but none with three stones, as the thesis has it),
        division, unvisited."""
        super().__init__(str(spec))
        morris = only(spec, game, Morris)
        self.simulations = options.whole("simulations", 1000, 1, MAX_SIMULATIONS)
        self.c = number_of(options, "c", math.sqrt(2.0), MAX_EXPLORATION)
        self.c_moving = number_of(options, "c_moving", self.c, MAX_EXPLORATION)
        prune = options.choice("prune", "none" if morris.variant == "three" else "placing", tuple(PRUNING))
        integer = options.choice("division", "real", ("real", "integer")) == "integer"
        first = options.choice("unvisited", "first", ("first", "zero")) == "first"
        self._rest = (PRUNING[prune], integer, math.inf if first else 0.0)

    def choose(self, seen: Observation, seed: int) -> Choice:
        c = self.c if seen.state[HANDS + seen.state[MOVER]] > 0 else self.c_moving
        move, tree = printed_search(seen.state, self.simulations, c, *self._rest, TABLE, new_stream(seed))
        return Choice(int(move), simulations=int(tree[0, VISITS]), nodes=len(tree))


@njit
def _actions(state: State, stone: Int, pruned: Int, moves: Moves, found: Numbers) -> int:
    """Write the actions that the pruning leaves to ``found``; returns how many. ``moves`` is overwritten."""
    highest, count = 0.0, 0
    in_phase = pruned == ALWAYS or (pruned == PLACING and state[HANDS + state[MOVER]] > 0)
    for number in range(legal_moves(state, moves)):
        move = int(moves[number])
        start = (move - MOVE) // 24 if move >= MOVE else ANY
        if stone != ANY and start != stone:
            continue
        rated = rating(state, move) if in_phase and state[REMOVING] == 0 else 0.0
        if rated < highest:
            continue
        if rated > highest:
            highest, count = rated, 0
        action = ~start if stone == ANY and start != ANY else move
        # The moves of a stone stand together in the list.
        if count == 0 or found[count - 1] != action:
            found[count] = action
            count += 1
    return count


@njit
def _act(state: State, action: Int) -> int:
    """Perform an action in place; returns the stone that it chooses, or ANY."""
    if action < 0:
        return ~action  # type: ignore[return-value]
    play(state, action)  # type: ignore[arg-type]
    return ANY


@njit
def _expand(tree: Tree, size: Int, node: Int, found: Numbers, count: Int) -> int:
    """Append ``count`` children with the actions of ``found`` to a node; returns the new number of nodes."""
    tree[node, FIRST_CHILD], tree[node, CHILDREN] = size, count
    for number in range(count):
        tree[size + number, PARENT], tree[size + number, ACTION] = node, found[number]
    return size + count  # type: ignore[return-value]


@njit
def _strongest(
    tree: Tree,
    node: Int,
    sign: Int,
    c: float,
    integer: bool,
    unvisited: float,
    ties: Numbers,
    table: Table,
    stream: Stream,
) -> int:
    """The child with the highest power, or with ``sign`` -1 the lowest; equal ones by lot, never the last."""
    explore, best, count = c * sqrt_log(table, tree[node, VISITS]) if c > 0.0 else 0.0, -math.inf, 0
    for number in range(tree[node, CHILDREN]):
        child = tree[node, FIRST_CHILD] + number
        visits, score = tree[child, VISITS], unvisited
        if visits > 0:
            victories = tree[child, VICTORIES]
            ratio = float(victories // visits) if integer else victories / visits
            score = sign * ratio + explore / math.sqrt(float(visits))
        if score > best:
            best, count = score, 0
        if score == best:
            ties[count] = child
            count += 1
    return int(ties[below(stream, max(1, count - 1))])


@cached_njit
def printed_search(
    root: State,
    simulations: int,
    c: float,
    prune: tuple[int, int, int],
    integer: bool,
    unvisited: float,
    table: Table,
    stream: Stream,
) -> tuple[int, Tree]:
    """(move, tree) of a search for the player to move, the agent; an only move is made without a search.

    ``unvisited``: the power of an unvisited child, inf or 0, counted for the player who chooses it.
    """
    tree = np.zeros((1 + MAX_ACTIONS * (simulations + 2), ACTION + 1), dtype=np.int64)
    moves, found = np.zeros(MAX_ACTIONS**2, dtype=np.uint16), np.zeros(MAX_ACTIONS, dtype=np.int64)
    state, agent, size = root.copy(), root[MOVER], 1
    tree[0, PARENT] = -1
    count = _actions(state, ANY, prune[0], moves, found)
    if count == 1 and found[0] >= 0:
        return int(found[0]), tree[:1]
    for _ in range(simulations):
        state[:] = root
        node, stone = 0, ANY
        while state[OVER] == 0 and tree[node, VISITS] > 0:
            if tree[node, CHILDREN] == 0:
                # A stone of the root's belongs to it, and so do its moves.
                pruned = prune[0] if node == 0 or (tree[node, PARENT] == 0 and stone != ANY) else prune[1]
                size = _expand(tree, size, node, found, _actions(state, stone, pruned, moves, found))
            sign = 1 if state[MOVER] == agent else -1
            node = _strongest(tree, node, sign, c, integer, unvisited, found, table, stream)
            stone = _act(state, tree[node, ACTION])
        state[REPETITION] = NO_REPETITION
        while state[OVER] == 0:
            count = _actions(state, stone, prune[2], moves, found)
            stone = _act(state, found[below(stream, count)])
        victory = np.int64(state[RESULT] == 1 - 2 * agent)
        while node >= 0:
            tree[node, VISITS] += 1
            tree[node, VICTORIES] += victory
            node = int(tree[node, PARENT])
    state[:] = root
    node, action = 0, ANY
    while action < 0:
        if tree[node, CHILDREN] == 0:
            stone = ANY if node == 0 else ~action
            size = _expand(tree, size, node, found, _actions(state, stone, prune[0], moves, found))
        node = _strongest(tree, node, 1, 0.0, integer, 0.0, found, table, stream)
        action = int(tree[node, ACTION])
    return action, tree[:size]
