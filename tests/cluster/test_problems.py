"""Every door with problems beyond two players and a return at the end, or its refusal by name."""

from __future__ import annotations

import re
from pathlib import Path

import banyan
import pytest

import games
from cluster.matches.game import MatchContext, play_game
from cluster.matches.match import Match
from cluster.matches.record import GameRecord, read_records
from cluster.play.play import Play
from games.errors import InvalidInput
from search.players import player_of
from tests.cluster.command import Here
from tests.cluster.play.test_play import Talk
from tests.cluster.problems import PROBLEMS, write

INLINE = ("--executor", "inline")
FEW = (*INLINE, "--simulations", "40", "--lanes", "2")


@pytest.fixture
def paths(tmp_path: Path) -> dict[str, str]:
    """The file of each problem."""
    return {name: write(tmp_path, name) for name in PROBLEMS}


def converse(path: str, *lines: str, side: str = "first", player: str = "random", seed: int = 0) -> list[str]:
    """What `banyan play` says while these lines are typed."""
    return Talk(path, *lines, side=side, opponent=player_of(player, games.load(path)), seed=seed).told


@pytest.mark.parametrize("name", PROBLEMS)
def test_search_as_text_and_as_json(name: str, paths: dict[str, str], here: Here) -> None:
    out = here.text("search", paths[name], *FEW)
    value = next(line for line in out.splitlines() if line.startswith("value "))
    assert ("%" in value) == (name == "duel"), "only a return in [-1, 1] is a share of wins"
    assert ("best found" in out) == (name == "walk")
    assert bool(re.search(r"by player +red .*green .*blue", out)) == (name == "share")
    found = here.json("search", paths[name], *FEW)
    assert ("best_line" in found) == (name == "walk")
    assert ("values" in found) == (name == "share")
    assert found["to_move"] == games.load(paths[name]).player_names[0]


def test_the_best_line_and_the_values_of_each_player(paths: dict[str, str]) -> None:
    walk = banyan.search(paths["walk"], simulations=300, executor="inline")
    assert (walk.best_line.value, len(walk.best_line.moves)) == (15.0, 6)
    assert "best found" in walk._repr_html_()
    share = banyan.search(paths["share"], simulations=60, executor="inline")
    assert share.values is not None and len(share.values) == 3
    told = share.to_json()
    assert dict(zip(told["players"], told["values"], strict=True)).keys() == {"red", "green", "blue"}
    assert "%" not in dict(share.facts())["value"]


@pytest.mark.parametrize("name", ["share", "drift"])
def test_a_search_goes_on_from_its_checkpoint(name: str, paths: dict[str, str], tmp_path: Path) -> None:
    whole = banyan.search(paths[name], simulations=120, lanes=2, executor="inline")
    file = str(tmp_path / "search.banyan")
    with banyan.start(paths[name], simulations=120, lanes=2, executor="inline") as search:
        for _ in search:
            break
        search.save(file)
    resumed = banyan.resume(file, executor="inline").result()
    assert (resumed.digest, resumed.values) == (whole.digest, whole.values)


@pytest.mark.slow
def test_where_chance_moves_nothing_is_searched(paths: dict[str, str], here: Here) -> None:
    err = here.refusal("search", paths["duel"], "--moves", "throw", *FEW)
    assert "here chance does: add its outcome (=1, =2, =3) to moves" in err
    assert here("search", paths["duel"], "--moves", "throw =2", *FEW)[0] == 0


