"""The floor plan: which room may import which, and how many statements it has.

A room is the longest entry of FLOORS that a module begins with. A module imports rooms of lower floors,
modules of its own room, and nothing else. The number of a room is the most statements (`ast.stmt`) that its
modules may have: lines would be saved by packing them. The files of the page are counted in lines, documents
for people in words.
`python -m tests.test_layers` prints these numbers and today's, with --write it writes today's into this file.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("games", "search", "cluster")
FLOORS: tuple[dict[str, int], ...] = (
    # games: first what any rules are written with, last what finds a game by its name.
    {"games.errors": 82, "games.jit": 147, "games.rules": 73},
    {"games.bits": 41, "games.board": 201, "games.rng": 46, "games.spec": 135},
    {"games.compile": 391},
    {"games.game": 274, "games.python_positions": 134},
    {
        "games.explicit_tree": 169,
        "games.grundy": 162,
        "games.python_game": 250,
        "games.user_games": 175,
        "games.grid": 122,
    },
    {
        "games.battleship": 1_142,
        "games.breakthrough": 182,
        "games.chinese_checkers": 341,
        "games.connect_four": 427,
        "games.gomoku": 601,
        "games.hex": 215,
        "games.jobshop": 269,
        "games.morris": 718,
        "games.othello": 182,
        "games.tictactoe": 114,
        "games.pig": 185,
        "games.samegame": 358,
        "games.thud": 584,
        "games.twenty48": 334,
        "games.gym": 1_931,
        "games.openspiel": 219,
    },
    {"games.analysis": 434, "games.contract": 657},
    {"games.catalogue": 87},
    {"games": 8},
    # search: the request and the tree, the kernel, the strategies, a whole search, players.
    {
        "search.evaluator": 158,
        "search.options": 145,
        "search.tree": 498,
        "search.minimax": 381,
    },
    {"search.features": 39},
    {"search.request": 147},
    {"search.plan": 86, "search.job": 223},
    {"search.kernel": 2_345},
    {"search.summary": 115, "search.packing": 299},
    {"search.strategies": 1_499},
    {"search.kept_tree": 40, "search.prepare": 231, "search.worker": 87},
    {"search.result": 242},
    {"search.coordinator": 356},
    {"search.run_inline": 55, "search.ask_tell": 534},
    {"search.players": 1_193, "search.law": 78, "search.examples": 37},
    {"search": 134},
    # cluster: the machine without Ray, Ray, what chooses between them, one launch; then what is built on it.
    {"cluster.system": 631},
    {"cluster.runtime": 1_160, "cluster.drawing": 513},
    {"cluster.checkpoint": 279, "cluster.observe": 505, "cluster.report": 296},
    {"cluster.workers": 2_332},
    {"cluster.front_door": 375},
    {"cluster.launch": 230},
    {"cluster.matches": 1_001, "cluster.client": 388},
    {"cluster.planning": 389, "cluster.play": 616, "cluster.analysis": 1_415},
    {"cluster.lab": 4_851},
    {"cluster.service": 4_717},
    {"cluster.commands": 1_285},
    {"cluster.cli": 125},
    {"cluster.banyan": 96, "cluster": 13},
)
TESTS = {
    "tests": 408,
    "tests.games": 4_868,
    "tests.search": 5_141,
    "tests.cluster": 13_814,
    "tests.deploy": 714,
    "tests.faults": 1_227,
}
OTHERS = {"product": 41_529, "all tests": 26_172, "lines of the page": 5_221, "words of READMEs": 11_340}
BUDGET = {room: most for floor in (*FLOORS, TESTS, OTHERS) for room, most in floor.items()}
PAGE = (".js", ".css", ".html")
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
READMES = ("games", "search", "cluster", "deploy")
TOP_OF_CLUSTER = {"__init__.py", "cli.py", "launch.py", "py.typed", "README.md"}


@cache
def modules() -> dict[str, Path]:
    """Every module by its dotted name; a package is the name of its folder."""
    found = {}
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            parts = file.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


@cache
def imports() -> dict[str, set[str]]:
    """By module, the modules of the project that its text imports, in functions and for types as well."""
    known = modules()
    found: dict[str, set[str]] = {}
    for name, file in known.items():
        named = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                whole = {f"{node.module}.{alias.name}" for alias in node.names}
                # A package of which only modules are taken is not itself used.
                named |= whole & known.keys() or {node.module}
        found[name] = {each for each in named & known.keys() if each != name}
    return found


def room(name: str) -> str:
    """The longest entry of FLOORS that a module's name begins with, at a dot."""
    parts = name.split(".")
    rooms = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next(each for each in rooms if each in BUDGET)


def of_today() -> dict[str, int]:
    """By room, the statements of its modules; the sums; lines of the page, and words of READMEs."""
    found = dict.fromkeys(BUDGET, 0)
    for folder in (*PACKAGES, "tests"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix == ".py":
                tree = ast.parse(file.read_bytes())
                statements = sum(isinstance(node, ast.stmt) for node in ast.walk(tree))
                found[room(".".join(file.relative_to(ROOT).with_suffix("").parts))] += statements
                found["all tests" if folder == "tests" else "product"] += statements
            elif file.suffix in PAGE:
                found["lines of the page"] += file.read_bytes().count(b"\n")
    pages = [*ROOT.glob("*.md"), *(page for each in READMES for page in (ROOT / each).rglob("README.md"))]
    found["words of READMEs"] = sum(len(page.read_text(encoding="utf-8").split()) for page in pages)
    return found


def spare(number: int) -> int:
    """By how much a room may stay below its number before the number has to come down."""
    return 30 + number // 200


def test_no_module_imports_one_of_a_higher_floor_or_a_neighbour() -> None:
    wrong = [
        f"{name} imports {other}"
        for name, others in imports().items()
        for other in sorted(others)
        if room(name) != room(other) and FLOOR_OF[room(name)] <= FLOOR_OF[room(other)]
    ]
    assert wrong == []


def test_no_circle_of_imports() -> None:
    try:
        tuple(TopologicalSorter(imports()).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_every_room_exists() -> None:
    names = set(modules())
    assert [each for each in FLOOR_OF if each not in names] == []


def test_cluster_has_few_files_at_its_top() -> None:
    files = {each.name for each in (ROOT / "cluster").iterdir() if each.is_file()}
    assert files == TOP_OF_CLUSTER


def test_no_room_has_more_than_its_budget() -> None:
    wrong = []
    for name, today in of_today().items():
        if today > BUDGET[name]:
            wrong.append(f"{name}: {today} is {today - BUDGET[name]} over {BUDGET[name]}: take some away")
        elif BUDGET[name] - today > spare(today):
            wrong.append(f"{name}: {today} is {BUDGET[name] - today} below {BUDGET[name]}: lower the number")
    assert not wrong, "\n".join([*wrong, "python -m tests.test_layers shows all; the sums are not raised"])


if __name__ == "__main__":
    page = Path(__file__)
    text = page.read_text(encoding="utf-8")
    for name, today in of_today().items():
        print(f"{name:28}{BUDGET[name]:8,}{today:8,}")
        text = text.replace(f'"{name}": {BUDGET[name]:_}', f'"{name}": {today:_}')
    if sys.argv[1:] == ["--write"]:
        page.write_text(text, encoding="utf-8")
