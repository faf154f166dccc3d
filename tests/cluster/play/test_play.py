"""`banyan play`: what is typed, what is told, and what nobody is told."""

from __future__ import annotations

import io
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import banyan
import numpy as np
import pytest

import games
from cluster.matches.clock import Clock
from cluster.matches.record import Effort, GameRecord, read_file, read_records, write_file
from cluster.play.call import table_of
from cluster.play.loop import PLACING, PlayLoop
from cluster.play.play import Play, sides_of
from games.battleship import rules as battleship
from games.errors import InvalidInput
from search.players import Choice, Observation, Player
from tests.cluster.command import BANYAN, ROOT, Here
from tests.cluster.match_players import First, Peeks, make
from tests.waiting import PATIENCE_S

SMALL_FLEET = "battleship:size=5,fleet=3-2"
TINY_FLEET = "battleship:size=4,fleet=2"


class Talk:
    """A game that is played by lines that were written beforehand."""

    def __init__(
        self, game: str, *lines: str, side: str = "first", opponent: Player | None = None, seed: int = 0,
        place: bool = False,
    ) -> None:  # fmt: skip
        self.lines = list(lines)
        self.told: list[str] = []
        loaded = games.load(game)
        play = Play(loaded, opponent or First("first"), sides_of(loaded)[side], seed)
        self.loop = PlayLoop(play, make, self._read, self.told.append, colour=False)
        self.loop.run(place)

    @property
    def play(self) -> Play:
        return self.loop.play

    @property
    def text(self) -> str:
        return "\n".join(self.told)

    def _read(self, prompt: str) -> str | None:
        self.told.append(prompt)
        return self.lines.pop(0) if self.lines else None


def test_a_hint_says_once_how_many_simulations_were_made() -> None:
    talk = Talk("tictactoe", "hint", opponent=make("uct:simulations=50", games.load("tictactoe")))
    assert talk.text.count("50 simulations") == 1


def test_a_game_between_two_people() -> None:
    talk = Talk("tictactoe", "b2", "a1", "b1", "a2", "b3", side="both")
    assert talk.told[-2] == "over> "
    assert "x wins" in talk.told
    (record,) = read_records(talk.told[-1] + "\n\n")
    assert (record.seats, record.result) == (("human", "human"), 1.0)
    assert record.moves == ("b2", "a1", "b1", "a2", "b3")


def test_the_opponent_answers_and_says_what_it_thought() -> None:
    talk = Talk("tictactoe", "c3", "think", "hint")
    assert "o: a1" in talk.told
    assert re.search(
        r"o: a1, value \+0\.250 \(62\.5 %\), 10 simulations, 3 nodes, the first one, .* of CPU", talk.text
    )
    assert re.search(r"^b1, value", talk.text, re.MULTILINE), "the hint is the next first move"
    (record,) = read_records(talk.told[-1] + "\n\n")
    assert record.seats == ("human", "first")
    assert "o thought about 1 move for " in talk.text


def test_what_was_thought_of_a_move_goes_with_it() -> None:
    talk = Talk("tictactoe", "c3", "undo", "think")
    assert "a move of the opponent before it" in talk.text


def test_the_person_may_be_second_or_nobody() -> None:
    talk = Talk("tictactoe", "b2", side="second")
    assert [line for line in talk.told if line in ("x: a1", "x: b1")] == ["x: a1", "x: b1"]
    watched = Talk("tictactoe", side="none")
    assert "x wins" in watched.told
    assert watched.play.result == 1.0


def test_bad_input_is_one_line_and_the_prompt_again() -> None:
    talk = Talk(
        "tictactoe", "z9", "a1 b1", "", "go x", "go 99", "load /nowhere", "save", "save /nowhere/x", "undo",
        "think", "back",
    )  # fmt: skip
    assert talk.told.count("x> ") == 12
    assert talk.play.plies == 0
    at = [i for i, line in enumerate(talk.told) if line == "x> "]
    answers = [talk.told[i + 1 : j] for i, j in pairwise(at)]
    assert [len(answer) for answer in answers] == [1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1]
    assert all("\n" not in line for answer in answers for line in answer)
    assert [line.partition("expected ")[1:] for line in answers[8]] == [
        ("expected ", "a move of yours before it")
    ]


