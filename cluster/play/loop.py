"""The text interface of `banyan play`: reads lines and writes lines."""

from __future__ import annotations

import contextlib
import importlib
import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from types import BuiltinFunctionType

from cluster.matches.game import MakePlayer
from cluster.matches.record import write_file
from cluster.play.play import HUMAN, Play, sides_of
from cluster.play.position import read_record
from cluster.system import terminal
from games.board import draw
from games.errors import InvalidInput, counted
from games.game import REST
from search.players import Choice

MOVES_A_LINE = 100
"""Columns at which lists of moves are wrapped."""
HELP = """\
A move is made by typing it, such as {example}.
  moves        the legal moves            board        draw the board again
  hint         what the opponent would do here
  think        the opponent's evaluation at its last move
  undo         take back your last move   resign       give up
  back, next   step through the game      go N         show the position after N moves
  continue     continue playing from the earlier position that is shown
  save FILE    save the game              load FILE    load a saved game (load FILE 3: the third one)
  help         this                       quit         leave"""
PLACING = f"""\
Place each ship by its first cell and right, left, up or down (a1 right), or by both ends (a1e1).
{REST}, or an empty line, places the rest; undo takes a ship back; quit leaves."""

Read = Callable[[str], str | None]
"""(prompt) -> the next line of input; None at the end of input."""
Write = Callable[[str], None]


