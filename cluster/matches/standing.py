"""The standing of a match from the viewpoint of player A."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cluster.matches.record import Effort, GameRecord
from cluster.matches.statistics import (
    Interval,
    elo_of,
    finite,
    mean,
    pentanomial,
    score_interval,
    standard_error,
    wilson,
)

SCORINGS = ("wins", "margins")
"""How a pair is scored. wins: the mean of the scores of its games, each 1, 1/2 or 0. margins: 1, 1/2 or 0 for
the whole pair, by the sign of the sum of both returns; for games for one player, where only margins can be
compared."""


def return_of_a(index: int, record: GameRecord) -> float:
    """A's return; in games with an odd index A is the second player."""
    assert record.result is not None
    return -record.result if index % 2 else record.result


def score_of_pair(games: Mapping[int, GameRecord], first: int, scoring: str) -> float:
    """A's score, one of PAIR_SCORES, in the pair of games ``first`` and ``first`` + 1; see SCORINGS."""
    returns = [return_of_a(index, games[index]) for index in (first, first + 1)]
    return _score(sum(returns)) if scoring == "margins" else (_score(returns[0]) + _score(returns[1])) / 2


def _score(gained: float) -> float:
    return 0.5 if gained == 0 else float(gained > 0)


@dataclass(frozen=True)
class Tally:
    """Numbers of wins, draws and losses."""

    wins: int
    draws: int
    losses: int

    @classmethod
    def of(cls, returns: Iterable[float]) -> Tally:
        """Count the wins, draws and losses in a player's returns."""
        signs = [(value > 0) - (value < 0) for value in returns]
        return cls(signs.count(1), signs.count(0), signs.count(-1))

    @property
    def number(self) -> int:
        return self.wins + self.draws + self.losses

    def __str__(self) -> str:
        return f"{self.wins} won, {self.draws} drawn, {self.losses} lost"


class PlayedGames:
    """Games by their index in the match, in which A has the seat ``index % seats`` and B all others."""

    def __init__(self, games: Mapping[int, GameRecord], seats: int) -> None:
        self._games = dict(sorted(games.items()))
        self.seats = seats

    @property
    def number(self) -> int:
        return len(self._games)

    @property
    def efforts(self) -> tuple[Effort, Effort]:
        """The costs of the moves of A and of B."""
        a, b = Effort(), Effort()
        for index, record in self._games.items():
            for seat, effort in enumerate(record.efforts):
                a, b = (a + effort, b) if seat == index % self.seats else (a, b + effort)
        return a, b

    @property
    def mean_plies(self) -> float:
        """The mean length of a game in plies, including the opening and the moves of chance."""
        return sum(len(record.moves) for record in self._games.values()) / max(1, self.number)

    @property
    def different_games(self) -> int:
        """The number of different games, compared move by move."""
        return len({(record.start, record.moves) for record in self._games.values()})

    def _lengths_json(self) -> dict[str, Any]:
        """Costs and lengths of the games as JSON; means are per move that a player was asked for."""
        return {
            "efforts": {
                name: asdict(effort)
                | {
                    "mean_s": effort.cpu_s / max(1, effort.moves),
                    "simulations_per_move": effort.simulations / max(1, effort.moves),
                    "nodes_per_move": effort.nodes / max(1, effort.moves),
                }
                for name, effort in zip("ab", self.efforts, strict=True)
            },
            "mean_plies": self.mean_plies,
            "different_games": self.different_games,
        }


