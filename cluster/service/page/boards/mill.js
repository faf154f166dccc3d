// Points joined by lines: the mill games.

import { keyOf } from "../moves.js";
import { cross } from "./marks.js";
import { UNIT, disc, line, square, stone } from "./shapes.js";

export default {
  sparse: true,
  ground(panel) {
    const at = new Map(panel.cells.map((cell) => [cell.key, cell]));
    const xs = panel.cells.map((cell) => cell.x);
    const wide = Math.max(...xs) - Math.min(...xs) + UNIT;
    const middle = (Math.max(...xs) + Math.min(...xs)) / 2;
    const centre = panel.cells.map((cell) => cell.y);
    const wood = square(middle, (Math.max(...centre) + Math.min(...centre)) / 2, wide, "wood", 4);
    const joined = panel.lines.map(([one, other]) => {
      const [a, b] = [at.get(keyOf(...one)), at.get(keyOf(...other))];
      return line(a.x, a.y, b.x, b.y);
    });
    return [wood, ...joined, ...panel.cells.map((cell) => disc(cell.x, cell.y, 5, "point"))];
  },
  piece(cell) {
    if (cell.owner !== null) return stone(cell, 1, 0.36);
    return cell.last ? [disc(cell.x, cell.y, 0.36 * UNIT, "taken"), ...cross(cell.x, cell.y, 0.15 * UNIT, "mark hit")] : [];
  },
  taken: "a piece was taken here",
  side: (owner) => ({ owner }),
};
