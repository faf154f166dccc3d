// Discs and pieces on squares: Othello, Breakthrough.

import { UNIT, square, stone } from "./shapes.js";

/** `dark`: the player with the dark discs, 0 or 1. `more`: further properties of the kind. */
export const discs = (dark, more = {}) => ({
  ...more,
  ground: (panel) => panel.cells.flatMap((cell) => [square(cell.x, cell.y, UNIT, "wood"), square(cell.x, cell.y, UNIT, "outline")]),
  piece: (cell) => (cell.owner === null ? [] : stone(cell, dark)),
  side: (owner) => ({ owner }),
});
