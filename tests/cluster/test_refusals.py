"""What commands of matches, plans, drawings and measurements refuse: one line names field and value."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cluster.command import refused
from tests.search.test_evaluator import HASHED

SETTINGS = {
    "benchmark": "--seconds 0.001 --repeats 2 --no-progress",
    "match": "--executor inline",
    "plan": "--executor inline",
    "solve": "--no-progress",
    "strength": "--executor inline --no-progress",
}
"""What stands before the other arguments of a command."""
MATCH, SEVEN, NET = "match tictactoe random", "solve grundy:pile=7", f"--evaluator {HASHED}"
STRENGTH, TREE, EXPERIMENT = "strength tictactoe", "tree tictactoe", "experiment 002/2"
ALPHABETA = "--player alphabeta:depth=4,ties=first"


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        (f"{MATCH} nobody", ["PLAYER: 'nobody' is not accepted"]),
        (f"{MATCH} random:x=1", ["PLAYER option: 'x' is not accepted"]),
        (f"{MATCH} random --games 7", ["--games: 7 is not accepted"]),
        (f"{MATCH} random --opening-plies 99", ["--opening-plies: 99"]),
        (f"{MATCH} random --sprt 5", ["--sprt: '5' is not accepted"]),
        (f"{MATCH} random --sprt 5,0", ["the smaller one first"]),
        (f"{MATCH} random --scoring luck", ["--scoring: 'luck' is not accepted"]),
        (f"{MATCH} random --openings /nowhere", ["--openings: '/nowhere'"]),
        (f"{MATCH} random --seed -1", ["--seed: -1 is not accepted"]),
        ("match chess random random", ["GAME: 'chess' is not accepted"]),
        (f"{STRENGTH} --strategies wood", ["--strategies: 'wood'", "root, tree, leaf"]),
        (f"{STRENGTH} --strategies tree,tree", ["--strategies: 'tree,tree'", "each strategy once"]),
        (f"{STRENGTH} --strategies tree:lanes=3", ["--strategies: 'lanes'", "but strategy, lanes"]),
        (f"{STRENGTH} --strategies tree:speed=3", ["--strategies: 'speed'", "simulations, seconds"]),
        (f"{STRENGTH} --strategies tree:rounds=0", ["--strategies rounds: 0", "a whole number from 1"]),
        (f"{STRENGTH} --strategies ''", ["--strategies: ''", "name:key=value"]),
        (f"{STRENGTH} --options c=much", ["--options c: 'much'", "a number"]),
        (f"{STRENGTH} --options seconds=1", ["--options: 'seconds'", "but strategy, lanes"]),
        (f"{STRENGTH} --options c", ["--options: 'uct:c'", "key=value"]),
        (f"{STRENGTH} --lanes 4,x", ["--lanes: '4,x'", "whole numbers of at least 1"]),
        (f"{STRENGTH} --lanes 0", ["--lanes: '0'", "whole numbers of at least 1"]),
        (f"{STRENGTH} --lanes 70000", ["--lanes: 70000", "to 65536"]),
        (f"{STRENGTH} --lanes 1 --strategies root", ["--lanes: 1", "more than one lane"]),
        (f"{STRENGTH} --simulations 0", ["--simulations: '0'", "at least 1"]),
        (f"{STRENGTH} --simulations 1000000000000", ["--simulations: 1000000000000", "from 1 to"]),
        (f"{STRENGTH} --simulations 5 --total 5", ["--simulations: 5", "or --total"]),
        (f"{STRENGTH} --simulations 8,16", ["--simulations"]),
        (f"{STRENGTH} --simulations 8,a", ["--simulations"]),
        (f"{STRENGTH} --total 3 --lanes 4", ["--total: 3", "from 4 (the lanes)"]),
        (f"{STRENGTH} --pairs 0", ["--pairs: 0", "from 1 to"]),
        (f"{STRENGTH} --total-pairs 0", ["--total-pairs: 0", "from 1 to"]),
        (f"{STRENGTH} --seed -1", ["--seed: -1", "from 0 to"]),
        (f"{STRENGTH} --opening-plies 99", ["--opening-plies: 99", "from 0 to"]),
        (f"{STRENGTH} --judge nobody", ["--judge"]),
        (f"{STRENGTH} --judge exact --pairs 3", ["--pairs"]),
        (f"{STRENGTH} --judge exact --scores-only", ["--scores-only"]),
        (f"{STRENGTH} --judge exact --positions 0", ["--positions"]),
        (f"{STRENGTH} --judge games --positions 3", ["--positions"]),
        (f"{STRENGTH} --hard 3", ["--hard"]),
        (f"{STRENGTH} --judge exact --hard 0", ["--hard"]),
        (f"{STRENGTH} --tries 3", ["--tries"]),
        (f"{STRENGTH} --judge exact --tries 0", ["--tries"]),
        (f"{STRENGTH} --judge exact --lanes 1 --strategies root", ["--lanes"]),
        ("strength gomoku --judge exact", ["exact judge"]),
        ("experiment 002/99", ["TABLE: '002/99' is not accepted; expected one of"]),
        (f"{EXPERIMENT} --scale huge", ["--scale: 'huge' is not accepted; expected smoke or quick or full"]),
        (f"{EXPERIMENT} --report r.pdf", ["--report: 'r.pdf' is not accepted"]),
        (f"{EXPERIMENT} --report nowhere/r.md", ["a file in an existing folder"]),
        (f"{EXPERIMENT} --report OUT/r.md", ["a file beside which pictures is a folder"]),
        (f"{EXPERIMENT} --seed -1", ["--seed: -1 is not accepted"]),
        (f"{EXPERIMENT} --workers 0 --out OUT", ["--workers: '0' is not accepted"]),
        ("plan tictactoe", ["GAME", "tictactoe", "a problem of one player"]),
        ("plan 2048 --episodes 0", ["--episodes", "0", "from 1 to"]),
        ("plan 2048 --steps 0", ["--steps", "0", "from 1 to"]),
        ("plan 2048 --solver", ["--solver", "yes", "nothing"]),
        ("plan 2048 --seed -1", ["--seed", "-1", "from 0 to"]),
        ("plan 2048 --moves up", ["--moves"]),
        (f"{TREE} --nodes 0", ["--nodes: 0", "at least 1"]),
        (f"{TREE} --depth 0", ["DEPTH: 0", "at least 1"]),
        (f"{TREE} --min-visits 0", ["--min-visits: 0", "at least 1"]),
        (f"{TREE} --out tree.pdf", ["--out: 'tree.pdf'", ".svg, .dot, .txt"]),
        (f"{TREE} --simulations 0", ["--simulations: 0", "from 1 to"]),
        (f"{TREE} --player uct", ["PLAYER: 'uct'", "alphabeta, minimax or negamax"]),
        (f"tree battleship {ALPHABETA}", ["PLAYER: 'alphabeta", "hidden information"]),
        (f"{TREE} --player alphabeta:depth=5", ["PLAYER option depth: 5", "1,500 positions"]),
        (f"{TREE} --player alphabeta:seconds=1", ["PLAYER option seconds: 1.0", "depth=3"]),
        (f"{TREE} --moves 'a1 a2 b1 b2 c1' {ALPHABETA}", ["--moves", "not over"]),
        ("solve gomoku", ["GAME", "tictactoe, grundy"]),
        ("solve battleship", ["GAME", "pack and unpack"]),
        ("solve tictactoe --max-positions 5000", ["positions: 5000", "the number of reachable positions"]),
        ("solve tictactoe --max-positions 0", ["--max-positions: 0", "at least 1"]),
        ("solve tictactoe --out x.png", ["--out: 'x.png'", ".svg, .dot, .txt"]),
        ("solve tictactoe --draw tree", ["--draw: 'tree'", "at most 1,500 nodes"]),
        ("solve tictactoe --draw cake", ["--draw: 'cake'", "graph or tree"]),
        (f"{SEVEN} --side third --draw and-or", ["--side: 'third'", "first or second"]),
        (f"{SEVEN} --side first --draw strategy", ["--side: 'first'", "loses against best play"]),
        ("solve grundy:pile=3 --moves 3-1+2", ["--moves: '3-1+2'", "not over"]),
        ("benchmark tictactoe --cut -1", ["--cut: -1"]),
        ("benchmark tictactoe --batches 8", ["--batches: '8'", "nothing without --evaluator"]),
        (f"benchmark {NET}", ["GAME: None", "a game that the evaluator knows"]),
        (f"benchmark tictactoe {NET} --batches 8,0", ["--batches: '8,0'", "at least 1"]),
        (f"benchmark tictactoe {NET} --batches ''", ["--batches: ''", "at least 1"]),
        (f"benchmark tictactoe {NET} --batches 65537", ["--batches: 65537", "to 65536"]),
        (f"benchmark grundy:pile=5 {NET} --batches 5", ["--batches: 5", "at most 4 with grundy"]),
        (f"benchmark tictactoe {NET} --repeats 0", ["--repeats: 0", "from 1"]),
        (f"benchmark tictactoe {NET} --cut 3", ["--cut: [3]", "nothing with --evaluator"]),
        ("benchmark tictactoe --evaluator ./no.py", ["--evaluator: './no.py'", "can be read"]),
        (f"benchmark tictactoe --evaluator {__file__}", [f"tor: {__file__!r}", "with one subclass of"]),
        (f"benchmark tictactoe {NET}:a=1", ["--evaluator option: 'a'", "shift, kind"]),
        (f"benchmark battleship {NET}", [f"--evaluator: {HASHED!r}", "where something is hidden"]),
        ("play tictactoe --side third", ["error: --side:"]),
        ("play tictactoe --opponent nobody", ["error: PLAYER:"]),
        ("play tictactoe --moves z9", ["error: --moves:"]),
        ("play tictactoe --load /nowhere", ["error: --record:"]),
        ("play tictactoe --seed -1", ["error: --seed:"]),
        ("play tictactoe --preset strong", ["'strong'", "best or plain"]),
        ("play tictactoe --preset best --opponent random", ["--opponent"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_said_in_one_line(
    command: str, parts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pictures").touch()
    name, *arguments = shlex.split(command.replace("OUT", str(tmp_path)))
    said = refused(capsys, name, *SETTINGS.get(name, "").split(), *arguments)
    assert all(part in said for part in parts), said