@pytest.mark.parametrize("name", ["walk", "share", "duel"])
def test_leaves_are_not_evaluated_outside(name: str, paths: dict[str, str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        banyan.open(paths[name], simulations=10)
    assert caught.value.field == "evaluator"


def test_show_names_chance_its_outcomes_and_scores(paths: dict[str, str], here: Here) -> None:
    out = here.text("show", paths["share"], "--moves", "1 2 0")
    assert re.search(r"to move +chance\noutcomes +3\n +50 %: 2\n +25 % each: 0 1\n", out)
    assert "score     red 1, green 2, blue 0" in out
    shown = here.json("show", paths["share"], "--moves", "1 2 0")
    assert shown["outcomes"] == {"0": 0.25, "1": 0.25, "2": 0.5}
    assert (shown["to_move"], shown["scores"], shown["returns"]) == ("chance", [1.0, 2.0, 0.0], None)
    ended = here.json("show", paths["walk"], "--moves", "up " * 6)
    assert (ended["over"], ended["returns"], ended["scores"]) == (True, [9.0], [9.0])
    plain = here.json("show", "tictactoe")
    assert not {"scores", "outcomes"} & plain.keys()


def test_the_list_of_games_has_players_and_chance(paths: dict[str, str], here: Here) -> None:
    out = here.text("games", *paths.values(), "tictactoe")
    assert re.search(r"share +3 \+ chance ", out) and re.search(r"tictactoe +2 ", out)
    rows = here.json("games", *paths.values(), "tictactoe")
    kinds = [(row["num_players"], row["rewards"], row["chance"]) for row in rows]
    assert kinds == [
        (1, True, False),
        (1, True, True),
        (2, False, True),
        (3, True, True),
        (1, True, True),
        (2, False, False),
    ]
    assert out.count("+ chance") == 4


@pytest.mark.slow
def test_trees_show_where_chance_moves(paths: dict[str, str], tmp_path: Path, here: Here) -> None:
    for name, drawn in (("share", "share.svg"), ("duel", "duel.dot")):
        out = here.text("tree", paths[name], *FEW, "--out", str(tmp_path / drawn))
        assert any(line.endswith("  chance") or "  chance  " in line for line in out.splitlines())
    svg, dot = (tmp_path / "share.svg").read_text(), (tmp_path / "duel.dot").read_text()
    assert "<polygon" in svg and "green: blue moves, pointed: chance moves" in svg
    assert 'shape="hexagon"' in dot and "square: white moves, round: black; pointed: chance moves" in dot
    found = here.json("tree", paths["duel"], *FEW)
    assert [child.get("chance") for child in found["tree"]["children"] if child["move"] == "throw"] == [True]
    walk = here("tree", paths["walk"], *FEW, "--out", str(tmp_path / "walk.txt"))
    assert walk[0] == 0


def test_players_play_or_refuse_by_name(paths: dict[str, str]) -> None:
    for name, path in paths.items():
        game = games.load(path)
        for spec in ("alphabeta", "minimax", "negamax", "greedy"):
            with pytest.raises(InvalidInput) as caught:
                player_of(spec, game)
            assert caught.value.field == "player"
        with pytest.raises(InvalidInput) as caught:
            player_of("uct:solver=yes", game)
        assert caught.value.field == "player option solver", name


@pytest.mark.parametrize("spec", ["uct:simulations=60", "flat:simulations=120"])
@pytest.mark.parametrize(
    ("name", "best"), [("walk", "up"), ("duel", "throw"), ("share", "2"), ("urn", "draw")]
)
def test_players_find_the_better_move(spec: str, name: str, best: str, paths: dict[str, str]) -> None:
    told = converse(paths[name], "hint", player=spec)
    assert any(line.startswith(f"{best}, value ") for line in told)
    assert any("%" in line for line in told if ", value " in line) == (name == "duel")


def test_one_player_plays_alone_with_chance_drawn_from_the_seed(paths: dict[str, str]) -> None:
    told = converse(paths["urn"], "draw", "undo", "draw", "resign", "stop")
    drawn = [line for line in told if line.startswith("chance: ")]
    assert len(drawn) == 2 and drawn[0] == drawn[1], "what was taken back comes again"
    assert any("quit leaves a problem of one player" in line for line in told)
    (record,) = read_records(told[-1].strip() + "\n\n")
    assert record.seats == ("human",)
    watched = converse(paths["walk"], side="none")
    assert "a score of" in " ".join(watched)
    with pytest.raises(KeyError):
        converse(paths["walk"], side="second")


def test_an_open_loop_begins_with_the_episode_of_the_seed(paths: dict[str, str]) -> None:
    game = games.load(paths["drift"])
    starts = {Play(game, player_of("random", game), (0,), seed).record.start for seed in range(3)}
    assert len(starts) == 3
    (one,) = read_records(str(Play(game, player_of("random", game), (0,), 1).record))
    assert game.format_position(one.start_state(game)) == one.start


def test_one_of_three_seats(paths: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "share.txt"
    told = converse(paths["share"], "2", "1", f"save {file}", side="third")
    assert told[0].startswith(f"{paths['share']}: random (red) against random (green), human (blue); ")
    assert any(line.startswith("chance: ") for line in told)
    (record,) = read_records(file.read_text())
    assert record.seats == ("random", "random", "human")
    assert record.scores is not None and len(record.scores) == 3 == len(record.efforts)
    assert str(record) == file.read_text()
    again = converse(paths["share"], f"load {file}", side="third")
    assert any(re.search(r"wins|a draw", line) for line in again)


def test_records_have_the_players_of_their_game(paths: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "record.txt"
    file.write_text(str(GameRecord("tictactoe", ("a",), ("a1",), efforts=())))
    told = converse("tictactoe", f"load {file}")
    assert any("a record of 2 players of tictactoe (it has 1)" in line for line in told)


def test_both_games_of_a_pair_have_the_same_dice(paths: dict[str, str]) -> None:
    game = games.load(paths["duel"])
    context = MatchContext(game.spec, None, ("uct:simulations=10", "flat:simulations=10"), 5, 0)
    players = [player_of(spec, game) for spec in context.players]
    dice = []
    for index in range(4):
        record = play_game(context, game, players, index)
        dice.append([move for move in record.moves if move.startswith("=")])
    for first, second in (dice[:2], dice[2:]):
        assert all(one == other for one, other in zip(first, second, strict=False))


def test_a_match_of_three_players_by_shares_of_wins(
    paths: dict[str, str], tmp_path: Path, here: Here
) -> None:
    out_folder = str(tmp_path / "out")
    arguments = ("match", paths["share"], "uct:simulations=20", "random", "--games", "6", *INLINE)
    found = here.json(*arguments, "--out", out_folder)
    assert (found["seats"], found["games"], len(found["by_seat"])) == (3, 6, 3)
    assert [seat["games"] for seat in found["by_seat"]] == [2, 2, 2]
    assert found["share_if_equal"] == 1 / 3 < found["share_of_wins"]
    records = read_records((tmp_path / "out" / "games.txt").read_text())
    assert [record.seats.index("uct:simulations=20") for record in records] == [0, 1, 2, 0, 1, 2]
    # Nothing is played again: the games are in the folder.
    text = here.text(*arguments, "--out", out_folder)
    assert "random in 2 of 3 seats" in text and "33.3 % if equally strong" in text


def test_shares_of_wins_by_hand() -> None:
    context = MatchContext("share", None, ("a", "b"), 0, 0, seats=3)
    scores = [(2.0, 1.0, 1.0), (1.0, 1.0, 0.0), (3.0, 0.0, 2.0)]
    records = [
        GameRecord("share", ("x", "y", "z"), (), each[0], pair=1, leg=leg + 1, scores=each)
        for leg, each in enumerate(scores)
    ]
    shares = Match(context, 3, played=records).shares()
    # Won alone; won together with another; lost.
    assert [shares.won[index] for index in range(3)] == [1.0, 0.5, 0.0]
    assert (shares.share, shares.pairs) == (0.5, [0.5])
    assert shares.mean_scores == (pytest.approx(5 / 3), pytest.approx((1.0 + 0.5 + 1.5) / 3))


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("match", "walk", "uct", "random"), "GAME"),
        (("match", "share", "uct", "random", "--games", "4"), "--games"),
        (("match", "share", "uct", "random", "--sprt", "0,10"), "--sprt"),
        (("match", "share", "uct", "random", "--scoring", "margins"), "--scoring"),
        (("match", "duel", "alphabeta", "random"), "PLAYER"),
        (("play", "walk", "--side", "both"), "--side"),
        (("solve", "duel"), "GAME"),
        (("solve", "share"), "GAME"),
        (("strength", "walk"), "GAME"),
        (("strength", "share"), "GAME"),
        (("strength", "duel", "--judge", "exact"), "--judge"),
        (("tree", "share", "--player", "alphabeta:depth=2"), "PLAYER"),
        (("search", "walk", "--solver", *FEW), "--solver"),
    ],
)
def test_refusals_name_the_field(
    arguments: tuple[str, ...], field: str, paths: dict[str, str], here: Here
) -> None:
    command, name, *rest = arguments
    err = here.refusal(command, paths[name], *rest)
    assert field.lstrip("-").upper() in err.upper().split("IS NOT ACCEPTED")[0]


def test_perft_counts_outcomes_of_chance(paths: dict[str, str], here: Here) -> None:
    found = here.json("perft", paths["duel"], "3")
    # Pass or throw; then three outcomes, or the other's two choices; and so on.
    assert [row["count"] for row in found["counts"]] == [2, 5, 11]


@pytest.mark.slow
def test_benchmark_has_no_results_beyond_two_players(paths: dict[str, str], here: Here) -> None:
    arguments = ("--simulations", "20", "--seconds", "0.01", "--repeats", "1", "--cut", "2")
    for name in PROBLEMS:
        (row,) = here.json("benchmark", paths[name], *arguments)
        assert (row["results"] is None) == (name != "duel")
