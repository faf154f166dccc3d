"""The floor plan: which room may import which, no circle, and every package is installed.

A room is the longest entry of FLOORS that a module begins with. A module imports rooms of lower floors,
modules of its own room, and nothing else.
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("games", "search", "cluster")
FLOORS: tuple[tuple[str, ...], ...] = (
    # games: first what any rules are written with, last what finds a game by its name.
    ("games.errors", "games.jit", "games.notation", "games.rules"),
    ("games.bits", "games.grid", "games.judge", "games.rng", "games.spec"),
    ("games.compile",),
    ("games.game", "games.python_positions"),
    (
        "games.explicit_tree",
        "games.grundy",
        "games.tictactoe",
        "games.python_game",
        "games.user_games",
        "games.drawing",
        "games.board_svg",
    ),
    (
        "games.battleship",
        "games.breakthrough",
        "games.chinese_checkers",
        "games.connect_four",
        "games.gomoku",
        "games.hex",
        "games.jobshop",
        "games.morris",
        "games.othello",
        "games.pig",
        "games.samegame",
        "games.thud",
        "games.twenty48",
        "games.gym",
        "games.openspiel",
    ),
    ("games.analysis", "games.contract"),
    ("games.catalogue",),
    ("games",),
    # search: the request and the tree, the kernel, the strategies, a whole search, players.
    (
        "search.awaiting",
        "search.evaluator",
        "search.options",
        "search.policies",
        "search.tree",
        "search.minimax",
        "search.notebook",
    ),
    ("search.features",),
    ("search.request",),
    ("search.plan", "search.job", "search.final_move"),
    ("search.kernel",),
    ("search.summary", "search.packing"),
    ("search.strategies", "search.warm_up"),
    ("search.prepare", "search.worker"),
    ("search.result",),
    ("search.run_inline", "search.ask_tell"),
    ("search.players",),
    ("search",),
    # cluster: the machine without Ray, Ray, what chooses between them, one launch; then what is built on it.
    ("cluster.system",),
    ("cluster.runtime", "cluster.drawing"),
    ("cluster.ray_backend", "cluster.checkpoint", "cluster.observe", "cluster.report"),
    ("cluster.executors",),
    ("cluster.launch", "cluster.front_door"),
    ("cluster.matches", "cluster.client"),
    ("cluster.planning", "cluster.play"),
    ("cluster.lab",),
    ("cluster.service",),
    ("cluster.commands",),
    ("cluster.cli",),
    ("cluster.banyan", "cluster"),
)
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
    return next(each for each in rooms if each in FLOOR_OF)


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


def test_every_package_is_installed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {name for name, file in modules().items() if file.name == "__init__.py"}
    assert set(settings["packages"]) == folders - {"cluster.banyan"} | {"banyan"}
    assert settings["package-dir"] == {"banyan": "cluster/banyan"}
