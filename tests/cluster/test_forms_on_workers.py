"""Problems beyond two players and a return at the end, on real workers: the answers of the inline search."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from cluster.executors.choose import make_executor
from cluster.executors.inline import InlineExecutor
from cluster.runtime.session import Session
from cluster.runtime.tasks import Executor
from search.coordinator import Coordinator
from search.prepare import open_search
from search.request import SearchRequest
from search.result import SearchResult
from tests.search.forms import FORMS, problem

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="real workers run compiled kernels"
    ),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Executor]:
    executor = make_executor("ray", 2, job_timeout_s=30)
    yield executor
    executor.close()


def run_on(executor: Executor, request: SearchRequest) -> SearchResult:
    search = open_search(request)
    executor.open(search.context)
    return Session(Coordinator(search, 2), executor).run()


def test_two_workers_give_the_answers_of_the_inline_search(two_workers: Executor) -> None:
    for form in FORMS:
        # Those in plain Python have no kernels to compile.
        spec = problem(form, 3, plain=form != "three with chance")
        for strategy in ("root", "tree", "leaf"):
            request = SearchRequest(spec, strategy=strategy, lanes=4, simulations=60, seed=2)
            expected, result = (run_on(where, request) for where in (InlineExecutor(), two_workers))
            assert result.digest == expected.digest, (form, strategy)
            assert result.answer == expected.answer, (form, strategy)
