"""Single-player MCTS for SameGame, written from its paper: a peer to compare `banyan plan samegame` with.

Schadd, Winands, van den Herik, Chaslot, Uiterwijk, "Single-player Monte-Carlo tree search", CG 2008: UCT with
a third term for the variance, TabuColorRandom in simulations, and restarts, of which the best line counts.

    python -m tests.search.sp_mcts 0 20 60000 6      # boards 0 to 19, simulations, restarts of each
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np
import numpy.typing as npt

import games
from games.compile.specialise import cached_njit
from games.game import State
from games.rng import Stream, below, new_stream
from games.samegame import rules

C, D = 0.5, 10_000.0
"""The constants of the paper's best setting."""
TRIED = 10
"""Visits of a node before which the policy of simulations chooses its moves."""
MOST_PLIES = 128


@cached_njit
def search(
    start: State, simulations: int, stream: Stream, line: npt.NDArray[np.int64], c: float, d: float
) -> tuple[float, int]:
    """(points of the best line, its length): one search from ``start``; its moves are written to ``line``."""
    moves_of = np.zeros(simulations + 1, dtype=np.int64)
    first = np.zeros(simulations + 1, dtype=np.int64)
    following = np.zeros(simulations + 1, dtype=np.int64)
    visits = np.zeros(simulations + 1, dtype=np.float64)
    sums, squares = np.zeros(simulations + 1), np.zeros(simulations + 1)
    path, played = np.zeros(MOST_PLIES, dtype=np.int64), np.zeros(MOST_PLIES, dtype=np.int64)
    moves = np.zeros(MOST_PLIES, dtype=np.uint16)
    state = start.copy()
    size, best, length = 1, -math.inf, 0
    for _ in range(simulations):
        state[:] = start
        node, depth, plies, inside = 0, 0, 0, True
        path[0] = 0
        while not rules.is_terminal(state):
            move = -1
            child = 0
            if inside and visits[node] >= TRIED:
                number = rules.legal_moves(state, moves)
                untried = number
                child = first[node]
                while child:
                    untried -= 1
                    child = following[child]
                if untried:
                    # A random one of those that no child stands for.
                    rank = below(stream, untried)
                    for i in range(number):
                        child = first[node]
                        while child and moves_of[child] != moves[i]:
                            child = following[child]
                        if child == 0:
                            if rank == 0:
                                move = np.int64(moves[i])
                                break
                            rank -= 1
                    child = 0
                else:
                    urgency, each = -math.inf, first[node]
                    while each:
                        n = visits[each]
                        mean = sums[each] / n
                        spread = max(squares[each] - n * mean * mean, 0.0) + d
                        value = mean + c * math.sqrt(math.log(visits[node]) / n) + math.sqrt(spread / n)
                        if value > urgency:
                            urgency, child = value, each
                        each = following[each]
                    move = moves_of[child]
            else:
                move = np.int64(rules.greedy_move(state, moves, stream))
                if inside:
                    child = first[node]
                    while child and moves_of[child] != move:
                        child = following[child]
            if inside and child == 0:
                moves_of[size], following[size] = move, first[node]
                first[node] = child = size
                size += 1
                depth += 1
                path[depth] = child
                inside = False
            elif inside:
                node = child
                depth += 1
                path[depth] = child
            played[plies] = move
            plies += 1
            rules.play(state, move)
        points = rules.returns(state)
        for i in range(depth + 1):
            visits[path[i]] += 1
            sums[path[i]] += points
            squares[path[i]] += points * points
        if points > best:
            best, length = points, plies
            line[:plies] = played[:plies]
    return best, length


def solve(
    seed: int, simulations: int, restarts: int, spec: str = "samegame:seed={}"
) -> tuple[float, list[int]]:
    """(points, moves) of the best line of all restarts, which share the simulations, on a board."""
    start = games.load(spec.format(seed)).initial_state()
    found: tuple[float, list[int]] = (-math.inf, [])
    for restart in range(restarts):
        line = np.zeros(MOST_PLIES, dtype=np.int64)
        with np.errstate(over="ignore"):
            points, length = search(start, simulations // restarts, new_stream(seed, restart), line, C, D)
        if points > found[0]:
            found = (float(points), line[:length].tolist())
    return found


def main() -> None:
    """Print the points of each board, and their sum."""
    begin, end, simulations, restarts = map(int, sys.argv[1:5])
    total = 0.0
    for seed in range(begin, end):
        began = time.thread_time()
        points = solve(seed, simulations, restarts)[0]
        total += points
        print(f"board {seed}: {points:,.0f}, {time.thread_time() - began:.1f} s", flush=True)
    print(f"{end - begin} boards, {simulations:,} simulations in {restarts} searches: {total:,.0f}")


if __name__ == "__main__":
    main()
