"""Move loss: the value that players lose by their moves, in the opinion of a judge. Faster than matches.

    python -m cluster.lab.move_loss GAMES PLAYER PLAYER... --contested 400 --seeds 8
    python -m cluster.lab.move_loss GAMES --strategies tree,tree:rounds=8,root --lanes 16 --total 6400

GAMES is a folder of played games (`banyan match --out`, `banyan strength --out`), or the name of a game. In
the second case games are played first, with few simulations and a random first move. Every player moves in
positions from these games, with several seeds. The judge evaluates each of these moves. The loss of a move is
its difference to the best of them, limited to 0.2 so that one blunder does not dominate. Losses are in
thousandths of a return; the next column is the difference to the first player, paired by position.

A position in which all players make one move gives no information. `--contested` selects positions in which
the first two players, with two seeds each, disagree: losses are larger there, so fewer positions are needed.

With --strategies (syntax of `banyan strength`), the players are the sequential search with the total and with
half of it, and each strategy on each number of lanes with the total.

Players `uct:simulations=N` are sequential searches. If there are two or more, every other player gets an
equivalent: the number of simulations with which the sequential search has an equal loss. Losses outside the
range are extrapolated from the nearest two. The interval takes the losses of the sequential search as exact.

Moves and values are stored in the file of --keep, and are not computed again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import cache, partial
from itertools import islice, pairwise
from pathlib import Path

import games
from cluster.lab.strength.strength import read_strategies
from cluster.matches.game import seed_of
from cluster.matches.record import read_file
from cluster.matches.statistics import Z95, mean, standard_error
from cluster.report import table as report
from games.game import Game, State
from games.spec import Spec
from search.players import Player, Seen, player_of

MAX_LOSS = 0.2
"""The largest loss that is counted for one move, as a return."""
SAVE_EVERY = 50
"""Number of results between two writes of the file of --keep."""
OPENING = "uct:simulations=500"
"""The player of the games that positions are taken from, if GAMES is not a folder."""
SEQUENTIAL = re.compile(r"uct:simulations=(\d+)")
Way = tuple[str, ...]
"""The moves from the start to a position."""


class Position:
    """The position after the moves of a way."""

    def __init__(self, game: Game, way: Way) -> None:
        self.game = game
        self.state: State = game.initial_state()
        game.play_text(self.state, way)

    def legal(self) -> tuple[int, ...]:
        """The legal moves, ascending; none where the game is over."""
        if self.game.calls.is_terminal(self.state):
            return ()
        return tuple(sorted(self.game.legal_moves(self.state)))

    @property
    def sign(self) -> int:
        """1 if the first player is to move, -1 if the second is."""
        return 1 - 2 * int(self.game.calls.current_player(self.state))

    def seen(self) -> Seen:
        """The position as the player to move sees it."""
        mover = int(self.game.calls.current_player(self.state))
        return Seen(self.game, self.game.observation(self.state, mover), mover, self.legal())


# Worker processes get specs, and create each game and player once.
_game = cache(games.load)


@cache
def _player(spec: str, game: str) -> Player:
    return player_of(spec, _game(game))


def moves_from(game: str, task: tuple[str, Way, int]) -> str:
    """The move of a player as text. ``task``: player spec, way to the position, seed."""
    spec, way, seed = task
    position = Position(_game(game), way)
    move = _player(spec, game).choose(position.seen(), seed_of(1, *map(ord, " ".join(way)), seed)).move
    return position.game.format_move(position.state, int(move))


def worth(game: str, judge: str, way: Way) -> float:
    """The judge's value of the last move of the way, from the viewpoint of the player who made it."""
    mover = Position(_game(game), way[:-1]).sign
    position = Position(_game(game), way)
    while len(legal := position.legal()) == 1:
        position.game.calls.play(position.state, legal[0])
    if not legal:
        return mover * float(position.game.calls.returns(position.state))
    value = _player(judge, game).choose(position.seen(), seed_of(2)).value
    assert value is not None
    return mover * position.sign * value


def kept_ways(folder: Path, seed: int) -> tuple[str, Iterator[Way]]:
    """The game of a folder, and the ways to positions of its games, in random order without repetition."""
    records = [record for path in sorted(folder.rglob("games.txt")) for record in read_file(path)]
    if not records:
        sys.exit(f"move_loss: no games.txt with games in {folder}")
    game = games.load(records[0].game)
    draw = random.Random(seed)
    ways = list(cut(game, (record.moves for record in records if record.game == game.spec), draw))
    draw.shuffle(ways)
    return game.spec, iter(dict.fromkeys(ways))


