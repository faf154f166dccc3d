"""Games that are not built in: game files, and entry points of installed packages.

A game file is ordinary Python that defines one subclass of `Game` (or of `PythonGame`), or a
function ``from_spec(spec)`` that returns a game. Loading a file runs its code, so a service must not let
its users name files (`games.load` has ``files=False`` for that).

A worker on another machine does not have the file. It receives the file's text with the search and
writes a copy to a cache folder, because Numba's cache works only for code that comes from a file. The name
of a module includes a hash of its text, so that two versions of a file are different modules.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import stat
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from games.errors import BrokenGame, InvalidInput, foreign, said
from games.game import Game
from games.jit import make_cacheable, writable_cache
from games.spec import GYM, OPENSPIEL, Spec

GROUP = "banyan.games"
"""The group of entry points; each names a subclass of Game, or a function from Spec to Game."""

LIBRARIES = {
    OPENSPIEL: ("pyspiel", "OpenSpiel", "open_spiel"),
    GYM: ("gymnasium", "gymnasium", "gymnasium"),
}
"""By the name before a colon in a spec: the module that is needed, the library's name, and its package."""

_A = {"game": "a game", "evaluator": "an evaluator", "strategy": "a strategy"}
"""What a user's file defines, by the name of the field that gives its path."""

_MODULE_PREFIXES = tuple(f"banyan_{field}_" for field in _A)
"""Prefixes of the names of modules that are made from files, see `module_of`."""


MOST_BYTES = 2**20
"""The most bytes of a file that a spec or an option names, where no other limit is given."""

Files = Mapping[str, tuple[str, str]]
"""By path as it was given: the text of the file, and its absolute path where it was read."""

_read: dict[str, tuple[str, str]] = {}
"""What `read_source` has read in this process."""

_known: dict[str, tuple[str, str]] = {}
"""What another process has read and told this one."""


def read_source(path: str, field: str = "game") -> str:
    """The text of a user's file; raises InvalidInput (``field``) if it cannot be read.

    Files of `know_files` are not read again: this process may be on another machine or in another folder.
    """
    if path in _known:
        return _known[path][0]
    _read[path] = read_text(path, field, f"{_A[field]} file"), str(Path(path).absolute())
    return _read[path][0]


def read_text(path: str | Path, field: str, what: str, most: int = MOST_BYTES) -> str:
    """The text of a regular file of at most ``most`` bytes, without a byte order mark.

    Raises InvalidInput (``field``), which says ``what`` is accepted: a pipe may keep a reader waiting, and a
    device has no end.
    """
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            reason = "not a regular file"
        elif found.st_size > most:
            reason = f"larger than {most // 2**20} MB"
        else:
            return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not text in UTF-8"
    raise InvalidInput(field, str(path), f"{what} that can be read ({reason})") from None


def whole_path(path: str) -> str:
    """The absolute path of a user's file, where it was read: a worker is in another folder."""
    return _known[path][1] if path in _known else str(Path(path).absolute())


def files_read() -> Files:
    """The users' files that this process has read: what a worker has to know."""
    return {**_known, **_read}


def know_files(files: Files) -> None:
    """Take these for what the users' files say, and for where they are, from now on."""
    _known.update(files)


def game_from_file(spec: Spec, text: str) -> Game:
    """The game that a file with this text defines; ``spec.name`` is its path, maybe on another machine.

    Raises InvalidInput (field ``game``) for a file that fails or defines no game.
    """
    game = _make(_factory_in(module_of(spec.name, text), spec.name), spec)
    game.source, game.source_text = spec.name, text
    return game


def installed() -> dict[str, EntryPoint]:
    """The entry points of games of installed packages, by name."""
    return {point.name: point for point in entry_points(group=GROUP)}


def game_from_package(point: EntryPoint, spec: Spec) -> Game:
    """The game of an entry point; raises InvalidInput (field ``game``) if it cannot be made."""
    with refusing("game", spec.name, "a package that can be imported"):
        found = foreign(point.load)
    return _make(found, spec)


def library_or_refuse(family: str, field: str, value: str) -> Any:
    """The module that games of this family need; raises InvalidInput (``field``) if it is not installed."""
    module, name, package = LIBRARIES[family]
    try:
        return importlib.import_module(module)
    except ImportError:
        accepted = f"{name} to be installed: pip install {package}"
        raise InvalidInput(field, value, accepted) from None