def test_undo_takes_back_to_the_last_choice_of_the_person() -> None:
    talk = Talk("tictactoe", "c3", "b2", "undo", "c2", place=True)
    assert talk.play.record.moves == ("c3", "a1", "c2", "b1")
    twice = Talk("tictactoe", "c3", "b2", "undo", "undo", "a3")
    assert twice.play.record.moves == ("a3", "a1")
    after = Talk("tictactoe", "b2", "a1", "b1", "a2", "b3", "undo", "c3", side="both")
    assert after.play.record.moves[-1] == "c3"
    assert after.play.result is None


def test_stepping_changes_nothing_until_a_move_is_made() -> None:
    moves = ("b2", "a1", "a3", "c1")
    talk = Talk("tictactoe", *moves, "back", "back", "next", "go 0", "go 4", "b1", side="both")
    assert talk.play.record.moves == (*moves, "b1")
    assert "after 2 of 4 moves" in talk.told
    branched = Talk("tictactoe", *moves, "go 2", "c3", side="both")
    assert branched.play.record.moves == ("b2", "a1", "c3")
    gone_on = Talk("tictactoe", "c3", "b2", "go 1", "a2", "continue")
    assert "continue, then the opponent moves from here" in gone_on.text
    assert gone_on.play.record.moves == ("c3", "a1")


def test_resigning_is_a_loss_and_can_be_taken_back() -> None:
    talk = Talk("tictactoe", "b2", "resign", "c3")
    assert "o wins: x resigned" in talk.told
    assert talk.play.record.result == -1.0
    assert "the game is over" in talk.text
    back = Talk("tictactoe", "b2", "resign", "undo", "c3")
    assert back.play.record.moves == ("c3", "a1")
    assert back.play.record.result is None


@pytest.mark.slow
def test_save_and_load(tmp_path: Path) -> None:
    file = tmp_path / "my game.txt"
    short = tmp_path / "game.txt"
    Talk("gomoku:size=5", "d4", "c3", f"save {short}")
    short.rename(file)
    (record,) = read_file(file)
    assert record.moves == ("d4", "a1", "c3", "b1")
    file.rename(short)
    talk = Talk("gomoku:size=5", f"load {short}", "e5")
    assert talk.play.record.moves == (*record.moves, "e5", "c1")
    other = Talk("tictactoe", f"load {short}")
    assert "it is of gomoku" in other.text
    resigned = tmp_path / "resigned.txt"
    Talk("tictactoe", "b2", "resign", f"save {resigned}")
    again = Talk("tictactoe", f"load {resigned}")
    assert "o wins: x resigned" in again.told