class Standing(PlayedGames):
    """Statistics of games of two players; games 2 k and 2 k + 1 are a pair."""

    def __init__(self, games: Mapping[int, GameRecord], scoring: str = "wins") -> None:
        """``scoring``: one of SCORINGS."""
        super().__init__(games, 2)
        returns = {index: return_of_a(index, record) for index, record in self._games.items()}
        self.all = Tally.of(returns.values())
        """A's wins, draws and losses in all games."""
        self.as_first = Tally.of(value for index, value in returns.items() if index % 2 == 0)
        """A's wins, draws and losses as the first player."""
        self.as_second = Tally.of(value for index, value in returns.items() if index % 2)
        """A's wins, draws and losses as the second player."""
        self.first_player = Tally.of(-value if index % 2 else value for index, value in returns.items())
        """Wins, draws and losses of the first player, either A or B."""
        self.pairs = [(i, i + 1) for i in returns if i % 2 == 0 and i + 1 in returns]
        """The indices of the two games of each complete pair."""
        self.pair_scores = [score_of_pair(self._games, first, scoring) for first, _ in self.pairs]
        """A's score in each complete pair: 0, 1/4, 1/2, 3/4 or 1."""
        self.pair_returns = [returns[first] + returns[second] for first, second in self.pairs]
        """The sum of A's returns in each complete pair, in [-2, 2]."""
        self.pair_tally = Tally.of(self.pair_returns)
        """Pairs won, drawn and lost by A, by the sum of both returns."""

    @property
    def has_margins(self) -> bool:
        """Whether the return of some game is not -1, 0 or 1."""
        return any(record.result not in (-1.0, 0.0, 1.0) for record in self._games.values())

    @property
    def score(self) -> float:
        """A's mean score over pairs; 1/2 without pairs."""
        return mean(self.pair_scores)

    @property
    def score_interval(self) -> Interval:
        """The 95 % confidence interval of `score`, from the variance of pairs."""
        return score_interval(self.pair_scores)

    @property
    def elo(self) -> float:
        """A's Elo advantage; infinite if A scored 0 or 1."""
        return elo_of(self.score)

    @property
    def elo_interval(self) -> Interval:
        low, high = self.score_interval
        return elo_of(low), elo_of(high)

    @property
    def mean_pair_return(self) -> tuple[float, float]:
        """(mean of A's sum of returns over pairs, its standard error)."""
        return (mean(self.pair_returns) if self.pairs else 0.0), standard_error(self.pair_returns)

    def to_json(self, points: int) -> dict[str, Any]:
        """The standing as JSON; infinite numbers are null. ``points``: `Game.points`."""
        low, high = self.elo_interval
        rate = wilson(self.all.wins, self.all.number)
        summed, error = self.mean_pair_return
        return {
            "games": self.number,
            "a_results": asdict(self.all)
            | {"win_rate": self.all.wins / max(1, self.number)}
            | {"win_rate_interval": list(rate)},
            "a_as_first": asdict(self.as_first),
            "a_as_second": asdict(self.as_second),
            "first_player": asdict(self.first_player),
            "score": self.score,
            "score_interval": list(self.score_interval),
            "elo": finite(self.elo),
            "elo_interval": [finite(low), finite(high)],
            "pairs": asdict(self.pair_tally)
            | {
                "scores": dict(
                    zip(("0", "0.25", "0.5", "0.75", "1"), pentanomial(self.pair_scores), strict=True)
                ),
                "mean_margin": summed * points,
                "margin_error": finite(error * points),
            },
            **self._lengths_json(),
        }


class Shares(PlayedGames):
    """Statistics of games of three or more players, one game of a pair for each seat that A takes.

    Who has the highest score at the end wins; several with the highest score share the win. If A and B are
    equally strong, A's share of wins is 1 / seats.
    """

    def __init__(self, games: Mapping[int, GameRecord], seats: int) -> None:
        super().__init__(games, seats)
        self.won = {index: self._part(index) for index in self._games}
        """By index of the game: A's part of the win, 0 to 1."""
        pairs, of_seat = defaultdict[int, list[float]](list), [list[float]() for _ in range(seats)]
        for index, part in self.won.items():
            pairs[index // seats].append(part)
            of_seat[index % seats].append(part)
        self.pairs = [sum(parts) / seats for parts in pairs.values() if len(parts) == seats]
        """A's mean part of the wins in each complete pair."""
        self.by_seat = [(len(parts), sum(parts) / max(1, len(parts))) for parts in of_seat]
        """For each seat: the number of games in which A had it, and A's share of wins in them."""

    @property
    def share(self) -> float:
        """A's share of wins in the complete pairs; 1 / seats without any."""
        return mean(self.pairs) if self.pairs else 1 / self.seats

    @property
    def interval(self) -> Interval:
        """The 95 % confidence interval of `share`, from the variance of pairs."""
        return score_interval(self.pairs)

    @property
    def mean_scores(self) -> tuple[float, float]:
        """(A's mean score at the end of a game, B's mean score for each of its seats)."""
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
            **self._lengths_json(),
        }

    def _part(self, index: int) -> float:
        scores = _scores(self._games[index])
        best = max(scores)
        return (scores[index % self.seats] == best) / scores.count(best)


def _scores(record: GameRecord) -> tuple[float, ...]:
    assert record.scores is not None
    return record.scores
