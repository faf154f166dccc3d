"""The players `uct` and `flat`: the searches that run elsewhere, within their budgets; named settings."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import numpy as np
import pytest

import games
from games.compile.specialise import specialise
from games.errors import InvalidInput
from games.rng import new_stream
from search.features import Features
from search.players import Choice, Player, player_of
from search.players.monte_carlo import COST_OF_PLY, Flat, Uct
from search.players.presets import BEST, NAMES, opponent_of, settings_of, with_preset
from search.prepare import check_request, open_search, open_view
from search.request import SearchRequest
from search.run_inline import run_inline
from search.summary import digest
from tests.games.common import JIT
from tests.search.common import chosen, digest_of_search, seen_at
from tests.search.naive import play_to_the_end


def ask(player: str, spec: str, moves: str = "", seed: int = 1) -> Choice:
    return chosen(player, spec, moves, seed)[1]


STRATEGIES = [
    {"strategy": "root", "lanes": 1},
    {"strategy": "root", "lanes": 5},
    {"strategy": "tree", "lanes": 4},
    {"strategy": "tree", "lanes": 3, "rounds": 4},
    {"strategy": "leaf", "lanes": 4},
]


@pytest.mark.parametrize("asked", STRATEGIES)
@pytest.mark.parametrize("spec", ["tictactoe", "battleship:size=5,fleet=2-2"])
def test_a_search_run_here_is_the_search_run_anywhere(spec: str, asked: dict[str, object]) -> None:
    request = SearchRequest(game=spec, simulations=3001 if JIT else 301, seed=4, **asked)  # type: ignore[arg-type]
    seen = seen_at(spec)
    opened = open_view(request, seen.game, seen.state, seen.mover, len(seen.legal))
    coordinator, _ = run_inline(opened, time.thread_time)
    simulations = coordinator.counters.simulations
    assert simulations == request.simulations
    assert digest(opened.strategy.tree) == digest_of_search(
        game=spec, simulations=simulations, seed=4, **asked
    )


@pytest.mark.slow
def test_a_budget_in_seconds_is_cpu_time() -> None:
    for player in ("uct:seconds=0.3", "uct:seconds=0.3,strategy=tree,lanes=8", "flat:seconds=0.3"):
        ask(player, "tictactoe")
        began = time.thread_time()
        choice = ask(player, "tictactoe")
        assert 0.29 < time.thread_time() - began < 0.6
        assert choice.simulations > 100


def test_a_clock_that_stands_still_ends_no_search_early() -> None:
    """The budget is by the clock that is given and no other."""
    ticks = iter(range(10_000))
    request = SearchRequest(game="tictactoe", seconds=2.0, strategy="root", lanes=1)
    seen = seen_at("tictactoe")
    _, seconds = run_inline(open_view(request, seen.game, seen.state, 0, 9), lambda: next(ticks) / 10)
    assert 2.0 <= seconds < 2.5


def test_a_solved_position_is_said_to_be_proven() -> None:
    choice = ask("uct:simulations=2000,solver=yes", "tictactoe", "a1 b1 a2 b2")
    assert choice.value == 1.0
    assert "proven" in choice.thought
    assert choice.simulations < 2000


def test_flat_plays_as_many_playouts_as_it_is_given() -> None:
    for simulations in (1, 3, 9, 25, 100):
        assert ask(f"flat:simulations={simulations}", "tictactoe").simulations == simulations
    # Fewer than there are moves: any of them may be the one that is looked at.
    assert len({ask("flat:simulations=1", "tictactoe", seed=seed).move for seed in range(20)}) > 3


def test_presets_are_the_constants_of_the_sources() -> None:
    game = games.load("tictactoe")
    for preset, c in (("thud-thesis", 0.919), ("tictactoe-article", 0.141)):
        player: Player = player_of(f"uct:preset={preset}", game)
        assert player.request.exploration == pytest.approx(c, abs=0.001)  # type: ignore[attr-defined]
    # `bestChild(root, 0)`, and values of margins in [0, 1], also where playouts are cut.
    thesis = request_of("uct:preset=thud-thesis,c=0.5,playout_plies=5", "tictactoe")
    assert thesis.final_move == "max" and not thesis.scales_exploration
    own = player_of("uct:preset=thud-thesis,c=0.5", game)
    assert own.request.exploration == 0.5  # type: ignore[attr-defined]


@pytest.mark.parametrize("spec", [*BEST, "thud:ruleset=seed", "gomoku:size=5", "grundy"])
def test_the_preset_best_is_what_the_table_says_for_the_game(spec: str) -> None:
    request = request_of("uct:preset=best,simulations=10", spec)
    settings = dict(BEST.get(spec.partition(":")[0], {})) | {"lanes": 1}
    assert request == replace(request_of("uct:simulations=10", spec), **settings)


def test_what_is_asked_for_goes_before_the_preset_best() -> None:
    spec = "thud:ruleset=seed"
    assert request_of("uct:preset=best", spec).widening == BEST["thud"]["widening"]
    assert request_of("uct:preset=best,widening=3,decisive=yes", spec).widening == 3
    assert request_of("uct:preset=best,decisive=yes", spec).decisive
    assert not request_of("uct:preset=best,decisive=no", spec).decisive


def request_of(player: str, spec: str) -> SearchRequest:
    made = player_of(player, games.load(spec))
    assert isinstance(made, Uct)
    return made.request


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("value=mean", [0.25, 1.1 / 8, -np.inf]),
        ("value=median", [0.25, 0.2, -np.inf]),
        ("value=sum,unsampled=zero", [1.5, 1.1, 0.0]),
        ("value=mode", [1.0, 0.2, -np.inf]),
        ("value=mode,modes=first,unsampled=zero", [1.0, 0.2, 0.0]),
    ],
)
def test_what_a_move_is_worth_by_its_playouts(options: str, expected: list[float]) -> None:
    flat = player_of(f"flat:{options}", games.load("tictactoe"))
    assert isinstance(flat, Flat)
    moves = [[1.0, 0.0, 0.0, -1.0, 1.0, 0.5], [0.5, -1.0, 1.0, 0.2, -1.0, 1.0, 0.2, 0.2], []]
    assert [flat.worth(np.array(values)) for values in moves] == pytest.approx(expected)
    # Without its last playout the second move has three modes.
    if "mode" in options:
        assert flat.worth(np.array(moves[1][:-1])) == (-1.0 if "first" in options else 1.0)


@pytest.mark.parametrize("draws", ["equal", "random"])
@pytest.mark.parametrize("simulations", [1, 9, 200])
def test_flat_is_playouts_one_after_the_other(draws: str, simulations: int) -> None:
    """A second implementation, in Python but for the playouts, with the same random numbers."""
    seen = seen_at("tictactoe", "a1")
    calls, moves = seen.game.calls, np.zeros(9, dtype=np.uint16)
    to_the_end = specialise([play_to_the_end], seen.game)["play_to_the_end"]
    for seed in range(5):
        random.Random(seed).shuffle(order := list(seen.legal))
        which = [i % 8 for i in range(simulations)]
        if draws == "random":
            which = np.random.default_rng(seed).integers(8, size=simulations).tolist()
        stream = new_stream(seed)
        results: dict[int, list[float]] = {}
        for place in which:
            calls.play(state := seen.state.copy(), order[place])
            # The second player chooses.
            results.setdefault(order[place], []).append(-to_the_end(state, moves, stream))
        means = {move: sum(values) / len(values) for move, values in results.items()}
        choice = ask(f"flat:simulations={simulations},draws={draws}", "tictactoe", "a1", seed)
        assert choice.value == pytest.approx(max(means.values()))
        assert means[choice.move] == max(means.values())
        if draws == "random" and simulations > 1:
            # Drawn with replacement: a share (1 - 1/8) ** simulations of the moves has no playout.
            assert len(means) < 8 or simulations > 9


PER_PLAYOUT = {"playout_plies=0": 1, "playout_plies=3": 3, "playout_plies=3,policy=minimax1": 3}


@pytest.mark.slow
@pytest.mark.parametrize(
    "player", ["uct", "uct:strategy=tree,lanes=3", "uct:lanes=2", "flat", "flat:draws=random"]
)
@pytest.mark.parametrize("playouts", PER_PLAYOUT)
def test_a_budget_in_work_is_the_same_on_every_machine(
    player: str, playouts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of gomoku on 25 cells the plies after the move have 24, 23 and 22 legal moves."""
    per_ply = COST_OF_PLY + (0 if "=0" in playouts else 23)
    spec = f"{player}{',' if ':' in player else ':'}work={per_ply * (3000 if JIT else 300)},{playouts}"
    choice = ask(spec, "gomoku:size=5")
    # No playout of 3 plies ends early: so few simulations look only some plies ahead. The first jobs, sized
    # by the nominal speed of the game, are long beside the smaller budget.
    spent = choice.simulations * PER_PLAYOUT[playouts]
    assert 0.95 <= spent / (3000 if JIT else 300) <= (1.05 if JIT else 1.5)
    ticks = (random.Random(1).random() * 1000 * number for number in range(1, 10**9))
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks))
    seen = seen_at("gomoku:size=5")
    made = player_of(spec, seen.game)
    made.clock = lambda: next(ticks)
    assert made.choose(seen, 1) == choice