def test_a_game_that_was_only_looked_at_is_not_offered_again(tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    Talk("tictactoe", "c3", f"save {file}")
    (record,) = read_file(file)
    looked = Talk("tictactoe", f"load {file}", "back", "next")
    assert looked.told[-1] == "x> "
    assert looked.play.record.efforts == record.efforts
    assert record.efforts[1].moves == 1
    changed = Talk("tictactoe", f"load {file}", "b1")
    assert changed.told[-1].startswith("\ngame ")


def test_forced_moves_are_made_without_asking() -> None:
    """The last cell of a full board."""
    talk = Talk("tictactoe", "b2", "a1", "c1", "a3", "a2", "c2", "b3", "b1", side="both")
    assert talk.told.count("x> ") + talk.told.count("o> ") == 8
    assert "x: c3" in talk.told
    assert "a draw" in talk.told


@pytest.mark.slow
def test_a_person_sees_no_enemy_fleet_and_his_own() -> None:
    ours = Talk(SMALL_FLEET, "a1", "b2", "c3", "moves", "hint", "board", seed=1)
    assert "what only first sees:" in ours.text
    start = ours.play.record.start
    assert start is not None
    fleets = re.findall(r"fleet=(\S+)", start)
    assert len(fleets) == 2
    assert not any(fleet in ours.text for fleet in fleets)
    own = battleship.CELLS + 25
    board = ours.told[ours.told.index(next(line for line in ours.told if "what only" in line))]
    rows = [line.split()[1:] for line in board.splitlines()[1:6]]
    for r in range(5):
        for c in range(5):
            ship = int(ours.play._start[own + (4 - r) * 5 + c]) >> 4
            assert rows[r][c] == (str(ship) if ship else "."), "his own fleet, and nothing else"


@pytest.mark.slow
def test_what_is_told_depends_on_the_answers_and_not_on_the_fleet() -> None:
    """Fleets that answer three shots alike are told apart by nothing that is written."""
    by_answers: dict[tuple[str, ...], list[list[str]]] = {}
    for seed in range(40):
        talk = Talk(TINY_FLEET, "a1", "d4", "moves", "hint", "board", side="first", seed=seed)
        if talk.play.result is not None:
            continue
        told = [line for line in talk.told if "what only" not in line and "To continue" not in line]
        answers = tuple(line for line in told if line.split(": ")[-1] in ("hit", "miss"))
        by_answers.setdefault(answers, []).append(told)
    assert max(map(len, by_answers.values())) > 5
    for alike in by_answers.values():
        assert all(told == alike[0] for told in alike)


@pytest.mark.slow
def test_nothing_is_taken_back_while_something_is_hidden(tmp_path: Path) -> None:
    talk = Talk(SMALL_FLEET, "a1", "undo", "back", "go 0", f"save {tmp_path / 'game'}")
    assert talk.text.count("moves reveal hidden information") == 3
    assert talk.play.ply == 4
    assert "with all that is hidden" in talk.text
    cheat = Talk(SMALL_FLEET, "a1", "hint", opponent=Peeks("cheat", omniscient=True))
    assert "sees what you must not know" in cheat.text


@pytest.mark.slow
def test_at_the_end_a_hidden_game_says_how_to_go_on_and_shows_nothing(
    here: Here,
) -> None:
    talk = Talk(SMALL_FLEET, "a1", "b2", seed=3)
    line = talk.told[-1]
    assert line.startswith("To continue: banyan play")
    command = shlex.split(line.removeprefix("To continue: banyan "))
    play = Play(games.load(SMALL_FLEET), First("first"), (0,), 3)
    for move in talk.play.record.moves:
        play.give(move)
    assert np.array_equal(play.state, talk.play.state)
    status, out, err = here_with(here, "", *command)
    assert status == 0, err
    assert "To continue" in out


@pytest.mark.parametrize("side", ["first", "second"])
def test_a_person_places_the_own_fleet_and_the_opponent_does_not_see_it(
    side: str, here: Here, tmp_path: Path
) -> None:
    spy, name = Peeks("spy"), "--fleet"
    lines = ("a5 r", "help", "a5 down", "undo", "A1 Right", "c1 up", "", "e5", "quit")
    talk = Talk(SMALL_FLEET, *lines, side=side, opponent=spy, seed=4, place=True)
    assert talk.told.count("3a (3 cells)> ") == 2 and talk.told.count("2a (2 cells)> ") == 5
    assert len([line for line in talk.told if "is not accepted" in line]) == 2
    assert talk.told.count(PLACING) == 2 and talk.text.count("what only") == 6
    start = str(talk.play.record.start)
    own = start.split(" | ")[side == "first"]
    dealt = str(Talk(SMALL_FLEET, side=side, seed=4).play.record.start).split(" | ")
    assert own.startswith("5/5/5/5/5 fleet=a1c1,") and dealt[side == "first"] != own
    assert dealt[side != "first"] in start, "the other fleet is the one of the seed"
    for seen, _ in spy.seen:
        assert not np.any(seen.state[battleship.CELLS : battleship.CELLS + 50] >> 4)
    command = shlex.split(talk.told[-1].removeprefix("To continue: banyan "))
    fleet, moves = command[command.index(name) + 1], command[-1].split()
    again = table_of(games.load(SMALL_FLEET), "random", side, 4, moves, fleet=fleet)
    assert np.array_equal(again.state, talk.play.state) and command[command.index("--side") + 1] == side
    file = tmp_path / "game"
    write_file(file, [talk.play.record])
    # A saved game that is played on is continued with the same fleets.
    loaded = Talk(SMALL_FLEET, f"load {file}", "d5", side=side)
    assert shlex.split(loaded.told[-1])[2:-1] == ["banyan", *command[:-1]]
    for fleet, accepted in (("a1 right", "a place for the 2a"), ("a1 right,c1 up,random", "2a (2 cells) by")):
        status, out, err = here_with(here, "", "play", SMALL_FLEET, name, fleet, "--opponent", "random")
        assert (status, out) == (2, "") and err.startswith("banyan: error: --fleet:") and accepted in err
    for options in (("tictactoe",), (SMALL_FLEET, "--side", "both"), ("battleship:task=solo",)):
        assert here_with(here, "", "play", *options, name, "random", "--opponent", "random")[0] == 2


def here_with(here: Here, text: str, *arguments: str) -> tuple[int, str, str]:
    """The command with this on its standard input."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO(text))
        return here(*arguments)


def test_through_a_pipe_to_the_end_of_input(here: Here) -> None:
    status, out, err = here_with(here, "b2\n?\nmoves\n", "play", "tictactoe", "--opponent", "random")
    assert (status, err) == (0, "")
    assert "x> b2" in out
    assert "x> ?" in out
    assert "7 legal moves:" in out
    record = read_records(out[out.rindex("game  ") :] + "\n")
    assert record[0].moves[0] == "b2"


@pytest.mark.slow
def test_moves_seed_and_a_file_to_begin_with(tmp_path: Path, here: Here) -> None:
    arguments = ("play", "tictactoe", "--side", "both")
    status, out, _ = here_with(here, "a2\n", *arguments, "--moves", "b2 a1")
    assert status == 0
    assert "moves    b2 a1 a2" in out
    file = tmp_path / "games.txt"
    text = "".join(
        str(GameRecord("tictactoe", ("a", "b"), moves)) for moves in (("a1",), ("b2", "c3"), ("a1", "c3"))
    )
    file.write_text(text)
    status, out, _ = here_with(here, "a2\n", *arguments, "--load", str(file), "--number", "2")
    assert "moves    b2 c3 a2" in out
    for field, value in (("--number", "9"), ("--moves", "a2")):
        err = here.refusal("play", "tictactoe", "--load", str(file), field, value)
        assert err.startswith(f"banyan: error: {field}:")


def test_show_any_ply_of_a_recorded_game(tmp_path: Path, here: Here) -> None:
    file = tmp_path / "games.txt"
    file.write_text(str(GameRecord("tictactoe", ("a", "b"), ("b2", "a1", "c3"))))
    whole = here.text("show", "tictactoe", "--record", str(file))
    typed = here.text("show", "tictactoe", "--moves", "b2 a1 c3")
    assert [line for line in whole.splitlines() if not line.startswith(("game", "ply"))] == typed.splitlines()
    assert "ply       3 of 3: c3" in whole
    for ply, position in (("1", "b2"), ("-2", "b2"), ("0", "")):
        out = here.text("show", "tictactoe", "--record", str(file), "--ply", ply)
        same = here.text("show", "tictactoe", "--moves", position)
        assert out.splitlines()[-1] == same.splitlines()[-1]
    for wrong in (("--ply", "4"), ("--ply", "-4"), ("--number", "2"), ("--moves", "a1")):
        here.refusal("show", "tictactoe", "--record", str(file), *wrong)


@pytest.mark.slow
def test_ctrl_c_offers_the_record() -> None:
    with subprocess.Popen(
        [*BANYAN, "play", "tictactoe", "--side", "both"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdin.write("b2\n")
        process.stdin.flush()
        for _ in range(2):
            while "a  b  c" not in process.stdout.readline():
                pass
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (130, "")
    assert "moves    b2" in out


@pytest.mark.slow
def test_an_earlier_position_of_a_finished_hidden_game_may_be_looked_at() -> None:
    shots = [f"{column}{row}" for column in "abcd" for row in range(1, 5) for _ in range(2)]
    talk = Talk(TINY_FLEET, *shots, "back", "go 0", "continue", side="both")
    play = talk.play
    assert play.result is not None
    assert play.ply == 0
    assert "moves reveal hidden information" in talk.text
    with pytest.raises(InvalidInput, match="reveal hidden information"):
        play.go_on()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "opponent"),
    [
        (
            ("tictactoe",),
            "uct:preset=best,seconds=1,reuse=yes (preset best; --preset plain is UCT with random playouts)",
        ),
        (("tictactoe", "--preset", "plain"), "uct:preset=plain,seconds=1 (preset plain)"),
        (("morris",), "alphabeta:seconds=1 (preset best; --preset plain is UCT with random playouts)"),
    ],
)
def test_one_line_says_which_settings_play(arguments: tuple[str, ...], opponent: str) -> None:
    played = subprocess.run(
        [*BANYAN, "play", *arguments],
        cwd=ROOT,
        input="quit\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert played.stdout.splitlines()[0] == f"Opponent: {opponent}"


@pytest.mark.slow
def test_in_python_the_same_is_told_as_on_the_command_line(
    here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    moves = banyan.play("tictactoe", moves="b2", player="alphabeta:depth=9", side="none", lines=())
    told = capsys.readouterr().out
    _, out, _ = here_with(
        here, "", "play", "tictactoe", "--moves", "b2", "--opponent", "alphabeta:depth=9", "--side", "none"
    )
    costs = r"([xo] thought about \d moves) for \d+\.\d\d s of CPU time\n"
    assert re.sub(costs, r"\1", told) == re.sub(costs, r"\1", out)
    assert len(re.findall(costs, out)) == 2 and "cost" not in out
    assert moves.startswith("b2 ")
    assert f"moves    {moves}" in out


@pytest.mark.slow
def test_in_python_whoever_plays_meets_the_strongest(capsys: pytest.CaptureFixture[str]) -> None:
    moves = banyan.play("morris:variant=three", seconds=0.01, lines=["a1"], seed=3)
    first, *_ = capsys.readouterr().out.splitlines()
    assert (
        first == 'Opponent: alphabeta:seconds=0.01 (preset best; player="plain" is UCT with random playouts)'
    )
    # The opponent has answered; what is returned continues the game.
    assert len(moves.split()) == 2
    again = banyan.play("morris:variant=three", moves=moves.split(), player="plain", seconds=0.01, lines=())
    assert again == moves
    assert capsys.readouterr().out.startswith("Opponent: uct:preset=plain,seconds=0.01 (preset plain)\n")


@pytest.mark.slow
def test_in_a_notebook_lines_are_asked_for_by_input(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard input is none there, and `input` is replaced."""
    typed = iter(["b2", "quit"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO())
        patch.setattr("builtins.input", lambda prompt: next(typed))
        assert banyan.play("tictactoe", side="both") == "b2"
    assert "moves    b2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"player": "nobody"}, "player: 'nobody' is not accepted"),
        ({"player": "alphabeta:depth=2", "seconds": 1.0}, "seconds: 1.0 is not accepted; expected nothing"),
        ({"seconds": 0.0}, "seconds: 0.0 is not accepted; expected more than 0"),
        ({"seconds": "1"}, "seconds: '1' is not accepted"),
        ({"moves": "z9"}, "moves: 'z9' is not accepted"),
    ],
)
def test_in_python_what_is_wrong_is_said_before_anything_is_asked(arguments: Any, said: str) -> None:
    with pytest.raises(banyan.InvalidInput) as caught:
        banyan.play("tictactoe", **arguments, lines=())
    assert str(caught.value).startswith(said)


