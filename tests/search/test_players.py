"""Players by name: what they choose, what they refuse, and that a seed decides between equals."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import games
import search
from cluster.matches.game import MatchContext, play_game
from games import InvalidInput
from games.game import FIRST
from search.players import describe, monte_carlo, names, player_of
from search.prepare import Search, open_view
from search.tree.arena import ROOT, child_after, children_of
from tests.games.common import JIT, random_game
from tests.search.common import chosen, seen_at, seen_in

HERE = Path(search.__file__).parent
OPEN_GAMES = [
    "tictactoe",
    "connect_four",
    "othello:size=4",
    "hex:size=4",
    "breakthrough:rows=5,columns=4",
    "gomoku:size=6",
    "grundy:pile=9",
    "morris:variant=three",
    "thud:turns=60",
]
EVERYWHERE = [
    "random",
    "greedy",
    "minimax:depth=1",
    "negamax:depth=1",
    "alphabeta:depth=1",
    "alphabeta:seconds=0.01",
]
SHOOTERS = ["hunt", "parity", "density", "posterior:samples=40", "posterior:samples=40,width=3"]
SHOT_AT = [
    "battleship:task=solo,announce_sunk=yes",
    "battleship:size=6,fleet=3-2-2,announce_sunk=yes,touch=no_side",
    "battleship:size=5,fleet=3-1",
]
SAME_RULES = ("tictactoe", "gomoku:size=9", "morris:repetition=none", "othello", "breakthrough", "hex:size=6")
"""Games that are OpenSpiel's too."""
SCRIPTED = [f"scripted:strategy={strategy}" for strategy in ("random", "own-mills", "blocker", "mixed")]
MILL_GAMES = [
    f"morris:variant={variant}" for variant in ("three", "five", "six", "seven", "nine", "lasker", "twelve")
]
WHO_PLAYS_WHAT = [
    *product(EVERYWHERE, OPEN_GAMES),
    ("uct:simulations=60", "gomoku:size=6"),
    ("uct:simulations=60,playout_plies=3,policy=greedy", "gomoku:size=6"),
    ("flat:simulations=60", "gomoku:size=6"),
    *product(SCRIPTED, MILL_GAMES),
    *product(SHOOTERS, SHOT_AT),
]
if importlib.util.find_spec("pyspiel") is not None:
    options = ("openspiel:simulations=60", "openspiel:simulations=60,solve=yes,c=0.5,rollouts=2")
    WHO_PLAYS_WHAT += product(options, SAME_RULES)


@pytest.mark.parametrize(("name", "spec"), WHO_PLAYS_WHAT)
def test_players_choose_legal_moves_and_repeat_themselves(name: str, spec: str) -> None:
    game = games.load(spec)
    player = player_of(name, game)
    assert not player.omniscient and player.spec == name
    past: tuple[int, ...] = ()
    for ply, (state, legal, move) in enumerate(random_game(game, 3, max_plies=40)):
        if len(legal) > 1 and ply % (1 if JIT else 8) == 0:
            seen = seen_in(game, state, None if game.hidden_information else past)
            before = seen.state.copy()
            choice = player.choose(seen, ply)
            assert choice.move in legal
            assert np.array_equal(seen.state, before)
            assert choice.value is None or -1.0 <= choice.value <= 1.0
            assert "simulations=60" not in name or 1 <= choice.simulations <= 60
            if "seconds" not in name:
                assert player.choose(seen, ply) == choice
        past = (*past, move)


