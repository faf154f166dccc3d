"""The documents: what they point to exists, their commands parse, their Python runs, and none is too long.

HAND_WRITTEN are pages for readers. MEASURED are written by a command, or copied from the output of commands;
they may be as long as they need.
"""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.main

from cluster.cli import app_of
from cluster.commands.options import COMMON, MANY

ROOT = Path(__file__).parents[1]
HAND_WRITTEN = {
    "README.md": 1000,
    "CONTRIBUTING.md": 700,
    "SCALING.md": 850,
    "search/README.md": 1550,
    "search/LANES.md": 1150,
    "search/NETWORK.md": 700,
    "search/OWN_STRATEGY.md": 220,
    "games/README.md": 750,
    "games/GAMES.md": 1700,
    "games/OWN_GAME.md": 1100,
    "games/PROBLEMS.md": 1100,
    "cluster/README.md": 1400,
    "cluster/service/README.md": 1370,
    "cluster/analysis/README.md": 375,
    "cluster/analysis/PROTOCOLS.md": 350,
    "cluster/lab/sources/README.md": 650,
    "deploy/README.md": 1500,
    "deploy/games/README.md": 50,
}
"""The most words that each page may have."""
MOST_WORDS = 15_500
"""Of all hand-written pages together."""
SCALING_LINES = 150
WIDTH = 110
"""Characters of a line, but for tables and pictures, which cannot be broken."""
MEASURED = (
    "cluster/lab/records/scaling.md",
    "cluster/lab/sources/RESULTS.md",
    "cluster/lab/sources/CLAIMS.md",
    "cluster/observe/METRICS.md",
    "cluster/lab/records/exact.md",
    "cluster/lab/records/games.md",
    "cluster/lab/records/lanes.md",
    "cluster/lab/records/networks.md",
    "cluster/lab/records/one_core.md",
    "cluster/lab/records/planning.md",
    "cluster/lab/records/settings.md",
    "cluster/lab/records/throughput.md",
    "cluster/lab/records/waiting.md",
)
GENERATED = ("cluster/commands/REFERENCE.md",)
"""Pages that a command writes and another test holds current. Links may point there before one is written."""
EXAMPLES = {
    *("connect4.py", "dice.py", "slow.py", "net.py", "blackjack.py", "mygame.py", "searches.sqlite"),
    *("deploy/secrets/grafana_password", "deploy/secrets/banyan_token", "results.html"),
}
"""Names of files that a reader writes, or a program at work."""
PROGRAMS = {
    *(
        "curl",
        "export",
        "useradd",
        "install",
        "cp",
        "sed",
        "systemctl",
        "podman",
        "mkdir",
        "ray",
        "helm",
        "kubectl",
        "rm",
        "source",
        "sbatch",
        "tail",
    ),
    *(
        "prometheus",
        "python3",
        "python3.11",
        "/opt/banyan/bin/pip",
        "/opt/banyan/bin/banyan",
        "deploy/make-secrets",
        "(umask",
    ),
}
"""What else a command line may begin with."""
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"(?:\./)?[\w-][\w./-]*\.(?:py|md|toml|yml|yaml|js|css|json|npz|svg|png)|[\w./-]+/")


class Command(NamedTuple):
    page: str
    text: str


@cache
def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@cache
def prose_of(page: str) -> str:
    """The page without fenced blocks."""
    return _FENCE.sub("", text_of(page))


@cache
def tracked() -> frozenset[str]:
    """The files of the repository, and every folder that has some, with a slash at its end."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    files = listed.stdout.splitlines() or [str(path.relative_to(ROOT)) for path in ROOT.rglob("*")]
    folders = {f"{folder}/" for file in files for folder in Path(file).parents if folder != Path()}
    return frozenset(files) | folders


def anchors(page: str) -> set[str]:
    """The anchors of the page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {"".join(c for c in heading if c.isalnum() or c in " -_").replace(" ", "-") for heading in plain}


def command_lines(page: str) -> Iterator[str]:
    """The lines of indented blocks, continued ones joined, without what is written after them as a remark."""
    joined = re.sub(r"\\\n\s*", "", prose_of(page))
    for line in joined.splitlines():
        if line.startswith("    "):
            yield re.split(r"\s{2,}(?=\S)|\s+#\s", line.strip())[0]


def commands() -> list[Command]:
    """Commands of this project, from indented blocks and from text that is set as code.

    Those of MEASURED are what was run at the date that stands there.
    """
    found = []
    for page in HAND_WRITTEN:
        lines = list(command_lines(page))
        lines += [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose_of(page))]
        begins = re.compile(r"(banyan|make|python -m) \S")
        found += [Command(page, line) for line in dict.fromkeys(lines) if begins.match(line)]
    return found


