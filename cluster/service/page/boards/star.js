// A star of round holes: Chinese checkers.

import marks from "./marks.js";
import { UNIT, disc, path } from "./shapes.js";

export default {
  ...marks,
  sparse: true,
  piece: (cell) => (cell.last && cell.owner === null ? disc(cell.x, cell.y, 0.45 * UNIT, "lately") : marks.piece(cell)),
  /** Two triangles, which end at the outermost cells. */
  ground({ cells }) {
    const outermost = (right, down) => cells.reduce((best, cell) => ((right * (cell.x - best.x) || down * (cell.y - best.y)) > 0 ? cell : best));
    const upright = [cells[0], outermost(-1, 1), outermost(1, 1)];
    const turned = [cells[cells.length - 1], outermost(1, -1), outermost(-1, -1)];
    const lines = [upright, turned].map((corners) => `M${corners.map(({ x, y }) => `${x} ${y}`).join("L")}Z`);
    return [path(lines.join(""), "triangles"), ...cells.map((cell) => disc(cell.x, cell.y, 0.45 * UNIT, "hole"))];
  },
};