@pytest.mark.slow
def test_in_python_ctrl_c_writes_the_record_and_raises(capsys: pytest.CaptureFixture[str]) -> None:
    def typed() -> Iterator[str]:
        yield "b2"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        banyan.play("tictactoe", side="both", lines=typed())
    assert "moves    b2" in capsys.readouterr().out


class Hurried(First):
    """Notes what the clock gives it."""

    given: tuple[float | None, ...] = ()

    def choose(self, seen: Observation, seed: int) -> Choice:
        self.given += (seen.seconds,)
        return super().choose(seen, seed)


def test_the_opponent_shares_out_its_clock(here: Here) -> None:
    player = Hurried("first")
    play = Play(games.load("connect_four"), player, (0,), 1, clock=Clock(2.5, 0.1))
    play.make("a")
    play.answer()
    play.make("a")
    # What a move took is known to the next one, and a hint has the player's own time.
    play._efforts[1] += Effort(1, 3.0, 3.0)
    play.answer()
    play.hint()
    first, second, third = player.given
    assert first == pytest.approx(2.5 / 21 + 0.1, abs=0.02)
    assert (second, third) == (0.001, None)
    assert "--clock" in here.refusal("play", "connect_four", "--clock", "soon")
    status, _, err = here_with(here, "d\n", "play", "connect_four", "--clock", "0.5+0.01", "--seed", "3")
    assert status == 0, err
