// Discs that fall down the columns of an upright frame: connect four.

import { UNIT, disc, painted, square } from "./shapes.js";

export default {
  /** A move is a column, and any of its cells makes it. */
  falls: true,
  ground: (panel) => panel.cells.flatMap((cell) => [square(cell.x, cell.y, UNIT, "frame"), disc(cell.x, cell.y, 0.45 * UNIT, "hole")]),
  piece: (cell) => (cell.owner === null ? [] : painted(cell)),
  /** Red moves first, then yellow. */
  side: (owner) => ({ owner, colour: 3 * owner, text: "" }),
};
