"""What every game must keep to (see games/game.py), over random games of each."""

from __future__ import annotations

import re
from copy import copy
from itertools import permutations

import numpy as np
import pytest

import games
from games import Game
from games.board import draw
from games.compile.rule_stubs import DEFAULTS
from games.compile.specialise import specialise
from games.contract import checking
from games.contract.trial import is_return
from games.game import CHANCE, State
from games.rng import new_stream
from tests.games.common import (
    JIT,
    SPECS,
    load_all,
    plain,
    plain_rules,
    random_game,
    random_position,
    sample,
)

GAMES = pytest.mark.parametrize("game", load_all(), ids=SPECS)
HIDDEN_SPECS = [spec for spec in SPECS if games.load(spec).hidden_information]
HIDDEN = pytest.mark.parametrize("game", [games.load(spec) for spec in HIDDEN_SPECS], ids=HIDDEN_SPECS)
CHANCE_SPECS = [spec for spec in SPECS if games.load(spec).has_chance]
# Where something is hidden or chance moves, a move may be the answer to the one before it, and one player's
# moves may all depend on each other: they cannot change places.
OPEN_SPECS = [
    spec for spec in SPECS if spec not in HIDDEN_SPECS + CHANCE_SPECS and games.load(spec).is_two_player
]
OPEN = pytest.mark.parametrize("game", [games.load(spec) for spec in OPEN_SPECS], ids=OPEN_SPECS)
SEEDS = range(2 if JIT else 1)


@pytest.mark.slow
@pytest.mark.skipif(not JIT, reason="beside compiled rules it plays those in plain Python as well")
@GAMES
def test_a_game_keeps_to_the_contract(game: Game) -> None:
    assert checking.check(game, games=1) is None


@GAMES
def test_spec_reads_back_as_the_same_game(game: Game) -> None:
    again = games.load(game.spec)
    assert again.spec == game.spec
    assert again.options == game.options
    assert np.array_equal(again.initial_state(), game.initial_state())


@OPEN
def test_canonical_state_does_not_depend_on_the_order_of_moves(game: Game) -> None:
    if game.name == "explicit":
        pytest.skip("a branch of a tree is nothing but its place at its node")
    num_orders = 0
    for seed in range(10):
        history = list(random_game(game, seed, max_plies=5))
        first, second, third, fourth, fifth = (move for _, _, move in history)
        # From the first move of a stone up to the next placement every position is remembered, since it must
        # not come again: which ones these are does depend on the order. Lasker's stones move that early.
        remembers = game.options.get("repetition", "none") != "none"
        if remembers and any("-" in game.format_move(position, move) for position, _, move in history):
            continue
        states = []
        for ours in permutations((first, third, fifth)):
            for theirs in permutations((second, fourth)):
                moves = [ours[0], theirs[0], ours[1], theirs[1], ours[2]]
                state = game.initial_state()
                if all(_play_if_legal(game, state, move) for move in moves):
                    states.append(game.canonical(state))
        # Where pieces are taken or fall onto others, another order can lead to another position.
        text = game.format_position(states[0])
        alike = [game.format_position(state) == text for state in states]
        assert [np.array_equal(state, states[0]) for state in states] == alike
        pieces_are_taken = ("breakthrough", "chinese_checkers", "connect_four", "hex", "othello", "thud")
        assert all(alike) or game.name in pieces_are_taken
        num_orders += len(states)
    assert num_orders > 10


def _play_if_legal(game: Game, state: State, move: int) -> bool:
    if move not in game.legal_moves(state):
        return False
    game.rules.play(state, move)
    return True


@GAMES
def test_boards_show_every_move_where_it_was_made(game: Game) -> None:
    for state, _, move in random_game(game, seed=2):
        mover = game.rules.current_player(state)
        before = state.copy()
        game.rules.play(state, move)
        board, position = game.board(state, move), game.format_position(state)
        assert position == position.strip() and "\n" not in position
        cell = game.cells_of(move)
        if cell is None:
            # An answer to a shot is shown at the shot; a split of a pile at both its parts; a pass nowhere,
            # nor does it show where all tiles went.
            nowhere = game.format_move(before, move) in ("pass", "up", "right", "down", "left")
            assert (
                nowhere or game.hidden_information or any(each.last for cells in board.rows for each in cells)
            )
            continue
        row, column = cell
        if game.name == "connect_four":
            # A stone falls from the cell at the top to the first one that is taken below it.
            row = next(r for r in range(row, len(board.rows)) if board.rows[r][column].owner is not None)
        assert board.rows[row][column].last
        # A stone that was removed is nobody's any more.
        assert board.rows[row][column].owner in (mover, None)
        # In Chinese checkers a move has a start and an end.
        shown = sum(each.last for cells in board.rows for each in cells)
        assert shown == 1 or (shown == 2 and game.name == "chinese_checkers")
        label = board.column_labels[column] + board.row_labels[row]
        text = game.format_move(before, move)
        if game.name == "connect_four":
            assert label.startswith(text)
        else:
            # Cells run on in Breakthrough: a2a3.
            assert label in re.findall("[a-zA-Z][0-9]+", text)
    assert len(draw(board, colour=False).splitlines()) == len(board.rows) + 1


