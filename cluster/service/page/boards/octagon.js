// Thud: the octagon, dwarfs as small discs, trolls as large squares, and the Thudstone in the middle.

import { UNIT, disc, path, square } from "./shapes.js";

export default {
  sparse: true,
  ground: (panel) => panel.cells.map((cell) => square(cell.x, cell.y, UNIT, shade(cell))),
  piece(cell) {
    if (cell.text === "*") return [path(star(cell), "thudstone")];
    const last = cell.last ? [square(cell.x, cell.y, UNIT - 4, "lately", 4)] : [];
    if (cell.text === "d") return [...last, disc(cell.x, cell.y, 0.29 * UNIT, "stone dwarf")];
    if (cell.text === "T") {
      const inner = square(cell.x, cell.y, 0.3 * UNIT, "troll-mark", 2);
      return [...last, square(cell.x, cell.y, 0.72 * UNIT, "stone light", 7), inner];
    }
    return last;
  },
  side: (owner, name) => ({ text: name === "dwarfs" ? "d" : "T" }),
};

const shade = (cell) => ((cell.row + cell.column) % 2 ? "square" : "square shaded");

function star({ x, y }) {
  const r = 0.4 * UNIT;
  const points = [...Array(8).keys()].map((k) => {
    const angle = (Math.PI / 8) * (2 * k + 1);
    return `${(x + r * Math.cos(angle)).toFixed(1)} ${(y + r * Math.sin(angle)).toFixed(1)}`;
  });
  return `M${points.join("L")}Z`;
}
