"""Strategies of users: what a file may define, what they can say, and how `banyan check` finds breaches."""

from __future__ import annotations

from pathlib import Path

import pytest

from games.errors import InvalidInput
from search import law
from search.coordinator import Coordinator
from search.prepare import open_search
from search.request import SearchRequest
from search.strategies import RootStrategy, strategy_of
from tests.search.common import digest_of_search, run_search

EXAMPLE = f"{Path(__file__).parents[2]}/search/examples/slow_root.py:SlowRoot"
ASKED = {"game": "gomoku:size=5", "simulations": 2_000, "seed": 4, "lanes": 3}

LONE = """
import time
import numpy as np
from games.rng import new_stream
from search.job import GROW_STREAM
from search.kernel.params import params_of
from search.strategies import RootRunner, RootStrategy, Runner, Strategy
from search.tree.arena import NODES
from search.tree.merge import increments

SEEN = []

class LoneRunner(Runner):
    def run(self, job):
        SEEN.append(job.index)
        self.forget()
        tree, root = self.engine.new_tree(self.context.tree_slots), self.context.root_state.copy()
        stream = new_stream(self.context.request.seed, GROW_STREAM, RUN)
        made = self.engine.simulate(tree, params_of(self.context), root, job.simulations, stream, self.work)
        added, _ = increments(tree, self.engine.lone_root(), 2, int(tree.counts[NODES]))
        return self.grown(job, tree, made, added)

class Lone(Strategy):
    runner = LoneRunner
    drawn = 0

    def tell(self):
        return {"number": np.array([TELL])}

    def make_job(self, simulations):
        MAKE
        return super().make_job(simulations)

    def add_result(self, job, result):
        ADD
        super().add_result(job, result)
"""
"""Jobs that each grow a lone tree, whose stream is what they are told; in capitals what a test changes."""
RIGHT = {"RUN": "int(self.heard(job)['number'][0])", "TELL": "self.issued", "MAKE": "pass", "ADD": "pass"}


def written(folder: Path, text: str = LONE, **changed: str) -> str:
    """The file of a strategy; the name of its class `Lone` in it."""
    for name, code in (RIGHT | changed).items():
        text = text.replace(name, code)
    (folder / "mine.py").write_text(text)
    return f"{folder}/mine.py:Lone"


def test_the_example_is_right_and_hears_of_others() -> None:
    assert law.check(EXAMPLE) is None
    request = SearchRequest(**ASKED, strategy=EXAMPLE, rounds=12)
    alone = digest_of_search(**ASKED, strategy="root", rounds=12)
    assert digest_of_search(**ASKED, strategy=EXAMPLE, rounds=12) != alone
    # Lanes hear for the first time before their fifth job.
    assert digest_of_search(**ASKED, strategy=EXAMPLE, rounds=4) == digest_of_search(
        **ASKED, strategy="root", rounds=4
    )
    # What lanes were told is counted once: the tree has as many visits as were asked for.
    result, session = run_search(request)
    assert int(session.search.strategy.tree.visits[0]) == result.simulations == 2_000