@pytest.mark.parametrize("spec", [spec for spec in SPECS if games.load(spec).rules.playout is not None])
def test_playout_plays_as_the_default_playout_does_from_later_positions_too(spec: str) -> None:
    game = games.load(spec)
    begin = random_position(game, 23, 7)
    number = 5_000 if JIT else 12
    lengths, results = sample(game, begin, number, 29, own=True)
    twin = game.playout_game
    twin_begin = begin if twin is game else twin.parse_position(game.format_position(begin))
    default_lengths, default_results = sample(twin, twin_begin, number, 31, own=False)
    assert lengths.min() >= 1
    assert lengths.max() <= game.max_plies
    assert is_return(game, results.min()) and is_return(game, results.max())
    for ours, theirs in ((lengths, default_lengths), (results, default_results)):
        error = np.sqrt((ours.var() + theirs.var()) / number)
        assert abs(ours.mean() - theirs.mean()) <= 5 * error


@pytest.mark.parametrize("spec", [spec for spec in SPECS if games.load(spec).rewards])
def test_the_score_so_far_is_part_of_every_position(spec: str) -> None:
    game = games.load(spec)
    scores = [0.0]
    for state, _, move in random_game(game, seed=6):
        assert game.rules.returns(state) == scores[-1]
        assert game.rules.returns(game.canonical(state)) == scores[-1]
        game.rules.play(state, move)
        scores.append(game.rules.returns(state))
    assert np.isfinite(scores).all() and len(set(scores)) > 1


@HIDDEN
@pytest.mark.parametrize("plies", [0, 4, 40])
def test_compiled_draws_of_what_is_hidden_equal_their_plain_twins(game: Game, plies: int) -> None:
    twin = plain_rules(game.rules)
    assert game.rules.determinize is not None and twin.determinize is not None
    # No view need exist where there is nothing to choose.
    position = [state for state, moves, _ in random_game(game, 17, plies + 1) if len(moves) > 1][-1]
    view = game.observation(position, games.FIRST)
    streams = [new_stream(19), new_stream(19)]
    for _ in range(5):
        states = [position.copy(), np.zeros_like(position)]
        game.rules.determinize(view, states[0], streams[0])
        twin.determinize(view, states[1], streams[1])
        assert np.array_equal(states[0], states[1])
        assert np.array_equal(streams[0], streams[1])


@HIDDEN
def test_draws_of_what_is_hidden_are_whole_positions_that_look_the_same(game: Game) -> None:
    for seed in SEEDS:
        stream = new_stream(seed)
        choices = [(state, moves) for state, moves, _ in random_game(game, seed) if len(moves) > 1]
        for state, moves in choices[:: max(len(choices) // (12 if JIT else 2), 1)]:
            for observer in (games.FIRST, games.SECOND):
                view = game.observation(state, observer)
                drawn = state.copy()
                game.calls.determinize(view, drawn, stream)
                assert np.array_equal(game.observation(drawn, observer), view)
                assert game.rules.current_player(drawn) == game.rules.current_player(state)
                assert np.array_equal(game.canonical(drawn), drawn)
                assert len(game.legal_moves(drawn)) == len(moves)


WITH_GREEDY_MOVE = [spec for spec in SPECS if games.load(spec).rules.greedy_move is not None]
WITH_RANDOM_MOVE = [spec for spec in SPECS if games.load(spec).rules.random_move is not None]
WITH_EVALUATORS = [spec for spec in SPECS if games.load(spec).evaluators]


def best_looking(game: Game, state: State) -> list[int]:
    """The legal moves of the highest priority."""
    assert game.calls.priority is not None
    looks = {move: game.calls.priority(state, move) for move in game.legal_moves(state)}
    return [move for move, look in looks.items() if look == max(looks.values())]


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        *((spec, "greedy_move") for spec in WITH_GREEDY_MOVE),
        *((spec, "random_move") for spec in WITH_RANDOM_MOVE),
    ],
)
def test_drawn_moves_are_uniform_over_the_best_or_all_and_the_same_compiled(
    spec: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "DRAWS_A_MOVE", 200 if JIT else 20)
    game = games.load(spec)
    default = copy(game)
    default.rules = game.rules._replace(**{rule: specialise([DEFAULTS[rule]], game)[rule]})
    # Uncompiled, a list for each draw takes minutes, and so do lists for draws of all moves.
    drawing = (game, default) if JIT and rule == "greedy_move" else (game,)
    for plies in (0, 1, 9, 30, 45, 100) if JIT else (0, 31):
        state = random_position(game, 5, plies)
        if game.calls.current_player(state) != CHANCE:
            best = best_looking(game, state) if rule == "greedy_move" else game.legal_moves(state)
            for each in drawing:
                checking.check_draws(each, rule, state, dict.fromkeys(best, 1 / len(best)), plies, 43)


@pytest.mark.parametrize("spec", WITH_EVALUATORS)
def test_evaluators_stay_in_bounds_and_change_nothing(spec: str) -> None:
    game = games.load(spec)
    assert game.rules.evaluate in [evaluator.rule for evaluator in game.evaluators.values()]
    for evaluator in game.evaluators.values():
        twin = plain(evaluator.rule)
        for ply, (state, _, move) in enumerate(random_game(game, seed=17)):
            if ply % (1 if JIT else 16) == 0:
                before = state.copy()
                assert evaluator.rule(state) == twin(state)
                assert is_return(game, twin(state))
                assert np.array_equal(state, before)
            game.rules.play(state, move)
            if game.rules.is_terminal(state) and evaluator.finished:
                assert evaluator.rule(state) == twin(state)
                assert is_return(game, twin(state))
