"""The state machine of a match, and what its standing says: without workers, files or clocks."""

from __future__ import annotations

import random

import pytest

from cluster.matches.game import MatchContext
from cluster.matches.launch import elo_text
from cluster.matches.match import Match, Tournament
from cluster.matches.record import Effort, GameRecord
from cluster.matches.standing import Standing, Tally
from cluster.matches.statistics import Sprt
from cluster.runtime.jobset import Jobset, Unit, UnitDone, UnitFailed
from cluster.runtime.tasks import JobDone, JobFailed, JobLost
from search.coordinator import MAX_ATTEMPTS

CONTEXT = MatchContext("tictactoe", None, ("random", "first"), 0, 2)


def record_of(index: int, gained_by_a: float, efforts: tuple[Effort, Effort] | None = None) -> GameRecord:
    """A game in which A gained so much."""
    players = CONTEXT.players if index % 2 == 0 else CONTEXT.players[::-1]
    return GameRecord(
        game=CONTEXT.game,
        seats=players,
        moves=("b2", str(index)),
        result=-gained_by_a if index % 2 else gained_by_a,
        pair=index // 2 + 1,
        leg=index % 2 + 1,
        efforts=efforts or (Effort(), Effort()),
    )


def played(index: int, gained_by_a: float = 1.0) -> UnitDone:
    return UnitDone(index, record_of(index, gained_by_a), 0.1)


def jobset_of(*matches: Match) -> Jobset[Tournament]:
    return Jobset(Tournament(matches))


def test_every_game_is_handed_out_and_counts_once() -> None:
    match = Match(CONTEXT, 6)
    jobset = jobset_of(match)
    assert [task.job for task in jobset.begin()] == [Unit(index) for index in range(6)]
    for index in (5, 0, 3, 1, 4):
        jobset.take(JobDone(played(index), 0))
    assert not match.finished
    jobset.take(JobDone(played(3, -1.0), 0))
    assert match.done == 5, "a copy that comes late"
    assert dict(jobset.contexts) == {0: CONTEXT}
    jobset.take(JobDone(played(2), 0))
    assert (match.stopped_by, match.done, jobset.finished) == ("games", 6, True)
    assert dict(jobset.contexts) == {}, "no further game needs it"
    assert [record.pair for record in match.records] == [1, 1, 2, 2, 3, 3]
    assert match.standing().all == Tally(6, 0, 0)


def test_lost_games_are_handed_out_again_and_counted() -> None:
    match = Match(CONTEXT, 4)
    jobset = jobset_of(match)
    jobset.take(JobDone(played(2), 0))
    assert [task.job for task in jobset.take(JobLost(0, "killed", 0))] == [Unit(0)]
    assert jobset.take(JobLost(2, "killed", 0)) == [], "it is there"
    assert match.retried == 1
    for _ in range(MAX_ATTEMPTS - 2):
        jobset.take(JobLost(0, "killed", 0))
    with pytest.raises(UnitFailed, match="game 1 was lost 5 times; the last time: killed"):
        jobset.take(JobLost(0, "killed", 0))


def test_a_game_that_raises_ends_the_match() -> None:
    jobset = jobset_of(Match(CONTEXT, 4))
    with pytest.raises(UnitFailed, match=r"^the match failed: player x answered"):
        jobset.take(JobFailed(1, "PlayerFailed: player x answered 7", 0))
    raised = ValueError("a rule of somebody's game")
    with pytest.raises(ValueError, match="a rule of"):
        jobset.take(JobFailed(0, "ValueError: a rule of somebody's game", 0, raised))
    jobset.cancel()
    jobset.check()
    assert jobset.units.stopped_by == "cancelled"
    assert jobset.take(JobFailed(2, "too late to matter", 0)) == []
    assert jobset.take(JobLost(3, "too late to matter", 0)) == []


