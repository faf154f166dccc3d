"""Wrong input of every command: one line that names the field, the value and what is accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.command import Here
from tests.search.test_evaluator import HASHED

INLINE = ("--executor", "inline")
SMALL = ("--seconds", "0.001", "--repeats", "2", "--no-progress")
LEAF = ("search", "gomoku:size=5", "--strategy", "leaf", "--lanes", "2", "--batch", "8")
ALPHABETA = ("--player", "alphabeta:depth=4,ties=first")
SEVEN = "grundy:pile=7"
WRONG: dict[tuple[str, ...], list[tuple[tuple[str, ...], str, str]]] = {
    (): [
        (("search", "gomku"), "GAME: 'gomku'", "did you mean gomoku"),
        (("search", "gomoku:"), "GAME: 'gomoku:'", "name:key=value"),
        (("search", "gomoku:size"), "GAME: 'gomoku:size'", "name:key=value"),
        (("search", "gomoku:size=99"), "GAME option size: '99'", "from 5 to 20"),
        (("search", "gomoku:depth=3"), "GAME option: 'depth'", "size, candidates, overline"),
        (("search", "tictactoe", "--moves", "a1 d4"), "--moves: 'd4'", "expected"),
        (("search", "tictactoe", "--moves", "a1 a1"), "--moves: 'a1'", "expected"),
        (("search", "tictactoe", "--moves", "a1 a2 b1 b2 c1"), "--moves: 'a1 a2 b1 b2 c1'", "not over"),
        (("search", "tictactoe", "--moves", "a1 a2 b1 b2 c1 c2"), "--moves: 'c2'", "the game is over"),
        (("search", "tictactoe", "--position", "xxx/oo./... o"), "--position: 'xxx/oo./... o'", "not over"),
        (("search", "tictactoe", "--position", "xyz"), "--position: 'xyz'", "expected"),
        (("search", "tictactoe", "--simulations", "0"), "--simulations: 0", "from 1 to"),
        (("search", "tictactoe", "--simulations", "-5"), "--simulations: -5", "from 1 to"),
        (("search", "tictactoe", "--simulations", "many"), "--simulations: 'many'", "a whole number"),
        *(
            (
                ("search", "tictactoe", "--simulations", text),
                f"--simulations: '{text}'",
                "such as 20000, 2.5e6 or 2M",
            )
            for text in ("1.5", "1e-3", "1,00", "2.5555k", "1__0x", "M", "1e999", "nan")
        ),
        (("search", "tictactoe", "--lanes=1.5"), "--lanes: '1.5'", "such as 20000, 2.5e6 or 2M"),
        (("search", "tictactoe", "--simulations", "1e13"), "--simulations: 10000000000000", "from 1 to"),
        (("search", "tictactoe", "--seconds", "0"), "--seconds: 0.0", "from 0.001"),
        (("search", "tictactoe", "--seconds=soon"), "--seconds: 'soon'", "a number"),
        (
            ("search", "tictactoe", "--simulations", "5", "--seconds", "1"),
            "--simulations and --seconds: 'simulations=5, seconds=1.0'",
            "not both",
        ),
        (("search", "tictactoe", "--memory", "0"), "--memory: 0", "from 1 to"),
        (("search", "tictactoe", "--workers", "0"), "--workers: '0'", "or auto"),
        (("search", "tictactoe", "--workers", "abc"), "--workers: 'abc'", "or auto"),
        (("search", "tictactoe", "--workers", "2", *INLINE), "--workers: 2", "expected 1"),
        (("search", "tictactoe", "--executor", "cloud"), "--executor: 'cloud'", "ray or threads or inline"),
        (("search", "tictactoe", "--address", "a:1", *INLINE), "--address: 'a:1'", "no address"),
        (("search", "tictactoe", "--job-timeout", "0"), "--job-timeout: 0.0", "more than 0"),
        (("search", "tictactoe", "--job-timeout", "9", *INLINE), "--job-timeout: 9.0", "none with inline"),
        (("search", "tictactoe", "--strategy", "lief"), "--strategy: 'lief'", "root, tree, leaf, or a class"),
        (("search", "tictactoe", "--final-move", "best"), "--final-move: 'best'", "robust or max"),
        (("search", "tictactoe", "--in-flight", "won"), "--in-flight: 'won'", "unobserved or virtual-loss"),
        (("search", "tictactoe", "--lanes", "0"), "--lanes: 0", "from 1 to"),
        (("search", "tictactoe", "--fpu", "nan"), "--fpu: nan", "a number or inf"),
        (("search", "tictactoe", "--seed", "-1"), "--seed: -1", "from 0 to"),
        (("search", "tictactoe", "--metrics-port", "99999", *INLINE), "--metrics-port: 99999", "a free port"),
        (("search", "tictactoe", "--depth", "3"), "--depth", "No such option"),
        (("search", "tictactoe", "--simulatons", "3"), "--simulatons", "(Possible options: --simulations)"),
        (("search",), "GAME", "Missing argument"),
        (("serch", "tictactoe"), "serch", "search"),
        (("show", "chess960"), "GAME: 'chess960'", "one of"),
        (("perft", "tictactoe", "0"), "DEPTH: '0'", "at least 1"),
        (("perft", "tictactoe", "deep"), "DEPTH: 'deep'", "at least 1"),
        (("benchmark", "tictactoe", "--repeats", "0"), "--repeats: 0", "from 1"),
        *(
            ((command, "tictactoe", "--format", *asked), f"--format: '{asked[0]}'", accepted)
            for command in ("speedup", "predict", "strength", "tune")
            for asked, accepted in (
                (("svg",), "nothing without --out"),
                (("pdf", "--out", "x"), "png or svg"),
            )
        ),
        (("benchmark", "tictactoe", "--seconds", "0"), "--seconds: 0", "above 0"),
        (("speedup", "tictactoe", "--seconds", "nan"), "--seconds: nan", "more than 0"),
        (("tune", "tictactoe", "--search-seconds", "0"), "--search-seconds: 0", "from 0.1"),
        (("tune", "tictactoe", "--workers", "0"), "--workers: '0'", "at least 1"),
        (("benchmark", "tictactoe", "--simulations", "0"), "--simulations: 0", "from 1"),
        (("benchmark", "tictactoe", "--against", "ludii"), "--against: 'ludii'", "openspiel"),
        (("benchmark", "gomku"), "GAME: 'gomku'", "did you mean gomoku"),
        (("warm",), "", ""),
        (("warm", "hex", "--all"), "", ""),
        (("warm", "hexx"), "", ""),
        (("warm", "hex", "--strategies", "branch"), "", ""),
    ],
    ("benchmark", *SMALL): [
        (("tictactoe", "--batches", "8"), "--batches: '8'", "nothing without --evaluator"),
        (("tictactoe", "--cut", "-1"), "--cut: -1", ""),
        (("--evaluator", HASHED), "GAME: None", "a game that the evaluator knows"),
        (("tictactoe", "--evaluator", HASHED, "--batches", "8,0"), "--batches: '8,0'", "at least 1"),
        (("tictactoe", "--evaluator", HASHED, "--batches", ""), "--batches: ''", "at least 1"),
        (("tictactoe", "--evaluator", HASHED, "--batches", "65537"), "--batches: 65537", "to 65536"),
        (("grundy:pile=5", "--evaluator", HASHED, "--batches", "5"), "--batches: 5", "at most 4 with grundy"),
        (("tictactoe", "--evaluator", HASHED, "--repeats", "0"), "--repeats: 0", "from 1"),
        (("tictactoe", "--evaluator", HASHED, "--cut", "3"), "--cut: [3]", "nothing with --evaluator"),
        (("tictactoe", "--evaluator", "./nowhere.py"), "--evaluator: './nowhere.py'", "can be read"),
        (("tictactoe", "--evaluator", __file__), f"--evaluator: {__file__!r}", "with one subclass of"),
        (("tictactoe", "--evaluator", f"{HASHED}:a=1"), "--evaluator option: 'a'", "shift, kind"),
        (("battleship", "--evaluator", HASHED), f"--evaluator: {HASHED!r}", "where something is hidden"),
    ],
    LEAF: [
        (("--evaluator", "./nowhere.py"), "--evaluator: './nowhere.py'", ""),
        (("--evaluator", HASHED, "--strategy", "tree"), "--strategy: 'tree'", ""),
        (("--gpus-per-worker", "-1"), "--gpus-per-worker: -1.0", ""),
        (("--gpus-per-worker", "1.5"), "--gpus-per-worker: 1.5", ""),
        (("--cpus-per-worker", "0"), "--cpus-per-worker: 0.0", ""),
        (("--worker-resources", "tpu"), "--worker-resources: ", ""),
        (("--worker-resources", "tpu=x"), "--worker-resources: 'x'", ""),
        (("--executor", "inline", "--gpus-per-worker", "1"), "--executor: 'inline'", ""),
    ],
    ("match", *INLINE): [
        (("tictactoe", "random", "nobody"), "PLAYER: 'nobody' is not accepted", ""),
        (("tictactoe", "random", "random:x=1"), "PLAYER option: 'x' is not accepted", ""),
        (("tictactoe", "random", "random", "--games", "7"), "--games: 7 is not accepted", ""),
        (("tictactoe", "random", "random", "--opening-plies", "99"), "--opening-plies: 99", ""),
        (("tictactoe", "random", "random", "--sprt", "5"), "--sprt: '5' is not accepted", ""),
        (("tictactoe", "random", "random", "--sprt", "5,0"), "the smaller one first", ""),
        (("tictactoe", "random", "random", "--scoring", "luck"), "--scoring: 'luck' is not accepted", ""),
        (("tictactoe", "random", "random", "--openings", "/nowhere"), "--openings: '/nowhere'", ""),
        (("tictactoe", "random", "random", "--seed", "-1"), "--seed: -1 is not accepted", ""),
        (("chess", "random", "random"), "GAME: 'chess' is not accepted", ""),
    ],
    ("strength", "gomoku", *INLINE): [(("--judge", "exact"), "exact judge", "")],
    ("strength", "tictactoe", *INLINE): [
        (("--strategies", "wood"), "--strategies: 'wood'", "root, tree, leaf"),
        (("--strategies", "tree,tree"), "--strategies: 'tree,tree'", "each strategy once"),
        (("--strategies", "tree:lanes=3"), "--strategies: 'lanes'", "but strategy, lanes"),
        (("--strategies", "tree:speed=3"), "--strategies: 'speed'", "simulations, seconds"),
        (("--strategies", "tree:rounds=0"), "--strategies rounds: 0", "a whole number from 1"),
        (("--strategies", ""), "--strategies: ''", "name:key=value"),
        (("--options", "c=much"), "--options c: 'much'", "a number"),
        (("--options", "seconds=1"), "--options: 'seconds'", "but strategy, lanes"),
        (("--options", "c"), "--options: 'uct:c'", "key=value"),
        (("--lanes", "4,x"), "--lanes: '4,x'", "whole numbers of at least 1"),
        (("--lanes", "0"), "--lanes: '0'", "whole numbers of at least 1"),
        (("--lanes", "70000"), "--lanes: 70000", "to 65536"),
        (("--lanes", "1", "--strategies", "root"), "--lanes: 1", "more than one lane"),
        (("--simulations", "0"), "--simulations: '0'", "at least 1"),
        (("--simulations", "1000000000000"), "--simulations: 1000000000000", "from 1 to"),
        (("--simulations", "5", "--total", "5"), "--simulations: 5", "or --total"),
        (("--total", "3", "--lanes", "4"), "--total: 3", "from 4 (the lanes)"),
        (("--pairs", "0"), "--pairs: 0", "from 1 to"),
        (("--total-pairs", "0"), "--total-pairs: 0", "from 1 to"),
        (("--seed", "-1"), "--seed: -1", "from 0 to"),
        (("--opening-plies", "99"), "--opening-plies: 99", "from 0 to"),
        (("--simulations", "8,16"), "--simulations", ""),
        (("--simulations", "8,a"), "--simulations", ""),
        (("--judge", "nobody"), "--judge", ""),
        (("--judge", "exact", "--pairs", "3"), "--pairs", ""),
        (("--judge", "exact", "--scores-only"), "--scores-only", ""),
        (("--judge", "exact", "--positions", "0"), "--positions", ""),
        (("--judge", "games", "--positions", "3"), "--positions", ""),
        (("--hard", "3"), "--hard", ""),
        (("--judge", "exact", "--hard", "0"), "--hard", ""),
        (("--tries", "3"), "--tries", ""),
        (("--judge", "exact", "--tries", "0"), "--tries", ""),
        (("--judge", "exact", "--lanes", "1", "--strategies", "root"), "--lanes", ""),
    ],
    ("solve", "--no-progress"): [
        (("gomoku",), "GAME", "tictactoe, grundy"),
        (("battleship",), "GAME", "pack and unpack"),
        (
            ("tictactoe", "--max-positions", "5000"),
            "--max-positions: 5000",
            "the number of reachable positions",
        ),
        (("tictactoe", "--max-positions", "0"), "--max-positions: 0", "at least 1"),
        (("tictactoe", "--out", "x.png"), "--out: 'x.png'", ".svg, .dot, .txt"),
        (("tictactoe", "--draw", "tree"), "--draw: 'tree'", "at most 1,500 nodes"),
        (("tictactoe", "--draw", "cake"), "--draw: 'cake'", "graph or tree"),
        ((SEVEN, "--side", "third", "--draw", "and-or"), "--side: 'third'", "first or second"),
        ((SEVEN, "--side", "first", "--draw", "strategy"), "--side: 'first'", "loses against best play"),
        (("grundy:pile=3", "--moves", "3-1+2"), "--moves: '3-1+2'", "not over"),
    ],
    ("tree",): [
        (("tictactoe", "--nodes", "0"), "--nodes: 0", "at least 1"),
        (("tictactoe", "--depth", "0"), "DEPTH: 0", "at least 1"),
        (("tictactoe", "--min-visits", "0"), "--min-visits: 0", "at least 1"),
        (("tictactoe", "--out", "tree.pdf"), "--out: 'tree.pdf'", ".svg, .dot, .txt"),
        (("tictactoe", "--simulations", "0"), "--simulations: 0", "from 1 to"),
        (("tictactoe", "--player", "uct"), "PLAYER: 'uct'", "alphabeta, minimax or negamax"),
        (("battleship", *ALPHABETA), "PLAYER: 'alphabeta", "hidden information"),
        (("tictactoe", "--player", "alphabeta:depth=5"), "PLAYER option depth: 5", "1,500 positions"),
        (("tictactoe", "--player", "alphabeta:seconds=1"), "PLAYER option seconds: 1.0", "depth=3"),
        (("tictactoe", "--moves", "a1 a2 b1 b2 c1", *ALPHABETA), "--moves", "not over"),
    ],
    ("plan", *INLINE): [
        (("tictactoe",), "GAME: 'tictactoe'", "a problem of one player"),
        (("2048", "--episodes", "0"), "--episodes: 0", "from 1 to"),
        (("2048", "--steps", "0"), "--steps: 0", "from 1 to"),
        (("2048", "--solver"), "--solver: 'yes'", "nothing"),
        (("2048", "--seed", "-1"), "--seed: -1", "from 0 to"),
        (("2048", "--moves", "up"), "--moves", ""),
    ],
    ("experiment",): [
        (("002/99",), "TABLE: '002/99' is not accepted; expected one of", ""),
        (("002/2", "--scale", "huge"), "--scale: 'huge' is not accepted", "expected smoke or quick or full"),
        (("002/2", "--report", "r.pdf"), "--report: 'r.pdf' is not accepted", ""),
        (("002/2", "--report", "nowhere/r.md"), "--report", "a file in an existing folder"),
        (("002/2", "--report", "OUT/r.md"), "--report", "a file beside which pictures is a folder"),
        (("002/2", "--seed", "-1"), "--seed: -1 is not accepted", ""),
        (("002/2", "--workers", "0", "--out", "OUT"), "--workers: '0' is not accepted", ""),
    ],
    ("play", "tictactoe"): [
        (("--side", "third"), "error: --side:", ""),
        (("--opponent", "nobody"), "error: PLAYER:", ""),
        (("--moves", "z9"), "error: --moves:", ""),
        (("--load", "/nowhere"), "error: --record:", ""),
        (("--seed", "-1"), "error: --seed:", ""),
        (("--preset", "strong"), "'strong'", "best or plain"),
        (("--preset", "best", "--opponent", "random"), "--opponent", ""),
    ],
}
"""By the words that a command line begins with: further ones (OUT: a folder), the field, what is accepted."""
CASES = [
    ((*first, *more), named, accepted) for first, wrong in WRONG.items() for more, named, accepted in wrong
]


@pytest.mark.parametrize(("arguments", "named", "accepted"), CASES, ids=lambda value: None)
def test_wrong_input_is_one_line_that_names_field_value_and_what_is_accepted(
    arguments: tuple[str, ...], named: str, accepted: str, tmp_path: Path, here: Here
) -> None:
    (tmp_path / "pictures").touch()
    err = here.refusal(*(part.replace("OUT", str(tmp_path)) for part in arguments))
    assert named in err
    assert accepted in err