class PlayLoop:
    """The dialogue with the people who play one or more games."""

    def __init__(
        self, play: Play, make_player: MakePlayer, read: Read, write: Write, *, colour: bool
    ) -> None:
        self.play = play
        self._make_player = make_player
        self._read = read
        self._write = write
        self._colour = colour
        self._told_end = False
        self._moved = False
        """Whether a person has moved since the board was last drawn."""
        self._commands: dict[str, Callable[[list[str]], None]] = {
            "help": self._help,
            "moves": self._moves,
            "board": lambda _: self._show(),
            "hint": self._hint,
            "think": self._think,
            "undo": self._undo,
            "resign": self._resign,
            "back": lambda _: self._go(self.play.ply - 1),
            "next": lambda _: self._go(self.play.ply + 1),
            "go": self._go_to,
            "continue": self._continue,
            "save": self._save,
            "load": self._load,
        }

    def run(self, ask_fleet: bool = False) -> None:
        """Read and execute lines to `quit` or the end of input; ``ask_fleet``: first have a fleet placed."""
        first, *others = map(self._who, range(self.play.game.num_players))
        against = f" against {', '.join(others)}" if others else ""
        self._write(f"{self.play.game.spec}: {first}{against}; help lists commands")
        if ask_fleet and self.play.new and not self._place():
            return
        self._show()
        while True:
            self._advance()
            line = self._read(self._prompt())
            if line is None or line.strip() in ("quit", "exit"):
                break
            words = line.split()
            if words:
                try:
                    self._obey(words)
                except InvalidInput as error:
                    self._refuse(error)
                except OSError as error:
                    self._write(f"{error.filename}: {error.strerror}")
        self.offer()

    def offer(self) -> None:
        """Write how to continue a game that would otherwise be lost: its record, or a command."""
        play, record = self.play, self.play.record
        if not play.changed:
            return
        if play.game.hidden_information and record.result is None:
            # The record would show hidden information; with its seed the command deals it again.
            moves = " ".join(record.moves)
            own = next(name for name, sides in sides_of(play.game).items() if sides == play.humans)
            command = ["banyan", "play", record.game, "--side", own, "--seed", str(record.seed)]
            if play.placed and len(play.humans) == 1:
                for fleet in re.findall(r"fleet=(\S+)", record.start or "")[1 - play.humans[0] :][:1]:
                    command += ["--fleet", fleet]
            self._write(f"To continue: {shlex.join([*command, '--moves', moves])}")
        else:
            for side, (seat, cost) in enumerate(zip(record.seats, record.efforts, strict=True)):
                if seat != HUMAN and cost.moves:
                    took = f"{terminal.duration(cost.cpu_s)} of CPU time"
                    self._write(f"{self._name(side)} thought about {counted(cost.moves, 'move')} for {took}")
            self._write("\n" + "\n".join(record.lines()))

    def _place(self) -> bool:
        """Ask where the pieces of the hidden fleet lie, one by one; returns whether the game goes on."""
        places: list[str] = []
        piece = self.play.place(places)
        if piece is not None:
            self._write(PLACING)
            self._show_secret(self.play.humans[0])
        while piece is not None:
            line = self._read(f"{piece}> ")
            word = "quit" if line is None else line.strip().lower() or REST
            if word in ("quit", "exit"):
                return False
            if word == "help":
                self._write(PLACING)
                continue
            wanted = places[:-1] if word == "undo" else [*places, word]
            try:
                piece = self.play.place(wanted)
                places = wanted
                if piece is not None:
                    self._show_secret(self.play.humans[0])
            except InvalidInput as error:
                self._refuse(error)
        return True

    def _refuse(self, error: InvalidInput) -> None:
        what = f"{error.value!r} is not accepted; " if error.value != "" else ""
        self._write(f"{what}expected {error.accepted}")

    def _obey(self, words: list[str]) -> None:
        command = self._commands.get(words[0])
        if command is not None:
            command(words[1:])
        elif len(words) > 1:
            raise InvalidInput("moves", " ".join(words), "one move, or a command listed by help")
        elif not self.play.over and not self.play.humans_turn:
            raise InvalidInput("moves", words[0], "continue, then the opponent moves from here")
        else:
            self.play.make(words[0])
            self._moved = True
            self._told_end = False

    def _advance(self) -> None:
        """Make moves until a person has to choose one or the game is over."""
        play, moved = self.play, self._moved
        self._moved = False
        while not play.over and not play.behind:
            mover, only = play.mover, play.forced()
            if only is not None:
                play.give(only)
                self._write(f"{self._name(mover)}: {only}")
            elif not play.humans_turn:
                self._write(f"{self._name(mover)}: {play.answer().move}")
            else:
                break
            moved = True
        if moved:
            self._show()
        if play.over and not play.behind and not self._told_end:
            self._told_end = True
            self._write(self._outcome())

    def _outcome(self) -> str:
        play = self.play
        if play.resigned is not None and not play.position.over:
            return f"{self._name(1 - play.resigned)} wins: {self._name(play.resigned)} resigned"
        return play.game.outcome_text(play.state)

    def _show(self) -> None:
        play = self.play
        shown = play.position
        self._write(draw(play.game.board(shown.state, shown.last_move), colour=self._colour))
        if not play.over and play.mover in play.humans:
            self._show_secret(play.mover)
        if play.behind:
            self._write(f"after {play.ply} of {counted(play.plies, 'move')}")

    def _show_secret(self, side: int) -> None:
        secret = self.play.game.secret(self.play.state, side)
        if secret is not None:
            self._write(f"what only {self._name(side)} sees:\n{draw(secret, colour=self._colour)}")

    def _prompt(self) -> str:
        return "over> " if self.play.over else f"{self._name(self.play.mover)}> "

    def _name(self, side: int) -> str:
        return self.play.game.name_of(side)

    def _who(self, side: int) -> str:
        return f"{HUMAN if side in self.play.humans else self.play.opponent.spec} ({self._name(side)})"

    def _help(self, _: list[str]) -> None:
        play = self.play
        legal = play.game.legal_moves(play.state) or play.game.legal_moves(play.game.initial_state())
        state = play.state if not play.position.over else play.game.initial_state()
        texts = {play.game.format_move(state, move) for move in (legal[0], legal[len(legal) // 2], legal[-1])}
        self._write(HELP.format(example=" or ".join(sorted(texts))))

    def _moves(self, _: list[str]) -> None:
        play = self.play
        texts = [play.game.format_move(play.state, move) for move in play.game.legal_moves(play.state)]
        line = f"{counted(len(texts), 'legal move')}: {' '.join(texts)}"
        self._write(textwrap.fill(line, MOVES_A_LINE, subsequent_indent="  ", break_on_hyphens=False))

    def _hint(self, _: list[str]) -> None:
        play = self.play
        if play.over:
            raise InvalidInput("hint", "hint", "a position in which the game is not over")
        if play.opponent.omniscient and play.game.hidden_information:
            raise InvalidInput("hint", "hint", "another opponent: this one sees what you must not know")
        choice, cpu_s = play.hint()
        self._write(f"{play.game.format_move(play.state, choice.move)}{self._thoughts(choice, cpu_s)}")

    def _think(self, _: list[str]) -> None:
        thought = self.play.thought
        if thought is None:
            raise InvalidInput("think", "think", "a move of the opponent before it")
        text = self._thoughts(thought.choice, thought.cpu_s)
        self._write(f"{self._name(thought.mover)}: {thought.move}{text}")

    def _thoughts(self, choice: Choice, cpu_s: float) -> str:
        parts = [""]
        if choice.value is not None:
            parts.append(f"value {terminal.value(choice.value, self.play.game.is_two_player)}")
        if choice.simulations and "simulation" not in choice.thought:
            parts.append(f"{counted(choice.simulations, 'simulation')}")
        if choice.nodes:
            parts.append(f"{counted(choice.nodes, 'node')}")
        if choice.thought:
            parts.append(choice.thought)
        return ", ".join([*parts, f"{terminal.duration(cpu_s)} of CPU"])

    def _undo(self, _: list[str]) -> None:
        self.play.undo()
        self._told_end = False
        self._show()

    def _resign(self, _: list[str]) -> None:
        if self.play.over or not self.play.humans_turn:
            raise InvalidInput("resign", "resign", "a turn of yours")
        self.play.resign()
        self._told_end = False

    def _go(self, ply: int) -> None:
        self.play.go_to(ply)
        self._show()

    def _go_to(self, words: list[str]) -> None:
        text = " ".join(words)
        if not text.isascii() or not text.isdigit():
            raise InvalidInput("ply", text, f"go and a whole number from 0 to {self.play.plies}")
        self._go(int(text))

    def _continue(self, _: list[str]) -> None:
        self.play.go_on()
        self._told_end = False

    def _save(self, words: list[str]) -> None:
        path = _path(words)
        write_file(path, [self.play.record])
        secret = self.play.game.hidden_information and self.play.record.result is None
        self._write(f"saved in {path}" + (", with all that is hidden" if secret else ""))

    def _load(self, words: list[str]) -> None:
        number = int(words.pop()) if len(words) == 2 and words[1].isdigit() else 1
        play = self.play
        game, record, _ = read_record(play.game.source or play.game.name, _path(words), number)
        opponent = self._make_player(play.opponent.spec, game)
        self.play = Play(game, opponent, play.humans, play.seed, record, play.clock)
        self._told_end = False
        self._show()


def _path(words: list[str]) -> Path:
    if len(words) != 1:
        raise InvalidInput("file", " ".join(words), "the name of a file after it")
    return Path(words[0]).expanduser()


def reader() -> Read:
    """Returns the function that reads the next line of standard input."""
    # A notebook replaces `input` by a field to type in, and has no other standard input.
    if not sys.stdin.isatty() and isinstance(input, BuiltinFunctionType):
        return script(sys.stdin)
    with contextlib.suppress(ImportError):
        # Lines can then be edited, and called back.
        importlib.import_module("readline")
    return read_terminal


def read_terminal(prompt: str) -> str | None:
    """The line that a person types; None at the end of input."""
    try:
        with terminal.typed_at_terminal():
            return input(prompt)
    except EOFError:
        terminal.write("")
        return None


def script(lines: Iterable[str]) -> Read:
    """Returns the function that reads these lines, and writes each where it would have been typed."""
    rest = iter(lines)

    def read(prompt: str) -> str | None:
        line = next(rest, None)
        if line is not None:
            terminal.write(prompt + line.rstrip("\n"))
        return line

    return read