def test_a_sequential_test_decides_the_same_in_whatever_order_games_end() -> None:
    draw = random.Random(1)
    gained = {index: draw.choice([1.0, 1.0, 1.0, 0.0]) for index in range(60)}
    decisions, standings = set(), set()
    for seed in range(6):
        order = list(range(60))
        if seed:
            random.Random(seed).shuffle(order)
        match = Match(CONTEXT, 60, Sprt(0, 100))
        for index in order:
            match.add(index, record_of(index, gained[index]))
        assert match.stopped_by == "sprt"
        decisions.add(match.decision)
        standings.add(str(match.standing().all))
    assert len(decisions) == 1
    assert len(standings) == 1
    (decision,) = decisions
    assert decision.accepted == "elo1"
    assert decision.pairs < 30
    again = Match(CONTEXT, 60, Sprt(0, 100), [record_of(index, gained[index]) for index in gained])
    assert (again.stopped_by, again.decision) == ("sprt", decision)


def test_a_standing_from_both_sides() -> None:
    gained = {0: 1.0, 1: 1.0, 2: 1.0, 3: -1.0, 4: 0.0, 5: -1.0, 6: 1.0}
    standing = Standing({index: record_of(index, value) for index, value in gained.items()})
    assert standing.all == Tally(4, 1, 2)
    assert standing.as_first == Tally(3, 1, 0)
    assert standing.as_second == Tally(1, 0, 2)
    assert standing.first_player == Tally(5, 1, 1)
    assert standing.pair_scores == [1.0, 0.5, 0.25], "game 7 waits for its twin"
    assert standing.pair_tally == Tally(1, 1, 1)
    assert standing.score == pytest.approx(7 / 12)
    assert not standing.has_margins
    assert standing.different_games == 7


@pytest.mark.parametrize(
    ("gained", "text"),
    [
        ([1.0, 1.0], "at least -234 (95 %: all that 2 such games can show)"),
        ([-1.0] * 20, "at most -166 (95 %: all that 20 such games can show)"),
        ([1.0, 1.0, 1.0, 1.0, 1.0, -1.0], "+280 (95 %: at least -353)"),
        ([1.0, 1.0, -1.0, -1.0], "unknown: 2 pairs of games bound it on no side"),
    ],
)
def test_no_elo_is_infinite(gained: list[float], text: str) -> None:
    assert elo_text(Standing({index: record_of(index, value) for index, value in enumerate(gained)})) == text


def test_the_sum_of_margins_decides_a_pair() -> None:
    """A loses more games than it wins, and wins the pair: 8 points ahead in one, 3 behind in the other."""
    standing = Standing({0: record_of(0, 8 / 32), 1: record_of(1, -3 / 32)})
    assert standing.has_margins
    assert standing.pair_tally == Tally(1, 0, 0)
    assert standing.pair_scores == [0.5]
    assert standing.mean_pair_return[0] * 32 == pytest.approx(5)
    assert standing.to_json(32)["pairs"]["mean_margin"] == pytest.approx(5)


def test_pairs_scored_by_margins_are_won_or_lost_as_a_whole() -> None:
    """As where each plays alone: what a game brings is compared with its twin, and not with nothing."""
    games = {i: record_of(i, value) for i, value in enumerate((0.75, -0.5, 0.25, -0.25, -0.75, 0.5))}
    assert Standing(games, "margins").pair_scores == [1.0, 0.5, 0.0]
    assert Standing(games).pair_scores == [0.5, 0.5, 0.5]
    better = [record_of(i, -0.5 if i % 2 else 0.75) for i in range(60)]
    decided = Match(CONTEXT, 60, Sprt(0, 100), better, "margins")
    assert decided.decision.accepted == "elo1"


def test_effort_goes_to_the_player_whatever_its_side() -> None:
    a, b = Effort(2, 1.0, 0.75, 20, 2), Effort(3, 9.0, 4.0, 300, 30)
    standing = Standing({0: record_of(0, 1.0, (a, b)), 1: record_of(1, 1.0, (b, a))})
    assert standing.efforts == (Effort(4, 2.0, 0.75, 40, 4), Effort(6, 18.0, 4.0, 600, 60))
    efforts = standing.to_json(1)["efforts"]["a"]
    assert (efforts["mean_s"], efforts["simulations_per_move"]) == (0.5, 10.0)


def test_nothing_played_says_nothing() -> None:
    standing = Standing({})
    assert (standing.score, standing.score_interval) == (0.5, (0.0, 1.0))
    answer = standing.to_json(1)
    assert answer["elo_interval"] == [None, None]
    assert answer["games"] == 0
