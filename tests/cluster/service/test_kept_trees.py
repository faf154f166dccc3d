"""Searches over HTTP that begin with the tree of an earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cluster.client.client import Client
from cluster.service.kept_trees import MOST, KeptTrees
from games.errors import InvalidInput
from search.tree.arena import new_tree, tree_bytes
from tests.cluster.searches import compiled_only
from tests.cluster.service.process import Server, searching
from tests.waiting import eventually

FIRST: dict[str, Any] = {"game": "connect_four", "simulations": 4_000, "lanes": 3, "seed": 4}
FURTHER: dict[str, Any] = {"moves": ["d", "d"], "seed": 5}
STRATEGIES = ("tree", "leaf", "root")
SERVER = ("--max-memory", "64")
Ended = dict[str, Any]


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with server.client() as client:
        yield client


def ended(client: Client, **body: Any) -> Ended:
    return client.wait(client.submit(FIRST | body)["id"])


def pair(client: Client, **body: Any) -> tuple[Ended, Ended]:
    """A search, and one that continues it after two moves."""
    first = ended(client, **body)
    return first, ended(client, **body | FURTHER, continues=first["id"])


@cache
def digests(strategy: str, data: Path) -> tuple[str, str]:
    """Of a `pair` on one worker."""
    with Server(data / strategy) as server:
        first, second = pair(server.client(), strategy=strategy)
    return first["result"]["digest"], second["result"]["digest"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_search_begins_with_what_the_former_left(client: Client, strategy: str) -> None:
    first, second = pair(client, strategy=strategy)
    (reply,) = [child for child in first["result"]["children"] if child["move"] == "d"]
    assert first["result"]["kept_visits"] == 0
    assert 0 < second["result"]["kept_visits"] < reply["visits"]
    assert second["request"]["continues"] == first["id"]
    assert second["result"]["simulations"] == 4_000
    visits = sum(child["visits"] for child in second["result"]["children"])
    # One visit of a tree may be that of the position itself.
    assert 0 <= second["result"]["kept_visits"] + 4_000 - visits <= (3 if strategy == "root" else 1)
    # Both once more: the answer follows from the two requests; without the former it is another one.
    again, alone = pair(client, strategy=strategy)[1], ended(client, strategy=strategy, **FURTHER)
    assert again["result"]["digest"] == second["result"]["digest"] != alone["result"]["digest"]


@pytest.mark.parametrize("more", [{"strategy": "root", "least_visits": "a=9"}, {"avoid": "a"}])
def test_where_no_tree_can_be_continued_nothing_is_kept(client: Client, more: dict[str, Any]) -> None:
    second, alone = pair(client, **more)[1], ended(client, **more | FURTHER)
    assert second["result"]["kept_visits"] == 0
    assert second["result"]["digest"] == alone["result"]["digest"]


def test_scores_of_three_players_are_those_of_this_search(client: Client) -> None:
    body = {"game": "chinese_checkers", "simulations": 300}
    first = ended(client, **body)
    second = ended(client, **body, moves=first["result"]["pv"][:1], continues=first["id"])
    assert second["result"]["kept_visits"] > 0
    assert sum(second["result"]["values"]) == pytest.approx(sum(first["result"]["values"]))


@pytest.mark.parametrize(
    ("change", "accepted"),
    [
        ({"continues": "none"}, "the id of one of the latest searches that have ended"),
        ({"exploration": 2.0, "lanes": 4}, "a search with the same exploration, lanes"),
        ({"game": "tictactoe", "moves": []}, "a search with the same game, moves"),
        ({"moves": ["a", "b"]}, "a search with the same moves"),
    ],
)
def test_another_search_is_not_continued(client: Client, change: dict[str, Any], accepted: str) -> None:
    first = ended(client, moves=["d"])
    with pytest.raises(InvalidInput) as refused:
        client.submit(FIRST | FURTHER | {"continues": first["id"]} | change)
    assert refused.value.field == "continues"
    assert refused.value.accepted.startswith(accepted)


@pytest.mark.slow
def test_the_memory_of_trees_is_bounded(tmp_path: Path) -> None:
    with Server(tmp_path, "--max-memory", "2") as server:
        client = server.client()
        # Of up to a megabyte, which is half of what a search may have.
        found = [ended(client, simulations=1_000_000, seed=seed) for seed in range(4)]
        assert min(search["result"]["tree_nodes"] for search in found) > 2 * 2**20 / 24 / 4
        ids = [search["id"] for search in found]
        assert ended(client, **FURTHER, continues=ids[3])["result"]["kept_visits"] > 0
        with pytest.raises(InvalidInput, match="latest searches"):
            client.submit(FIRST | FURTHER | {"continues": ids[0]})


def test_the_oldest_trees_are_given_up() -> None:
    tree, body = new_tree(100), FIRST | {"moves": []}
    for most_bytes, kept in ((4 * tree_bytes(tree), 4), (2**30, MOST)):
        trees = KeptTrees(most_bytes)
        for number in range(kept + 1):
            trees.keep(str(number), body, [tree])
        # A search that was resumed has ended last.
        trees.keep("1", body, [tree])
        for number in (1, 2, kept):
            assert trees.check(body | {"continues": str(number)}) == (body, [tree])
        with pytest.raises(InvalidInput):
            trees.check(body | {"continues": "0"})


@compiled_only
@pytest.mark.slow
def test_two_workers_give_the_digests_of_one(tmp_path: Path) -> None:
    with Server(tmp_path / "two", "--workers", "2", "--nice", "1", executor="ray") as server:
        found = [pair(server.client(), strategy=strategy) for strategy in STRATEGIES]
    told = [(first["result"]["digest"], second["result"]["digest"]) for first, second in found]
    assert told == [digests(strategy, tmp_path) for strategy in STRATEGIES]


@compiled_only
@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "simulations"), [("tree", 6_000_000), ("leaf", 2_000_000), ("root", 6_000_000)]
)
def test_one_that_was_killed_has_the_visits_in_its_checkpoint(
    tmp_path: Path, strategy: str, simulations: int
) -> None:
    body = {"strategy": strategy, "simulations": simulations}
    with Server(tmp_path / "whole") as server:
        client = server.client()
        first = ended(client, strategy=strategy)
        expected = ended(client, **body | FURTHER, continues=first["id"])["result"]
    with Server(tmp_path / "killed", "--checkpoint-every", "0.1", "--max-running", "1") as server:
        client = server.client()
        first = ended(client, strategy=strategy)
        asked = FIRST | body | FURTHER | {"continues": first["id"]}
        ids = [client.submit(asked)["id"] for _ in range(2)]
        searching(client, ids[0], 300_000)
        eventually(lambda: [*(tmp_path / "killed" / "checkpoints").glob("*.npz")])
        server.kill()
    with Server(tmp_path / "killed") as server:
        client = server.client()
        resumed, waited = (client.wait(search_id) for search_id in ids)
    assert resumed["result"]["resumed"] == 1
    assert resumed["result"]["kept_visits"] == expected["kept_visits"] > 0
    assert resumed["result"]["digest"] == expected["digest"]
    # Without the tree it would have another answer.
    assert waited["state"] == "failed"
    assert waited["error"]["field"] == "continues"
