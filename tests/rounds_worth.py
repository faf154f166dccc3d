"""What rounds are worth once what they cost is counted: the law of search/README.md times `banyan predict`.

    banyan predict gomoku --strategies tree --save-costs COSTS
    python -m tests.rounds_worth COSTS

Lanes and workers are as many. More rounds make more of the simulations, and fewer simulations, because a
round ends with the merging of all its results. What is printed is the product: how many times the
simulations of one worker the sequential search needs to play as well, if the law holds. Of rounds that
overlap, as they do by default where jobs are long, two count as one.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import games
from cluster.measuring.predict_launch import read_costs
from cluster.measuring.prediction import predict
from search.plan import make_plan
from search.request import SearchRequest
from tests.rounds_fit import by_lanes_and_rounds

SECONDS = (1.0, 10.0, 100.0)
"""Of work for each worker."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Strength speedups by lanes, work and rounds, by the law.")
    parser.add_argument("costs", type=Path)
    parser.add_argument("--lanes", default="16,64,256,1024")
    parser.add_argument("--rounds", default="8,16,32,64,128")
    parser.add_argument("--a", type=float, default=0.13, help="of the law")
    arguments = parser.parse_args()
    game = games.load("gomoku")
    costs = read_costs(arguments.costs, ["tree"])["tree"]
    numbers = [int(n) for n in arguments.rounds.split(",")]
    print("| lanes | work of each | " + " | ".join(f"{n} rounds" for n in numbers) + " | by default |")
    print("| ---: | ---: |" + " ---: |" * (len(numbers) + 1))
    for lanes in [int(n) for n in arguments.lanes.split(",")]:
        for seconds in SECONDS:
            request = SearchRequest(
                game=game.spec,
                strategy="tree",
                lanes=lanes,
                simulations=round(lanes * seconds / costs.crowded_simulation_s),
            )
            cells = []
            for asked in (*(replace(request, rounds=rounds) for rounds in numbers), request):
                plan = make_plan(asked, game)
                (found,) = predict(asked, costs, [lanes], report=lambda line: None)
                worth = by_lanes_and_rounds(arguments.a, plan.rounds / (1 + plan.staleness), lanes)
                cells.append(f"{found.speedup * worth:.3g} ({100 * found.efficiency:.0f} %)")
            overlap = ", overlapping" if plan.staleness else ""
            print(f"| {lanes:,} | {seconds:g} s | {' | '.join(cells)}: {plan.rounds}{overlap} |", flush=True)


if __name__ == "__main__":
    main()
