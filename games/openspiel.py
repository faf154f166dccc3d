"""Games of OpenSpiel: ``openspiel:NAME``, if OpenSpiel is installed.

Accepted are its sequential games with perfect information, with or without chance, for any number of players;
with two players their returns must add up to 0. Of its games with hidden information those of `HIDDEN` are
accepted. NAME is the name that OpenSpiel uses, with parameters: ``openspiel:mnk(m=5,n=5,k=4)``.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from games.errors import InvalidInput, counted, foreign
from games.game import CHANCE, Board, Game, State
from games.python_game import PythonGame, board_of
from games.rng import Stream, new_stream, uniform
from games.rules import MAX_MOVE_CODE, MAX_MOVES
from games.spec import OPENSPIEL, Spec
from games.user_games import library_or_refuse, read_text, refusing

HIDDEN = ("bridge", "kuhn_poker", "leduc_poker", "oh_hell", "universal_poker")
"""The accepted games with hidden information: those whose ``resample_from_infostate`` depends on nothing that
the player has not seen, and gives a position that its own moves lead to."""
BLOCK = 128
"""Outcomes in a block, where chance has more than MAX_MOVES outcomes."""

NAMES = {
    "tictactoe": "tic_tac_toe",
    "connect_four": "connect_four(rows={rows},columns={columns})",
    "breakthrough": "breakthrough(rows={rows},columns={columns})",
    "chinese_checkers": "chinese_checkers(players={players},max_moves={turns})",
    "gomoku": "gomoku(size={size})",
}
"""By built-in game: the OpenSpiel game with equal rules and move codes, to be filled with the game's
options."""

_PLAIN = "-?[0-9.]+|True|False"
_PARAMETER = rf"\w+=(?:{_PLAIN})"
_PLAIN_NAME = re.compile(rf"\w*(?:\({_PARAMETER}(?:,{_PARAMETER})*\))?", re.ASCII)


def name_of(game: Game) -> str | None:
    """The name of the OpenSpiel game with rules and move codes equal to the game's; None if there is none."""
    if isinstance(game, OpenSpielGame):
        return game.source.removeprefix("openspiel:")
    if game.name == "gomoku" and (game.options["candidates"] or game.options["overline"] != "wins"):
        return None
    if game.name in NAMES:
        return NAMES[game.name].format_map(game.options)
    if game.name == "hex":
        return f"hex(board_size={game.options['size']},swap={game.options['swap'] == 'yes'})"
    return {
        "othello:size=8": "othello",
        "morris:variant=nine,fly=yes,repetition=none,cap=200": "nine_mens_morris",
    }.get(game.spec)


def rules_of(game: Game) -> str | None:
    """The name of the OpenSpiel game with equal rules, whatever its move codes; None if there is none."""
    names = {"pig": "pig(players=2,winscore={goal},horizon={moves})", "2048": "2048(max_tile={tile})"}
    return names[game.name].format_map(game.options) if game.name in names else name_of(game)


def game_from_spec(spec: Spec) -> OpenSpielGame:
    """The game of a spec; raises InvalidInput (field ``game``) without OpenSpiel or for an unknown game."""
    pyspiel = library_or_refuse(OPENSPIEL, "game", _text(spec))
    name = spec.options.get("game", "")
    if name.startswith("python_"):
        with refusing("game", _text(spec), "OpenSpiel with its games in Python"):
            # Registers the games that OpenSpiel has in Python.
            foreign(importlib.import_module, "open_spiel.python.games")
    if name.partition("(")[0] not in pyspiel.registered_names():
        raise InvalidInput("game", _text(spec), "openspiel:NAME, such as openspiel:connect_four")
    for value in re.findall("=([^,()=]+)", name):
        if not re.fullmatch(_PLAIN, value) and os.path.exists(value):
            read_text(value, "game", "a file")
    loaded = _answer_of(spec, lambda: pyspiel.load_game(name))
    if not _is_accepted(loaded):
        accepted = (
            "a sequential game with perfect information whose returns add up to 0 if it has two players, or "
            "one of " + ", ".join(HIDDEN)
        )
        raise InvalidInput("game", _text(spec), accepted)
    if loaded.get_type().short_name == "quoridor" and loaded.num_players() > 2:
        accepted = "quoridor with two players: with more OpenSpiel fails where a player has no move"
        raise InvalidInput("game", _text(spec), accepted)
    start = _answer_of(spec, loaded.new_initial_state)
    if not start.is_chance_node() and (num_legal := len(start.legal_actions())) > MAX_MOVES:
        accepted = f"a game with at most {MAX_MOVES} legal moves (this one begins with {num_legal})"
        raise InvalidInput("game", _text(spec), accepted)
    return _answer_of(spec, lambda: OpenSpielGame(loaded, name))  # type: ignore[no-any-return]