FOUR = "b3 a3 c3 a1 d3 a2 e3"
"""X has four in a row, open at one end: X wins there, O must close it."""
BOTH_THREATEN = "ww./.../.../....../.../.../bb. w 7 7 4"
"""White can close a7-d7-g7, black a1-d1-g1."""
N = 4000 if JIT else 400
PLAYOUTS = [f"uct:simulations={N},solver=yes", f"uct:simulations={N}", f"flat:simulations={N},value=mean"]
LOOKING = ["minimax:depth=1", "alphabeta:depth=3", "alphabeta:seconds=5"]
IN_TWO = ["minimax:depth=2", "alphabeta:depth=3"] if JIT else ["minimax:depth=2"]
BEST: list[tuple[str, str, str, list[str]]] = [
    ("tictactoe", "a1 b1 a2 b2", "a3", [*LOOKING, "greedy"]),
    ("tictactoe", "a1 b1 a2 b2 c1", "b3", LOOKING),
    # b2 is the only cell that wins, and then the only one that does not lose.
    ("tictactoe", "a1 a2 c3 c2", "b2", PLAYOUTS),
    ("tictactoe", "a1 a2 c3", "b2", PLAYOUTS),
    ("tictactoe", "oo./xx./... x", "c2", ["article:simulations=300"]),
    ("tictactoe", "oo./x../..x x", "c3", ["article:simulations=300"]),
    ("gomoku:size=6", FOUR, "f3", IN_TWO),
    ("gomoku:size=6", f"{FOUR} c1", "f3", IN_TWO),
    ("gomoku", FOUR, "f3", ["greedy"]),
    ("gomoku", f"{FOUR} c1", "f3", ["minimax:depth=1"]),
    ("morris:repetition=none", BOTH_THREATEN, "g7", [SCRIPTED[1], SCRIPTED[3]]),
    ("morris:repetition=none", BOTH_THREATEN, "g1", [SCRIPTED[2]]),
    ("battleship:task=solo,size=5,fleet=3", "c3 hit c4 hit c5 miss", "c2", ["density", "posterior"]),
]
"""By position, the only move that wins, or that does not lose, and who sees it."""


@pytest.mark.parametrize(
    ("spec", "begin", "best", "player"),
    [(spec, begin, best, player) for spec, begin, best, players in BEST for player in players],
)
def test_a_win_is_taken_and_a_threat_met(spec: str, begin: str, best: str, player: str) -> None:
    text, choice = chosen(player, spec, begin)
    assert text == best
    # A value is the player's own.
    if player in LOOKING and spec == "tictactoe":
        assert choice.value is not None and choice.value > 0.99


REFUSED: dict[str, dict[str, list[str]]] = {
    "tictactoe": {
        "^player: ": ["nobody"],
        "^player option simulations: ": ["uct:simulations=0", "uct:simulations=many"],
        "^player option budget: ": [
            "uct:seconds=1,simulations=5",
            "uct:work=10,seconds=1",
            "flat:work=10,simulations=5",
        ],
        "^player option work: ": ["flat:work=0", "uct:work=1.5"],
        "^player option strategy: ": ["uct:work=10,strategy=leaf", "uct:strategy=trunk"],
        "^player option draws: ": ["flat:draws=some"],
        "^player option c: ": ["uct:c=-1"],
        "^player option policy: ": ["uct:policy=clever"],
        "^player option value: ": ["flat:value=best"],
        "^player option unsampled: ": ["flat:unsampled=one"],
        "^player option: ": ["uct:depth=3", "random:seconds=1"],
        r"did you mean simulations\?": ["uct:sims=3", "uct:simulation=3", "article:sims=3"],
        "a whole number, such as": ["uct:simulations=1.5", "uct:simulations=1e-3"],
        "^player option final: ": ["article:final=mean"],
        "battleship only": [
            *SHOOTERS,
            *("omniscient-sampling", "omniscient-minimax", "omniscient-alphabeta"),
        ],
    },
    "gomoku": {
        "^player: ": ["nobody", "scripted"],
        "^player option depth: ": ["minimax:depth=0", "minimax:depth=65"],
        "^player option: ": ["minimax:seconds=1", "minimax:ordering=none", "random:depth=2"],
        "^player option seconds: ": ["alphabeta:seconds=0", "alphabeta:seconds=x"],
        "^player option ties: ": ["alphabeta:ties=last"],
        "^player option evaluator: ": ["alphabeta:evaluator=nobody"],
        "tictactoe only": ["article"],
        "plays morris only": ["morris-agent"],
    },
    "battleship": {
        "^player: .*hidden information": ["greedy", "minimax", "negamax", "alphabeta", "alphabeta:seconds=1"],
        "^player option work: .*hidden information": ["flat:work=100", "uct:work=100"],
    },
    "morris": {
        "^player option c: ": ["morris-agent:c=-1", "morris-agent:c=nan"],
        "^player option c_moving: ": ["morris-agent:c_moving=-1"],
        "^player option prune: ": ["morris-agent:prune=yes"],
        "^player option division: ": ["morris-agent:division=float"],
        "^player option unvisited: ": ["morris-agent:unvisited=last"],
        "^player option simulations: ": ["morris-agent:simulations=0"],
    },
}
"""By game and what is said of it (a pattern), players."""