@pytest.mark.parametrize(("page", "most"), HAND_WRITTEN.items())
def test_no_page_is_too_long(page: str, most: int) -> None:
    assert len(text_of(page).split()) <= most


def test_all_pages_together_are_not_too_long() -> None:
    assert sum(len(text_of(page).split()) for page in HAND_WRITTEN) <= MOST_WORDS
    assert len(text_of("SCALING.md").splitlines()) <= SCALING_LINES


def test_every_page_is_known_here() -> None:
    pages = {name for name in tracked() if name.endswith(".md")}
    assert pages - {"CHANGELOG.md", *GENERATED} == {*HAND_WRITTEN, *MEASURED}


@pytest.mark.parametrize("page", HAND_WRITTEN)
def test_lines_are_not_too_wide(page: str) -> None:
    lines = text_of(page).splitlines()
    assert [line for line in lines if len(line) > WIDTH and not line.startswith(("|", "!["))] == []


@pytest.mark.parametrize("page", [*HAND_WRITTEN, *MEASURED])
def test_links_lead_somewhere(page: str) -> None:
    wrong = []
    for link in _LINK.findall(prose_of(page)):
        if re.match(r"https?://", link):
            continue
        target, _, anchor = link.partition("#")
        file = (ROOT / page).parent.joinpath(target).resolve() if target else ROOT / page
        name = file.relative_to(ROOT).as_posix()
        if name in GENERATED:
            continue
        if not file.exists() or (anchor and anchor not in anchors(name)):
            wrong.append(link)
    assert wrong == []


@pytest.mark.parametrize("page", HAND_WRITTEN)
def test_named_files_exist(page: str) -> None:
    """Beside the page or in the repository's root; a name without a folder may be that of any file."""
    folder = Path(page).parent
    wrong = []
    for name in re.findall(r"`([^`\s]+)`", prose_of(page)):
        plain = name.removeprefix("./").partition(":")[0]
        if not _PATH.fullmatch(name.partition(":")[0]) or plain in EXAMPLES or name.startswith("/"):
            continue
        beside = (folder / plain).as_posix() + ("/" if plain.endswith("/") else "")
        named_so = any(each.endswith(f"/{plain}") for each in tracked())
        if not {plain, beside} & tracked() and not ("/" not in plain.rstrip("/") and named_so):
            wrong.append(name)
    assert wrong == []


@pytest.mark.parametrize("command", commands(), ids=lambda command: f"{command.page}: {command.text}")
def test_commands_parse(command: Command) -> None:
    words = shlex.split(command.text)
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", text_of("Makefile"), re.MULTILINE)
    elif words[0] == "python":
        module = words[2].replace(".", "/")
        assert {f"{module}.py", f"{module}/__main__.py"} & tracked()
    elif not words[1].startswith("-") and words[1] != "COMMAND":
        known = typer.main.get_command(app_of()).commands[words[1]]  # type: ignore[attr-defined]
        if "--help" not in words and len(words) > 2:
            known.make_context(words[1], words[2:])


@pytest.mark.parametrize("page", ["README.md", "SCALING.md", "deploy/README.md"])
def test_short_help_has_what_the_first_pages_use(page: str) -> None:
    """The options of each command line, and of `search` and `speedup` all options that the page names."""
    known = typer.main.get_command(app_of()).commands  # type: ignore[attr-defined]
    named = [f"banyan {name} {text_of(page)}" for name in ("search", "speedup")]
    wrong = []
    for text in [*named, *(each.text for each in commands() if each.page == page)]:
        command = known.get(text.split()[1])
        if command is not None and len(command.params) > MANY:
            options = {option for each in command.params for option in each.opts}
            used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) & options
            wrong += [(command.name, each) for each in used if each.removeprefix("--") not in COMMON]
    assert wrong == []


@pytest.mark.parametrize("page", HAND_WRITTEN)
def test_indented_lines_that_look_like_commands_are_known(page: str) -> None:
    """So that a misspelt program is found: the first word of a line with options is a program."""
    for line in command_lines(page):
        if re.search(r" --?[a-z]", line) and not line.startswith(("-", "|", "[", "`")):
            assert re.sub(r"^[A-Z_]+=\S+ ", "", line).split()[0] in {"banyan", "make", "python"} | PROGRAMS, (
                line
            )


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in HAND_WRITTEN if ">>>" in text_of(page)])
def test_python_that_is_printed_runs(page: str) -> None:
    blocks = re.findall(r"^```python\n(>>>.*?)^```$", text_of(page), re.MULTILINE | re.DOTALL)
    example = doctest.DocTestParser().get_doctest("".join(blocks), {}, page, page, 0)
    told: list[str] = []
    doctest.DocTestRunner().run(example, out=told.append)
    assert not told, "".join(told)
