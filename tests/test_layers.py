"""The floor plan: which room may import which, and how many lines it has.

A room is the longest entry of FLOORS that a module begins with. A module imports rooms of lower floors,
modules of its own room, and nothing else. The number of a room is the most lines that it may have.
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
    {"games.errors": 90, "games.jit": 124, "games.rules": 135},
    {"games.bits": 76, "games.board": 300, "games.rng": 80, "games.spec": 182},
    {"games.compile": 592},
    {"games.game": 442, "games.python_positions": 183},
    {
        "games.explicit_tree": 248,
        "games.grundy": 239,
        "games.python_game": 371,
        "games.user_games": 266,
        "games.grid": 186,
    },
    {
        "games.battleship": 1_638,
        "games.breakthrough": 265,
        "games.chinese_checkers": 505,
        "games.connect_four": 638,
        "games.gomoku": 498,
        "games.hex": 325,
        "games.jobshop": 413,
        "games.morris": 965,
        "games.othello": 265,
        "games.tictactoe": 183,
        "games.pig": 301,
        "games.samegame": 517,
        "games.thud": 952,
        "games.twenty48": 512,
        "games.gym": 2_477,
        "games.openspiel": 325,
    },
    {"games.analysis": 683, "games.contract": 868},
    {"games.catalogue": 160},
    {"games": 27},
    # search: the request and the tree, the kernel, the strategies, a whole search, players.
    {
        "search.evaluator": 254,
        "search.options": 166,
        "search.tree": 754,
        "search.minimax": 550,
    },
    {"search.features": 66},
    {"search.request": 387},
    {"search.plan": 111, "search.job": 252},
    {"search.kernel": 3_755},
    {"search.summary": 179, "search.packing": 458},
    {"search.strategies": 1_984},
    {"search.prepare": 320, "search.worker": 102},
    {"search.result": 334},
    {"search.coordinator": 443},
    {"search.run_inline": 87, "search.ask_tell": 619},
    {"search.players": 1_709},
    {"search": 210},
    # cluster: the machine without Ray, Ray, what chooses between them, one launch; then what is built on it.
    {"cluster.system": 761},
    {"cluster.runtime": 1_711, "cluster.drawing": 776},
    {"cluster.ray_backend": 1_891, "cluster.checkpoint": 409, "cluster.observe": 718, "cluster.report": 430},
    {"cluster.executors": 584},
    {"cluster.front_door": 870},
    {"cluster.launch": 309},
    {"cluster.matches": 1_501, "cluster.client": 496},
    {"cluster.planning": 690, "cluster.play": 939},
    {"cluster.lab": 7_269},
    {"cluster.service": 11_054},
    {"cluster.commands": 2_747},
    {"cluster.cli": 234},
    {"cluster.banyan": 202, "cluster": 26},
)
TESTS = {
    "tests": 707,
    "tests.games": 8_372,
    "tests.search": 7_703,
    "tests.cluster": 18_261,
    "tests.deploy": 970,
    "tests.faults": 1_523,
}
TOTAL = {"total": 99_924}
LINES = {room: lines for floor in (*FLOORS, TESTS, TOTAL) for room, lines in floor.items()}
COUNTED = (".py", ".js", ".css", ".html")
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
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
    return next(each for each in rooms if each in LINES)


def lines_of_today() -> dict[str, int]:
    """By room, the lines of its files of the kinds in COUNTED."""
    found = dict.fromkeys(LINES, 0)
    for folder in (*PACKAGES, "tests"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in COUNTED:
                lines = file.read_bytes().count(b"\n")
                found[room(".".join(file.relative_to(ROOT).with_suffix("").parts))] += lines
                found["total"] += lines
    return found


def spare(lines: int) -> int:
    """By how many lines a room may stay below its number before the number has to come down."""
    return 50 + lines // 200


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


def test_no_room_has_more_lines_than_its_budget() -> None:
    wrong = []
    for name, today in lines_of_today().items():
        if today > LINES[name]:
            wrong.append(
                f"{name}: {today} lines are {today - LINES[name]} over {LINES[name]}: take some away"
            )
        elif LINES[name] - today > spare(today):
            wrong.append(
                f"{name}: {today} lines are {LINES[name] - today} below {LINES[name]}: lower the number"
            )
    assert not wrong, "\n".join([*wrong, "python -m tests.test_layers shows all; the total is not raised"])


if __name__ == "__main__":
    page = Path(__file__)
    text = page.read_text(encoding="utf-8")
    for name, today in lines_of_today().items():
        print(f"{name:28}{LINES[name]:8,}{today:8,}")
        text = text.replace(f'"{name}": {LINES[name]:_}', f'"{name}": {today:_}')
    if sys.argv[1:] == ["--write"]:
        page.write_text(text, encoding="utf-8")
