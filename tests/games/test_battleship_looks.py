"""Battleship: what a position is worth before any search, and how good shots look, each counted plainly."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import numpy as np
import pytest

import games
from games.battleship import Battleship, rules
from games.game import State
from games.rng import new_stream
from tests.games.common import JIT, start

GAMES = 8 if JIT else 2
SPECS = [
    "battleship:task=solo,announce_sunk=yes",
    "battleship:task=solo,size=6,fleet=1-4-2-2,touch=no_side",
    "battleship:size=12,fleet=6-6-1,announce_sunk=yes",
]


def positions(spec: str) -> list[tuple[Battleship, State]]:
    """Of random games, a few from each; the shooter at turn in a race is either one."""
    game = games.load(spec)
    assert isinstance(game, Battleship)
    found = []
    for seed in range(GAMES):
        draw, state = random.Random(seed), start(game, seed)
        while not game.calls.is_terminal(state):
            if draw.random() < 0.15:
                found.append((game, state.copy()))
            game.calls.play(state, draw.choice(game.legal_moves(state)))
    return found


def shot_at(state: State, side: int) -> list[list[int]]:
    """By row and column: what the shooter's cells hold."""
    area, size = int(state[rules.AREA]), int(state[rules.SIZE])
    first = rules.CELLS + side * area
    return [[int(v) for v in state[first + r * size : first + (r + 1) * size]] for r in range(size)]


@cache
def lines(size: int, length: int) -> list[list[tuple[int, int]]]:
    """All ways for one ship to lie."""
    across = [[(r, c + i) for i in range(length)] for r in range(size) for c in range(size - length + 1)]
    down = [[(c, r) for r, c in line] for line in across]
    return across if length == 1 else across + down


@pytest.mark.parametrize("spec", SPECS)
def test_lines_on_untried_cells_are_counted(spec: str) -> None:
    for game, state in positions(spec):
        for side in range(game.num_sides):
            cells = shot_at(state, side)
            room = int(rules.lines_of(state, rules.CELLS + side * game.size**2))
            for length in range(1, rules.LONGEST + 1):
                free = [
                    line for line in lines(game.size, length) if all(cells[r][c] & 15 == 0 for r, c in line)
                ]
                assert room >> (rules.COUNT_BITS * (length - 1)) & rules.COUNT == len(free)


@pytest.mark.parametrize("spec", SPECS)
def test_a_position_is_worth_what_a_practised_shooter_makes_of_it(spec: str) -> None:
    """The mean of the largest of independent uniform numbers, by a sum over a fine grid."""
    for game, state in positions(spec):
        for side in range(game.num_sides):
            cells = [value for row in shot_at(state, side) for value in row]
            left = Counter(value >> 4 for value in cells if value >> 4 and value & 15 == 0)
            untried = sum(value & 15 == 0 for value in cells)
            searches = []
            for ship, length in enumerate(game.lengths):
                if left[ship + 1] == length:
                    rows = shot_at(state, side)
                    free = sum(
                        all(rows[r][c] & 15 == 0 for r, c in line) for line in lines(game.size, length)
                    )
                    free *= 2 if length == 1 else 1
                    searches.append((untried * free / 2) ** 0.5 / length)
            afloat = sum(0 < left[ship + 1] < length for ship, length in enumerate(game.lengths))
            misses = 0.3 * afloat
            if searches:
                grid = (np.arange(20_000) + 0.5) / 20_000 * max(searches)
                found = np.prod([np.minimum(1.0, grid / search) for search in searches], axis=0)
                misses += float((1.0 - found).mean()) * max(searches)
            expected = min(untried, sum(left.values()) + misses)
            assert rules.shots_to_come(state, side) == pytest.approx(expected, abs=1e-3)


def test_what_is_to_come_is_a_return() -> None:
    alone = games.load(SPECS[0])
    state = start(alone, 1)
    shots = rules.shots_to_come(state, 0)
    assert 40 < shots < 55
    assert alone.calls.evaluate(state) == pytest.approx(1 - 2 * (shots - 17) / 83)
    alone.calls.play(state, 0)
    # A shot that awaits its answer has told nothing yet.
    assert alone.calls.evaluate(state) == pytest.approx(1 - 2 * (shots - 17) / 83)
    race = games.load("battleship")
    state = start(race, 1)
    assert race.calls.evaluate(state) == 0.0
    ship = next(cell for cell in range(100) if state[rules.CELLS + cell] >> 4)
    race.calls.play(state, ship)
    race.calls.play(state, race.legal_moves(state)[0])
    assert race.calls.evaluate(state) > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
def test_a_shot_looks_as_good_as_placements_of_ships_afloat_cover_it(spec: str) -> None:
    for game, state in positions(spec):
        if state[rules.PENDING]:
            assert game.calls.priority(state, game.size**2) == 0.0
            continue
        side = int(state[rules.SHOOTER])
        cells = shot_at(state, side)
        block = rules.block_of(side)
        announced = bool(state[rules.ANNOUNCE])
        sunk = {k + 1 for k in range(len(game.lengths)) if state[block + rules.SUNK_SET] >> k & 1}
        expected = Counter[int]()
        for ship, length in enumerate(game.lengths):
            if ship + 1 in sunk:
                continue
            for line in lines(game.size, length):
                # A ship of one cell lies across and down alike, and counts as both.
                values = [cells[r][c] for r, c in line]
                if any(v & 15 == 1 or (announced and v & 15 and v >> 4 in sunk) for v in values):
                    continue
                weight = 100 ** sum(v & 15 > 1 for v in values) * (2 if length == 1 else 1)
                expected.update({r * game.size + c: weight for r, c in line})
        legal = game.legal_moves(state)
        looks = {move: game.calls.priority(state, move) for move in legal}
        assert looks == {move: expected[move] for move in legal}
        best = [move for move in legal if looks[move] == max(looks.values())]
        moves = np.zeros(game.max_moves, dtype=np.uint16)
        drawn = {int(game.calls.greedy_move(state, moves, new_stream(n))) for n in range(40)}
        assert drawn <= set(best)
        assert len(best) == 1 or len(drawn) > 1


def test_whose_hits_are_sunk_is_not_known_before_fleets_are_dealt() -> None:
    """On paper only the shot that sank it certainly belongs to a ship that sank."""
    game = games.load(SPECS[0])
    state = game.initial_state()
    game.play_text(state, ["a1", "hit", "b1", "hit", "c1", "sunk-destroyer"])
    # b1 may be the destroyer's other cell or not: c1 is out of play, a1 and b1 count as hits.
    assert game.calls.priority(state, 99) < rules.HIT_WEIGHT <= game.calls.priority(state, 10)
    state = game.initial_state()
    game.play_text(state, ["a1", "hit", "b1", "sunk-destroyer"])
    assert game.calls.priority(state, 10) < rules.HIT_WEIGHT
