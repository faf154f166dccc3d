"""Bearer tokens: who may ask."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from pathlib import Path

from games.errors import InvalidInput

VARIABLE = "BANYAN_TOKEN"
_FORM = re.compile(r"[A-Za-z0-9._~+/=-]{16,512}")
"""What a header can carry, and nobody guesses."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Tokens:
    """The tokens that a server takes; with none it takes everybody who can reach it."""

    def __init__(self, tokens: tuple[str, ...] = ()) -> None:
        self._digests = tuple(_digest(token) for token in tokens)

    def __bool__(self) -> bool:
        return bool(self._digests)

    def accept(self, authorization: str | None) -> bool:
        """Whether the header has one of them; how long that takes tells nothing of them."""
        scheme, _, token = (authorization or "").partition(" ")
        given = _digest(token.strip())
        found = False
        for known in self._digests:
            found |= hmac.compare_digest(known, given)
        return not self._digests or (found and scheme.lower() == "bearer")


def read_tokens(path: Path | None) -> Tokens:
    """Those of a file, one a line, and of the environment. Raises InvalidInput (token_file, BANYAN_TOKEN)."""
    tokens = [] if path is None else _lines(path)
    if VARIABLE in os.environ:
        token = os.environ[VARIABLE].strip()
        if not _FORM.fullmatch(token):
            raise InvalidInput(VARIABLE, "...", "16 to 512 letters, digits or . _ ~ + / = -")
        tokens.append(token)
    return Tokens(tuple(tokens))


def read_token(path: Path | None) -> str | None:
    """A client's: the first of the file, or that of the environment. Raises InvalidInput (token_file)."""
    if path is not None:
        return _lines(path)[0]
    return os.environ.get(VARIABLE, "").strip() or None


def check_host(host: str, tokens: Tokens) -> None:
    """Raises InvalidInput (host): without a token nobody else may reach the server."""
    if not tokens and host not in LOOPBACK:
        accepted = f"{' or '.join(LOOPBACK)}, or a token as well (--token-file FILE, or {VARIABLE})"
        raise InvalidInput("host", host, accepted)


def _digest(token: str) -> bytes:
    # Of one length for all: a comparison may tell how long what it compares is.
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _lines(path: Path) -> list[str]:
    try:
        lines = [line.strip() for line in path.read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("token_file", str(path), f"a file that can be read ({error})") from None
    tokens = [line for line in lines if line and not line.startswith("#")]
    if not tokens or not all(_FORM.fullmatch(token) for token in tokens):
        accepted = "a file with a token a line: 16 to 512 letters, digits or . _ ~ + / = -"
        raise InvalidInput("token_file", str(path), accepted)
    return tokens
