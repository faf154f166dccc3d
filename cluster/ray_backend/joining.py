"""Joins the cluster at an address, or starts a local Ray.

A cluster may require a token. Ray's library decides once, on import, whether it sends a token, and a process
that sends one to a cluster without tokens can join but cannot run actors. So a process without a token joins
first, and runs an actor; if the cluster requires a token, another process joins with it.
"""

from __future__ import annotations

import os
import secrets
import threading
from pathlib import Path

from cluster.ray_backend.address import NotJoined, knock
from cluster.ray_backend.messages import TokenRefused
from cluster.ray_backend.process import RayProcess

EMBEDDED_S = 120.0
"""Time limit in seconds for the start of an embedded Ray; it takes 4 s on an idle machine."""
STARTS = 2
"""Number of tries to start an embedded Ray."""
JOIN_S = 15.0
"""Time limit in seconds for joining a cluster and running an actor there; it takes 2 s on an idle machine."""


def connect(address: str | None, cpus: int, cancelled: threading.Event | None = None) -> RayProcess:
    """Start a local Ray with ``cpus`` CPUs (address None), or join a cluster.

    A local Ray that dies during its start is started once more. ``cancelled`` ends the wait for its start.
    Raises NotJoined (an InvalidInput of the address), ConnectionError.
    """
    if address is None:
        return _embedded(cpus, cancelled or threading.Event())
    if address != "auto":
        knock(address)
    # The user's own setting is tried first.
    modes = [os.environ.get("RAY_AUTH_MODE", "disabled").lower(), "disabled", "token"]
    refused = False
    reasons: list[str] = []
    for mode in dict.fromkeys(modes):
        if mode == "token" and not _has_token():
            continue
        try:
            return _try_to_join(address, mode)
        except TokenRefused:
            refused = True
        except ConnectionError as error:
            reasons.append(str(error))
    if refused and not _has_token():
        raise NotJoined(address, f"the cluster asks for a token: {_TOKEN_PLACES}")
    if refused:
        raise NotJoined(address, f"the cluster does not accept the token of this process: {_TOKEN_PLACES}")
    raise NotJoined(address, reasons[0] if reasons else "no Ray let this machine join")


_TOKEN_PLACES = (
    "it belongs into ~/.ray/auth_token, or into the file that RAY_AUTH_TOKEN_PATH names; "
    "RAY_AUTH_TOKEN, where it is set, comes before both"
)


def _embedded(cpus: int, cancelled: threading.Event) -> RayProcess:
    settings = {
        # Undocumented, and the only way to keep every socket of a local Ray on loopback.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        # A separate token, so that Ray does not write one into the home folder.
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }
    reason = ""
    for _ in range(STARTS):
        process = RayProcess(None, cpus, settings)
        try:
            process.joined(EMBEDDED_S, cancelled)
        except ConnectionError as error:
            process.close()
            reason = str(error)
        except BaseException:
            process.close()
            raise
        else:
            return process
        if cancelled.is_set():
            break
    raise ConnectionError(f"Ray could not be started: {reason}")


def _try_to_join(address: str, mode: str) -> RayProcess:
    process = RayProcess(address, 0, {"RAY_AUTH_MODE": mode})
    try:
        process.joined(JOIN_S)
    except BaseException:
        process.kill_now()
        raise
    return process


def _has_token() -> bool:
    """Whether Ray would find a token for this process."""
    file = Path(os.environ.get("RAY_AUTH_TOKEN_PATH", "~/.ray/auth_token")).expanduser()
    return bool(os.environ.get("RAY_AUTH_TOKEN")) or file.exists()
