"""Writers of figures to files: as SVG, in the DOT language of Graphviz, and as lines of text.

An SVG is a self-contained file for light and dark backgrounds, with tooltips.

Colours are given as attributes, which every program understands, and again in a style sheet, which browsers
prefer and which adapts to a dark background. Values are shown as a tint of blue (good for the first player)
or orange.

Trees are laid out as in Reingold and Tilford, "Tidier drawings of trees", IEEE Transactions on Software
Engineering 7, 1981, extended to nodes of any size: subtrees of equal shape are drawn equally, a parent is
above the middle of its children, and neighbours are as close as `GAP` allows. Other graphs have a row for
each level, ordered by the mean coordinate of each node's neighbours.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path
from typing import NamedTuple

from cluster.drawing.figures import Edge, Figure, Node
from cluster.system.files import replace_text
from games.errors import InvalidInput
from games.game import CHANCE

LETTER, SMALL_LETTER, HEAD_LETTER, LEGEND_LETTER = 8.3, 6.6, 10.0, 5.7
"""Approximate widths of a letter in pixels; letters of prose are narrower than digits."""
LINE, NOTE_LINE, PADDING = 25.0, 13.0, 9.0
BETWEEN, BETWEEN_SIDEWAYS = 44.0, 70.0
MARGIN, LEGEND_LINE = 22.0, 18.0
ARC = 17.0

GAP, SWEEPS = 14.0, 8
"""Distance of neighbours on a level, in pixels; how often the rows of a graph are ordered."""
STYLE = """
svg { color-scheme: light dark; font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
text { font-size: 13px; text-anchor: middle; }
.small { font-size: 10.5px; } .left { text-anchor: start; } .head { font-size: 15px; font-weight: 600; }
g.node:hover .box { stroke-width: 3; }
@media (prefers-color-scheme: dark) {
  .paper { fill: #16181d; } .ink { fill: #e8e8ea; } .soft { fill: #9a9ea8; }
  .line { stroke: #767b87; } .bold { stroke: #f2f2f4; } .box { stroke: #9a9ea8; } .plain { fill: #262a32; }
}
"""
PAPER, INK, SOFT, LINES, PLAIN = "#ffffff", "#1b1d22", "#6b7280", "#9aa0ab", "#f1f2f4"


class _Box(NamedTuple):
    """The rectangle of a node: its middle, its width and its height, in pixels."""

    x: float
    y: float
    width: float
    height: float


def write_svg(figure: Figure) -> str:
    """The figure as SVG text."""
    boxes = _boxes(figure)
    width = max(box.x + box.width / 2 for box in boxes) + MARGIN
    bottom = max(box.y + box.height / 2 for box in boxes)
    width = max(width, 2 * MARGIN + HEAD_LETTER * len(figure.title))
    width = max(width, *(2 * MARGIN + LEGEND_LETTER * len(line) for line in [*figure.legend, ""]))
    height = bottom + MARGIN + LEGEND_LINE * len(figure.legend) + (MARGIN / 2 if figure.legend else 0)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="sans-serif" font-size="13">',
        f"<title>{_text(figure.title)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="100%" height="100%" fill="{PAPER}"/>',
        _line(figure.title, MARGIN, MARGIN + 6, "head ink left", INK, 'font-size="15"'),
        *_row_names(figure, boxes),
        *(_edge(figure, edge, boxes) for edge in figure.edges),
        *_arcs(figure, boxes),
        *(_node(node, box) for node, box in zip(figure.nodes, boxes, strict=True)),
    ]
    at = bottom + MARGIN + LEGEND_LINE / 2
    for line in figure.legend:
        parts.append(_line(line, MARGIN, at, "small soft left", SOFT, 'font-size="10.5"'))
        at += LEGEND_LINE
    return "\n".join([*parts, "</svg>", ""])


def _boxes(figure: Figure) -> list[_Box]:
    """The rectangles of all nodes."""
    widths = [
        2 * PADDING + max(LETTER * len(node.text), SMALL_LETTER * len(node.note)) for node in figure.nodes
    ]
    heights = [(LINE if node.text else 2 * PADDING) + NOTE_LINE * bool(node.note) for node in figure.nodes]
    sizes = heights if figure.sideways else widths
    across = _places_across(figure, sizes if not figure.sideways else [size - GAP / 2 for size in sizes])
    thick = [0.0] * (1 + max(node.level for node in figure.nodes))
    for node, size in zip(figure.nodes, widths if figure.sideways else heights, strict=True):
        thick[node.level] = max(thick[node.level], size)
    between = BETWEEN_SIDEWAYS if figure.sideways else BETWEEN
    starts = [sum(thick[:level]) + between * level for level in range(len(thick))]
    top = MARGIN + 34
    left = MARGIN + (LETTER * max(map(len, figure.rows)) + MARGIN if figure.rows else 0)
    boxes = []
    for number, node in enumerate(figure.nodes):
        width, height = widths[number], heights[number]
        if figure.sideways:
            # The boxes of a level are aligned at their left edges.
            x, y = left + starts[node.level] + width / 2, top + across[number]
        else:
            x, y = left + across[number], top + starts[node.level] + thick[node.level] / 2
        boxes.append(_Box(x, y, width, height))
    return boxes


def _node(node: Node, box: _Box) -> str:
    shape, outline = _shape(node, box)
    kind, fill = "box plain", f'fill="{PLAIN}"'
    if node.paint is not None:
        kind, fill = "box", 'fill="{}" fill-opacity="{:.2f}"'.format(*node.paint)
    stroke = f'stroke-width="{0.8 if node.player is None else 1.6}"'
    opacity = ""
    if node.faint:
        stroke, opacity = f'{stroke} stroke-dasharray="3 3"', ' opacity="0.55"'
    middle = box.y - (NOTE_LINE / 2 if node.note else 0)
    parts = [
        f'<g class="node"{opacity}>',
        f"<title>{_text(node.title or node.text)}</title>",
        f'<{shape} class="paper" {outline} fill="{PAPER}"/>',
        f'<{shape} class="{kind}" {outline} {fill} stroke="{SOFT}" {stroke}/>',
    ]
    if node.text:
        parts.append(_line(node.text, box.x, middle, "ink", INK, 'text-anchor="middle"'))
    if node.note:
        extra = 'text-anchor="middle" font-size="10.5"'
        parts.append(_line(node.note, box.x, middle + NOTE_LINE + 1, "small ink", INK, extra))
    return "".join([*parts, "</g>"])


def _shape(node: Node, box: _Box) -> tuple[str, str]:
    """The element that a node's outline is, and the attributes that give its place and size."""
    left, top = box.x - box.width / 2, box.y - box.height / 2
    if node.player == CHANCE:
        right, bottom, point = left + box.width, top + box.height, min(box.height, LINE) / 2
        corners = [
            (left - point / 2, box.y),
            (left + point / 2, top),
            (right - point / 2, top),
            (right + point / 2, box.y),
            (right - point / 2, bottom),
            (left + point / 2, bottom),
        ]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        return "polygon", f'points="{points}"'
    radius = min(box.height, LINE) / 2 if node.player == 1 else 3
    size = f'width="{box.width:.1f}" height="{box.height:.1f}" rx="{radius:.1f}"'
    return "rect", f'x="{left:.1f}" y="{top:.1f}" {size}'


def _edge(figure: Figure, edge: Edge, boxes: list[_Box]) -> str:
    (x1, y1), (x2, y2) = _ends(figure, edge, boxes)
    if figure.sideways:
        half = (x1 + x2) / 2
        path = f"M{x1:.1f} {y1:.1f}C{half:.1f} {y1:.1f} {half:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    else:
        path = f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
    width = 3.2 if edge.bold else 1.0 + 6.0 * edge.weight
    dashes = ' stroke-dasharray="4 4"' if edge.faint else ""
    colour, kind = (INK, "bold") if edge.bold else (LINES, "line")
    title = f"<title>{_text(edge.text)}</title>" if edge.text else ""
    return (
        f'<path class="{kind}" d="{path}" fill="none" stroke="{colour}" stroke-width="{width:.1f}"'
        f"{dashes}>{title}</path>"
    )


def _ends(figure: Figure, edge: Edge, boxes: list[_Box]) -> tuple[tuple[float, float], tuple[float, float]]:
    above, below = boxes[edge.source], boxes[edge.target]
    if figure.sideways:
        return (above.x + above.width / 2, above.y), (below.x - below.width / 2, below.y)
    return (above.x, above.y + above.height / 2), (below.x, below.y - below.height / 2)


def _arcs(figure: Figure, boxes: list[_Box]) -> list[str]:
    """The arcs across the outgoing edges of joined (AND) nodes."""
    arcs = []
    for number, node in enumerate(figure.nodes):
        if not node.joined or len(figure.below[number]) < 2:
            continue
        points = []
        for edge in (figure.below[number][0], figure.below[number][-1]):
            (x1, y1), (x2, y2) = _ends(figure, figure.edges[edge], boxes)
            share = ARC / (y2 - y1)
            points.append((x1 + share * (x2 - x1), y1 + ARC))
        (xa, ya), (xb, yb) = points
        arcs.append(
            f'<path class="line" d="M{xa:.1f} {ya:.1f}Q{(xa + xb) / 2:.1f} {ya + 9:.1f} {xb:.1f} {yb:.1f}" '
            f'fill="none" stroke="{LINES}" stroke-width="1.2"/>'
        )
    return arcs


def _row_names(figure: Figure, boxes: list[_Box]) -> list[str]:
    lines = []
    for level, name in enumerate(figure.rows):
        y = next(box.y for node, box in zip(figure.nodes, boxes, strict=True) if node.level == level)
        lines.append(_line(name, MARGIN, y, "soft left", SOFT))
    return lines


def _line(text: str, x: float, y: float, kind: str, colour: str, extra: str = "") -> str:
    """A line of text; ``y`` is its vertical middle."""
    gap = " " if extra else ""
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y + 4.5:.1f}" fill="{colour}"{gap}{extra}>{_text(text)}</text>'
    )


def _text(text: str) -> str:
    return escape(text, quote=False)


def _places_across(figure: Figure, sizes: list[float]) -> list[float]:
    """For each node, the coordinate of its middle along its level; the smallest edge is at 0.

    ``sizes``: the extent of each node along its level.
    """
    places = _tidy(figure, sizes) if figure.is_tree else _in_rows(figure, sizes)
    left = min(place - size / 2 for place, size in zip(places, sizes, strict=True))
    return [place - left for place in places]


def _tidy(figure: Figure, sizes: list[float]) -> list[float]:
    """Layout of a tree, from the last node back to the root: subtrees are moved apart and put below their
    parent.

    A subtree is represented by its outline: its extent to both sides on each level, relative to its root.
    """
    offsets = [0.0] * len(sizes)
    outlines: dict[int, list[tuple[float, float]]] = {}
    for node in range(len(sizes) - 1, -1, -1):
        children = [figure.edges[edge].target for edge in figure.below[node]]
        outline: list[tuple[float, float]] = []
        for child in children:
            theirs = outlines.pop(child)
            shift = max((a[1] - b[0] + GAP for a, b in zip(outline, theirs, strict=False)), default=0.0)
            offsets[child] = shift
            moved = [(low + shift, high + shift) for low, high in theirs]
            shared = [(a[0], b[1]) for a, b in zip(outline, moved, strict=False)]
            outline = shared + outline[len(shared) :] + moved[len(shared) :]
        middle = (offsets[children[0]] + offsets[children[-1]]) / 2 if children else 0.0
        for child in children:
            offsets[child] -= middle
        below = [(low - middle, high - middle) for low, high in outline]
        outlines[node] = [(-sizes[node] / 2, sizes[node] / 2), *below]
    places = [0.0] * len(sizes)
    for edge in sorted(figure.edges, key=lambda edge: edge.source):
        places[edge.target] = places[edge.source] + offsets[edge.target]
    return places


def _in_rows(figure: Figure, sizes: list[float]) -> list[float]:
    """Layout of a general graph: a centred row for each level, ordered by the mean place of neighbours."""
    rows: dict[int, list[int]] = {}
    for number, node in enumerate(figure.nodes):
        rows.setdefault(node.level, []).append(number)
    neighbours: list[list[int]] = [[] for _ in sizes]
    for edge in figure.edges:
        neighbours[edge.source].append(edge.target)
        neighbours[edge.target].append(edge.source)
    places = [0.0] * len(sizes)

    def mean(node: int, level: int) -> float:
        """The mean place of the neighbours on a level; the own place without any."""
        near = [places[other] for other in neighbours[node] if figure.nodes[other].level == level]
        return sum(near) / len(near) if near else places[node]

    for sweep in range(SWEEPS + 1):
        nearest = 1 if sweep % 2 else -1
        for level in sorted(rows, reverse=sweep % 2 == 1):
            if sweep:
                rows[level].sort(key=partial(mean, level=level + nearest))
            row = rows[level]
            at = -(sum(sizes[node] for node in row) + GAP * (len(row) - 1)) / 2
            for number in row:
                places[number] = at + sizes[number] / 2
                at += sizes[number] + GAP
    return places


def write_dot(figure: Figure) -> str:
    """The figure as DOT text."""
    lines = [
        "digraph {",
        f"  label={_quoted(chr(10).join([figure.title, *figure.legend]))};",
        f"  rankdir={'LR' if figure.sideways else 'TB'};",
        '  node [fontname="sans-serif", fontsize=11]; edge [arrowhead=none, color="#9aa0ab"];',
        *(_dot_node(number, node) for number, node in enumerate(figure.nodes)),
        *(_dot_edge(edge) for edge in figure.edges),
    ]
    if not figure.is_tree:
        levels = sorted({node.level for node in figure.nodes})
        for level in levels:
            row = " ".join(f"n{k};" for k, node in enumerate(figure.nodes) if node.level == level)
            lines.append(f"  {{ rank=same; {row} }}")
    return "\n".join([*lines, "}", ""])


def _dot_node(number: int, node: Node) -> str:
    style = ["filled"] + ["rounded"] * (node.player == 1) + ["dashed"] * node.faint
    # An opaque box without a colour: #rrggbbff.
    colour, opacity = node.paint or ("#f1f2f4", 1.0)
    label = "\n".join([line for line in (node.text, node.note) if line])
    attributes = {
        "label": label,
        "tooltip": node.title or node.text,
        "shape": "point" if not label else "hexagon" if node.player == CHANCE else "box",
        "style": ",".join(style),
        "fillcolor": f"{colour}{round(255.01 * opacity):02x}",
    }
    listed = ", ".join(f"{name}={_quoted(text)}" for name, text in attributes.items())
    return f"  n{number} [{listed}];"


def _dot_edge(edge: Edge) -> str:
    width = 3.0 if edge.bold else 1.0 + 5.0 * edge.weight
    attributes = [f"penwidth={width:.1f}"]
    if edge.text:
        attributes.append(f"tooltip={_quoted(edge.text)}")
    if edge.bold:
        attributes.append('color="#1b1d22"')
    if edge.faint:
        attributes.append("style=dashed")
    return f"  n{edge.source} -> n{edge.target} [{', '.join(attributes)}];"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def write_text(figure: Figure) -> str:
    """The figure with title and legend as text; every line ends with a line break."""
    lines = _tree(figure) if figure.is_tree else _levels(figure)
    return "\n".join([figure.title, "", *lines, *[""] * bool(figure.legend), *figure.legend, ""])


def _tree(figure: Figure) -> list[str]:
    lines = [_said(figure.nodes[0])]
    # For each open node: its remaining edges, and the text before its children.
    open_nodes = [(figure.below[0], 0, "")]
    while open_nodes:
        edges, number, before = open_nodes.pop()
        if number == len(edges):
            continue
        open_nodes.append((edges, number + 1, before))
        edge = figure.edges[edges[number]]
        last = number == len(edges) - 1
        branch = "=" if edge.bold else "-"
        lines.append(f"{before}{'`' if last else '|'}{branch}{branch} {_arrived(figure, edge)}")
        open_nodes.append((figure.below[edge.target], 0, before + ("    " if last else "|   ")))
    return lines


def _levels(figure: Figure) -> list[str]:
    lines = []
    for level in range(1 + max(node.level for node in figure.nodes)):
        name = f" ({figure.rows[level]})" if figure.rows else ""
        lines.append(f"level {level}{name}")
        for number, node in enumerate(figure.nodes):
            if node.level != level:
                continue
            targets = [figure.nodes[figure.edges[edge].target].text for edge in figure.below[number]]
            lines.append(f"  {_said(node)}{' -> ' if targets else ''}{', '.join(targets)}")
    return lines


def _arrived(figure: Figure, edge: Edge) -> str:
    """The text of an edge's target, preceded by the edge's text unless the target's begins with it."""
    node = figure.nodes[edge.target]
    said = "cut" if node.faint and not node.text else _said(node) + "  cut" * node.faint
    names_it = node.text.startswith(f"{edge.text} ") or (node.faint and node.text == edge.text)
    return said if names_it else f"{edge.text}: {said}"


def _said(node: Node) -> str:
    return "  ".join(part for part in (node.text, node.note) if part) or "o"


FORMATS = {".svg": write_svg, ".dot": write_dot, ".txt": write_text}


def format_of(path: Path) -> str:
    """The suffix of the file's name; raises InvalidInput (field ``out``) for an unknown one."""
    if path.suffix not in FORMATS:
        raise InvalidInput("out", str(path), "a file that ends in " + ", ".join(FORMATS))
    return path.suffix


def write_figure(figure: Figure, path: Path, report: Callable[[str], None]) -> None:
    """Write the figure to a file, and report it; raises InvalidInput (field ``out``), OSError."""
    replace_text(path, FORMATS[format_of(path)](figure))
    report(f"wrote {path}")
