"""Bearer tokens for access to the API."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from pathlib import Path

from cluster.system.processes import LOOPBACK
from games.errors import InvalidInput
from games.user_games import read_text

VARIABLE = "BANYAN_TOKEN"
_FORM = re.compile(r"[A-Za-z0-9._~+/=-]{16,512}")
"""Accepted form of a token: safe in a header, and long enough not to be guessed."""


class Tokens:
    """The tokens that a server accepts; without tokens every client is accepted."""

    def __init__(self, tokens: tuple[str, ...] = ()) -> None:
        self._digests = tuple(_digest(token) for token in tokens)

    def __bool__(self) -> bool:
        return bool(self._digests)

    def accept(self, authorization: str | None) -> bool:
        """Whether the header contains an accepted token; the comparison takes constant time."""
        scheme, _, token = (authorization or "").partition(" ")
        given = _digest(token.strip())
        equal = [hmac.compare_digest(known, given) for known in self._digests]
        return not equal or (any(equal) and scheme.lower() == "bearer")


def read_tokens(path: Path | None) -> Tokens:
    """The tokens of a file, one per line, and of the environment variable BANYAN_TOKEN.

    Raises InvalidInput (fields ``token_file``, ``BANYAN_TOKEN``).
    """
    tokens = [] if path is None else _lines(path)
    if VARIABLE in os.environ:
        token = os.environ[VARIABLE].strip()
        if not _FORM.fullmatch(token):
            raise InvalidInput(VARIABLE, "...", "16 to 512 letters, digits or . _ ~ + / = -")
        tokens.append(token)
    return Tokens(tuple(tokens))


def read_token(path: Path | None) -> str | None:
    """A client's token: the first one of a file, or that of the environment variable BANYAN_TOKEN.

    Raises InvalidInput (field ``token_file``).
    """
    if path is not None:
        return _lines(path)[0]
    return os.environ.get(VARIABLE, "").strip() or None


def check_host(host: str, tokens: Tokens) -> None:
    """Raise InvalidInput (field ``host``) for a server that others can reach if it has no token."""
    if not tokens and host not in LOOPBACK:
        accepted = f"{' or '.join(LOOPBACK)}, or a token as well (--token-file FILE, or {VARIABLE})"
        raise InvalidInput("host", host, accepted)


def _digest(token: str) -> bytes:
    # Digests have equal lengths: the time of a comparison may reveal the length of its arguments.
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _lines(path: Path) -> list[str]:
    lines = [line.strip() for line in read_text(path, "token_file", "a file").splitlines()]
    tokens = [line for line in lines if line and not line.startswith("#")]
    if not tokens or not all(_FORM.fullmatch(token) for token in tokens):
        accepted = "a file with one token per line: 16 to 512 letters, digits or . _ ~ + / = -"
        raise InvalidInput("token_file", str(path), accepted)
    return tokens
