// Tiles with numbers, the darker the larger: 2048.

import { UNIT, square, text } from "./shapes.js";

const SIZES = [17, 17, 17, 15, 12];
/** How much darker a tile is than one of half its number. */
const STEP = 0.032;

export default {
  offBoard: true,
  ground: (panel) => panel.cells.map((cell) => square(cell.x, cell.y, UNIT, "square")),
  piece(cell) {
    const number = Number(cell.text);
    if (!number) return [];
    const tile = square(cell.x, cell.y, UNIT - 4, "tile", 4);
    tile.setAttribute("fill-opacity", (STEP * Math.log2(number)).toFixed(3));
    const words = text(cell.x, cell.y, cell.text, "number");
    words.setAttribute("font-size", SIZES[cell.text.length - 1]);
    const last = cell.last ? [square(cell.x, cell.y, UNIT - 2, "lately", 5)] : [];
    return [...last, tile, words];
  },
  side: () => null,
};