def _is_accepted(loaded: Any) -> bool:
    import pyspiel

    kind = loaded.get_type()
    return (
        kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
        and (
            kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION or kind.short_name in HIDDEN
        )
        and (kind.utility == pyspiel.GameType.Utility.ZERO_SUM or loaded.num_players() != 2)
        and max(loaded.num_distinct_actions(), loaded.max_chance_outcomes()) <= MAX_MOVE_CODE
    )


def _answer_of(spec: Spec, question: Callable[[], Any]) -> Any:
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
    """A game of OpenSpiel; the moves are its actions.

    With two players the returns are divided by the largest utility, so that they are in [-1, 1]; otherwise
    they are OpenSpiel's. A random generator inside a game (``stones_and_gems``) begins with the game's
    parameter ``rng_seed``, so the same moves lead to the same position.
    """

    source: str

    def __init__(self, loaded: Any, name: str) -> None:
        """``loaded``: the result of pyspiel.load_game(name)."""
        import pyspiel

        kind, num_outcomes = loaded.get_type(), loaded.max_chance_outcomes()
        self._loaded = loaded
        self._wide = num_outcomes > MAX_MOVES
        self._largest = 1.0
        self.num_players = loaded.num_players()
        if self.num_players == 2:
            self._largest = max(abs(loaded.max_utility()), abs(loaded.min_utility()))
        else:
            self.rewards = kind.reward_model == pyspiel.GameType.RewardModel.REWARDS
            numbered = tuple(f"player {number}" for number in range(1, self.num_players + 1))
            self.player_names = numbered if self.num_players > 1 else ("player",)
        self.chance_moves = num_outcomes > 0
        self.name = name.partition("(")[0]
        self.source = f"openspiel:{name}"
        self.max_moves = min(max(loaded.num_distinct_actions(), num_outcomes), MAX_MOVES)
        # OpenSpiel's length of a game does not count what chance does.
        chances = loaded.max_chance_nodes_in_history() if self.chance_moves else 0
        self.max_plies = loaded.max_game_length() + chances * (2 if self._wide else 1)
        if self.chance_moves:
            self.opening_plies = 0
            # Its length is an estimate there: random games of maedn are longer now and then.
            self.max_plies *= 2
        super().__init__()
        if kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION:
            self.rules = self.rules._replace(determinize=self._resample)

    def new_position(self) -> _SpielPosition:
        """The start position."""
        made = _WideSpielPosition if self._wide else _SpielPosition
        return made(self._loaded.new_initial_state(), self._largest)

    def observation(self, state: State, observer: int) -> State:
        """With hidden information: the observer, and the moves to one of the positions that fit.

        It is drawn with constant random numbers, so it is the same for all positions that the observer
        cannot tell apart. Raises InvalidInput (field ``position``) where no player moves,
        except at the start.
        """
        if not self.hidden_information:
            return super().observation(state, observer)
        if not state[0]:
            return np.array([observer], dtype=state.dtype)
        position = self.position(state)
        if position.is_terminal() or position.current_player() == CHANCE:
            raise InvalidInput("position", self.format_seen(state), "a position in which a player moves")
        history = position.resampled(observer, new_stream(0)).state.history()
        return np.array([observer, *history], dtype=state.dtype)

    def _resample(self, view: State, state: State, stream: Stream) -> None:
        """`Rules.determinize`, by ``resample_from_infostate``."""
        self._write(state, view[1:])
        if len(view) > 1:
            drawn = self.position(state).resampled(int(view[0]), stream)
            self._write(state, drawn.state.history())
            self._positions.keep(state, drawn)

    @staticmethod
    def _write(state: State, moves: Sequence[int] | State) -> None:
        state[:] = 0
        state[0] = len(moves)
        state[1 : 1 + len(moves)] = moves

    def format_seen(self, state: State) -> str:
        """With hidden information only the number of moves, because OpenSpiel does not say who saw which."""
        return counted(state[0], "move") if self.hidden_information else self.format_position(state)

    def outcome_text(self, state: State) -> str:
        """With one player, or with three or more: what each of them got."""
        if self.num_players == 2:
            return super().outcome_text(state)
        returns = np.ravel(self.position(state).returns())
        return ", ".join(f"{name}: {got:g}" for name, got in zip(self.player_names, returns, strict=True))

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The position as OpenSpiel writes it; while something is hidden, only the number of moves."""
        if self.hidden_information and not self.calls.is_terminal(state):
            return board_of(self.format_seen(state))
        return super().board(state, last_move)

    def secret(self, state: State, owner: int) -> Board | None:
        """With hidden information: all that ``owner`` knows of a position in which a player moves."""
        if not self.hidden_information or self.calls.is_terminal(state):
            return None
        position = self.position(state)
        if position.current_player() == CHANCE:
            return None
        return board_of(str(position.state.information_state_string(owner)))


class _SpielPosition:
    """A pyspiel.State as a position object."""

    def __init__(self, state: Any, largest: float) -> None:
        self.state, self._largest = state, largest

    def __getattr__(self, name: str) -> Any:
        """What OpenSpiel calls by the same name: current_player, chance_outcomes, is_terminal."""
        return getattr(self.state, name)

    def copy(self) -> _SpielPosition:
        return _SpielPosition(self.state.clone(), self._largest)

    def legal_moves(self) -> Sequence[int]:
        actions: list[int] = self.state.legal_actions()
        return actions

    def play(self, move: int) -> None:
        self.state.apply_action(move)

    def returns(self) -> float | Sequence[float]:
        returns: list[float] = self.state.returns()
        return returns if len(returns) > 2 else returns[0] / self._largest

    def format_move(self, move: int) -> str:
        return str(self.state.action_to_string(self.state.current_player(), move))

    def resampled(self, observer: int, stream: Stream) -> _SpielPosition:
        """A random position that the observer cannot tell from this one."""
        drawn = self.state.resample_from_infostate(observer, lambda: float(uniform(stream)))
        return _SpielPosition(drawn, self._largest)

    def __str__(self) -> str:
        return str(self.state)


class _WideSpielPosition(_SpielPosition):
    """A position of a game in which chance can have more than MAX_MOVES outcomes.

    There chance moves twice: it draws a block of outcomes, and then one of the block.
    """

    def __init__(self, state: Any, largest: float) -> None:
        super().__init__(state, largest)
        self._block: int | None = None
        self._listed: list[tuple[int, float]] | None = None
        """OpenSpiel's outcomes: it takes a millisecond to list them."""

    def copy(self) -> _WideSpielPosition:
        made = _WideSpielPosition(self.state.clone(), self._largest)
        made._block, made._listed = self._block, self._listed
        return made

    def legal_moves(self) -> Sequence[int]:
        if self.state.is_chance_node():
            return [outcome for outcome, _ in self.chance_outcomes()]
        return super().legal_moves()

    def chance_outcomes(self) -> Sequence[tuple[int, float]]:
        outcomes = self._outcomes()
        if len(outcomes) <= MAX_MOVES:
            return outcomes
        if self._block is not None:
            block = outcomes[BLOCK * self._block : BLOCK * (self._block + 1)]
            total = sum(weight for _, weight in block)
            return [(outcome, weight / total) for outcome, weight in block]
        weights = [weight for _, weight in outcomes]
        begins = range(0, len(weights), BLOCK)
        return [(number, sum(weights[begin : begin + BLOCK])) for number, begin in enumerate(begins)]

    def play(self, move: int) -> None:
        if self._draws_block():
            self._block = move
        else:
            self._block = self._listed = None
            super().play(move)

    def format_move(self, move: int) -> str:
        return f"block {move}" if self._draws_block() else super().format_move(move)

    def _outcomes(self) -> Sequence[tuple[int, float]]:
        self._listed = self._listed or self.state.chance_outcomes()
        return self._listed

    def _draws_block(self) -> bool:
        if self._block is not None or not self.state.is_chance_node():
            return False
        return len(self._outcomes()) > MAX_MOVES


def _text(spec: Spec) -> str:
    return ":".join([spec.name, *spec.options.values()])
