"""The article's program for tic-tac-toe with objects, the slow twin of search/players/article.py."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from games.jit import source_of
from games.rng import Stream, below

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
DRAW, IN_PROGRESS = 0, -1
LOWEST = -(2**31)


@dataclass
class ArticleNode:
    """``player`` moved last; ``board`` has 0, 1 or 2 in each cell."""

    board: list[int]
    player: int
    parent: ArticleNode | None = None
    move: int = -1
    children: list[ArticleNode] = field(default_factory=list)
    visits: int = 0
    score: float = 0.0

    def uct(self) -> float:
        if self.visits == 0:
            return 2**31 - 1
        assert self.parent is not None
        return self.score / self.visits + 1.41 * math.sqrt(math.log(self.parent.visits) / self.visits)


def status(board: list[int]) -> int:
    for a, b, c in LINES:
        if board[a] and board[a] == board[b] == board[c]:
            return board[a]
    return DRAW if all(board) else IN_PROGRESS


def find_move(board: list[int], player: int, simulations: int, by_visits: bool, stream: Stream) -> int:
    draw = source_of(below)
    root = ArticleNode(board, 3 - player)
    for _ in range(simulations):
        node = root
        while node.children:
            node = max(node.children, key=ArticleNode.uct)
        if status(node.board) == IN_PROGRESS:
            mover = 3 - node.player
            for cell in range(9):
                if not node.board[cell]:
                    after = [*node.board[:cell], mover, *node.board[cell + 1 :]]
                    node.children.append(ArticleNode(after, mover, node, cell))
            node = node.children[draw(stream, len(node.children))]
        result = _playout(node, 3 - player, stream)
        at: ArticleNode | None = node
        while at is not None:
            at.visits += 1
            if at.player == result and at.score != LOWEST:
                at.score += 10
            at = at.parent
    return max(root.children, key=lambda child: child.visits if by_visits else child.score).move


def _playout(node: ArticleNode, opponent: int, stream: Stream) -> int:
    board, player = list(node.board), node.player
    result = status(board)
    if result == opponent:
        assert node.parent is not None
        node.parent.score = LOWEST
        return result
    while result == IN_PROGRESS:
        player = 3 - player
        cell = source_of(below)(stream, 9)
        while board[cell]:
            cell = source_of(below)(stream, 9)
        board[cell] = player
        result = status(board)
    return result
