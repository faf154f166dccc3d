"""Solves six men's morris whole, with flying and without: some 48 million positions each, and 5 GB of memory.

python -m tests.solve_six_mens                            # both, about a minute
python -m tests.solve_six_mens --game grundy:pile=60      # another game that can be solved
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import games
from games.solving import solve

GAMES = ("morris:variant=six", "morris:variant=six,fly=yes")


def report(spec: str) -> str:
    """One line: positions, values, and what it took."""
    game = games.load(spec)
    begin = time.perf_counter()
    solution = solve(game, game.initial_state())
    seconds = time.perf_counter() - begin
    value = {1: "the first player wins", 0: "a draw", -1: "the second player wins"}
    first, draws, second = (solution.count(value) for value in (1, 0, -1))
    plies = solution.plies_of(solution.start)
    return (
        f"{game.spec}: {value[solution.value_of(solution.start)]}{f' in {plies} plies' if plies else ''}; "
        f"{solution.num_positions:,} positions, {solution.num_finished:,} of them finished; won by the first "
        f"{first:,}, by the second {second:,}, drawn {draws:,}; {seconds:.0f} s, "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB at most"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", action="append", help="a game that can be solved")
    for spec in parser.parse_args().game or GAMES:
        print(report(spec), flush=True)


if __name__ == "__main__":
    sys.exit(main())
