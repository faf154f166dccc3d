"""`banyan reference`: generates REFERENCE.md from the code: commands, players, answers of the API.

banyan reference > cluster/commands/REFERENCE.md
banyan reference --games > cluster/play/built_in.json
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import typer

from cluster.commands.options import option
from search.options import knobs_of
from search.request import SearchRequest

HEAD = """# Reference

Options of commands and players, and answers of the HTTP API; metrics are in
[METRICS.md](../observe/METRICS.md). This page is made from the code by `banyan reference`; edit the code, not
the page.
"""
GAMES = ("tictactoe", "morris", "battleship")
"""Games of which each player plays one."""
MEANINGS = {
    200: "Done.",
    202: "Accepted; the search goes on.",
    204: "No event is left to send.",
    400: "The request has two lengths of its body.",
    401: "The token is missing or wrong.",
    403: "The host name or the origin of the page is not allowed.",
    404: "There is no such search, game or file.",
    405: "The path does not take this method.",
    408: "The body took too long to arrive.",
    409: "The state of the search does not allow it, or the Idempotency-Key was used with another body.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    421: "The host name is not one of the server.",
    422: "The request is wrong: `field`, `value` and `accepted` say what.",
    429: "Too many searches or streams; Retry-After says when to try again.",
    503: "The server cannot take it now; Retry-After says when to try again.",
}


def reference(
    context: typer.Context,
    games: bool = option(False, None, "The built-in games as JSON instead."),
) -> None:
    """Print the reference of options, players and answers of the API as Markdown."""
    from cluster.system.terminal import write

    write(descriptions_text() if games else reference_text(context.find_root().command), end="")


def descriptions_text() -> str:
    """The descriptions of the built-in games, one a line."""
    from cluster.play.position import describe
    from games.catalogue import built_in, load

    return "[\n" + ",\n".join(json.dumps(describe(load(name))) for name in built_in()) + "\n]\n"


def reference_text(root: Any) -> str:
    """The text of the page; ``root`` is the parser of the command `banyan`."""
    from search.players import describe, names

    shown = {name: command for name, command in sorted(root.commands.items()) if not command.hidden}
    texts = {f"banyan {name}": " ".join(command.help.split()) for name, command in shown.items()}
    rows = {f"banyan {name}": [*option_rows(command.params)] for name, command in shown.items()}
    described = {name: f"{describe(name)[0].upper()}{describe(name)[1:]}." for name in names()}
    options = {name: player_rows(name) for name in names()}
    lines = [
        HEAD,
        "## Commands",
        "",
        *_sections(texts, rows, ("option", "value", "default", "meaning")),
        "## Players",
        "",
        "`name:key=value,key=value`, as `banyan match` and `banyan play` take them.",
        "",
        *_sections(described, options, ("option", "accepted", "default", "meaning")),
        *_service_lines(),
    ]
    return "\n".join(lines).rstrip() + "\n"


def option_rows(parameters: Iterable[Any]) -> Iterator[list[str]]:
    """A row for each option of a command: name, value, default, meaning."""
    for each in parameters:
        if getattr(each, "hidden", False) or each.name == "help":
            continue
        is_argument = each.param_type_name == "argument"
        names = [each.metavar or each.name] if is_argument else [*each.opts, *each.secondary_opts]
        value = "" if is_argument or each.is_flag else each.metavar or ""
        name = " / ".join(f"`{name}`" for name in names)
        yield [name, f"`{value}`" if value else "", _default(each), each.help.replace("\\[", "[")]


def player_rows(name: str, kind: type[SearchRequest] = SearchRequest) -> list[list[str]]:
    """A row for each option of a player: name, what is accepted, default, meaning."""
    from games.catalogue import load
    from games.errors import InvalidInput
    from games.spec import Options, Spec
    from search.players.catalogue import OPTION_TEXTS, PLAYERS

    searched = {knob.key: knob for knob in knobs_of(kind)}
    player: Any = None
    for game in map(load, GAMES):
        options = Options(Spec(name), "player")
        with suppress(InvalidInput):
            player = PLAYERS[name][0](Spec(name), options, game)
            break
    request = getattr(player, "request", None)
    rows = []
    for key, (accepted, default) in options.taken.items():
        text = OPTION_TEXTS.get(key, "")
        if request is not None and key in searched:
            knob = searched[key]
            text, unit = f"`--{knob.cli}` of `banyan search`.", knob.option.unit
            if knob.kind is not bool:
                accepted = f"{knob.accepted} ({unit})" if unit else knob.accepted
            own = getattr(request, knob.name)
            default = knob.option.unset if own is None else _text(own)
        rows.append([f"`{key}`", accepted, default, text])
    return rows


def _sections(
    texts: Mapping[str, str], rows: Mapping[str, list[list[str]]], headings: Sequence[str]
) -> list[str]:
    """A section for each name: its text and its options. Equal options of several are listed once, first."""
    counts = Counter(tuple(row) for own in rows.values() for row in own)
    # Of options of one name the most frequent one is listed.
    most = {row[0]: list(row) for row, count in reversed(counts.most_common()) if count > 1}
    shared = [row for _, row in sorted(most.items())]
    title = f"Options of several {'commands' if headings[1] == 'value' else 'players'}"
    lines = [f"### {title}", "", *_table(headings, shared)]
    for name, text in texts.items():
        lines += [f"### {name}", "", text, ""]
        if own := [row for row in rows[name] if row not in shared]:
            lines += _table(headings, own)
        if more := [row[0].partition(" / ")[0] for row in rows[name] if row in shared]:
            link = f"[{title[0].lower()}{title[1:]}](#{title.lower().replace(' ', '-')})"
            lines += [f"{'And' if own else 'Has'} {link}: {', '.join(more)}.", ""]
    return lines


def _default(parameter: Any) -> str:
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    if parameter.default in (None, (), "") or parameter.required:
        return ""
    if isinstance(parameter.default, bool):
        return "on" if parameter.default else "off"
    return f"`{parameter.default}`"


def _text(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else f"{value}"


def _service_lines() -> list[str]:
    """Routes and answers of a server."""
    from cluster.service.api.app import routes

    rows, statuses = [], set()
    for path, methods in routes().openapi()["paths"].items():
        for method, route in methods.items():
            found = sorted(int(status) for status in route["responses"] if status.isdigit())
            statuses |= set(found)
            rows.append([f"`{method.upper()} {path}`", route["summary"], " ".join(map(str, found))])
    return [
        *("## HTTP API", "", "The document is `/api/v1/openapi.json`.", ""),
        *_table(("route", "what it does", "answers"), rows),
        "Errors are problem details (RFC 9457): `title`, `status`, `detail`, and often `field`, `value` and",
        "`accepted`.",
        "",
        *_table(("status", "meaning"), ([str(status), MEANINGS[status]] for status in sorted(statuses))),
    ]


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table and an empty line."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [
        f"| {' | '.join(headings)} |",
        f"|{' --- |' * len(headings)}",
        *(f"| {' | '.join(row)} |" for row in cells),
        "",
    ]
