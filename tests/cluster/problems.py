"""Small problems beyond two players and a return at the end, in plain Python: nothing is compiled."""

from __future__ import annotations

from pathlib import Path

WALK = '''
"""One player takes six steps: up is worth 3 at odd steps, down 2 at even ones; the best line is worth 15."""
from games import PythonGame


class Position:
    def __init__(self):
        self.steps, self.score = 0, 0

    def current_player(self):
        return 0

    def legal_moves(self):
        return [0, 1]

    def play(self, move):
        self.steps += 1
        self.score += 3 * move if self.steps % 2 else 2 * (1 - move)

    def is_terminal(self):
        return self.steps == 6

    def returns(self):
        return float(self.score)

    def format_move(self, move):
        return ("down", "up")[move]

    def __str__(self):
        return f"step {self.steps}, score {self.score}"


class Walk(PythonGame):
    max_moves, max_plies, num_players, rewards, player_names = 2, 6, 1, True, ("walker",)

    def new_position(self):
        return Position()
'''

URN = '''
"""One player draws from an urn, or stops: chance says how much a draw is worth, or that all is lost."""
from games import CHANCE, PythonGame


class Position:
    def __init__(self):
        self.plies, self.score, self.drawing, self.over = 0, 0, False, False

    def current_player(self):
        return CHANCE if self.drawing else 0

    def legal_moves(self):
        return [0, 1, 2] if self.drawing else [0, 1]

    def chance_outcomes(self):
        return [(0, 0.125), (1, 0.5), (2, 0.375)]

    def play(self, move):
        self.plies += 1
        if self.drawing:
            self.score = self.score + move if move else 0
            self.over = move == 0 or self.plies >= 8
        else:
            self.over = move == 0
        self.drawing = not self.drawing and not self.over

    def is_terminal(self):
        return self.over

    def returns(self):
        return float(self.score)

    def format_move(self, move):
        return f"+{move}" if self.drawing else ("stop", "draw")[move]

    def __str__(self):
        return f"score {self.score}"


class Urn(PythonGame):
    max_moves, max_plies, num_players, rewards, player_names = 3, 8, 1, True, ("drawer",)
    chance_moves = True

    def new_position(self):
        return Position()
'''

DUEL = '''
"""Two players in turn throw a die of three sides, or pass; the higher sum wins."""
from games import CHANCE, PythonGame


class Position:
    def __init__(self):
        self.turn, self.sums, self.throwing = 0, [0, 0], False

    def current_player(self):
        return CHANCE if self.throwing else self.turn % 2

    def legal_moves(self):
        return [1, 2, 3] if self.throwing else [0, 1]

    def chance_outcomes(self):
        return [(1, 0.25), (2, 0.25), (3, 0.5)]

    def play(self, move):
        if self.throwing:
            self.sums[self.turn % 2] += move
        self.throwing = not self.throwing and move == 1
        self.turn += not self.throwing

    def is_terminal(self):
        return self.turn == 4

    def returns(self):
        return float((self.sums[0] > self.sums[1]) - (self.sums[0] < self.sums[1]))

    def format_move(self, move):
        return f"={move}" if self.throwing else ("pass", "throw")[move]

    def __str__(self):
        return f"{self.sums[0]}:{self.sums[1]}"


class Duel(PythonGame):
    max_moves, max_plies, opening_plies, player_names = 3, 8, 0, ("white", "black")
    chance_moves = True

    def new_position(self):
        return Position()
'''

SHARE = '''
"""Three players in turn take 0, 1 or 2; before each round but the first a throw says who gets one more."""
from games import CHANCE, PythonGame


class Position:
    def __init__(self):
        self.ply, self.got = 0, [0, 0, 0]

    def current_player(self):
        return CHANCE if self.ply % 4 == 3 else self.ply % 4

    def legal_moves(self):
        return [0, 1, 2]

    def chance_outcomes(self):
        return [(0, 0.25), (1, 0.25), (2, 0.5)]

    def play(self, move):
        if self.ply % 4 == 3:
            self.got[move] += 1
        else:
            self.got[self.ply % 4] += move
        self.ply += 1

    def is_terminal(self):
        return self.ply == 7

    def returns(self):
        return [float(each) for each in self.got]

    def __str__(self):
        return " ".join(map(str, self.got))


class Share(PythonGame):
    max_moves, max_plies, num_players, player_names = 3, 7, 3, ("red", "green", "blue")
    rewards, chance_moves, opening_plies = True, True, 0

    def new_position(self):
        return Position()
'''

DRIFT = '''
"""One player steers against a wind that the rules draw: an open loop, whose episodes differ."""
import random

from games import PythonGame


class Position:
    def __init__(self, episode):
        self.draws, self.place, self.steps, self.score = random.Random(episode), 0, 0, 0

    def reseed(self, seed):
        self.draws = random.Random(seed)

    def current_player(self):
        return 0

    def legal_moves(self):
        return [0, 1, 2]

    def play(self, move):
        self.place += move - 1 + self.draws.choice((-1, 0, 0, 1))
        self.steps += 1
        self.score -= abs(self.place)

    def is_terminal(self):
        return self.steps == 5

    def returns(self):
        return float(self.score)

    def __str__(self):
        return f"place {self.place}"


class Drift(PythonGame):
    max_moves, max_plies, num_players, player_names = 3, 5, 1, ("pilot",)
    rewards, seeded, open_loop = True, True, True

    def new_position(self, episode):
        return Position(episode)
'''

PROBLEMS = {"walk": WALK, "urn": URN, "duel": DUEL, "share": SHARE, "drift": DRIFT}


def write(folder: Path, name: str) -> str:
    """Write the file of a problem; its path."""
    path = folder / f"{name}.py"
    path.write_text(PROBLEMS[name])
    return str(path)
