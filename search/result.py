"""The answer of a search, final or intermediate, as people and programs see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from html import escape
from operator import not_
from typing import Any

import games
from games.board import board_svg, draw
from games.errors import InvalidInput, counted, duration, rate
from games.game import Board, Game, State
from games.rng import new_stream
from search.prepare import Search
from search.summary import choose, principal_variation
from search.tree.arena import ROOT

STOPPED_BY = ("simulations", "seconds", "memory", "proven", "decided", "cancelled")
LINE_MOVES = 20
DIGEST_SHOWN = 12
HEAT_FROM = 0.005
"""The smallest share of visits that a drawn board shows."""
LEFT_OUT, LEFT_OUT_IF_EMPTY = {"exclude": True}, {"exclude_if": not_}
"""Metadata of fields, in the words of pydantic: what is not in the answers of the service."""


@dataclass(frozen=True)
class ChildResult:
    move: str
    visits: int
    value: float
    """Of the player to move: mean return in [-1, 1], or expected rewards from the move on."""
    cell: tuple[int, int] | None = field(default=None, metadata=LEFT_OUT)
    """Where the drawn board shows the move: (row, column), row 0 on top."""


@dataclass(frozen=True)
class BestLine:
    """The best line of moves to the end that any simulation found."""

    value: float
    """The discounted rewards of its moves."""
    moves: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """The answer according to the merged statistics."""

    best_move: str | None
    """The best move; null (None) if nothing was searched."""
    value: float
    """Of the best move, for the player to move: mean return in [-1, 1], or expected rewards from it on."""
    pv: tuple[str, ...]
    """The best move and the most visited line after it. It ends before a move with fewer than 25 visits and
    where two moves have equally many."""
    children: tuple[ChildResult, ...]
    """The root's children, most visited first."""
    players: tuple[str, ...] = field(default=(), metadata=LEFT_OUT_IF_EMPTY)
    """From three players on: their names; else left out."""
    values: tuple[float, ...] | None = field(default=None, metadata=LEFT_OUT_IF_EMPTY)
    """From three players on: the mean score at the end of each of ``players``; else left out."""
    best_line: BestLine | None = field(default=None, metadata=LEFT_OUT_IF_EMPTY)
    """With one player and no chance; else left out."""
    is_share: bool = field(default=True, metadata=LEFT_OUT)
    """Whether values lie in [-1, 1] and so are shares of wins."""

    def to_json(self) -> dict[str, Any]:
        """The fields of `--json`; some are there only with one player, or with three or more."""
        fields: dict[str, Any] = {
            "best_move": self.best_move,
            "value": self.value,
            "pv": list(self.pv),
            "children": [
                {"move": child.move, "visits": child.visits, "value": child.value} for child in self.children
            ],
        }
        if self.values is not None:
            fields |= {"players": list(self.players), "values": list(self.values)}
        if self.best_line is not None:
            fields["best_line"] = {"value": self.best_line.value, "moves": list(self.best_line.moves)}
        return fields

    def facts_beyond(self) -> list[tuple[str, str]]:
        """Facts, as pairs of name and text, that are there only with one player, or with three or more."""
        facts = []
        if self.best_line is not None:
            facts.append(("best found", f"{self.best_line.value:g}: {shortened(self.best_line.moves)}"))
        if self.values is not None:
            each = zip(self.players, self.values, strict=True)
            facts.append(("by player", "  ".join(f"{name} {value:+.3f}" for name, value in each)))
        return facts

    def marked(self, board: Board) -> Board:
        """The board of the position with the best move marked."""
        best = next((child.cell for child in self.children if child.move == self.best_move), None)
        rows = [
            [replace(cell, last=(r, c) == best) for c, cell in enumerate(row)]
            for r, row in enumerate(board.rows)
        ]
        return replace(board, rows=rows)

    def visit_shares(self) -> dict[tuple[int, int], float]:
        """By cell of the drawn board: the share of visits of the moves shown there, if at least HEAT_FROM."""
        total = sum(child.visits for child in self.children)
        shares: dict[tuple[int, int], float] = {}
        for child in self.children:
            if child.cell is not None and child.visits >= HEAT_FROM * total:
                shares[child.cell] = shares.get(child.cell, 0.0) + child.visits / total
        return shares


