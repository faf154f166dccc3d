"""Positions over HTTP: what is hidden is dealt by a number, shown to whom it belongs, and guessed at."""

from __future__ import annotations

import pytest

from cluster.service.positions import move, read
from cluster.service.request_models import MoveBody, PositionBody
from games.errors import InvalidInput

SMALL = "battleship:size=5,fleet=3-2"


def cells(board: dict[str, list[list[dict[str, object]]]]) -> list[dict[str, object]]:
    return [cell for row in board["rows"] for cell in row]


def test_the_same_number_deals_the_same() -> None:
    body = PositionBody(deal=5, show=0)
    assert read(SMALL, body) == read(SMALL, body)
    secrets = {str(read(SMALL, PositionBody(deal=number, show=0))["secret"]) for number in range(8)}
    assert len(secrets) > 4


def test_a_dealt_fleet_answers_truly() -> None:
    """Of two answers one is legal, and it is what the secret shows."""
    secret = read(SMALL, PositionBody(deal=5, show=1))["secret"]
    taken = {
        f"{column}{row}"
        for row, drawn in zip(secret["row_labels"], secret["rows"], strict=True)
        for column, cell in zip(secret["column_labels"], drawn, strict=True)
        if cell["owner"] is not None
    }
    assert len(taken) == 5
    for shot in ("a1", "b2", "c3", "d4", "e5", *taken):
        answers = read(SMALL, PositionBody(deal=5, moves=[shot]))["legal_moves"]
        assert answers == ["hit" if shot in taken else "miss"]


def test_a_secret_is_told_only_to_who_asks_for_it() -> None:
    dealt = read(SMALL, PositionBody(deal=5))
    plain = read(SMALL, PositionBody())
    assert dealt["secret"] is None
    assert dealt["position"] == plain["position"]
    assert dealt["board"] == plain["board"]


def test_a_player_places_the_own_ships() -> None:
    """Each answer names the ship that is next, and its places, until all lie; the rest may be random."""
    first = read(SMALL, PositionBody(deal=5, show=0, fleet=[]))
    assert first["placing"] == "3a (3 cells)" and "a1c1" in first["legal_moves"]
    body = PositionBody(deal=5, show=0, fleet=["c1a1", "random"])
    whole = read(SMALL, body)
    assert whole["placing"] is None and read(SMALL, body) == whole
    assert sum(cell["owner"] == 0 for cell in cells(whole["secret"])) == 5
    assert read(
        SMALL, PositionBody(deal=5, show=0, fleet=["c1a1", "random"], moves=["a1", "miss", "a1", "hit"])
    )
    assert whole["board"] == read(SMALL, PositionBody(deal=5))["board"]
    for wrong in ({"deal": 5}, {"show": 0}, {"deal": 5, "show": 0, "moves": ["a1"]}):
        with pytest.raises(InvalidInput, match="fleet"):
            read(SMALL, PositionBody(fleet=["a1c1"], **wrong))


def test_chances_go_by_what_was_seen_alone() -> None:
    moves = ["c3", "miss", "a1", "miss"]
    found = read(SMALL, PositionBody(moves=moves, draws=200))["chances"]
    dealt = next(
        number for number in range(1000) if _can_be_played(PositionBody(moves=moves, deal=number, draws=200))
    )
    assert read(SMALL, PositionBody(moves=moves, deal=dealt, draws=200))["chances"] == found
    left = [value for row in found for value in row[:5]]
    # What was tried is not guessed at; of the five cells that are taken none was found.
    assert left[12] is None
    assert sum(value for value in left if value is not None) == pytest.approx(5)
    assert all(value is None for row in found for value in row[5:])


def _can_be_played(body: PositionBody) -> bool:
    try:
        read(SMALL, body)
    except InvalidInput:
        return False
    return True


def test_nothing_hidden_has_no_chances() -> None:
    answer = read("tictactoe", PositionBody(deal=1, draws=10, show=0))
    assert answer["chances"] is None
    assert answer["secret"] is None


def test_a_deal_goes_with_no_position() -> None:
    position = read(SMALL, PositionBody())["position"]
    with pytest.raises(InvalidInput, match="deal"):
        read(SMALL, PositionBody(deal=1, position=position))


def test_lines_of_a_mill_board() -> None:
    """Three men's: the frame of eight and the four spokes, each between neighbours of the grid."""
    board = read("morris:variant=three", PositionBody())["board"]
    assert len(board["lines"]) == 12
    assert all(abs(a - c) + abs(b - d) == 1 for (a, b), (c, d) in board["lines"])
    assert len(cells(board)) == 9


def test_where_chance_moves_the_outcomes_are_told() -> None:
    rolling = read("pig", PositionBody(moves=["roll"]))
    assert (rolling["player"], rolling["to_move"]) == (-1, "chance")
    assert rolling["outcomes"] == {str(face): pytest.approx(1 / 6) for face in range(1, 7)}
    assert read("pig", PositionBody(moves=["roll", "3"]))["to_move"] == "first"


def test_the_service_draws_what_chance_brings() -> None:
    found = {move("pig", MoveBody(moves=["roll"], seed=seed))["move"] for seed in range(60)}
    assert found == {"1", "2", "3", "4", "5", "6"}
    drawn = move("pig", MoveBody(moves=["roll"], seed=4))
    assert (drawn["player"], drawn["value"], drawn["simulations"]) == ("chance", None, 0)
    assert drawn["move"] == move("pig", MoveBody(moves=["roll"], seed=4))["move"]


def test_one_player_has_a_score() -> None:
    shown = read("2048", PositionBody())
    assert (shown["player"], shown["scores"]) == (0, (0.0,))


def test_three_players_have_a_return_each() -> None:
    over = read("chinese_checkers:turns=1", PositionBody(moves=["k3i5"]))
    assert (over["over"], len(over["returns"])) == (True, 3)
