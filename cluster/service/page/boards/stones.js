// Stones on the crossings of lines: gomoku.

import { UNIT, disc, line, square, stone } from "./shapes.js";

export default {
  ground(panel) {
    const { cells, rows, columns } = panel;
    const first = cells[0];
    const end = cells[cells.length - 1];
    const middle = { x: (first.x + end.x) / 2, y: (first.y + end.y) / 2 };
    const wood = square(middle.x, middle.y, UNIT * rows.length, "wood", 4);
    const across = rows.map((_, r) => line(first.x, first.y + r * UNIT, end.x, first.y + r * UNIT));
    const down = columns.map((_, c) => line(first.x + c * UNIT, first.y, first.x + c * UNIT, end.y));
    return [wood, ...across, ...down, ...stars(rows.length, first)];
  },
  piece: (cell) => (cell.owner === null ? [] : stone(cell, 0)),
  side: (owner) => ({ owner }),
};

/** The dots by which the eye finds its way on a board of odd size. */
function stars(size, first) {
  if (size < 9 || size % 2 === 0) return [];
  const edge = size < 13 ? 2 : 3;
  const at = [edge, (size - 1) / 2, size - 1 - edge];
  return at.flatMap((row) => at.map((column) => disc(first.x + column * UNIT, first.y + row * UNIT, 3, "star")));
}
