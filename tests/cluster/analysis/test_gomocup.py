"""The protocol of Gomocup: a manager talks with the command, which plays gomoku in its time."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from pathlib import Path

import pytest

import games
from cluster.analysis.gomocup import Gomocup
from cluster.analysis.session import Change, Command, Ready, Stop, Think, Thought
from games.board import parse_cell
from games.errors import InvalidInput
from tests.cluster.analysis.talk import Talk
from tests.cluster.command import ROOT, Here

MOVE = tuple("0123456789")
"""What an answered move begins with."""
LIMIT_MS = 120
ONE = ("--protocol", "gomocup", "--workers", "1")


def grammar(game: str = "gomoku", used_mb: float = 150.0) -> Gomocup:
    return Gomocup(game, "1.2.3", lambda: used_mb)


def read(brain: Gomocup, *lines: str) -> list[Command]:
    """The commands of the last of these lines."""
    return [brain.read(line) for line in lines][-1]


def asked(brain: Gomocup, *lines: str) -> tuple[Change, Think]:
    """The position and the limits of the move that the last line asks for."""
    *_, change, think = read(brain, *lines)
    assert isinstance(change, Change)
    assert isinstance(think, Think)
    return change, think


def error_of(commands: Sequence[Command]) -> str:
    (line,) = commands
    assert isinstance(line, str)
    return line


def test_commands_are_read() -> None:
    brain = grammar("gomoku:overline=not")
    start = read(brain, "start 15")
    assert start[0] == Stop(answers=False)
    assert start[2] == Ready("OK")
    change, think = asked(brain, "TURN 0,0")
    assert change.values == {"game": "gomoku:overline=not,size=15", "moves": ("a15",), "position": None}
    assert think.limits[0].move_s is think.limits[0].left_s is None
    assert read(brain, "END") == [Stop(answers=False, ends=True)]
    assert error_of(read(brain, "ABOUT")) == 'name="Banyan", version="1.2.3"'
    assert read(brain, "") == []


def test_limits_follow_what_the_manager_says() -> None:
    brain = grammar()
    read(brain, "INFO timeout_turn 5000", "INFO timeout_match 60000", "START 20", "INFO max_memory 367001600")
    change, think = asked(brain, "BEGIN")
    assert change.values["memory_mb"] == 150
    assert (think.limits[0].move_s, think.limits[0].left_s) == (5.0, 60.0)
    read(brain, "RESTART", "INFO time_left 7000", "INFO max_memory 0", "INFO timeout_turn soon")
    change, think = asked(brain, "INFO time_left -5", "BEGIN")
    assert "memory_mb" not in change.values
    assert (think.limits[1].move_s, think.limits[1].left_s) == (5.0, -0.005)
    read(brain, "RESTART", "INFO time_left 2147483647", "INFO timeout_turn 0")
    limit = asked(brain, "BEGIN")[1].limits[0]
    assert (limit.move_s, limit.left_s) == (0.0, None)


def test_the_time_of_a_match_is_counted_where_the_manager_does_not() -> None:
    brain, thought = grammar(), Thought("c3", 0.0, 9, 1.5, ("c3",))
    for match_ms, left_s in ((0, None), (60_000, 58.5)):
        for _ in range(2):
            think = asked(brain, f"INFO timeout_match {match_ms}", "START 5", "BEGIN")[1]
            assert think.limits[0].left_s == (match_ms / 1000 or None)
            assert brain.answer(thought)[-1] == "2,2"
            assert asked(brain, "TURN 0,0")[1].limits[0].left_s == left_s


def test_a_board_is_set_by_moves_where_they_came_in_turns_and_by_its_text_else() -> None:
    brain = grammar()
    change, _ = asked(brain, "START 5", "BOARD", "0,0,2", "1,0,1", "4,4,2", "DONE")
    assert change.values["moves"] == ("a5", "b5", "e1")
    change, _ = asked(brain, "BOARD", "0,0,2", "4,4,2", "1,0,1", "DONE")
    assert (change.values["moves"], change.values["position"]) == ((), "xo3/5/5/5/4x o")
    # As many own stones as others: own ones are the first player's.
    change, _ = asked(brain, "BOARD", "0,0,2", "4,4,1", "DONE")
    assert change.values["position"] == "o4/5/5/5/4x x"
    game = games.load("gomoku:size=5")
    assert game.format_position(game.parse_position("o4/5/5/5/4x x")) == "o4/5/5/5/4x x"
    assert read(brain, "TAKEBACK 4,4") == [Stop(answers=False), "OK"]
    # Candidates are about moves: a board has none.
    near = grammar("gomoku:candidates=1")
    change, _ = asked(near, "START 5", "BOARD", "0,0,2", "DONE")
    assert change.values["position"] == "x4/5/5/5/5 o"


@pytest.mark.parametrize(
    "lines",
    [
        ("BEGIN",),
        ("TURN 1,1",),
        ("DONE",),
        ("RESTART",),
        ("START",),
        ("START many",),
        ("RECTSTART 10,12",),
        ("START 15 15",),
        ("START 15", "TURN 15,0"),
        ("START 15", "TURN"),
        ("START 15", "TURN 1;1"),
        ("START 15", "TURN 1,1", "TURN 2,2"),
        ("START 15", "TURN 1,1", "BEGIN"),
        ("START 15", "BEGIN", "BEGIN"),
        ("START 15", "TAKEBACK 3,3"),
        ("START 15", "BOARD", "1,1,3", "DONE"),
        ("START 15", "BOARD", "1,1,1", "1,1,2", "DONE"),
        ("START 15", "BOARD", "1,1,1", "DONE"),
        ("START 15", "BOARD", "1,1", "what", "DONE"),
        ("START 15", "INFO rule 4", "BEGIN"),
        ("INFO rule 2", "START 15", "BEGIN"),
    ],
)
def test_what_cannot_be_done_is_an_error(lines: tuple[str, ...]) -> None:
    assert error_of(read(grammar(), *lines)).startswith("ERROR ")


def test_only_gomoku_is_played(here: Here) -> None:
    with pytest.raises(InvalidInput, match="gomoku"):
        grammar("othello")
    assert "gomoku" in here.refusal("engine", "hex", "--protocol", "gomocup")
    assert "--moves" in here.refusal("engine", "--protocol", "gomocup", "--moves", "a1")
    assert "--json" in here.refusal("engine", "--protocol", "gomocup", "--json")
    assert "GAME" in here.refusal("engine", "--protocol", "ugi")
    assert "--ponder" in here.refusal("engine", "hex", "--ponder")


def cell_of(line: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+),(\d+)", line)
    assert match
    return int(match[1]), int(match[2])


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--ponder",)])
def test_a_dialogue_with_all_that_managers_send(options: tuple[str, ...]) -> None:
    """With CR LF, junk, and commands while it thinks."""
    with Talk("--protocol", "gomocup", "--workers", "2", *options) as brain:
        assert brain.ask("ABOUT").startswith('name="Banyan", version="')
        assert brain.ask("START 40").startswith("ERROR")
        assert brain.ask("BEGIN").startswith("ERROR")
        brain.tell("INFO max_memory 367001600", "INFO timeout_match 0", "INFO game_type 2", "INFO rule 1")
        brain.tell("INFO folder /tmp", "INFO evaluate 3,4", f"INFO timeout_turn {LIMIT_MS}", "", "INFO")
        assert brain.ask("START 20") == "OK"
        assert brain.ask("SWAP2BOARD").startswith("UNKNOWN")
        assert brain.ask(b"\xff\x00" * 1000).startswith("UNKNOWN")
        brain.tell("INFO time_left 2147483647")
        x, y = cell_of(brain.ask("BEGIN", *MOVE))
        assert max(x, y) < 20
        assert any(re.match(r"MESSAGE \d+ simulations, \d+/s, value [+-]", each) for each in brain.all)
        # Four in a row and one open end: the answer is that end.
        stones = ("0,3,2", "1,3,1", "2,3,1", "3,3,1", "4,3,1", "9,9,2", "9,12,2", "12,9,2")
        brain.tell("BOARD", *stones)
        assert brain.ask("DONE", *MOVE) == "5,3"
        # The manager goes on from there: takes back, and asks for another move.
        assert brain.ask("TAKEBACK 5,3", "OK", "ERROR") == "OK"
        brain.tell("INFO timeout_turn 0")
        brain.tell("BOARD", *stones[:-1], "0,19,2")
        cell_of(brain.ask("DONE", *MOVE))
        assert brain.took_s < 1.0
        # More threads than there are.
        brain.tell("INFO thread_num 99999", "INFO timeout_turn 600", "RESTART")
        assert brain.hear("OK") == "OK"
        brain.ask("BEGIN", *MOVE)
        assert not brain.all[-2].startswith("MESSAGE 0 ")
        # While it thinks: answers, an error, and then another game without the move of this one.
        brain.tell(
            "INFO timeout_turn 100000", "RESTART", "BEGIN", "TURN 0,0", "ABOUT", "INFO timeout_turn 100"
        )
        assert brain.hear("OK", *MOVE) == "OK"
        assert brain.hear("ERROR", *MOVE).startswith("ERROR")
        assert brain.hear("name", *MOVE).startswith("name")
        assert brain.ask("START 15", "OK", *MOVE) == "OK"
        assert brain.took_s < 1.0
        assert cell_of(brain.ask("TURN 7,7", *MOVE)) != (7, 7)
        brain.tell("RESTART", "INFO timeout_turn 100000", "BEGIN", "END")
        assert brain.hear("OK") == "OK"
        assert brain.left() == []


@pytest.mark.slow
def test_at_the_end_of_the_input_the_move_is_still_made() -> None:
    with Talk(*ONE) as brain:
        brain.tell("START 15", "INFO timeout_turn 400", "BEGIN")
        assert re.fullmatch(r"\d+,\d+", brain.left()[-1])
    with Talk(*ONE, "--no-wait") as brain:
        brain.tell("START 15", "INFO timeout_turn 1000000", "BEGIN")
        assert re.fullmatch(r"\d+,\d+", brain.left()[-1])


def winner(moves: Sequence[tuple[int, int]], exact: bool) -> bool:
    """Whether the last stone makes five in a row, by an arbiter's own rules."""
    own = set(moves[-1::-2])
    x, y = moves[-1]
    for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
        length = 1
        for sign in (1, -1):
            step = 1
            while (x + sign * step * dx, y + sign * step * dy) in own:
                length, step = length + 1, step + 1
        if length == 5 or (length > 5 and not exact):
            return True
    return False


