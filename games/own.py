"""Games that do not come with Banyan: files, and entry points of installed packages.

A game file is ordinary Python that defines one subclass of `Game` (or of `PythonGame`), or a
function ``from_spec(spec)`` that returns a game. Loading it runs it: whoever loads games
for others must not let them name files (`games.load` has ``files=False`` for that).

A worker elsewhere has no such file. It gets its text along with the search and keeps a copy in
a cache folder, for Numba compiles for disk only what comes from a file. A module's name carries
a hash of its text, so two versions of one file never meet.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from games.errors import InvalidInput
from games.game import Game
from games.spec import Spec, options_of

GROUP = "banyan.games"
"""The group of entry points: a name, and a subclass of Game or a function that makes a game of a Spec."""

_A = {"game": "a game", "evaluator": "an evaluator"}
"""What files of somebody's own are for, by the field that names them."""


def read_source(path: str, field: str = "game") -> str:
    """The text of a file of somebody's own; raises InvalidInput (field) if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text in UTF-8"
        raise InvalidInput(field, path, f"{_A[field]} file that can be read ({reason})") from None


def game_from_file(spec: Spec, text: str) -> Game:
    """The game that a file with this text defines; ``spec.name`` is its path, here or elsewhere.

    Raises InvalidInput (field ``game``) for a file that fails or defines no game.
    """
    game = _make(_factory_in(module_of(spec.name, text), spec.name), spec)
    game.source, game.source_text = spec.name, text
    return game


def installed() -> dict[str, EntryPoint]:
    """The games that installed packages bring, by name."""
    return {point.name: point for point in entry_points(group=GROUP)}


def game_from_package(point: EntryPoint, spec: Spec) -> Game:
    """The game of an entry point; raises InvalidInput (field ``game``) if it cannot be made."""
    try:
        found = point.load()
    except Exception as error:
        raise InvalidInput(
            "game", spec.name, f"a package that can be imported ({reason_of(error)})"
        ) from None
    return _make(found, spec)


def _make(factory: Any, spec: Spec) -> Game:
    is_class = isinstance(factory, type) and issubclass(factory, Game)
    try:
        game = factory.from_spec(spec) if is_class else factory(spec)
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput("game", str(spec), f"a game that can be made ({reason_of(error)})") from None
    if not isinstance(game, Game):
        raise InvalidInput("game", str(spec), f"a Game, not a {type(game).__name__}")
    if is_class and not game.options:
        game.options = options_of(factory.__init__, spec)
    game.name = game.name or Path(spec.name).stem
    for field in ("rules", "max_moves", "max_plies"):
        if not hasattr(game, field):
            raise InvalidInput(
                "game", str(spec), f"a game with {field} (class {type(game).__name__} has none)"
            )
    return game


def module_of(path: str, text: str, field: str = "game") -> ModuleType:
    """The module that a file with this text makes; raises InvalidInput (field) if it fails."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    name = f"banyan_{field}_{Path(path).stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    file = Path(path)
    if not _holds(file, text):
        file = _cached_copy(Path(path).name, digest, text)
    found = importlib.util.spec_from_file_location(name, file.resolve())
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    except InvalidInput:
        del sys.modules[name]
        raise
    except Exception as error:
        del sys.modules[name]
        raise InvalidInput(field, path, f"{_A[field]} file that runs ({reason_of(error, path)})") from None
    return module


def _factory_in(module: ModuleType, path: str) -> Callable[[Spec], Game] | type[Game]:
    if callable(factory := getattr(module, "from_spec", None)):
        return factory  # type: ignore[no-any-return]
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Game) and value.__module__ == module.__name__
    ]
    # A class that others in the file derive from is not the game.
    games = [
        each
        for each in classes
        if not any(other is not each and issubclass(other, each) for other in classes)
    ]
    if len(games) != 1:
        found = ", ".join(each.__name__ for each in games) or "none"
        accepted = f"a file with one subclass of games.Game, or a function from_spec (found: {found})"
        raise InvalidInput("game", path, accepted)
    if inspect.isabstract(games[0]):
        missing = ", ".join(sorted(games[0].__abstractmethods__))
        raise InvalidInput("game", path, f"class {games[0].__name__} to define {missing}")
    return games[0]


def _holds(file: Path, text: str) -> bool:
    try:
        return file.read_text(encoding="utf-8") == text
    except (OSError, UnicodeDecodeError):
        return False


def _cached_copy(name: str, digest: str, text: str) -> Path:
    """A file with this text in the cache folder, whole at any moment."""
    file = cache_folder() / digest / name
    if not _holds(file, text):
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as part:
            part.write(text)
        os.replace(part.name, file)
    return file


def cache_folder() -> Path:
    """Where copies of game files are kept: BANYAN_CACHE_DIR, or ``banyan/games`` in the user's cache."""
    if own := os.environ.get("BANYAN_CACHE_DIR"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or (Path.home() / ".cache")
    return Path(base) / "banyan" / "games"


def reason_of(error: Exception, path: str = "") -> str:
    """The error in one line, with the line of the file at ``path`` that it came from."""
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    stem = Path(path).name
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).name == stem
    ]
    if isinstance(error, SyntaxError):
        lines = [error.lineno]
    return f"line {lines[-1]}: {text}" if path and lines else text
