// Squares with marks in them: tic-tac-toe, and games of which nothing else is known.

import { UNIT, disc, line, square, text } from "./shapes.js";

const ARM = 0.26 * UNIT;
/** Players have so many colours; later ones have the first again. */
const COLOURS = 6;

export default {
  ground: (panel) => panel.cells.map((cell) => square(cell.x, cell.y, UNIT, "square")),
  piece(cell) {
    const last = cell.last ? [square(cell.x, cell.y, UNIT - 6, "lately", 4)] : [];
    const sign = cell.text.toLowerCase();
    if (sign === "x") return [...last, ...cross(cell.x, cell.y, ARM, "mark first")];
    if (sign === "o") return [...last, disc(cell.x, cell.y, ARM, "mark second")];
    const shown = cell.text.trim() === "." ? "" : cell.text;
    return [...last, text(cell.x, cell.y, shown, `sign${cell.owner === 1 ? " second" : cell.owner > 1 ? ` p${cell.owner % COLOURS}` : ""}`)];
  },
  side: (owner, name) => (name === "x" || name === "o" ? { text: name } : null),
};

/** A cross. */
export function cross(x, y, arm, name) {
  return [line(x - arm, y - arm, x + arm, y + arm, name), line(x - arm, y + arm, x + arm, y - arm, name)];
}
