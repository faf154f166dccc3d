"""An address where no Ray can be joined is refused in seconds, with one clear reason."""

from __future__ import annotations

import socket

import pytest

from cluster.ray_address import check_address
from games.errors import InvalidInput


def reason(address: str, join_s: float = 3.0) -> str:
    with pytest.raises(InvalidInput) as error:
        check_address(address, join_s)
    assert (error.value.field, error.value.value) == ("address", address)
    return error.value.accepted


@pytest.mark.parametrize(
    "address", ["nonsense", "host:", ":6379", "host:port", "host:0", "host:65536", "ray://host:10001", ""]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    assert "not of the form host:port" in reason(address)


def test_a_port_where_nobody_listens_is_refused() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert "refused" in reason(f"127.0.0.1:{port}")


def test_a_listener_that_is_not_ray_is_given_up(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "none")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert "no Ray let this machine join" in reason(f"127.0.0.1:{silent.getsockname()[1]}")
    assert capfd.readouterr() == ("", "")
