"""What players lose by their moves, in the eyes of a judge: fewer seconds than games take to tell them apart.

    python -m tests.move_loss GAMES PLAYER PLAYER... --positions 400 --judge uct:simulations=300000

GAMES is a folder of games that were played (`banyan match --out`, `banyan strength --out`). Every player
moves from positions of theirs. The judge then says what each of the moves that were made is worth, and a
player loses the difference to the best of them, counted up to 0.2 so that one blunder does not decide. Losses
are in thousandths of a return; those beside them are against the first player, position by position.

What is found is kept in --keep, so that more players can be measured with what is known already.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path

import games
from cluster.matches.game import seed_of
from cluster.matches.record import read_file
from cluster.matches.statistics import Z95, mean, standard_error
from games.game import Game, State
from search.players import Player, Seen, player_of

MOST = 0.2
"""What a move loses at most."""
SAVE_EVERY = 25


class Positions:
    """Positions of games that were played, and what is known of the moves from each."""

    def __init__(self, folder: Path, count: int, seed: int, keep: Path | None) -> None:
        records = [record for path in sorted(folder.rglob("games.txt")) for record in read_file(path)]
        if not records:
            sys.exit(f"move_loss: no games.txt with games in {folder}")
        self.game: Game = games.load(records[0].game)
        draw = random.Random(seed)
        ways = [
            record.moves[: draw.randrange(3, max(5, len(record.moves) * 6 // 10))]
            for record in records
            if record.game == self.game.spec
            for _ in range(3)
        ]
        draw.shuffle(ways)
        self.ways = [way for way in ways if len(self.legal(self.state(way))) > 1][:count]
        self.keep = keep
        self.known: dict[str, dict[str, float]] = {}
        if keep is not None and keep.exists():
            self.known = json.loads(keep.read_text())

    def state(self, way: tuple[str, ...]) -> State:
        state = self.game.initial_state()
        self.game.play_text(state, way)
        return state

    def legal(self, state: State) -> tuple[int, ...]:
        if self.game.calls.is_terminal(state):
            return ()
        return tuple(sorted(self.game.legal_moves(state)))

    def seen(self, state: State) -> Seen:
        mover = int(self.game.calls.current_player(state))
        return Seen(self.game, self.game.observation(state, mover), mover, self.legal(state))

    def moves_of(self, spec: str) -> list[str]:
        """What the player plays in each position."""
        player = player_of(spec, self.game)
        found = self.known.setdefault(f"player {player.spec}", {})
        for number, way in enumerate(self.ways):
            key = " ".join(way)
            if key not in found:
                found[key] = player.choose(self.seen(self.state(way)), seed_of(1, number)).move
                self.save(number)
        self.save()
        # What a move is called may depend on where it is made.
        return [self.game.format_move(self.state(way), int(found[" ".join(way)])) for way in self.ways]

    def worth(self, judge: Player, way: tuple[str, ...], move: str) -> float:
        """The move in the eyes of the judge, for who makes it."""
        values = self.known.setdefault(f"judge {judge.spec}", {})
        key = " ".join((*way, move))
        if key not in values:
            mover = int(self.game.calls.current_player(self.state(way)))
            values[key] = (1 - 2 * mover) * self.value(judge, self.state((*way, move)))
            self.save(len(values))
        return values[key]

    def value(self, judge: Player, state: State) -> float:
        """For the first player. Forced moves are made."""
        while len(legal := self.legal(state)) == 1:
            self.game.calls.play(state, legal[0])
        if not legal:
            return float(self.game.calls.returns(state))
        seen = self.seen(state)
        value = judge.choose(seen, seed_of(2)).value
        assert value is not None
        return (1 - 2 * seen.mover) * value

    def save(self, number: int = 0) -> None:
        if self.keep is not None and number % SAVE_EVERY == 0:
            self.keep.write_text(json.dumps(self.known))


def main() -> None:
    parser = argparse.ArgumentParser(description="What players lose by their moves, in the eyes of a judge.")
    parser.add_argument("folder", metavar="GAMES", type=Path)
    parser.add_argument("players", metavar="PLAYER", nargs="+")
    parser.add_argument("--positions", type=int, default=400)
    parser.add_argument("--judge", default="uct:simulations=300000")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a file of JSON that grows")
    asked = parser.parse_args()
    positions = Positions(asked.folder, asked.positions, asked.seed, asked.keep)
    judge = player_of(asked.judge, positions.game)
    moves = {spec: positions.moves_of(spec) for spec in asked.players}
    worth: dict[str, list[float]] = {spec: [] for spec in asked.players}
    for number, way in enumerate(positions.ways):
        for spec in asked.players:
            worth[spec].append(positions.worth(judge, way, moves[spec][number]))
    positions.save()
    best = [max(values) for values in zip(*worth.values(), strict=True)]
    lost = {
        spec: [1000 * min(MOST, most - mine) for most, mine in zip(best, values, strict=True)]
        for spec, values in worth.items()
    }
    first = lost[asked.players[0]]
    print(f"{positions.game.spec}, {len(best)} positions, judged by {judge.spec}")
    print("| player | loses | beside the first |\n| --- | ---: | ---: |")
    for spec, mine in lost.items():
        beside = [a - b for a, b in zip(mine, first, strict=True)]
        error = Z95 * standard_error(beside)
        print(f"| {spec} | {mean(mine):.1f} | {mean(beside):+.1f} ± {error:.1f} |")


if __name__ == "__main__":
    main()
