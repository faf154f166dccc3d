"""Searches with an evaluator: PUCT against its slow twin, laws 1 and 2, and evaluators that make no sense."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import games
from games.errors import InvalidInput
from games.game import Game
from search.evaluator import Evaluator, load_evaluator, source_of_evaluator
from search.job import LeafJob
from search.kernel.evaluation import evaluate_job, priors_of
from search.kernel.params import params_of
from search.players import player_of
from search.players.player import Observation
from search.prepare import check_search, open_search
from search.request import SearchRequest
from search.tree.arena import ROOT, children_of
from search.worker import Worker
from tests.games.common import JIT
from tests.search.common import ChaosExecutor, nodes_of, run_search, undisturbed
from tests.search.naive_puct import NaivePuct

HASHED = str(Path(__file__).with_name("hashed_evaluator.py"))
SIMULATIONS = 600 if JIT else 150

KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "one at a time": {"lanes": 1, "batch": 1},
    "one lane": {"lanes": 1, "batch": 16},
    "virtual loss": {"in_flight": "virtual-loss"},
    "solver": {"solver": True},
    "solver, virtual loss": {"solver": True, "in_flight": "virtual-loss", "lanes": 5},
    "urgency": {"first_play_urgency": -0.3},
    "reduction": {"fpu_reduction": 1.0},
    "growth": {"cpuct_base": 20.0, "exploration": 0.2},
    "growth from a fraction on": {"cpuct_base": 1.99},
    "wide": {"exploration": 3.0},
    "chosen moves": {"avoid": "a1 b2", "least_visits": "a2=40,c3=30"},
    "temperature": {"policy_temperature": 2.0},
    "probabilities": {"evaluator": f"{HASHED}:kind=probabilities,shift=1", "policy_temperature": 0.7},
}


def request_of(**asked: Any) -> SearchRequest:
    given = {"game": "tictactoe", "lanes": 3, "simulations": SIMULATIONS, "batch": 4, "seed": 1}
    return SearchRequest(**{**given, "strategy": "leaf", "evaluator": HASHED, **asked})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", ["tictactoe", "gomoku:size=5"])
def test_the_tree_is_that_of_the_slow_twin(game: str, kind: str) -> None:
    request = request_of(game=game, **KINDS[kind])
    _, session = run_search(request)
    search = session.search
    spec = request.evaluator or ""
    evaluator = load_evaluator(spec, source_of_evaluator(spec), search.game)
    params, temperature = params_of(search.context), request.policy_temperature
    naive = NaivePuct(search.game, search.root_state, evaluator, params, temperature)
    sizes = [search.plan.size(index) for index in range(search.plan.jobs)]
    naive.run(sizes, search.plan.lanes, search.strategy.absorbed)
    assert nodes_of(search.strategy.tree) == naive.root


@pytest.mark.parametrize("kind", KINDS)
def test_chaos_changes_nothing(kind: str) -> None:
    undisturbed(request_of(game="gomoku:size=5", **KINDS[kind]), range(3 if JIT else 1))


@pytest.mark.parametrize("batch", [None, 1, 7, 1000])
@pytest.mark.parametrize("simulations", [2, 3, 10, 101])
def test_the_root_has_the_simulations_asked_for(simulations: int, batch: int | None) -> None:
    result, session = run_search(request_of(simulations=simulations, batch=batch))
    tree = session.search.strategy.tree
    assert result.simulations == tree.visits[ROOT] == simulations
    # The first simulation is the root's own.
    assert sum(int(tree.visits[child]) for child in children_of(tree, ROOT)) == simulations - 1
    assert result.answer.best_move is not None
    assert session.search.strategy.unobserved == tree.unobserved[ROOT] == 0


def test_a_search_in_seconds_begins_with_the_root_alone() -> None:
    request = request_of(simulations=None, seconds=0.2, batch=5)
    result, session = run_search(request)
    assert result.stopped_by == "seconds"
    tree = session.search.strategy.tree
    assert sum(int(tree.visits[child]) for child in children_of(tree, ROOT)) == result.simulations - 1
    assert (result.simulations - 1) / (result.jobs - 1) <= 5


def test_states_that_are_alike_are_evaluated_once_and_finished_games_count_their_return() -> None:
    seen = []

    class Counting(Evaluator):
        def evaluate(self, states: Any) -> Any:
            seen.append(states.copy())
            return np.full(len(states), 0.5), np.zeros((len(states), 9))

    search = open_search(request_of())
    moves = np.array([[0, 1, 2, 0, 0], [2, 1, 0, 0, 0], [4, 0, 0, 0, 0], [0, 3, 1, 4, 2]], dtype=np.uint16)
    job = LeafJob(
        0, moves, np.array([3, 3, 1, 5], np.int32), np.ones(4, np.int32), np.zeros((0, 2), np.uint64)
    )
    engine = search.strategy.engine  # type: ignore[attr-defined]
    for place, rows, sums, counts in (
        # The second player moves, and is said to be ahead; the first player has won the last game.
        (0, 2, [-0.5, -0.5, -0.5, 1.0], [6, 6, 8, 0]),
        (3, 0, [1.0], [0]),
    ):
        some = replace(job, moves=moves[place:], depths=job.depths[place:], visits=job.visits[place:])
        found = evaluate_job(engine, Counting(search.game), 1.0, search.context.root_state, some)
        assert found.sums is not None and found.policies is not None and found.playouts == rows
        assert (found.sums.tolist(), found.policies.counts.tolist()) == (sums, counts)
    assert [states.shape for states in seen] == [(2, len(search.root_state))]


class Probable(Evaluator):
    policy = "probabilities"

    def evaluate(self, states: Any) -> Any:
        raise NotImplementedError


def test_a_logit_of_minus_infinity_is_a_prior_of_0() -> None:
    game = games.load("tictactoe")
    legal, logits = np.array([1, 3], dtype=np.uint16), np.array([0, -np.inf, 0, 2])
    assert priors_of(
        load_evaluator(HASHED, source_of_evaluator(HASHED), game), logits, legal, 1.0
    ).tolist() == [0, 1]
    assert priors_of(Probable(game), np.array([5.0, 0, 5, 1e-300]), legal, 1.0).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("spec", ["gomoku:size=5", "tictactoe", "morris"])
def test_help_for_evaluators(spec: str) -> None:
    game = games.load(spec)
    states = [game.initial_state()]
    for _ in range(3):
        states.append(states[-1].copy())
        game.calls.play(states[-1], game.legal_moves(states[-1])[2])
    batch = np.array(states)
    evaluator = Probable(game)
    assert evaluator.movers(batch).tolist() == [0, 1, 0, 1]
    num_moves = 1 + max(game.legal_moves(states[0]))
    legal = evaluator.legal(batch, num_moves)
    assert [np.flatnonzero(row).tolist() for row in legal] == [game.legal_moves(state) for state in states]
    planes = evaluator.planes(batch)
    assert planes.dtype == np.float32
    assert planes.sum(axis=(2, 3)).tolist() == [[0, 0], [0, 1], [1, 1], [1, 2]]
    assert (game.owners(batch) == Game.owners(game, batch)).all()
    if spec == "gomoku:size=5":
        # Where moves are cells, a cell's place in a plane is the move's code.
        assert (planes.reshape(4, 2, -1).sum(axis=1) == 1 - legal).all()


PAGE = Path(__file__).parents[2] / "search" / "NETWORK.md"


def test_the_programs_that_the_page_prints_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluator, opened = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(opened, str(PAGE), "exec"), {})
    move = capsys.readouterr().out.strip()
    assert re.fullmatch(r"[a-i][1-9]", move)

    file = tmp_path / "net.py"
    file.write_text(evaluator)
    for game in ("tictactoe", "connect_four"):
        request = request_of(game=game, evaluator=f"{file}:hidden=8", simulations=100)
        result, _ = run_search(request)
        assert result.simulations == 100
        assert result.digest == run_search(request, ChaosExecutor(1))[0].digest
        assert result.digest != run_search(replace(request, evaluator=f"{file}:hidden=9"))[0].digest


@pytest.mark.slow
def test_the_network_of_the_page_plays_every_game_of_pieces_on_cells_and_refuses_others() -> None:
    source = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    refused, played = dict[str, str](), set[str]()
    for name in [*games.names(), "chinese_checkers:players=2", "gomoku:size=7", "morris:variant=three"]:
        game = games.load(name)
        try:
            check_search(request_of(game=name, evaluator="./net.py"), game)
        except InvalidInput:
            continue
        states = [game.initial_state()]
        for ply in range(12):
            if legal := game.legal_moves(states[-1]):
                states.append(states[-1].copy())
                game.calls.play(states[-1], legal[ply % len(legal)])
        batch = np.array([state for state in states if game.legal_moves(state)])
        try:
            net = load_evaluator("./net.py", source, game)
        except InvalidInput as error:
            refused[name] = str(error)
            continue
        values, policies = net.evaluate(batch)
        assert values.shape == (len(batch),) and (abs(values) <= 1).all() and len(set(values)) > 1
        assert np.isfinite(policies).all() and policies.shape[1] > max(map(max, map(game.legal_moves, batch)))
        played.add(name)
    assert set(refused) == {"grundy", "explicit"}
    assert all("is not accepted; expected a game with pieces of two" in each for each in refused.values())
    assert {"thud", "othello", "hex", "breakthrough", "morris", "chinese_checkers:players=2"} < played


BODY = """
import numpy as np
from search.evaluator import Evaluator

