// Discs that fall down the columns of an upright board: connect four.

import { UNIT, disc, square, stone } from "./shapes.js";

export default {
  /** A move is a column, and any of its cells makes it. */
  falls: true,
  ground: (panel) => panel.cells.flatMap((cell) => [square(cell.x, cell.y, UNIT, "wood"), disc(cell.x, cell.y, 0.42 * UNIT, "square")]),
  piece: (cell) => (cell.owner === null ? [] : stone(cell, 0)),
  side: (owner) => ({ owner }),
};
