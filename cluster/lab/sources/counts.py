"""Counts and samples: sizes of games and trees, calls of a search, all lines of play, thinking times.

A count takes the details of a row (including the seed) and returns numbers by figure name. A sample also
takes its number, and returns lists of observations; a row says how many samples are run.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, product
from typing import Any

import games
from cluster.matches.game import MatchContext, ask, play_game, seed_of
from games.analysis.position_graph import PositionGraph
from games.analysis.solving import solve
from games.contract.findings import deal
from games.errors import InvalidInput
from games.game import FIRST, SECOND, Game, State
from games.gomoku import Gomoku, rules
from search.minimax.lookahead import lookahead_of
from search.players import Choice, Observation, Player, player_of

Arguments = Mapping[str, Any]
Found = Mapping[str, float]
Samples = Mapping[str, list[float]]
AREA, SHIP_CELLS = 100, 17
NEGLIGIBLE = 1e-15


def arrangements(arguments: Arguments) -> Found:
    """Number of ways to place up to all pieces of two colours on a board; pieces of one colour are equal."""
    cells, dwarfs, trolls = (int(arguments[key]) for key in ("cells", "dwarfs", "trolls"))
    pairs = [(d, t) for d in range(dwarfs + 1) for t in range(trolls + 1)]
    alike = sum(math.comb(cells, d) * math.comb(cells - d, t) for d, t in pairs)
    return {"positions": float(alike), "log10": math.log10(alike)}


def power(arguments: Arguments) -> Found:
    """The decimal logarithm of a power, such as the size of a tree from branching factor and length."""
    return {"log10": float(arguments["exponent"]) * math.log10(float(arguments["base"]))}


def game_tree(arguments: Arguments) -> Found:
    """Sizes of a small game, or of what is left of it after ``moves``, which must be legal: nodes, leaves and
    levels of its tree; positions, and moves between them.
    """
    game = games.load(arguments["game"])
    root = game.initial_state()
    game.play_text(root, arguments.get("moves", ()))
    graph = PositionGraph(solve(game, root))
    sizes = graph.tree_sizes()
    if sizes is None:
        raise InvalidInput("game", game.spec, "a game in which no position occurs twice")
    levels, leaves = sizes
    first = graph.places[0]
    return {
        "nodes": sum(levels),
        "leaves": leaves,
        **{f"level {level}": size for level, size in enumerate(levels)},
        "positions": len(graph.places),
        "moves between positions": graph.num_moves,
        "value": first.value,
        "first moves that lose": sum(graph.places[move.to].value == -1 for move in first.moves),
    }


def search_tree(arguments: Arguments) -> Found:
    """The nodes that minimax or alpha-beta visits, from left to right; the value in the tree's own unit."""
    game = games.load(arguments["game"])
    lookahead = lookahead_of(game, (*game.evaluators, "default")[0])
    start = game.initial_state()
    depth = min(int(arguments["depth"]), game.max_plies)
    changes = {"cuts_equals": arguments.get("cuts_equals", True), "ordered": False, "finds_ties": False}
    limits = [lookahead.limits(depth, prunes=prunes, **changes) for prunes in (arguments["prunes"], False)]
    found, whole = (lookahead.search(start, each) for each in limits)
    return {
        "visited": found.positions,
        "all": whole.positions,
        "share cut": 100 * (1 - found.positions / whole.positions),
        # Searches subtract a tiny amount per ply, so that quick wins are preferred; rounding removes it.
        "value": round(found.value * float(arguments["unit"]), 3),
    }


def window_patterns(arguments: Arguments) -> Found:
    """Patterns of one player in five cells, by the game's own table: how many are worth as much as a window
    with ``stones`` stones, and what 1 to 5 such windows on one line are worth.
    """
    stones = int(arguments["stones"])
    patterns = [each for each in map("".join, product("x ", repeat=5)) if "x" in each]
    worths = [cell_worth(f"oooo{each}oooo"[each.index("x") :]) for each in patterns]
    # Any five neighbours on this line have as many stones.
    line = 2 * ("x" * stones).rjust(5)
    times = {f"{n} times": cell_worth(line[5 - n :].rjust(10, "o")) for n in range(1, 6)}
    return {"patterns": worths.count(times["1 times"]), "all patterns": len(worths), **times}


def cell_worth(line: str) -> int:
    """What gomoku's table says of a stone of X on the fifth of nine cells; O closes all other lines."""
    rows = ["", "", "", "   ooo", f"{line[:4]} {line[5:9]}", "   ooo", "", "", ""]
    owners = [[{"x": FIRST, "o": SECOND}.get(cell) for cell in row.ljust(9)] for row in rows]
    return rules.cell_worth(Gomoku(9).state_of(owners, FIRST), 40, FIRST)


def every_line(arguments: Arguments) -> Found:
    """Results of a player against all moves of its opponent, on both sides, in a game without chance.

    Each seed is a separate player, which always makes one and the same move in a position.
    """
    game = games.load(arguments["game"])
    player = player_of(arguments["a"], game)
    seeds = [seed_of(arguments["seed"], 2, number) for number in range(int(arguments.get("seeds", 1)))]
    trees = [Opponents(game, player, seed) for seed in seeds]
    lines = (tree.lines(game.initial_state(), side) for tree in trees for side in (FIRST, SECOND))
    total = sum(lines, Counter[int]())
    return {
        "lines": sum(total.values()),
        "wins": total[1],
        "draws": total[0],
        "losses": total[-1],
        "searches": sum(len(tree.answers) for tree in trees),
    }


