"""The standing of a match with three or more players, from the viewpoint of player A.

A takes each seat in turn against B in all the others. Who has the highest score at the end wins; several with
the highest score share the win. If A and B are equally strong, A's share of wins is 1 / players.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from cluster.matches.record import GameRecord
from cluster.matches.standing import PlayedGames, effort_json
from cluster.matches.statistics import Interval, mean, score_interval


class Shares(PlayedGames):
    """Statistics of games of three or more players; as many games as there are seats are a pair."""

    @cached_property
    def won(self) -> dict[int, float]:
        """By index of the game: A's part of the win, 0 to 1."""
        return {index: self._part(index) for index in self._games}

    @cached_property
    def pairs(self) -> list[float]:
        """A's mean part of the wins in each complete pair."""
        found = []
        for first in range(0, max(self._games, default=-1) + 1, self.seats):
            parts = [self.won.get(first + seat) for seat in range(self.seats)]
            known = [part for part in parts if part is not None]
            if len(known) == self.seats:
                found.append(sum(known) / self.seats)
        return found

    @property
    def share(self) -> float:
        """A's share of wins in the complete pairs; 1 / seats without any."""
        return mean(self.pairs) if self.pairs else 1 / self.seats

    @property
    def interval(self) -> Interval:
        """The 95 % confidence interval of `share`, from the variance of pairs."""
        return score_interval(self.pairs)

    @cached_property
    def by_seat(self) -> list[tuple[int, float]]:
        """For each seat: the number of games in which A had it, and A's share of wins in them."""
        found = []
        for seat in range(self.seats):
            parts = [part for index, part in self.won.items() if index % self.seats == seat]
            found.append((len(parts), sum(parts) / max(1, len(parts))))
        return found

    @cached_property
    def mean_scores(self) -> tuple[float, float]:
        """The mean scores at the end of A, and of B in a seat."""
        own, other = 0.0, 0.0
        for index, record in self._games.items():
            scores = _scores(record)
            mine = scores[index % self.seats]
            own += mine
            other += (sum(scores) - mine) / (self.seats - 1)
        return own / max(1, self.number), other / max(1, self.number)

    def to_json(self, points: int) -> dict[str, Any]:
        """The standing as JSON; scores are multiplied by ``points``."""
        own, other = self.mean_scores
        return {
            "games": self.number,
            "seats": self.seats,
            "share_of_wins": self.share,
            "share_of_wins_interval": list(self.interval),
            "share_if_equal": 1 / self.seats,
            "by_seat": [{"games": games, "share_of_wins": share} for games, share in self.by_seat],
            "mean_scores": {"a": own * points, "b": other * points},
            "efforts": {name: effort_json(effort) for name, effort in zip("ab", self.efforts, strict=True)},
            "mean_plies": self.mean_plies,
            "different_games": self.different_games,
        }

    def _part(self, index: int) -> float:
        scores = _scores(self._games[index])
        best = max(scores)
        return (scores[index % self.seats] == best) / scores.count(best)


def _scores(record: GameRecord) -> tuple[float, ...]:
    assert record.scores is not None
    return record.scores
