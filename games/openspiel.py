"""Games of OpenSpiel: ``openspiel:NAME``, if OpenSpiel is installed.

Accepted are sequential two-player zero-sum games with perfect information and without chance.
NAME is the name that OpenSpiel uses, with parameters: ``openspiel:mnk(m=5,n=5,k=4)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from games.errors import InvalidInput
from games.game import Game
from games.python_game import PythonGame
from games.rules import MAX_MOVE_CODE, MAX_MOVES
from games.spec import Spec

_PARAMETER = r"\w+=(?:-?[0-9.]+|True|False)"
_PLAIN_NAME = re.compile(rf"\w*(?:\({_PARAMETER}(?:,{_PARAMETER})*\))?", re.ASCII)


def pyspiel_or_refuse(field: str, value: str) -> Any:
    """The module pyspiel; raises InvalidInput if it is not installed."""
    try:
        import pyspiel
    except ImportError:
        accepted = "OpenSpiel to be installed: pip install 'banyan-mcts[openspiel]'"
        raise InvalidInput(field, value, accepted) from None
    return pyspiel


def name_of(game: Game) -> str | None:
    """The name of the OpenSpiel game with rules and move codes equal to the game's; None if there is none."""
    if isinstance(game, OpenSpielGame):
        return game.source.removeprefix("openspiel:")
    if game.name == "tictactoe":
        return "tic_tac_toe"
    if game.name == "connect_four":
        return f"connect_four(rows={game.options['rows']},columns={game.options['columns']})"
    if game.name == "breakthrough":
        return f"breakthrough(rows={game.options['rows']},columns={game.options['columns']})"
    if game.name == "hex":
        return f"hex(board_size={game.options['size']},swap={game.options['swap'] == 'yes'})"
    if game.name == "chinese_checkers":
        return f"chinese_checkers(players={game.options['players']},max_moves={game.options['turns']})"
    if game.spec == "othello:size=8":
        return "othello"
    if game.name == "gomoku" and game.options["candidates"] == 0 and game.options["overline"] == "wins":
        return f"gomoku(size={game.options['size']})"
    if game.spec == "morris:variant=nine,fly=yes,repetition=none,cap=200":
        return "nine_mens_morris"
    return None


def game_from_spec(spec: Spec) -> OpenSpielGame:
    """The game of a spec; raises InvalidInput (field ``game``) without OpenSpiel or for an unknown game."""
    pyspiel = pyspiel_or_refuse("game", _text(spec))
    name = spec.options.get("game", "")
    if name.partition("(")[0] not in pyspiel.registered_names():
        raise InvalidInput("game", _text(spec), "openspiel:NAME, such as openspiel:connect_four")
    loaded = _asked(spec, lambda: pyspiel.load_game(name))
    kind = loaded.get_type()
    wanted = (
        (kind.dynamics, pyspiel.GameType.Dynamics.SEQUENTIAL),
        (kind.chance_mode, pyspiel.GameType.ChanceMode.DETERMINISTIC),
        (kind.information, pyspiel.GameType.Information.PERFECT_INFORMATION),
        (kind.utility, pyspiel.GameType.Utility.ZERO_SUM),
        (loaded.num_players(), 2),
    )
    if any(found != asked for found, asked in wanted) or loaded.num_distinct_actions() > MAX_MOVE_CODE:
        accepted = "a sequential two-player zero-sum game with perfect information and without chance"
        raise InvalidInput("game", _text(spec), accepted)
    if (num_legal := _asked(spec, lambda: len(loaded.new_initial_state().legal_actions()))) > MAX_MOVES:
        accepted = f"a game with at most {MAX_MOVES} legal moves (this one begins with {num_legal})"
        raise InvalidInput("game", _text(spec), accepted)
    return OpenSpielGame(loaded, name)


def _asked(spec: Spec, question: Callable[[], Any]) -> Any:
    """OpenSpiel's answer; raises InvalidInput (field ``game``) with its message if the call fails."""
    import pyspiel

    try:
        return question()
    except pyspiel.SpielError as error:
        raise InvalidInput("game", _text(spec), f"a game that OpenSpiel loads ({error})") from None


def has_plain_parameters(spec: Spec) -> bool:
    """Whether all parameters are numbers, True or False.

    Other parameters can be the names of files (``efg_game(filename=...)``) or nested games.
    """
    return _PLAIN_NAME.fullmatch(spec.options.get("game", "")) is not None


class OpenSpielGame(PythonGame):
    """A game of OpenSpiel; the moves are its actions."""

    source: str

    def __init__(self, loaded: Any, name: str) -> None:
        """``loaded``: the result of pyspiel.load_game(name)."""
        super().__init__()
        self._loaded = loaded
        self._largest = max(abs(loaded.max_utility()), abs(loaded.min_utility()))
        self.name = name.partition("(")[0]
        self.source = f"openspiel:{name}"
        self.max_moves = min(loaded.num_distinct_actions(), MAX_MOVES)
        self.max_plies = loaded.max_game_length()

    def new_position(self) -> _Position:
        """The start position."""
        return _Position(self._loaded.new_initial_state(), self._largest)


class _Position:
    """A pyspiel.State as a position object."""

    def __init__(self, state: Any, largest: float) -> None:
        self._state = state
        self._largest = largest

    def copy(self) -> _Position:
        return _Position(self._state.clone(), self._largest)

    def current_player(self) -> int:
        return int(self._state.current_player())

    def legal_moves(self) -> Sequence[int]:
        actions: list[int] = self._state.legal_actions()
        return actions

    def play(self, move: int) -> None:
        self._state.apply_action(move)

    def is_terminal(self) -> bool:
        return bool(self._state.is_terminal())

    def returns(self) -> float:
        return float(self._state.returns()[0] / self._largest)

    def format_move(self, move: int) -> str:
        return str(self._state.action_to_string(self._state.current_player(), move))

    def __str__(self) -> str:
        return str(self._state)


def _text(spec: Spec) -> str:
    return ":".join([spec.name, *spec.options.values()])
