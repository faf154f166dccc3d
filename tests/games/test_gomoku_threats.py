"""Gomoku's forced wins against a search that knows nothing but which cells make five."""

import random
from itertools import product

import numpy as np
import pytest

import games
from games.game import State
from games.gomoku import Gomoku
from games.rules import KEPT

MEMORY = np.zeros(KEPT, dtype=np.uint64)
"""Of all positions of all boards, as a search has it."""
Stones = dict[tuple[int, int], int]


def positions(game: Gomoku, count: int, seed: int) -> list[State]:
    """Unfinished positions, with stones close together."""
    draws, found = random.Random(seed), list[State]()
    while len(found) < count:
        state = game.initial_state()
        for _ in range(draws.randrange(6, game.size * game.size // 2)):
            if game.calls.is_terminal(state):
                break
            game.calls.play(state, draws.choice(game.legal_moves(state)))
        if not game.calls.is_terminal(state):
            found.append(state)
    return found


def decisive(game: Gomoku, state: State) -> tuple[bool, set[int]]:
    """Whether the only move wins, and the moves."""
    moves, scratch = np.zeros((2, game.max_moves), dtype=np.uint16)
    assert game.calls.decisive_moves is not None
    count = game.calls.decisive_moves(state, moves, scratch, MEMORY)
    return count < 0, set(moves[: abs(count)].tolist() or game.legal_moves(state))


def stones_of(game: Gomoku, state: State) -> Stones:
    owners = game.owners(state[None])[0]
    cells = product(range(game.size), repeat=2)
    return {(r, c): int(owners[r, c]) - 1 for r, c in cells if owners[r, c]}


def wins_by_fours(game: Gomoku, stones: Stones, player: int) -> bool:
    """Whether ``player``, who is to move, wins by fours alone."""
    if fives(game, stones, player):
        return True
    must = fives(game, stones, 1 - player)
    free = [cell for cell in product(range(game.size), repeat=2) if cell not in stones]
    for cell in must if len(must) == 1 else [] if must else free:
        after = stones | {cell: player}
        replies = fives(game, after, player)
        if len(replies) > 1:
            return True
        if replies and wins_by_fours(game, after | {replies[0]: 1 - player}, player):
            return True
    return False


def fives(game: Gomoku, stones: Stones, player: int) -> list[tuple[int, int]]:
    """The empty cells with which the player has five."""
    cells = product(range(game.size), repeat=2)
    return [cell for cell in cells if cell not in stones and makes_five(game, stones, cell, player)]


def makes_five(game: Gomoku, stones: Stones, cell: tuple[int, int], player: int) -> bool:
    for step in ((0, 1), (1, 0), (1, 1), (1, -1)):
        length = 1
        for sign in (1, -1):
            r, c = cell[0] + sign * step[0], cell[1] + sign * step[1]
            while stones.get((r, c)) == player:
                length, r, c = length + 1, r + sign * step[0], c + sign * step[1]
        if length == 5 or (length > 5 and game.overline == "wins"):
            return True
    return False


@pytest.mark.parametrize("spec", ["size=6", "size=7", "size=7,overline=not", "size=7,candidates=2"])
def test_what_is_said_to_win_wins_and_what_is_left_out_loses(spec: str) -> None:
    game = games.load(f"gomoku:{spec}")
    assert isinstance(game, Gomoku)
    seen = {"won": 0, "defended": 0, "quiet": 0, "overlooked": 0}
    for state in positions(game, 60, seed=5):
        mover, stones = int(game.calls.current_player(state)), stones_of(game, state)
        legal = set(game.legal_moves(state))
        wins, moves = decisive(game, state)
        won = wins_by_fours(game, stones, mover)
        assert won or not wins, game.format_position(state)
        assert moves <= legal
        seen["overlooked"] += won and not wins
        seen["won" if wins else "quiet" if moves == legal else "defended"] += 1
        for move in moves if wins else ():
            after = stones | {divmod(move, game.size): mover}
            replies = fives(game, after, mover)
            won = makes_five(game, stones, divmod(move, game.size), mover) or len(replies) > 1
            assert won or wins_by_fours(game, after | {replies[0]: 1 - mover}, mover)
        for move in set() if wins else legal - moves:
            after = stones | {divmod(move, game.size): mover}
            assert wins_by_fours(game, after, 1 - mover), (game.format_position(state), move)
    # It looks at a limited number of positions.
    assert seen.pop("overlooked") <= 1, seen
    assert min(seen.values()) > 0, seen


def test_cells_near_to_stones_alone_are_no_place_for_fours() -> None:
    game = games.load("gomoku:size=9,candidates=1")
    state = game.initial_state()
    game.play_text(state, ["e5", "e6", "f5", "f6", "g5"])
    assert decisive(game, state) == (False, set(game.legal_moves(state)))
