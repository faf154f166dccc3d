"""What players lose by their moves, in the eyes of a judge: minutes, where games take hours.

    python -m tests.move_loss GAMES PLAYER PLAYER... --contested 400 --seeds 8
    python -m tests.move_loss GAMES --strategies tree,tree:rounds=8,root --lanes 16 --total 6400

GAMES is a folder of games that were played (`banyan match --out`, `banyan strength --out`), or the name of
a game: then some are played, with few simulations and the first move at random. Every player moves from
positions of theirs, with several seeds. The judge says what each of the moves that were made is worth, and
a player loses the difference to the best of them, counted up to 0.2 so that one blunder does not decide.
Losses are in thousandths of a return; those beside them are against the first player, position by position.

Where everybody makes the same move there is nothing to lose. `--contested` takes positions in which the
first two players, asked with two seeds each, did not agree: it says more for the same time, and losses are
larger there.

With --strategies, as `banyan strength` takes them, players are the sequential search of the total and of half
of it, and each strategy with each number of lanes and the total.

Players `uct:simulations=N` are the sequential search. Where there are several, the others are measured by
them: with how many simulations would it lose as much? What lies outside is told by the nearest two. The
interval takes the losses of the sequential search as they are.

What is found is kept in --keep, so that more players can be measured with what is known already.
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
from cluster.matches.game import seed_of
from cluster.matches.record import read_file
from cluster.matches.statistics import Z95, mean, standard_error
from cluster.measuring.strength import read_strategies
from games.game import Game, State
from games.spec import Spec
from search.players import Player, Seen, player_of

MOST = 0.2
"""What a move loses at most."""
SAVE_EVERY = 50
OPENING = "uct:simulations=500"
"""Who plays the games that positions are taken from, where there are none."""
SEQUENTIAL = re.compile(r"uct:simulations=(\d+)")
Way = tuple[str, ...]


class Position:
    """Where a way of moves leads to."""

    def __init__(self, game: Game, way: Way) -> None:
        self.game = game
        self.state: State = game.initial_state()
        game.play_text(self.state, way)

    def legal(self) -> tuple[int, ...]:
        if self.game.calls.is_terminal(self.state):
            return ()
        return tuple(sorted(self.game.legal_moves(self.state)))

    @property
    def sign(self) -> int:
        """Of the player to move: 1 for the first."""
        return 1 - 2 * int(self.game.calls.current_player(self.state))

    def seen(self) -> Seen:
        mover = int(self.game.calls.current_player(self.state))
        return Seen(self.game, self.game.observation(self.state, mover), mover, self.legal())


# What one process does: it is told names, and loads what they name once.
_game = cache(games.load)


@cache
def _player(spec: str, game: str) -> Player:
    return player_of(spec, _game(game))


def moves_from(game: str, task: tuple[str, Way, int]) -> str:
    """What a player makes of a position, by its spec, the way there, and a seed."""
    spec, way, seed = task
    position = Position(_game(game), way)
    move = _player(spec, game).choose(position.seen(), seed_of(1, *map(ord, " ".join(way)), seed)).move
    return position.game.format_move(position.state, int(move))


def worth(game: str, judge: str, way: Way) -> float:
    """The last move of the way in the eyes of the judge, for who made it."""
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
    """The game, and where its games came by: never the same way twice."""
    records = [record for path in sorted(folder.rglob("games.txt")) for record in read_file(path)]
    if not records:
        sys.exit(f"move_loss: no games.txt with games in {folder}")
    game = games.load(records[0].game)
    draw = random.Random(seed)
    ways = list(cut(game, (record.moves for record in records if record.game == game.spec), draw))
    draw.shuffle(ways)
    return game.spec, iter(dict.fromkeys(ways))


def played_ways(spec: str, seed: int) -> Iterator[Way]:
    """The same of games that are played here, with no end."""
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
    """Beginnings of games, three of each, in which there is something to choose."""
    for moves in played:
        for _ in range(3):
            way = moves[: draw.randrange(3, max(5, len(moves) * 6 // 10))]
            if len(Position(game, way).legal()) > 1:
                yield way


class Known:
    """What was found out, in this run and before."""

    def __init__(self, game: str, pool: Executor, keep: Path | None) -> None:
        self.game = game
        self.pool = pool
        self.keep = keep
        self.moves: dict[str, str] = {}
        self.worths: dict[str, float] = {}
        if keep is not None and keep.exists():
            self.moves, self.worths = json.loads(keep.read_text())

    def play(self, tasks: Iterable[tuple[str, Way, int]]) -> None:
        """Have those moves made that are not known."""
        missing = [task for task in dict.fromkeys(tasks) if _key(*task) not in self.moves]
        found = self.pool.map(partial(moves_from, self.game), missing, chunksize=4)
        for number, (task, move) in enumerate(zip(missing, found, strict=True)):
            self.moves[_key(*task)] = move
            self.save(number)
        self.save()

    def judge(self, judge: str, ways: Iterable[Way]) -> None:
        """Have those judged that are not known."""
        missing = [way for way in dict.fromkeys(ways) if _key(judge, way) not in self.worths]
        found = self.pool.map(partial(worth, self.game, judge), missing, chunksize=2)
        for number, (way, value) in enumerate(zip(missing, found, strict=True)):
            self.worths[_key(judge, way)] = value
            self.save(number)
        self.save()

    def move(self, spec: str, way: Way, seed: int) -> str:
        return self.moves[_key(spec, way, seed)]

    def worth(self, judge: str, way: Way) -> float:
        return self.worths[_key(judge, way)]

    def save(self, number: int = 0) -> None:
        if self.keep is not None and number % SAVE_EVERY == 0:
            self.keep.write_text(json.dumps([self.moves, self.worths]))


def _key(spec: str, way: Way, seed: int | None = None) -> str:
    return f"{spec} {' '.join(way)}" + ("" if seed is None else f" #{seed}")


def contested(known: Known, players: Sequence[str], ways: Iterator[Way], count: int) -> list[Way]:
    """The first ``count`` ways to positions in which the players do not agree, each asked twice."""
    found: list[Way] = []
    while len(found) < count and (some := list(islice(ways, max(16, count - len(found))))):
        # Seeds of their own: what is measured later must not be what chose the position.
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
    """[player][way] the mean loss over seeds, in thousandths."""
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
            mean([1000 * min(MOST, most - known.worth(judge, way)) for way in of_way])
            for most, of_way in zip(best, of_player, strict=True)
        ]
        for of_player in made
    ]


def simulations_that_lose(curve: Sequence[tuple[int, float]], loss: float) -> float:
    """How many simulations lose as much, by two or more points (simulations, loss).

    In powers of 2, straight between two points and beyond the last; NaN where more of them do not lose less.
    """
    pairs = list(pairwise((math.log2(simulations), lost) for simulations, lost in sorted(curve)))
    pair = next((pair for pair in pairs if loss >= pair[1][1]), pairs[-1])
    (x0, y0), (x1, y1) = pair
    if y0 <= y1:
        return math.nan
    return float(2.0 ** (x0 + (x1 - x0) * (y0 - loss) / (y0 - y1)))


def parallel(strategies: Sequence[Spec], lanes: Sequence[int], total: int) -> list[str]:
    """The players that those searches are, behind the sequential search."""
    players = [f"uct:simulations={total}", f"uct:simulations={total // 2}"]
    for spec in strategies:
        for count in lanes:
            options = {"strategy": spec.name, "lanes": str(count), "simulations": str(total), **spec.options}
            players.append(str(Spec("uct", options)))
    return players


def table(players: Sequence[str], lost: Sequence[Sequence[float]]) -> Iterator[str]:
    curve = [
        (int(found[1]), mean(mine))
        for spec, mine in zip(players, lost, strict=True)
        if (found := SEQUENTIAL.fullmatch(spec))
    ]
    measured = len(curve) > 1
    as_much = (" as much as the sequential search with |", " ---: |") if measured else ("", "")
    yield f"| player | loses | beside the first |{as_much[0]}"
    yield f"| --- | ---: | ---: |{as_much[1]}"
    for spec, mine in zip(players, lost, strict=True):
        beside = [a - b for a, b in zip(mine, lost[0], strict=True)]
        error = Z95 * standard_error(beside)
        row = f"| `{spec}` | {mean(mine):.1f} | {mean(beside):+.1f} ± {error:.1f} |"
        if measured:
            middle, most, least = (
                f"{simulations_that_lose(curve, mean(mine) + off):,.0f}" for off in (0.0, -error, error)
            )
            row += " |" if SEQUENTIAL.fullmatch(spec) else f" {middle} ({least} to {most}) |"
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description="What players lose by their moves, in the eyes of a judge.")
    parser.add_argument("source", metavar="GAMES", help="a folder of games, or the name of a game")
    parser.add_argument("players", metavar="PLAYER", nargs="*")
    parser.add_argument("--strategies", metavar="S,S,...", type=read_strategies, default=[])
    parser.add_argument("--lanes", metavar="N,N,...", default="16")
    parser.add_argument("--total", type=int, default=6400, help="simulations of each of those")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--positions", type=int, default=400, help="any that the games came by")
    which.add_argument("--contested", type=int, help="so many in which the first two players do not agree")
    parser.add_argument("--seeds", type=int, default=1, help="moves of each player in each position")
    parser.add_argument("--judge", default="uct:simulations=300000")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of positions")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--keep", type=Path, help="a file of JSON that grows")
    asked = parser.parse_args()
    if asked.strategies:
        asked.players += parallel(asked.strategies, [int(n) for n in asked.lanes.split(",")], asked.total)
    if not asked.players:
        parser.error("PLAYER or --strategies is missing")
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
    print("\n".join(table(asked.players, lost)))


if __name__ == "__main__":
    main()