def _make(factory: Any, spec: Spec) -> Game:
    is_class = isinstance(factory, type) and issubclass(factory, Game)
    with refusing("game", str(spec), "a game that can be made"):
        game = foreign(factory.from_spec if is_class else factory, spec)
    if not isinstance(game, Game):
        raise InvalidInput("game", str(spec), f"a Game, not a {type(game).__name__}")
    game.name = game.name or Path(spec.name).stem
    game.trusted = False
    for field in ("rules", "max_moves", "max_plies"):
        if not hasattr(game, field):
            raise InvalidInput(
                "game", str(spec), f"a game with {field} (class {type(game).__name__} has none)"
            )
    return game


def module_of(path: str, text: str, field: str = "game") -> ModuleType:
    """The module made from a file with this text; raises InvalidInput (``field``) if running it fails."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    name = f"banyan_{field}_{Path(path).stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    file = Path(path)
    if not _holds(file, text):
        file = _cached_copy(Path(path).name, digest, text)
    make_cacheable(str(file.resolve()))
    found = importlib.util.spec_from_file_location(name, file.resolve())
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        with refusing(field, path, f"{_A[field]} file that runs", path):
            foreign(found.loader.exec_module, module)
    except InvalidInput:
        del sys.modules[name]
        raise
    return module


def _factory_in(module: ModuleType, path: str) -> Callable[[Spec], Game] | type[Game]:
    if callable(factory := getattr(module, "from_spec", None)):
        return factory  # type: ignore[no-any-return]
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Game) and value.__module__ == module.__name__
    ]
    # A base class of other classes in the file is not the game.
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
        return file.read_text(encoding="utf-8-sig") == text
    except (OSError, UnicodeDecodeError):
        return False


def _cached_copy(name: str, digest: str, text: str) -> Path:
    """The path of a file with this text in the folder for copies; it is written atomically."""
    folder = "" if os.environ.get("BANYAN_CACHE_DIR") else "games"
    file = cache_base() / folder / digest / name
    if not _holds(file, text):
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as part:
            part.write(text)
        os.replace(part.name, file)
    return file


def cache_base() -> Path:
    """The folder of all that Banyan caches: BANYAN_CACHE_DIR, or ``banyan`` in the user's cache, or in a
    private temporary folder if that cannot be written to."""
    if own := os.environ.get("BANYAN_CACHE_DIR"):
        return Path(own)
    return writable_cache("banyan")


def broken_by(error: Exception) -> InvalidInput | None:
    """The error that names the line of a user's file in which an exception was raised: BrokenGame unless it
    is the file of a strategy. None for other exceptions."""
    files = {
        str(module.__file__): name
        for name, module in [*sys.modules.items()]
        if name.startswith(_MODULE_PREFIXES)
    }
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    if not frames:
        return None
    name, line = Path(frames[-1].filename).name, frames[-1].lineno
    found = f"{frames[0].name}: raised {said(error)} (line {line})"
    if files[frames[-1].filename].startswith("banyan_strategy_"):
        return InvalidInput("strategy", name, f"a strategy whose code runs ({found})")
    return BrokenGame(name, found)


def frames_of(error: BaseException, path: str) -> list[traceback.FrameSummary]:
    """The frames of a traceback in files with the name of ``path``, outermost first; compiled code has only
    its innermost frame there."""
    frames, name = traceback.extract_tb(error.__traceback__), Path(path).name
    return [frame for frame in frames if Path(frame.filename).name == name]


@contextmanager
def refusing(field: str, value: str, accepted: str, path: str = "") -> Iterator[None]:
    """Within, an exception becomes an InvalidInput, with the reason as `reason_of` gives it.

    For code of users and libraries, called by `games.errors.foreign`; their own InvalidInput stays.
    """
    try:
        yield
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(field, value, f"{accepted} ({reason_of(error, path)})") from None


def reason_of(error: BaseException, path: str = "") -> str:
    """The error as one line of text, with the number of the line of the file at ``path`` that raised it."""
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    lines = [frame.lineno for frame in frames_of(error, path)]
    if isinstance(error, SyntaxError):
        lines = [error.lineno]
    return f"line {lines[-1]}: {text}" if path and lines else text