def test_hidden_fleets_are_shot_at_by_what_was_seen() -> None:
    spec = "battleship:size=5,fleet=2-2,task=solo"
    simulations = 3000 if JIT else 300
    for player in (f"uct:simulations={simulations},playout_plies=1", f"flat:simulations={simulations}"):
        assert ask(player, spec).move < 25
    search = open_search(SearchRequest(game=spec, simulations=10, playout_plies=1))
    assert search.context.features == Features(hidden=True, steered=True)


@pytest.mark.parametrize("preset", NAMES)
def test_a_preset_fills_in_what_is_left_at_its_default(preset: str) -> None:
    for name in ("gomoku", "thud", "tictactoe", "grundy"):
        game = games.load(name)
        request = with_preset(SearchRequest(game.spec, simulations=100), preset, game)
        for field, value in settings_of(preset, game).items():
            assert getattr(request, field) == value
        check_request(request)
    named = SearchRequest("thud", simulations=100, widening=3)
    assert with_preset(named, preset, games.load("thud")).widening == 3


def test_a_preset_that_does_not_go_with_the_request_is_refused_by_name() -> None:
    game = games.load("thud")
    with pytest.raises(InvalidInput, match="root with implicit_minimax"):
        with_preset(SearchRequest(game.spec, strategy="leaf"), "best", game)
    with pytest.raises(InvalidInput, match="preset"):
        with_preset(SearchRequest(game.spec), "strongest", game)


@pytest.mark.parametrize("preset", NAMES)
def test_the_opponent_of_people_is_a_player_of_the_game(preset: str) -> None:
    for game in filter(lambda game: game.is_two_player, map(games.load, games.names())):
        spec = opponent_of(preset, game, 0.5, whole_game=True)
        assert "seconds=0.5" in spec
        assert player_of(spec, game).spec == spec
        strongest = preset == "best" and game.name == "morris"
        assert spec.startswith("alphabeta" if strongest else f"uct:preset={preset}")
