"""Problems beyond two players and a return at the end, on real workers: the answers of the inline search."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster.executors.choose import make_executor
from cluster.executors.inline import InlineExecutor
from cluster.runtime.tasks import Executor
from search.request import SearchRequest
from tests.cluster.searches import compiled_only, search_on
from tests.search.forms import FORMS, problem

pytestmark = [
    compiled_only,
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Executor]:
    executor = make_executor("ray", 2, job_timeout_s=30)
    yield executor
    executor.close()


def test_two_workers_give_the_answers_of_the_inline_search(two_workers: Executor) -> None:
    for form in FORMS:
        # Those in plain Python have no kernels to compile.
        spec = problem(form, 3, plain=form != "three with chance")
        for strategy in ("root", "tree", "leaf"):
            request = SearchRequest(spec, strategy=strategy, lanes=4, simulations=60, seed=2)
            expected, result = (search_on(where, request)[0] for where in (InlineExecutor(), two_workers))
            assert result.digest == expected.digest, (form, strategy)
            assert result.answer == expected.answer, (form, strategy)