@pytest.mark.parametrize(
    ("spec", "said", "player"),
    [
        (spec, said, player)
        for spec, by in REFUSED.items()
        for said, players in by.items()
        for player in players
    ],
)
def test_what_makes_no_sense_is_refused(spec: str, said: str, player: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        player_of(player, games.load(spec))


@pytest.mark.slow
def test_a_seed_decides_between_equals() -> None:
    """A corner would lose: any edge is as good as the others."""
    moves = "a1 b2 c3"
    found = Counter(chosen("minimax:depth=9", "tictactoe", moves, seed)[0] for seed in range(80))
    assert set(found) == {"a2", "b1", "b3", "c2"}
    assert min(found.values()) >= 8
    assert found == Counter(chosen("alphabeta:depth=9", "tictactoe", moves, seed)[0] for seed in range(80))
    first = {chosen("alphabeta:depth=9,ties=first", "tictactoe", moves, seed)[0] for seed in range(9)}
    assert len(first) == 1 and first < set(found)


def test_minimax_and_alpha_beta_say_how_many_positions_they_visited() -> None:
    for depth, least, full in ((2, 24, 1 + 8 + 8 * 7), (3, 1, 1 + 8 + 8 * 7 + 8 * 7 * 6)):
        _, choice = chosen(f"alphabeta:depth={depth}", "tictactoe", "a1")
        found = re.fullmatch(rf"depth {depth}, ([0-9,]+) positions", choice.thought)
        assert found is not None and int(found[1]) == choice.nodes
        assert least <= choice.nodes <= full
    assert re.fullmatch(r"depth 2, 65 positions", chosen("minimax", "tictactoe", "a1")[1].thought)
    assert "to the end" in chosen("alphabeta:depth=9", "tictactoe", "a1 b2 c3 a3")[1].thought


def test_the_printed_table_does_not_see_that_a_five_wins() -> None:
    """What the article's table says of finished games: the move that wins looks bad."""
    assert chosen("minimax:depth=1,evaluator=table_printed", "gomoku", f"{FOUR} c1")[0] != "f3"


def test_greedy_takes_any_move_of_the_highest_priority() -> None:
    assert games.load("tictactoe").rules.priority is None, "there it looks one move ahead"
    openings = {chosen("greedy", "gomoku:size=6", seed=seed)[0] for seed in range(60)}
    assert openings == {"b2", "b5", "e2", "e5", *(f"{c}{r}" for c in "bcde" for r in "2345")} & openings
    assert len(openings) > 1


@pytest.mark.skipif(not JIT, reason="whole games take long uncompiled")
@pytest.mark.parametrize(
    ("spec", "stronger", "weaker"),
    [
        ("morris", "scripted:strategy=mixed", "scripted:strategy=own-mills"),
        ("morris:variant=three", "scripted:strategy=blocker", "random"),
        ("gomoku:size=9,candidates=1", "greedy", "random"),
        ("thud:ruleset=seed,turns=150", "minimax:depth=1", "random"),
    ],
)
def test_who_knows_more_wins_more(spec: str, stronger: str, weaker: str) -> None:
    game = games.load(spec)
    players = [player_of(stronger, game), player_of(weaker, game)]
    score = 0.0
    for number in range(12):
        state, ply = game.initial_state(), 0
        while not game.calls.is_terminal(state):
            seen = seen_in(game, state)
            player = players[seen.mover if number % 2 == 0 else 1 - seen.mover]
            move = player.choose(seen, 1000 * number + ply).move if len(seen.legal) > 1 else seen.legal[0]
            game.calls.play(state, move)
            ply += 1
        score += game.calls.returns(state) * (1 if number % 2 == FIRST else -1)
    assert score > 0


def test_every_player_is_described_here_and_in_the_reference() -> None:
    reference = (HERE.parent / "cluster" / "commands" / "REFERENCE.md").read_text()
    assert {"uct", "flat", "random"} <= set(names())
    for name in names():
        assert describe(name)
        assert f"### {name}\n" in reference, name


REUSED = [
    *("", ",strategy=leaf,lanes=3", ",strategy=tree,lanes=4", ",solver=yes"),
    *(",strategy=root,lanes=1", ",strategy=root,lanes=3,rounds=2"),
]


@pytest.mark.parametrize("options", REUSED)
@pytest.mark.parametrize("spec", ["connect_four", "morris:variant=three", "breakthrough:rows=5,columns=5"])
def test_a_search_goes_on_from_what_the_last_one_knew_of_the_position(spec: str, options: str) -> None:
    game = games.load(spec)
    player = player_of(f"uct:simulations=300,reuse=yes{options}", game)
    state, past, opened = game.initial_state(), list[int](), list[Search]()

    def noted(*arguments: Any, **named: Any) -> Search:
        opened.append(open_view(*arguments, **named))
        return opened[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(monte_carlo, "open_view", noted)
        for ply in range(8):
            if len(game.legal_moves(state)) < 2:
                break
            if ply % 2 == 0:
                move = player.choose(seen_in(game, state, tuple(past)), ply).move
            else:
                # The reply that was searched most.
                tree = opened[-1].strategy.tree
                reached = child_after(tree, ROOT, past[-1])
                assert reached is not None
                move = int(tree.move[max(children_of(tree, reached), key=lambda slot: tree.visits[slot])])
            game.calls.play(state, move)
            past.append(move)
    kept = [0]
    for before, after in pairwise(opened):
        visits = 0
        for tree in before.strategy.left():
            own = child_after(tree, ROOT, past[2 * len(kept) - 2])
            reply = None if own is None else child_after(tree, own, past[2 * len(kept) - 1])
            visits += int(tree.visits[reply]) if reply is not None else 0
        kept.append(visits)
        assert after.kept_visits == kept[-1] > 0
        made = int(after.strategy.tree.visits[ROOT]) - kept[-1]
        assert made == 300 or (made < 300 and after.strategy.proven)
    assert len(kept) > 1


def test_a_tree_is_kept_for_one_game_and_for_positions_that_follow() -> None:
    spec = "connect_four"
    game, options = games.load(spec), "uct:simulations=200,strategy=tree"
    reusing, fresh = (player_of(name, game) for name in (f"{options},reuse=yes", options))
    first, second, back = (
        reusing.choose(seen_at(spec, line), 5).thought for line in ("d d", "d d c c", "d d c")
    )
    assert ["kept" in thought for thought in (first, second, back)] == [False, True, False]
    reusing.begin_game()
    again = seen_at(spec, "d d c c")
    assert reusing.choose(again, 5) == fresh.choose(again, 5)
    # A match has other players in each game, and its games do not depend on those before them.
    match = MatchContext(game.spec, None, (f"{options},reuse=yes", options), 3, opening_plies=2)
    players = reusing, fresh
    later = [play_game(match, game, players, index).moves for index in (0, 1, 2)][2]
    assert later == play_game(match, game, players, 2).moves
