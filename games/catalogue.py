"""The games by name: from one line of text to a `Game`."""

from __future__ import annotations

from functools import lru_cache
from pkgutil import resolve_name
from weakref import WeakValueDictionary

from games import openspiel
from games import user_games as own
from games.contract.trial import try_out
from games.errors import InvalidInput, did_you_mean
from games.game import Game
from games.gym.environment import refuse_reaching_out
from games.gym.game import game_from_spec
from games.gym.generators import SHARED, Use
from games.jobshop.instances import is_file
from games.spec import DATA_OF, GYM, OPENSPIEL, Spec, file_of, parse_game_spec

_BUILT_IN = {
    "2048": "games.twenty48:Twenty48",
    "battleship": "games.battleship:Battleship",
    "breakthrough": "games.breakthrough:Breakthrough",
    "chinese_checkers": "games.chinese_checkers:ChineseCheckers",
    "connect_four": "games.connect_four:ConnectFour",
    "explicit": "games.explicit_tree:ExplicitTree",
    "gomoku": "games.gomoku:Gomoku",
    "grundy": "games.grundy:Grundy",
    "hex": "games.hex:Hex",
    "jobshop": "games.jobshop:JobShop",
    "morris": "games.morris:Morris",
    "othello": "games.othello:Othello",
    "pig": "games.pig:Pig",
    "samegame": "games.samegame:SameGame",
    "thud": "games.thud:Thud",
    "tictactoe": "games.tictactoe:TicTacToe",
}
"""The module and the class of each game. A module is imported when its game is first loaded: some make tables
of moves, for a tenth of a second and more."""

_by_whole_spec: WeakValueDictionary[tuple[str, str | None, bool], Game] = WeakValueDictionary()
"""The games of `_load` by their whole specs, with every option."""


def names() -> list[str]:
    """The names of all games, sorted: the built-in ones and those of installed packages."""
    return sorted({*_BUILT_IN, *own.installed()})


def built_in() -> list[str]:
    """The names of the built-in games, sorted."""
    return sorted(_BUILT_IN)


def forget() -> None:
    """Empty the cache of loaded games; games without another reference are released at once."""
    _load.cache_clear()
    _by_whole_spec.clear()


def source_of_spec(text: str, *, files: bool = True) -> str | None:
    """The text of the game file that a spec names; None if it names no file.

    Raises InvalidInput (field ``game``) if the file cannot be read, or if the spec names a file and
    ``files`` is False.
    """
    spec = parse_game_spec(text)
    if not files:
        _refuse_files(text, spec)
    path = file_of(spec)
    return None if path is None else own.read_source(path)


def load(text: str, source: str | None = None, *, files: bool = True, tried: bool = True) -> Game:
    """The game that a spec such as ``gomoku:size=15`` or ``./mygame.py`` names.

    ``source`` is the text of a game file that may not be on this machine; without it the file is read.
    Loading a game file runs its code; a file of data is read, and becomes a part of the game's spec. With
    ``files=False`` a spec that names a file, or parameters with which OpenSpiel or an environment could read
    one, is refused before any file is opened. With ``tried`` the rules of a file or a package are tested in
    random games first (games/contract/trial.py), and an environment is searched for what it hides
    (games/gym/hidden.py); a process that gets the whole spec of a loaded game leaves that out.
    Raises InvalidInput (field ``game``), and its subclass BrokenGame if the rules violate the contract.
    """
    spec = parse_game_spec(text)
    if not files:
        _refuse_files(text, spec)
    if _names_data(spec):
        # The file may change, so what is kept is the game of its data.
        text = _kind(spec.name).from_spec(spec).spec
    path = file_of(spec)
    if path is None:
        return _load(text, None, tried)
    return _load(text, own.read_source(path) if source is None else source, tried)


def _kind(name: str) -> type[Game]:
    kind: type[Game] = resolve_name(_BUILT_IN[name])
    return kind


def _refuse_files(text: str, spec: Spec) -> None:
    if file_of(spec) is not None:
        raise InvalidInput("game", text, "a name, not a file: one of " + ", ".join(names()))
    if _names_data(spec):
        raise InvalidInput("game", text, f"no file: {DATA_OF[spec.name]} by name, or data=, the data as text")
    if spec.name == OPENSPIEL and not openspiel.has_plain_parameters(spec):
        accepted = "a game of OpenSpiel whose parameters are numbers, True or False: others may name files"
        raise InvalidInput("game", text, accepted)
    if spec.name == GYM:
        refuse_reaching_out(spec)


def _names_data(spec: Spec) -> bool:
    """Whether an option of the spec is the path of a file of data."""
    return spec.name in DATA_OF and is_file(spec.options.get(DATA_OF[spec.name], ""))


@lru_cache(maxsize=64)
def _load(text: str, source: str | None, tried: bool) -> Game:
    known = _by_whole_spec.get((text, source, True)) or _by_whole_spec.get((text, source, tried))
    if known is not None:
        # Experiments with an environment may take seconds.
        return known
    game = _made(text, source, tried)
    if tried and not game.trusted:
        try_out(game)
    _by_whole_spec[game.spec, source, tried] = game
    return game


def _made(text: str, source: str | None, tried: bool) -> Game:
    spec = parse_game_spec(text)
    if spec.name == GYM:
        # Nothing that is done with an environment changes the generators that others share.
        with Use(SHARED):
            return game_from_spec(spec, source, tried)
    if source is not None:
        return own.game_from_file(spec, source)
    if spec.name == OPENSPIEL:
        return openspiel.game_from_spec(spec)
    if spec.name in _BUILT_IN:
        return _kind(spec.name).from_spec(spec)
    if point := own.installed().get(spec.name):
        return own.game_from_package(point, spec)
    accepted = (
        "one of " + ", ".join(names()) + ", a game file such as ./mygame.py, openspiel:NAME, or gym:ENV"
    )
    raise InvalidInput("game", spec.name, accepted + did_you_mean(spec.name, names()))
