"""Converts the arguments of a call to a search request: keywords, and the game as a spec, object or class."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, NoReturn, TypedDict, TypeVar

import games
from games.errors import InvalidInput, UnknownOption
from games.game import Game
from games.user_games import installed
from search.options import knobs_of
from search.request import SearchRequest, request_of

F = TypeVar("F", bound=Callable[..., Any])
_loading: ContextVar[str | None] = ContextVar("loading", default=None)
"""The file that is being loaded because its class was passed as a game; None otherwise."""


class WorkerOptions(TypedDict, total=False):
    """Keywords for the time limit of jobs, the resources of workers and the store of evaluations, named as on
    the command line."""

    job_timeout: float | None
    gpus_per_worker: float | None
    cpus_per_worker: float | None
    worker_resources: str | None
    evaluations: str | None


class RequestOptions(TypedDict, total=False):
    """Fields of `search.SearchRequest` that are no parameters of `banyan.search`; None means the default."""

    memory_mb: int | None
    stop_when_full: bool | None
    strategy: str | None
    exploration: float | None
    exploration_scale: str | None
    first_play_urgency: float | None
    implicit_minimax: float | None
    decisive: bool | None
    widening: int | None
    solver: bool | None
    early_stop: bool | None
    allow: str | None
    avoid: str | None
    least_visits: str | None
    final_move: str | None
    playout_plies: int | None
    playout_policy: str | None
    lanes: int | None
    rounds: int | None
    share_visits: int | None
    in_flight: str | None
    batch: int | None
    playouts_per_leaf: int | None
    hidden_information: str | None
    paired: int | None
    evaluator: str | None
    evaluator_version: str | None
    cpuct_base: float | None
    fpu_reduction: float | None
    policy_temperature: float | None


class SearchOptions(RequestOptions, WorkerOptions, total=False):
    """The keywords of `banyan.search`, `start` and `plan` beside their parameters."""


def with_options(function: F) -> F:
    """The function, with the options of a search at the end of its docstring, for `help`."""
    told = [
        f"{knob.name}: {knob.option.help} ({knob.accepted}; {knob.option.unset or repr(knob.default)})"
        for knob in knobs_of(SearchRequest)
        if knob.name in RequestOptions.__annotations__
    ]
    lines = [textwrap.fill(each, 106, initial_indent=" " * 4, subsequent_indent=" " * 8) for each in told]
    function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", "Options:", *lines])
    return function


def read_call(
    call: Callable[..., Any],
    game: str | Game | type[Game],
    moves: str | Iterable[str],
    options: Mapping[str, Any],
    kind: type[SearchRequest] = SearchRequest,
    *,
    endless: bool = False,
    **named: Any,
) -> tuple[SearchRequest, dict[str, Any]]:
    """The request of a call, and the options of its workers.

    ``options``: the keywords of the call beside its parameters. ``endless`` as in
    `search.request.request_of`. ``named``: parameters of the call that are fields of the request. Raises
    InvalidInput, UnknownOption.
    """
    of_search, of_workers = split(call, options)
    texts = tuple(moves.split()) if isinstance(moves, str) else tuple(moves)
    values = {"game": spec_of(game), "moves": texts, **named, **of_search}
    return request_of(values, kind, endless=endless), of_workers


def split(call: Callable[..., Any], options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the options of a call into those of a search and those of its workers. Raises UnknownOption."""
    parameters = inspect.signature(call, eval_str=True).parameters
    (accepted,) = parameters["options"].annotation.__args__
    names = sorted({*parameters, *accepted.__annotations__} - {"options"})
    for name, value in options.items():
        if name not in names:
            raise UnknownOption(name, value, names)
    of_workers = {name: options[name] for name in WorkerOptions.__annotations__ if name in options}
    return {name: value for name, value in options.items() if name not in of_workers}, of_workers


def spec_of(game: str | Game | type[Game]) -> str:
    """The spec of the game. Raises InvalidInput (game) if it is not a game, or a class without a file.

    Workers create the game from its spec and the text of its file. So a user's class must be in a file, which
    is loaded as a game file: see `games.user_games`.
    """
    if (file := _loading.get()) is not None:
        accepted = f'called below `if __name__ == "__main__":` in {file}, which is loaded for its game'
        raise InvalidInput("game", _name_of(game), f"a search that is {accepted}")
    if isinstance(game, str):
        return game
    if isinstance(game, Game):
        if game.source is not None or _comes_with_banyan(type(game)) or game.name in installed():
            return game.spec
        if not game.options and len(inspect.signature(type(game).__init__).parameters) > 1:
            _refuse(
                game, "its class, a spec such as './mygame.py:size=5', or an object that sets self.options"
            )
        return _spec_of_class(type(game), game.options)
    if not isinstance(game, type) or not issubclass(game, Game):
        _refuse(game, "a game such as 'gomoku:size=15' or './mygame.py', or a games.Game, object or class")
    return game.name if _comes_with_banyan(game) and game.name else _spec_of_class(game, {})


def _spec_of_class(kind: type[Game], options: Mapping[str, str | int]) -> str:
    """A spec of the file that defines the class, with options. Loads the file as a game file."""
    try:
        path = inspect.getfile(kind)
    except (TypeError, OSError):
        path = ""
    if not path.endswith(".py"):
        _refuse(kind, "a class in a file NAME.py, from which workers load it (in a notebook: %%writefile)")
    text = ",".join(f"{key}={value}" for key, value in options.items())
    spec = f"{path}:{text}" if text else path
    token = _loading.set(path)
    try:
        found = type(games.load(spec)).__name__
    finally:
        _loading.reset(token)
    if found != kind.__name__:
        _refuse(kind, f"the class of the game that {path} defines ({found})")
    return spec


def _comes_with_banyan(kind: type[Game]) -> bool:
    return kind.__module__.partition(".")[0] == "games"


def _name_of(game: object) -> str:
    if isinstance(game, str):
        return game
    return game.__name__ if isinstance(game, type) else type(game).__name__


def _refuse(game: object, accepted: str) -> NoReturn:
    raise InvalidInput("game", _name_of(game), accepted)