class AnswerView:
    """An answer and its position, with properties for programs and a view for notebooks.

    The base class of `SearchResult` and of the progress of a running search.
    """

    game: str
    """The game with all its options, as one line."""
    moves: tuple[str, ...]
    """From the start, or from ``position``."""
    position: str | None
    to_move: str
    """The name of the player to move."""
    answer: Answer

    @property
    def move(self) -> str | None:
        """The best move; None if nothing has been searched."""
        return self.answer.best_move

    @property
    def value(self) -> float:
        """Of the best move, for the player to move: mean return in [-1, 1], or expected rewards from it
        on."""
        return self.answer.value

    @property
    def pv(self) -> tuple[str, ...]:
        """The principal variation: the best move, and the moves that are expected to follow it."""
        return self.answer.pv

    @property
    def best_line(self) -> BestLine | None:
        """The best line to the end that any simulation found; None unless one player plays without chance."""
        return self.answer.best_line

    @property
    def values(self) -> tuple[float, ...] | None:
        """Each player's mean score at the end, from three players on; else None."""
        return self.answer.values

    @property
    def children(self) -> tuple[ChildResult, ...]:
        """The moves of the position that were searched, with visits and values; most visited first."""
        return self.answer.children

    def board(self) -> Board | None:
        """The position as a grid of cells with the best move marked; None if the game cannot be loaded."""
        try:
            game = games.load(self.game)
            state = game.initial_state() if self.position is None else game.parse_position(self.position)
            game.play_text(state, self.moves)
        except InvalidInput:
            return None
        return self.answer.marked(game.board(state))

    def facts(self) -> list[tuple[str, str]]:
        """Facts about the answer as pairs of name and text."""
        share = f" ({50 * (1 + self.value):.1f} %)" if self.answer.is_share else ""
        facts = [
            ("best move", f"{self.move or 'none: nothing was searched'} for {self.to_move}"),
            ("value", f"{self.value:+.3f}{share} for {self.to_move}"),
            ("line", " ".join(self.pv)),
        ]
        return facts + self.answer.facts_beyond()

    def __str__(self) -> str:
        board = self.board()
        drawn = [] if board is None else [draw(board, colour=False, heat=self.answer.visit_shares()), ""]
        return "\n".join([*drawn, *(f"{name:<13}{text}" for name, text in self.facts())])

    def _repr_html_(self) -> str:
        """For notebooks: the board with its visits, facts, and the most visited moves."""
        total = max(1, sum(child.visits for child in self.children))
        best = sorted(self.children, key=lambda child: child.move != self.move)[:CHILDREN_SHOWN]
        moves = [
            (c.move, f"{c.visits:,} visits, {100 * c.visits / total:.1f} %, {c.value:+.3f}") for c in best
        ]
        board = self.board()
        drawn = "" if board is None else f"<div>{_board(board, self.answer.visit_shares())}</div>"
        return f'<div style="{_SIDE_BY_SIDE}">{drawn}<div>{facts_html([*self.facts(), *moves])}</div></div>'


@dataclass(frozen=True, repr=False)
class SearchResult(AnswerView):
    """One finished search, in the fields of `--json`."""

    game: str
    moves: tuple[str, ...]
    position: str | None
    to_move: str
    strategy: str
    lanes: int
    seed: int
    workers: int
    """The most workers at a time."""
    executor: str
    answer: Answer
    simulations: int
    playouts: int
    tree_nodes: int
    tree_full: bool
    jobs: int
    jobs_retried: int
    resumed: int
    """How often the search was resumed from a checkpoint."""
    workers_lost: int = field(default=0, kw_only=True)
    """How many workers were lost: of a process that died or hung, all."""
    recalled: int = field(default=0, kw_only=True)
    """Positions that were not evaluated, because they had been before."""
    kept_visits: int = field(default=0, kw_only=True)
    """Visits of the position by the search that this one continues; moves have theirs too."""
    elapsed_s: float
    """Seconds of the whole search; of earlier parts, up to their last checkpoint."""
    simulations_per_s: float | None
    """Of the whole search; null (None) if no time has passed."""
    stopped_by: str
    """One of STOPPED_BY."""
    digest: str
    """SHA-256 of the merged statistics."""

    def __repr__(self) -> str:
        line = f"{self.game}: {self.move} {self.value:+.3f}, {counted(self.simulations, 'simulation')}"
        return f"<SearchResult {line}, stopped by {self.stopped_by}>"

    def facts(self) -> list[tuple[str, str]]:
        """Facts about the answer and the search as pairs of name and text."""
        resumed = f", resumed {counted(self.resumed, 'time')}" if self.resumed else ""
        return [
            *super().facts(),
            ("simulations", f"{self.simulations:,} in {duration(self.elapsed_s)}"),
            ("rate", rate(self.simulations_per_s or 0.0)),
            ("search", f"{self.strategy}, {counted(self.lanes, 'lane')}, seed {self.seed}"),
            ("ran on", self.ran_on + resumed),
            *([("recalled", shared(self.recalled, self.playouts))] if self.recalled else []),
            *([("kept", counted(self.kept_visits, "visit"))] if self.kept_visits else []),
            ("tree", counted(self.tree_nodes, "node")),
            ("stopped by", self.stopped_by),
            ("digest", self.digest[:DIGEST_SHOWN]),
        ]

    @property
    def ran_on(self) -> str:
        """Workers and executor as text, such as ``3 workers (2 lost), ray``."""
        lost = f" ({self.workers_lost} lost)" if self.workers_lost else ""
        return f"{counted(self.workers, 'worker')}{lost}, {self.executor}"

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        found: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            found |= value.to_json() if isinstance(value, Answer) else {each.name: value}
        per_s = None if self.simulations_per_s is None else round(self.simulations_per_s, 1)
        rounded = {"elapsed_s": round(self.elapsed_s, 6), "simulations_per_s": per_s}
        return found | rounded | {"moves": list(self.moves)}


