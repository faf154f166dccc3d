// Battleship: shots on a grid, and below them what is known of ships.

import { cross } from "./marks.js";
import { UNIT, disc, square } from "./shapes.js";

export default {
  /** The board is two grids side by side. */
  parts: true,
  ground: (panel) => panel.cells.map((cell) => square(cell.x, cell.y, UNIT, "square water")),
  piece(cell) {
    const drawn = cell.ship ? [square(cell.x, cell.y, UNIT - 6, "ship", 6)] : [];
    if (cell.last) drawn.push(square(cell.x, cell.y, UNIT - 4, "lately", 4));
    if (cell.text === "o") drawn.push(disc(cell.x, cell.y, 4.5, "miss"));
    if (cell.text === "x") drawn.push(...cross(cell.x, cell.y, 0.24 * UNIT, "mark hit"));
    return drawn;
  },
  words: { o: "miss", x: "hit", ".": "unknown", "?": "shot at" },
};
