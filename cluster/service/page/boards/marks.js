// Squares with signs in them: tic-tac-toe, SameGame, 2048, and games of which nothing else is known.

import { UNIT, disc, line, painted, square, text } from "./shapes.js";

const ARM = 0.26 * UNIT;

export default {
  offBoard: true,
  ground: (panel) => panel.cells.filter((cell) => cell.text).map((cell) => square(cell.x, cell.y, UNIT, "square")),
  piece(cell) {
    if (cell.colour !== null) return painted(cell);
    const last = cell.last ? [square(cell.x, cell.y, UNIT - 6, "lately", 4)] : [];
    const sign = cell.text.toLowerCase();
    if (sign === "x") return [...last, ...cross(cell.x, cell.y, ARM, "mark first")];
    if (sign === "o") return [...last, disc(cell.x, cell.y, ARM, "mark second")];
    if (cell.owner !== null) return painted(cell);
    return [...last, text(cell.x, cell.y, cell.text.trim() === "." ? "" : cell.text, "sign")];
  },
  side: (owner, name) => (name === "x" || name === "o" ? { text: name, colour: null } : null),
};

/** A cross. */
export function cross(x, y, arm, name) {
  return [line(x - arm, y - arm, x + arm, y + arm, name), line(x - arm, y + arm, x + arm, y - arm, name)];
}