def shared(recalled: int, evaluated: int) -> str:
    """How many positions were not evaluated, and their share of all, as text."""
    return f"{counted(recalled, 'evaluation')} ({100 * recalled / (recalled + evaluated):.0f} %)"


def shortened(moves: tuple[str, ...]) -> str:
    """A line of moves as text, with at most LINE_MOVES of them."""
    more = f" ... ({len(moves)} moves)" if len(moves) > LINE_MOVES else ""
    return " ".join(moves[:LINE_MOVES]) + more


def answer(search: Search) -> Answer:
    """The answer of the shared tree at this moment."""
    game = search.game
    visited = [child for child in search.strategy.root_children() if child.visits > 0]
    if not visited:
        return Answer(None, 0.0, (), ())
    best = choose(visited, search.request.final_move)
    outlook = search.strategy.outlook
    state = imagined(search)
    line = principal_variation(search.strategy.tree, game, state, best.move)
    best_line = values = None
    if outlook.line:
        best_line = BestLine(outlook.value, line_texts(game, state, outlook.line))
    if outlook.totals and (visits := int(search.strategy.tree.visits[ROOT]) - search.kept_visits):
        values = tuple(total / visits for total in outlook.totals)
    return Answer(
        best_move=game.format_move(state, best.move),
        value=best.value,
        pv=line_texts(game, state, line),
        best_line=best_line,
        values=values,
        is_share=game.is_two_player,
        players=() if values is None else game.player_names,
        children=tuple(
            ChildResult(game.format_move(state, c.move), c.visits, c.value, game.cells_of(c.move))
            for c in visited
        ),
    )


def imagined(search: Search) -> State:
    """The position from which lines of the tree are played to be shown; it must not be changed.

    In an open loop it is one that a simulation might start from: what chance really brings is not known.
    """
    game, state = search.game, search.root_state
    if not game.open_loop:
        return state
    assert game.calls.determinize is not None
    state = state.copy()
    game.calls.determinize(search.context.root_state.copy(), state, new_stream(search.request.seed))
    return state


def line_texts(game: Game, state: State, line: Sequence[int]) -> tuple[str, ...]:
    """The moves of a line from a position, in the game's notation."""
    position, texts = state.copy(), []
    for move in line:
        texts.append(game.format_move(position, move))
        game.calls.play(position, move)
    return tuple(texts)


CHILDREN_SHOWN = 8
_SIDE_BY_SIDE = "display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start"


def facts_html(facts: Iterable[tuple[str, str]]) -> str:
    """The facts, pairs of name and text, as an HTML table."""
    rows = [f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in facts]
    return f'<table style="text-align:left">{"".join(rows)}</table>'


def _board(board: Board, shares: Mapping[tuple[int, int], float]) -> str:
    """A board without names of columns is shown as text, because its characters need not be cells."""
    if any(board.column_labels):
        return board_svg(board, shares)
    lines = ("".join(cell.text for cell in row).rstrip() for row in board.rows)
    style = "margin:0;background:none;color:inherit"
    return f'<pre style="{style}">{escape(chr(10).join(lines))}</pre>'
