"""An address where no Ray can be joined is refused in seconds, with one clear reason."""

from __future__ import annotations

import socket

import pytest

from cluster.workers.joining import NotJoined, knock
from cluster.workers.process import REFUSED_TOKEN, RayProcess, last_words


def reason(address: str) -> str:
    with pytest.raises(NotJoined) as error:
        knock(address)
    assert (error.value.field, error.value.value) == ("address", address)
    return error.value.reason


@pytest.mark.parametrize(
    "address", ["nonsense", "host:", ":6379", "host:port", "host:0", "host:65536", "ray://host:10001", ""]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    assert "not of the form host:port" in reason(address)


def test_a_port_where_nobody_listens_is_refused() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert reason(f"127.0.0.1:{port}") == "nobody answers there: Connection refused"
    assert "such as" not in NotJoined(f"127.0.0.1:{port}", "").accepted


@pytest.mark.slow
def test_a_listener_that_is_not_ray_is_given_up(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = RayProcess(f"127.0.0.1:{silent.getsockname()[1]}", 0, {"RAY_AUTH_MODE": "disabled"})
        with pytest.raises(ConnectionError, match="it has not answered in 3 s"):
            process.joined(3.0)
    assert not process.folder.exists()
    assert capfd.readouterr() == ("", "")


def test_what_ray_says_last_of_its_end_is_found_in_its_log() -> None:
    log = (
        "[2026-11-22 19:02:03,001 W 17 18] gcs_client.cc:210: Failed to get cluster ID\n"
        "[2026-11-22 19:02:04,943 C 17 18] rpc_client.h:204: No GCS within 60 seconds. See\n"
        "[2026-11-22 19:02:04,944 E 17 18] core_worker.cc:609: :info_message: Attempting to recover\n"
    )
    assert last_words(log) == "No GCS within 60 seconds"
    assert last_words("") == ""
    assert REFUSED_TOKEN not in log
