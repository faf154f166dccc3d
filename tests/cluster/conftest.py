"""The command here and as a stranger has it; Ray workers that the tests of a file share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from cluster.runtime.workers import Resources
from cluster.workers.choose import make_executor
from tests.cluster.command import Here
from tests.cluster.searches import REQUESTS, keep_after
from tests.cluster.strangers import Stranger

if TYPE_CHECKING:
    from cluster.workers.ray_executor import RayExecutor


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(capsys)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A checkpoint of a search that has begun."""
    path = tmp_path / "search.ckpt"
    keep_after(path, REQUESTS["tree"], 7)
    return path


@pytest.fixture
def stranger(tmp_path: Path) -> Stranger:
    return Stranger(tmp_path)


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayExecutor]:
    """With a cache folder of their own for files of games and evaluators, which they take from here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BANYAN_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        executor = make_executor("ray", 2, job_timeout_s=60, resources=Resources(cpus=0.5))
        with closing(cast("RayExecutor", executor)) as found:
            yield found
