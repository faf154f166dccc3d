"""Compares searches by the episodes that they plan in a problem of one player.

    python -m cluster.lab.studies.planned_scores \\
        "gym:cluster/lab/studies/atari_start.py:Atari(game=ms_pacman,wait=66):steps=200,discount=0.99" \\
        uct:simulations=128,playout_plies=10 \\
        uct:simulations=128,playout_plies=10,strategy=leaf,lanes=16,batch=1 \\
        --episodes 8 --steps 15 --out FOLDER

Each search plays the same episodes, all of them one episode before any plays the next. Intervals are 95 %
(Student's); the difference to the first search is paired by episode. Episodes are kept in FOLDER, and the
same command with a larger number plays the missing ones.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import games
from cluster.matches.statistics import standard_error
from cluster.planning.plan import PlanRequest, make_plan
from cluster.planning.result import student_95
from cluster.planning.store import EpisodeStore
from cluster.report import table as report
from games.errors import InvalidInput
from search.episode import Episode, Planner
from search.players import player_of
from search.players.uct import Uct


class Compared:
    """A search and its episodes; `close` it."""

    def __init__(self, problem: str, player: str, steps: int | None, folder: Path | None) -> None:
        """``player``: the spec of a uct player. Raises InvalidInput."""
        made = player_of(player, games.load(problem))
        if not isinstance(made, Uct):
            raise InvalidInput("player", player, "uct with its options")
        self.player = player
        plan = make_plan(PlanRequest(replace(made.request, game=problem, seed=0), steps=steps))
        context = plan.context
        self._planner = Planner(context.request, plan.game, context.source, context.steps)
        self._store = EpisodeStore(folder, plan.identity)
        self.played = dict(self._store.played)
        """By seed."""

    def play(self, seed: int) -> Episode:
        """The episode with this seed; it is played if it was not before."""
        if seed not in self.played:
            self.played[seed] = self._planner.play(seed)
            self._store.add(self.played[seed])
        return self.played[seed]

    def close(self) -> None:
        """Release the folder."""
        self._store.close()


def table_of(players: Sequence[str], episodes: Sequence[Sequence[Episode]]) -> report.Table:
    """A row for each search; ``episodes`` is [search][episode], all with the same episodes."""
    columns = ("episodes", "mean score", "beside the first", "simulations/s")
    table = report.Table([*report.left("search"), *report.right(*columns)])
    for player, mine in zip(players, episodes, strict=True):
        beside = [one.value - first.value for one, first in zip(mine, episodes[0], strict=True)]
        rate = sum(each.simulations for each in mine) / sum(each.seconds for each in mine)
        table.add(
            report.code(player),
            report.count(len(mine)),
            _mean([each.value for each in mine]),
            "" if mine is episodes[0] else _mean(beside),
            report.rate(rate),
        )
    return table


def _mean(values: Sequence[float]) -> report.Cell:
    average, most = sum(values) / len(values), student_95(len(values) - 1) if len(values) > 1 else 0.0
    return report.number(average, ".1f", half=most * standard_error(values) if most else None)


def main() -> None:
    """Play the episodes, and print the table as Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("problem", metavar="PROBLEM")
    parser.add_argument("players", metavar="PLAYER", nargs="+", help="uct with its options")
    parser.add_argument("--episodes", type=int, default=10, metavar="N", help="of each search (10)")
    parser.add_argument("--steps", type=int, metavar="N", help="the most moves of an episode")
    parser.add_argument("--out", type=Path, help="folder in which the episodes are kept")
    given = parser.parse_args()
    try:
        searches = []
        for number, player in enumerate(given.players):
            folder = None if given.out is None else given.out / f"search_{number}"
            searches.append(Compared(given.problem, player, given.steps, folder))
    except InvalidInput as error:
        sys.exit(f"planned_scores: {error}")
    for seed in range(given.episodes):
        for search in searches:
            value = search.play(seed).value
            print(f"{search.player}: episode {seed}, {value:g}", file=sys.stderr, flush=True)
    for search in searches:
        search.close()
    played = [[search.played[seed] for seed in range(given.episodes)] for search in searches]
    print("\n".join(report.markdown(table_of(given.players, played))))


if __name__ == "__main__":
    main()