def test_games_with_other_engines_ended_as_is_recorded() -> None:
    """Those in records/gomoku_games.txt, by an arbiter's own rules."""
    lines = (ROOT / "cluster/lab/records/gomoku_games.txt").read_text().splitlines()
    for line in lines[2:]:
        about, _, played = line.partition(": ")
        *_, colour, result = about.split()
        cells = [parse_cell(cell, 15, 15) for cell in played.replace("/", " ").split()]
        moves = [cell for cell in cells if cell]
        assert len(set(moves)) == len(cells)
        assert not any(winner(moves[:ply], exact=False) for ply in range(1, len(moves)))
        assert winner(moves, exact=False) == (result != "drawn")
        black_moved_last = len(moves) % 2 == 1
        assert result == "drawn" or (result == "won") == (black_moved_last == (colour == "black"))


@pytest.mark.slow
@pytest.mark.parametrize(("size", "rule", "by_board"), [(15, 0, False), (9, 1, True)])
def test_whole_games_in_time_with_legal_moves_and_little_memory(size: int, rule: int, by_board: bool) -> None:
    """Two processes play, and an arbiter that knows the rules watches moves, times and memory."""
    with Talk(*ONE) as first, Talk(*ONE) as second:
        brains = (first, second)
        for brain in brains:
            assert brain.ask(f"START {size}", "OK", "ERROR") == "OK"
            brain.tell(f"INFO rule {rule}", f"INFO timeout_turn {LIMIT_MS}", "INFO max_memory 367001600")
            brain.tell("INFO timeout_match 60000")
        moves: list[tuple[int, int]] = []
        took_s: list[float] = []
        left_ms = [60_000.0, 60_000.0]
        while len(moves) < size * size:
            side = len(moves) % 2
            brain = brains[side]
            brain.tell(f"INFO time_left {left_ms[side]:.0f}")
            if by_board:
                brain.tell("BOARD", *(f"{x},{y},{2 - (n % 2 == side)}" for n, (x, y) in enumerate(moves)))
                line = brain.ask("DONE", *MOVE, "ERROR")
            elif moves:
                line = brain.ask("TURN {},{}".format(*moves[-1]), *MOVE, "ERROR")
            else:
                line = brain.ask("BEGIN", *MOVE, "ERROR")
            took_s.append(brain.took_s)
            left_ms[side] -= 1000 * brain.took_s
            cell = cell_of(line)
            assert max(cell) < size
            assert cell not in moves
            moves.append(cell)
            if winner(moves, exact=rule == 1):
                break
        assert statistics.median(took_s) <= LIMIT_MS / 1000
        assert min(left_ms) > 0
        for brain in brains:
            status = Path(f"/proc/{brain.pid}/status").read_text()
            peak = re.search(r"VmHWM:\s+(\d+) kB", status)
            assert peak
            assert int(peak[1]) < 350 * 1024
            brain.tell("END")
            assert brain.left() == []