@dataclass
class Opponents:
    """All lines of play against one player."""

    game: Game
    player: Player
    seed: int
    answers: dict[bytes, int] = field(default_factory=dict)
    """The player's moves by position."""

    def lines(self, state: State, side: int) -> Counter[int]:
        """Counts of the results of all lines from ``state``: 1, 0 or -1 from the player's viewpoint."""
        if self.game.calls.is_terminal(state):
            value = float(self.game.calls.returns(state)) * (1 if side == FIRST else -1)
            return Counter({(value > 0) - (value < 0): 1})
        if int(self.game.calls.current_player(state)) != side:
            return sum((self.lines(child, side) for _, child in self.game.successors(state)), Counter[int]())
        after, key = state.copy(), state.tobytes()
        if key not in self.answers:
            only, *others = self.game.legal_moves(state)
            self.answers[key] = ask(self.player, self.game, state, self.seed)[0].move if others else only
        self.game.calls.play(after, self.answers[key])
        return self.lines(after, side)


def thinking(arguments: Arguments, number: int) -> Samples:
    """Play a game against itself or player ``b``; returns the effort of each move, except those of ``b``."""
    specs = arguments["a"], arguments.get("b", arguments["a"])
    context = MatchContext(arguments["game"], None, specs, int(arguments["seed"]), 0)
    game = context.load_game()
    watched: dict[str, list[float]] = {"simulations": [], "calls": [], "ms": [], "simulations a second": []}
    a, b = (player_of(spec, game) for spec in context.players)
    players = _Watched(a, watched), b if "b" in arguments else _Watched(b, watched)
    # Otherwise the time of the first move would include loading kernels.
    ask(players[0], game, deal(game, seed_of(context.seed, 0, number)), 0)
    for observations in watched.values():
        observations.clear()
    play_game(context, game, players, 2 * number)
    return watched


class _Watched(Player):
    """A player that records the effort of its moves."""

    def __init__(self, player: Player, watched: dict[str, list[float]]) -> None:
        super().__init__(player.spec)
        self.omniscient = player.omniscient
        self._player, self._watched = player, watched

    def choose(self, seen: Observation, seed: int) -> Choice:
        started = time.thread_time()
        choice = self._player.choose(seen, seed)
        spent_s = time.thread_time() - started
        per_s = choice.simulations / max(spent_s, 1e-9)
        values = choice.simulations, choice.nodes, 1000 * spent_s, per_s
        for observations, value in zip(self._watched.values(), values, strict=True):
            observations.append(value)
        return choice


def sampling_accuracy(arguments: Arguments) -> Found:
    """The sampling player in the thesis on Battleship, by exact probabilities: its mean number of shots, and
    its accuracy (ship cells / shots of a game, in %): mean and standard deviation over games, and the median
    of the worst of 100 games.

    A step that hits a ship proposes a cell that it hit. So a shot misses only if no step has hit a ship.
    Arguments: ``depth``, ``steps``, and ``tries_again``: whether the first cell of a step is drawn from all
    cells, including those shot at before, and such a shot counts.
    """
    misses = distribution_of_misses(
        int(arguments["depth"]), int(arguments["steps"]), bool(arguments.get("tries_again", False))
    )
    accuracies = {100 * SHIP_CELLS / (SHIP_CELLS + number): chance for number, chance in misses.items()}
    mean = math.fsum(accuracy * chance for accuracy, chance in accuracies.items())
    square = math.fsum((accuracy - mean) ** 2 * chance for accuracy, chance in accuracies.items())
    best_first = sorted(accuracies, reverse=True)
    reached = accumulate(accuracies[accuracy] for accuracy in best_first)
    return {
        "mean": mean,
        "mean, deviation": math.sqrt(square),
        "worst": next(one for one, chance in zip(best_first, reached, strict=True) if chance**100 >= 0.5),
        "shots": SHIP_CELLS + math.fsum(number * chance for number, chance in misses.items()),
    }


def distribution_of_misses(depth: int, steps: int, tries_again: bool) -> dict[int, float]:
    """The probability of each number of misses in a game."""
    chances = {0: 1.0}
    for afloat in range(SHIP_CELLS, 0, -1):
        chances = _until_hit(chances, afloat, depth, steps, tries_again)
    return chances


def _until_hit(
    before: Mapping[int, float], afloat: int, depth: int, steps: int, tries_again: bool
) -> dict[int, float]:
    """The probability of each number of misses up to the next hit; ``before``: up to the previous hit."""
    after: dict[int, float] = {}
    carried, number = 0.0, 0
    while number <= max(before) or carried > NEGLIGIBLE:
        chance = before.get(number, 0.0) + carried
        cells = AREA if tries_again else AREA - (SHIP_CELLS - afloat) - number
        miss = (1 - afloat / cells) * math.prod(1 - afloat / (AREA - nth) for nth in range(depth - 1))
        after[number], carried = chance * (1 - miss**steps), chance * miss**steps
        number += 1
    return after


COUNTS: dict[str, Callable[[Arguments], Found]] = {
    "arrangements": arrangements,
    "power": power,
    "game tree": game_tree,
    "search tree": search_tree,
    "window patterns": window_patterns,
    "every line": every_line,
    "sampling accuracy": sampling_accuracy,
}
"""Counts by the name of a row's measure; each is one unit."""
SAMPLES: dict[str, Callable[[Arguments, int], Samples]] = {"thinking": thinking}
"""Samples by the name of a row's measure; each of a row's ``games`` is one unit."""
