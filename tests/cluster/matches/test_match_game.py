"""One game of a match: what players are shown, what is drawn from which seed, what is measured."""

from __future__ import annotations

import numpy as np
import pytest

import games
from cluster.matches.game import (
    MatchContext,
    MatchWorker,
    PlayerFailed,
    play_game,
    start_of,
)
from cluster.matches.record import GameRecord
from cluster.runtime.jobset import Unit
from games.battleship import rules as battleship
from games.errors import InvalidInput
from games.tictactoe import TicTacToe
from search.players import Player
from tests.cluster.match_players import Illegal, Peeks, Raises, Slow, make

SMALL_FLEET = "battleship:size=5,fleet=3-2"


def context_of(
    game: str, a: str = "random", b: str = "random", plies: int = 0, seed: int = 7
) -> MatchContext:
    return MatchContext(games.load(game).spec, None, (a, b), seed, plies)


def played(context: MatchContext, index: int) -> GameRecord:
    return MatchWorker(make).run(context, Unit(index)).found


def replayed(record: GameRecord) -> float:
    """The return of the game that the record tells."""
    game = games.load(record.game)
    state = record.start_state(game)
    game.play_text(state, record.moves)
    return float(game.calls.returns(state))


@pytest.mark.parametrize(
    "game", ["tictactoe", "gomoku:size=5", "morris:variant=three", "grundy", SMALL_FLEET]
)
def test_a_game_is_a_function_of_seed_and_number_and_its_record_replays(game: str) -> None:
    context = context_of(game, plies=2 if game != SMALL_FLEET else 0)
    first = played(context, 4)
    again = played(context, 4)
    assert (again.moves, again.result, again.start) == (first.moves, first.result, first.start)
    assert replayed(first) == first.result
    others = {played(context, index).moves for index in range(0, 12, 2)}
    assert len(others) > 1


def test_both_games_of_a_pair_have_one_opening_and_sides_swapped() -> None:
    context = context_of("gomoku:size=5", "first", "random", plies=3)
    for pair in range(4):
        one, two = played(context, 2 * pair), played(context, 2 * pair + 1)
        assert one.seats == ("first", "random")
        assert two.seats == ("random", "first")
        assert one.opening == two.opening == 3
        assert one.moves[:3] == two.moves[:3]
        assert (one.pair, one.leg, two.pair, two.leg) == (pair + 1, 1, pair + 1, 2)
    assert len({start_of(context, context.load_game(), pair)[1] for pair in range(8)}) > 4


def test_no_opening_ends_the_game() -> None:
    short = context_of("grundy:pile=3", plies=2)
    assert start_of(short, short.load_game(), 0)[1] == (), "its only move ends it"
    nearly = context_of("tictactoe", plies=8)
    game = nearly.load_game()
    for pair in range(20):
        assert not game.calls.is_terminal(start_of(nearly, game, pair)[0])


def test_forced_moves_are_nobodys_and_every_other_move_has_a_seed_of_its_own() -> None:
    context = context_of("tictactoe")
    one, two = Peeks("one"), Peeks("two")
    record = play_game(context, context.load_game(), (one, two), 0)
    assert all(len(seen.legal) > 1 for seen, _ in one.seen + two.seen)
    assert [seen.mover for seen, _ in one.seen] == [games.FIRST] * len(one.seen)
    seeds = [seed for _, seed in one.seen + two.seen]
    assert len(set(seeds)) == len(seeds)
    assert len(one.seen) + len(two.seen) == min(8, len(record.moves))
    assert (record.efforts[0].moves, record.efforts[1].moves) == (len(one.seen), len(two.seen))


def test_honest_players_never_see_a_fleet_and_omniscient_ones_do() -> None:
    context = context_of(SMALL_FLEET)
    game = context.load_game()
    honest, cheat = Peeks("honest"), Peeks("cheat", omniscient=True)
    record = play_game(context, game, (honest, cheat), 0)
    assert record.start is not None
    assert "fleet=" in record.start
    cells = slice(battleship.CELLS, battleship.CELLS + 50)
    for seen, _ in honest.seen:
        assert not (seen.state[cells] >> 4).any()
        assert not seen.state[battleship.DEALT]
    for seen, _ in cheat.seen:
        assert (seen.state[cells] >> 4).any()


@pytest.mark.slow
def test_players_are_shown_the_position_with_its_past() -> None:
    """In the mill games positions must not repeat: that is part of the state, and not of its text."""
    context = context_of("morris:variant=six")
    one, two = Peeks("one"), Peeks("two")
    record = play_game(context, context.load_game(), (one, two), 0)
    game = context.load_game()
    state = game.initial_state()
    positions = [state.copy()]
    for move in record.moves:
        game.play_text(state, [move])
        positions.append(state.copy())
    shown = [seen.state for seen, _ in one.seen + two.seen]
    assert all(any(np.array_equal(state, there) for there in positions) for state in shown)
    forgetful = [game.canonical(state) for state in positions]
    assert any(not any(np.array_equal(state, there) for there in forgetful) for state in shown)


def test_an_illegal_answer_and_an_exception_name_the_player() -> None:
    context = context_of("tictactoe")
    game = context.load_game()
    for player, words in ((Illegal("illegal:x=1"), "not legal"), (Raises("raises:x=1"), "ZeroDivisionError")):
        with pytest.raises(PlayerFailed, match=words) as caught:
            play_game(context, game, (Peeks("honest"), player), 0)
        assert player.spec in str(caught.value)


def test_effort_is_the_time_of_the_clock_that_it_is_given() -> None:
    ticks = iter(range(1000))
    context = context_of("tictactoe")
    players: tuple[Player, Player] = (make("first", context.load_game()), Peeks("two"))
    record = play_game(context, context.load_game(), players, 0, clock=lambda: float(next(ticks)))
    effort = record.efforts[0]
    assert (effort.cpu_s, effort.longest_s) == (effort.moves, 1.0)
    assert (effort.simulations, effort.nodes) == (10 * effort.moves, 3 * effort.moves)


def test_sleeping_costs_no_cpu() -> None:
    context = context_of("tictactoe")
    record = play_game(context, context.load_game(), (Slow("a"), Slow("b")), 0)
    assert record.efforts[0].cpu_s < 0.003 * record.efforts[0].moves / 2


def test_a_game_that_goes_on_for_ever_is_an_error() -> None:
    context = context_of("tictactoe")
    game = TicTacToe()
    game.max_plies = 4
    with pytest.raises(PlayerFailed, match="is not over after 4 plies"):
        play_game(context, game, (Peeks("a"), Peeks("b")), 0)


def test_given_openings_go_round_and_must_be_legal() -> None:
    openings = (("b2", "a1"), ("a1",))
    context = MatchContext(games.load("tictactoe").spec, None, ("random", "random"), 0, 2, openings)
    game = context.load_game()
    assert [start_of(context, game, pair)[1] for pair in range(3)] == [openings[0], openings[1], openings[0]]
    wrong = MatchContext(context.game, None, context.players, 0, 2, (("b2", "b2"),))
    with pytest.raises(InvalidInput) as caught:
        start_of(wrong, game, 0)
    assert (caught.value.field, caught.value.value) == ("openings", "b2")
    over = MatchContext(context.game, None, context.players, 0, 2, (("a1", "a2", "b1", "b2", "c1"),))
    with pytest.raises(InvalidInput, match="not over"):
        start_of(over, game, 0)