def played_ways(spec: str, seed: int) -> Iterator[Way]:
    """Ways to positions of new games; an endless iterator."""
    game = _game(spec)
    draw = random.Random(seed)
    while True:
        position = Position(game, ())
        way: list[str] = []
        while legal := position.legal():
            move = draw.choice(legal)
            if way:
                move = _player(OPENING, spec).choose(position.seen(), draw.getrandbits(63)).move
            way.append(game.format_move(position.state, int(move)))
            game.calls.play(position.state, int(move))
        yield from cut(game, [tuple(way)], draw)


def cut(game: Game, played: Iterable[Way], draw: random.Random) -> Iterator[Way]:
    """For each game, ways to three of its positions with more than one legal move."""
    for moves in played:
        for _ in range(3):
            way = moves[: draw.randrange(3, max(5, len(moves) * 6 // 10))]
            if len(Position(game, way).legal()) > 1:
                yield way


class Known:
    """A cache of moves and values, from this run and from the file of --keep."""

    def __init__(self, game: str, pool: Executor, keep: Path | None) -> None:
        self.game = game
        self.pool = pool
        self.keep = keep
        self.moves: dict[str, str] = {}
        self.worths: dict[str, float] = {}
        if keep is not None and keep.exists():
            self.moves, self.worths = json.loads(keep.read_text())

    def play(self, tasks: Iterable[tuple[str, Way, int]]) -> None:
        """Compute the missing moves."""
        missing = [task for task in dict.fromkeys(tasks) if _key(*task) not in self.moves]
        found = self.pool.map(partial(moves_from, self.game), missing, chunksize=4)
        for number, (task, move) in enumerate(zip(missing, found, strict=True)):
            self.moves[_key(*task)] = move
            self.save(number)
        self.save()

    def judge(self, judge: str, ways: Iterable[Way]) -> None:
        """Compute the missing values."""
        missing = [way for way in dict.fromkeys(ways) if _key(judge, way) not in self.worths]
        found = self.pool.map(partial(worth, self.game, judge), missing, chunksize=2)
        for number, (way, value) in enumerate(zip(missing, found, strict=True)):
            self.worths[_key(judge, way)] = value
            self.save(number)
        self.save()

    def move(self, spec: str, way: Way, seed: int) -> str:
        """The player's move."""
        return self.moves[_key(spec, way, seed)]

    def worth(self, judge: str, way: Way) -> float:
        """The judge's value of the last move of the way."""
        return self.worths[_key(judge, way)]

    def save(self, number: int = 0) -> None:
        """Write the file of --keep, if ``number`` is a multiple of SAVE_EVERY."""
        if self.keep is not None and number % SAVE_EVERY == 0:
            self.keep.write_text(json.dumps([self.moves, self.worths]))


def _key(spec: str, way: Way, seed: int | None = None) -> str:
    return f"{spec} {' '.join(way)}" + ("" if seed is None else f" #{seed}")


def contested(known: Known, players: Sequence[str], ways: Iterator[Way], count: int) -> list[Way]:
    """The first ``count`` ways to positions in which the players, with two seeds each, disagree."""
    found: list[Way] = []
    while len(found) < count and (some := list(islice(ways, max(16, count - len(found))))):
        # Negative seeds: the moves that are measured later must not be those that chose the position.
        known.play((spec, way, -seed) for way in some for spec in players for seed in (1, 2))
        found += [
            way
            for way in some
            if len({known.move(spec, way, -seed) for spec in players for seed in (1, 2)}) > 1
        ]
    return found[:count]


def losses(
    known: Known, judge: str, players: Sequence[str], ways: Sequence[Way], seeds: int
) -> list[list[float]]:
    """[player][way] the mean loss over the seeds, in thousandths of a return."""
    made: list[list[list[Way]]] = []
    for spec in players:
        known.play((spec, way, seed) for way in ways for seed in range(seeds))
        made.append([[(*way, known.move(spec, way, seed)) for seed in range(seeds)] for way in ways])
        known.judge(judge, (way for of_way in made[-1] for way in of_way))
        print(f"{spec}: {len(ways)} positions, {seeds} moves in each", file=sys.stderr, flush=True)
    best = [
        max(known.worth(judge, way) for of_player in made for way in of_player[index])
        for index in range(len(ways))
    ]
    return [
        [
            mean([1000 * min(MAX_LOSS, most - known.worth(judge, way)) for way in of_way])
            for most, of_way in zip(best, of_player, strict=True)
        ]
        for of_player in made
    ]


def simulations_that_lose(curve: Sequence[tuple[int, float]], loss: float) -> float:
    """The number of simulations with this loss, interpolated from two or more points (simulations, loss).

    Linear in the logarithm of simulations, also beyond the points. NaN where more simulations do not reduce
    the loss.
    """
    pairs = list(pairwise((math.log2(simulations), lost) for simulations, lost in sorted(curve)))
    pair = next((pair for pair in pairs if loss >= pair[1][1]), pairs[-1])
    (x0, y0), (x1, y1) = pair
    if y0 <= y1:
        return math.nan
    return float(2.0 ** (x0 + (x1 - x0) * (y0 - loss) / (y0 - y1)))


def parallel(strategies: Sequence[Spec], lanes: Sequence[int], total: int) -> list[str]:
    """Specs of the sequential search with the total and with half of it, then of the parallel searches."""
    players = [f"uct:simulations={total}", f"uct:simulations={total // 2}"]
    for spec in strategies:
        for count in lanes:
            options = {"strategy": spec.name, "lanes": str(count), "simulations": str(total), **spec.options}
            players.append(str(Spec("uct", options)))
    return players


def table_of(players: Sequence[str], lost: Sequence[Sequence[float]]) -> report.Table:
    """A row for each player; ``lost`` is [player][way]."""
    curve = [
        (int(found[1]), mean(mine))
        for spec, mine in zip(players, lost, strict=True)
        if (found := SEQUENTIAL.fullmatch(spec))
    ]
    measured = ["as much as the sequential search with"] if len(curve) > 1 else []
    table = report.Table([*report.left("player"), *report.right("loses", "beside the first", *measured)])
    for spec, mine in zip(players, lost, strict=True):
        beside = [a - b for a, b in zip(mine, lost[0], strict=True)]
        error = Z95 * standard_error(beside)
        cells = [
            report.code(spec),
            report.number(mean(mine), ".1f"),
            report.number(mean(beside), "+.1f", half=error),
        ]
        if measured and not SEQUENTIAL.fullmatch(spec):
            value, low, high = (simulations_that_lose(curve, mean(mine) + off) for off in (0, error, -error))
            cells.append(report.number(value, ",.0f", (low, high), unknown="?"))
        table.add(*cells)
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Choose positions, compute moves and their values, and print the table as Markdown."""
    asked = _options(arguments)
    if Path(asked.source).is_dir():
        game, ways = kept_ways(Path(asked.source), asked.seed)
    else:
        game = games.load(asked.source).spec
        ways = played_ways(game, asked.seed)
    with ProcessPoolExecutor(asked.workers) as pool:
        known = Known(game, pool, asked.keep)
        if asked.contested:
            chosen = contested(known, asked.players[:2], ways, asked.contested)
        else:
            chosen = list(islice(ways, asked.positions))
        lost = losses(known, asked.judge, asked.players, chosen, asked.seeds)
    kind = "contested positions" if asked.contested else "positions"
    print(f"{game}, {len(chosen)} {kind}, {asked.seeds} moves in each, judged by {asked.judge}\n")
    print("\n".join(report.markdown(table_of(asked.players, lost))))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", metavar="GAMES", help="a folder of games, or the name of a game")
    parser.add_argument("players", metavar="PLAYER", nargs="*")
    parser.add_argument("--strategies", metavar="S,S,...", type=read_strategies, default=[])
    parser.add_argument("--lanes", metavar="N,N,...", default="16", help="numbers of lanes of each strategy")
    parser.add_argument("--total", type=int, default=6400, help="simulations of each strategy's search")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--positions", type=int, default=400, help="number of positions taken from the games")
    which.add_argument("--contested", type=int, help="number of positions in which the first two disagree")
    parser.add_argument("--seeds", type=int, default=1, help="moves of each player in each position")
    parser.add_argument("--judge", default="uct:simulations=300000")
    parser.add_argument("--seed", type=int, default=1, help="seed for the choice of positions")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="number of processes")
    parser.add_argument("--keep", type=Path, help="JSON file in which moves and values are stored")
    asked = parser.parse_args(arguments)
    if asked.strategies:
        asked.players += parallel(asked.strategies, [int(n) for n in asked.lanes.split(",")], asked.total)
    if not asked.players:
        parser.error("PLAYER or --strategies is missing")
    return asked


if __name__ == "__main__":
    main()
