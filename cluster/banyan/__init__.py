"""Distributed, parallel Monte Carlo tree search: one position, many workers, the same answer.

    import banyan

    result = banyan.search("gomoku", moves="f6 g7", simulations=2_000_000, workers=8)
    print(result.move, result.value, result.pv)

- `search` searches a position and returns a `SearchResult`.
- `start` searches in the background and returns a `RunningSearch`, which can be watched, stopped and saved.
  `resume` continues a saved search.
- `open` opens a search whose leaves this program evaluates, and returns an `OpenSearch`: ask for leaves, tell
  what they are worth. `reopen` continues a saved one.
- `plan` plays episodes of a problem of one player, each move chosen by a search; returns a `PlanResult`.
- `play` plays a game against the strongest player known for it, in a terminal or a notebook.
- `games` lists the names of games, `load_game` loads one.
- `Client` and `AsyncClient` send requests to a server (``banyan serve``).
- `InvalidInput` is raised for a wrong argument, `SearchFailed` if a search cannot continue.

Importing this package takes a few milliseconds; the modules of a name are imported when it is first used. The
names `cluster`, `search` and `games` are common, so this package also makes sure that they are Banyan's own
packages: a program that imports `banyan` first gets the three packages installed beside it, even if others of
the same name are in the current folder, on PYTHONPATH or in the environment. The command, `python -m banyan`
and every worker process import it first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cluster.client.client import AsyncClient, Client
    from cluster.front_door.calls import OpenSearch, open, reopen, resume, search, start  # noqa: A004
    from cluster.front_door.running import RunningSearch, SearchProgress
    from cluster.planning.plan import plan
    from cluster.planning.result import PlanResult
    from cluster.play.call import play
    from games.catalogue import load as load_game
    from games.catalogue import names as games
    from games.errors import InvalidInput
    from search.coordinator import SearchFailed
    from search.result import SearchResult

    __version__: str

__all__ = [
    "AsyncClient",
    "Client",
    "InvalidInput",
    "OpenSearch",
    "PlanResult",
    "RunningSearch",
    "SearchFailed",
    "SearchProgress",
    "SearchResult",
    "__version__",
    "games",
    "load_game",
    "open",
    "plan",
    "play",
    "reopen",
    "resume",
    "search",
    "start",
]

_OFFERED = {
    "cluster.client.client": ("AsyncClient", "Client"),
    "cluster.front_door.calls": ("OpenSearch", "open", "reopen", "resume", "search", "start"),
    "cluster.front_door.running": ("RunningSearch", "SearchProgress"),
    "cluster.planning.plan": ("plan",),
    "cluster.planning.result": ("PlanResult",),
    "cluster.play.call": ("play",),
    "games.catalogue": ("load_game", "games"),
    "games.errors": ("InvalidInput",),
    "search.coordinator": ("SearchFailed",),
    "search.result": ("SearchResult",),
}
"""The offered names by module."""
_THERE = {"load_game": "load", "games": "names"}
"""By offered name: the name in its module, where that differs."""

PACKAGES = ("games", "search", "cluster")
_MARK = "Banyan"
"""A text in the docstring of each of the packages."""


def _root() -> Path:
    """The folder that contains the packages: a checkout, or the place where a wheel was installed."""
    here = Path(__file__).resolve().parent
    return here.parents[1] if (here.parent / "cli.py").exists() else here.parent


ROOT = _root()


class _OwnPackages:
    """Finds PACKAGES in ROOT, before other finders look for them elsewhere."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in PACKAGES:
            return None
        check(name)
        folder = ROOT / name
        return spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])


def check(name: str) -> None:
    """Raises ImportError, in one line, if a package is not Banyan's."""
    file = ROOT / name / "__init__.py"
    text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    if _MARK not in text.partition("\n")[0]:
        raise ImportError(
            f"the package {name!r} in {ROOT} is not Banyan's{_installed_by(name)}: "
            "install Banyan into an environment of its own"
        )
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) != str(file):
        raise ImportError(
            f"this process has imported another package {name!r} ({getattr(known, '__file__', None)}): "
            "import banyan before it, or run Banyan in a process of its own"
        )


def _installed_by(name: str) -> str:
    """Names of other distributions that installed a package of this name."""
    from importlib.metadata import packages_distributions

    others = sorted(set(packages_distributions().get(name, ())) - {"banyan-mcts"})
    return f" (it was installed by {', '.join(others)})" if others else ""


for _name in PACKAGES:
    if _name in sys.modules:
        check(_name)
sys.meta_path.insert(0, _OwnPackages())


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            value = version("banyan-mcts")
        else:
            modules = [module for module, names in _OFFERED.items() if name in names]
            if not modules:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
            value = getattr(import_module(modules[0]), _THERE.get(name, name))
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
