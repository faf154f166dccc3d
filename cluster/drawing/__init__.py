"""Pictures of trees and graphs: figures (content), layout (coordinates), and writers (SVG, DOT, text)."""

from cluster.drawing.dot import write_dot
from cluster.drawing.figure import Edge, Figure, Node
from cluster.drawing.files import FORMATS, format_of, write_figure
from cluster.drawing.svg import write_svg
from cluster.drawing.text import write_text

__all__ = [
    "FORMATS",
    "Edge",
    "Figure",
    "Node",
    "format_of",
    "write_dot",
    "write_figure",
    "write_svg",
    "write_text",
]