def test_a_strategy_by_the_base_class_alone_is_right(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert law.check(path) is None
    assert run_search(SearchRequest(**ASKED, strategy=path))[0].jobs == 3
    assert run_search(SearchRequest(**ASKED, strategy=path, rounds=5))[0].jobs == 15


def test_what_a_strategy_keeps_is_restored(tmp_path: Path) -> None:
    count = "self.kept['made'] = self.kept.get('made', np.zeros(1, dtype=np.int64)) + 1"
    path = written(tmp_path, MAKE=count, TELL="int(self.kept.get('made', [0])[0])")
    assert law.check(path) is None


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"RUN": "time.time_ns()"}, "run: in a second run, the result of job 0 is another"),
        ({"RUN": "len(SEEN)"}, "run: in a second run, the result of job 0 is another"),
        ({"RUN": "id(self) % 1000"}, "run: "),
        ({"TELL": "time.time_ns()"}, "make_job: in a second run, job 0 is another"),
        ({"MAKE": "self.drawn += 1", "TELL": "self.drawn"}, "make_job: on 2 workers, resumed"),
        ({"ADD": "self.drawn += len(self.jobs)", "TELL": "self.drawn"}, "make_job: on 2 workers, resumed"),
        ({"ADD": "result.added.visits[0] += 1"}, "simulations are not as many as visits"),
        ({"RUN": "1 // (job.index - 7)"}, "run: raised ZeroDivisionError: "),
        ({"MAKE": "self.context.nothing"}, "make_job: raised AttributeError: "),
        ({"ADD": "while True: pass"}, "add_result: did not end within 0.5 s (line 35)"),
        ({"MAKE": "if self.issued == 9: type(self).ready = False"}, "makes no job, though none is out"),
        ({"MAKE": "self.issued += self.issued == 5"}, "raised "),
        ({"MAKE": "return lambda: 0"}, "raised "),
    ],
)
def test_a_breach_is_one_finding(tmp_path: Path, changed: dict[str, str], expected: str) -> None:
    found = law.check(written(tmp_path, **changed), limit_s=0.5 if "0.5 s" in expected else law.LIMIT_S)
    assert expected in str(found)
    assert len(str(found).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Lone = 1", "a subclass of Strategy there, not 1"),
        ("class Other: pass", "a subclass of Strategy there, not None"),
        ("class Lone: pass", "a subclass of Strategy there, not <class"),
        ("def f(:", "line 1: SyntaxError"),
        ("import nowhere_at_all", "line 1: ModuleNotFoundError"),
        ("\nraise SystemExit(3)", "line 2: SystemExit"),
        ("from search.strategies import Strategy\nclass Lone(Strategy): pass", "Lone.runner to be"),
        (
            "from search.strategies import Runner, Strategy\nclass Lone(Strategy): runner = Runner",
            "Lone.runner to be a subclass of Runner that defines run",
        ),
    ],
)
def test_a_file_without_a_strategy_is_one_error(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(InvalidInput, match=r"^strategy: ") as refused:
        open_search(SearchRequest(**ASKED, strategy=written(tmp_path, text)))
    assert expected in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    "name", ["mine.py", "mine.py:", "mine.txt:Mine", ":Mine", "mine.py:not this", "Mine"]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="or a class in a file"):
        SearchRequest(**ASKED, strategy=name)


def test_no_file_is_read_where_none_may_be(tmp_path: Path) -> None:
    path = written(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(InvalidInput, match="files of others are not run here"):
        open_search(SearchRequest(**ASKED, strategy=path), files=False)
    assert not (tmp_path / "ran").exists()


def test_an_edited_file_is_another_strategy(tmp_path: Path) -> None:
    path = written(tmp_path)
    before, digest = strategy_of(path), digest_of_search(**ASKED, strategy=path)
    written(tmp_path, RUN="7 + job.index")
    assert strategy_of(path) is not before
    assert digest_of_search(**ASKED, strategy=path) != digest


def test_a_subclass_of_leaf_selects_its_own_jobs_in_threads_too(tmp_path: Path) -> None:
    text = "from search.strategies import LeafStrategy\nclass Lone(LeafStrategy):\n"
    text += "    def make_job(self, simulations):\n        return super().make_job(1 + simulations // 2)\n"
    search = open_search(SearchRequest(**ASKED, strategy=written(tmp_path, text)))
    coordinator = Coordinator(search, 1)
    coordinator.work_in_place(2, lambda job: pytest.fail("it changes the tree itself"))
    assert all(not job.divided for job in coordinator.start())


def test_what_lanes_were_told_is_in_the_state() -> None:
    search = open_search(SearchRequest(**ASKED, strategy=EXAMPLE, rounds=12))
    strategy = search.strategy
    assert isinstance(strategy, RootStrategy)
    strategy.told = {4: b"one", 5: b"another"}
    again = open_search(SearchRequest(**ASKED, strategy=EXAMPLE, rounds=12)).strategy
    again.restore(strategy.state())
    assert again.told == {4: b"one", 5: b"another"}