class Net(Evaluator):
    def evaluate(self, states):
        B = len(states)
        return {}
"""
BAD = {
    "np.zeros(B)": "evaluate(states) to return (values, policies), not ndarray",
    "np.zeros(B + 1), np.zeros((B, 9))": "values of shape (1,) for 1 states, not (2,)",
    "np.zeros(B), np.zeros(9)": "policies of shape (1, moves) for 1 states, not (9,)",
    "np.zeros(B), np.zeros((B, 4))": "policies with a number for move code 8, not of 4 moves",
    "np.full(B, np.nan), np.zeros((B, 9))": "values from -1 to 1, not nan",
    "np.full(B, 1.5), np.zeros((B, 9))": "values from -1 to 1, not 1.5",
    "np.zeros(B), np.full((B, 9), np.nan)": "logits of legal moves that are numbers, not nan",
    "np.zeros(B), np.full((B, 9), np.inf)": "logits of legal moves that are numbers, not inf",
    "3": "evaluate(states) to return (values, policies), not int",
    "['a'] * B, np.zeros((B, 9))": "values that NumPy makes an array of numbers of",
    "np.zeros(B), 1 / 0": "evaluate(states) that runs (line 8: ZeroDivisionError: division by zero)",
    "exit('no GPU')": "evaluate(states) that runs (line 8: SystemExit: no GPU)",
}


@pytest.mark.parametrize("define", ["def", "async def"])
@pytest.mark.parametrize("answer", BAD)
def test_an_answer_that_makes_no_sense_is_refused_before_the_search(
    answer: str, define: str, tmp_path: Path
) -> None:
    file = tmp_path / "net.py"
    file.write_text(BODY.format(answer).replace("def evaluate", f"{define} evaluate"))
    search = open_search(request_of(evaluator=str(file)))
    with pytest.raises(InvalidInput) as caught:
        Worker().prepare(search.context)
    assert (caught.value.field, caught.value.value) == ("evaluator", str(file))
    assert BAD[answer] in caught.value.accepted


def test_a_coroutine_beside_the_others_that_exits_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    text = BODY.format("await asyncio.gather(one())").replace("def evaluate", "async def evaluate")
    file.write_text("import asyncio\nasync def one(): exit('no GPU')\n" + text)
    for _ in range(2):
        with pytest.raises(InvalidInput, match="line 2: SystemExit: no GPU"):
            Worker().prepare(open_search(request_of(evaluator=str(file))).context)


BAD_FILES = {
    "x = 1": "a file with one subclass of search.evaluator.Evaluator (found: none)",
    "import no_such_library": "an evaluator file that runs (line 1: ModuleNotFoundError",
    "exit('no GPU')": "an evaluator file that runs (line 1: SystemExit: no GPU)",
    "from search.evaluator import Evaluator\nclass Net(Evaluator): pass": "class Net to define evaluate",
    "from search.evaluator import Evaluator\nclass Net(Evaluator):\n    evaluate = 3": "class Net to define",
    BODY.format("1, 2") + "class Other(Net): pass\nclass Third(Net): pass": "(found: Other, Third)",
    BODY.format("1, 2") + "    policy = 'odds'": "policy = logits or probabilities, not 'odds'",
    BODY.format("1, 2") + "    def __init__(self, game): 1 / 0": "an evaluator that can be made (line 9:",
}


@pytest.mark.parametrize("text", BAD_FILES)
def test_a_file_that_is_no_evaluator_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(text)
    search = open_search(request_of(evaluator=str(file)))
    with pytest.raises(InvalidInput) as caught:
        Worker().prepare(search.context)
    assert caught.value.field == "evaluator"
    assert BAD_FILES[text] in caught.value.accepted


@pytest.mark.parametrize(
    ("asked", "field", "accepted"),
    [
        ({"evaluator": "./nowhere.py"}, "evaluator", "an evaluator file that can be read"),
        ({"evaluator": "hashed"}, "evaluator", "an evaluator file such as ./net.py"),
        ({"evaluator": f"{HASHED}:size=3"}, "evaluator option", "shift, kind"),
        ({"evaluator": f"{HASHED}:shift=x"}, "evaluator option shift", "a whole number"),
        ({"strategy": "tree"}, "strategy", "leaf with an evaluator"),
        ({"strategy": "root"}, "strategy", "leaf with an evaluator"),
        ({"simulations": 1}, "simulations", "at least 2"),
        ({"playouts_per_leaf": 2}, "playouts_per_leaf", "None with an evaluator"),
        ({"playout_plies": 0}, "playout_plies", "None with an evaluator"),
        ({"playout_policy": "greedy"}, "playout_policy", "random with an evaluator"),
        ({"widening": 3}, "widening", "None with an evaluator"),
        ({"decisive": True}, "decisive", "False with an evaluator"),
        ({"cpuct_base": 0.0}, "cpuct_base", "a number from 1"),
        ({"policy_temperature": 0.0}, "policy_temperature", "a number from 0.01"),
        ({"fpu_reduction": -1.0}, "fpu_reduction", "a number from 0"),
        ({"game": "battleship"}, "evaluator", "none with battleship, where something is hidden"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_does_not_go_with_an_evaluator_is_refused(
    asked: dict[str, Any], field: str, accepted: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        Worker().prepare(open_search(request_of(**asked)).context)
    assert caught.value.field == field
    assert accepted in caught.value.accepted


def test_a_service_runs_nobodys_evaluator() -> None:
    with pytest.raises(InvalidInput, match="files of others are not run here"):
        open_search(request_of(evaluator="./nowhere.py"), files=False)


def test_a_player_searches_with_an_evaluator() -> None:
    game = games.load("tictactoe")
    state = game.initial_state()
    player = player_of(f"uct:evaluator={HASHED}:shift=3,simulations=40,batch=4", game)
    seen = Observation(game, state, 0, tuple(game.legal_moves(state)))
    choice = player.choose(seen, 5)
    assert choice == player.choose(seen, 5)
    assert choice.simulations == 40
    quick = player_of(f"uct:evaluator={HASHED},seconds=0.001", game).choose(seen, 5)
    assert quick.simulations >= 2
    with pytest.raises(InvalidInput, match="player option strategy: 'root' is not accepted; expected leaf"):
        player_of(f"uct:evaluator={HASHED},strategy=root", game)
