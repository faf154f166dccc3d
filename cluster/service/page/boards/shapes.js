// What the boards are drawn with. A cell is UNIT wide; a board has a margin for its labels.

import { svg } from "../dom.js";

export const UNIT = 40;
export const MARGIN = 26;
/** The height of a row of hexagons, in cells. */
export const LOWER = 0.866;

export const line = (x1, y1, x2, y2, name = "line") => svg("line", { x1, y1, x2, y2, class: name });
export const disc = (x, y, r, name) => svg("circle", { cx: x, cy: y, r, class: name });
export const square = (x, y, size, name, rx = 0) =>
  svg("rect", { x: x - size / 2, y: y - size / 2, width: size, height: size, rx, class: name });
export const text = (x, y, words, name) =>
  svg("text", { x, y, class: name, "text-anchor": "middle", "dominant-baseline": "central" }, words);

export const path = (d, name) => svg("path", { d, class: name });

/** By colour, as in games/board.py: red, green, blue, yellow, violet, cyan, orange, white; then the tiles 2, 4, ..., 2048, and above. */
const FILLS = [
  ...["#c62f2f", "#009e73", "#0072b2", "#f2c811", "#b48ad6", "#56b4e9", "#d97706", "#f2f2f2"],
  ...["#eee4da", "#ede0c8", "#f2b179", "#f59563", "#f67c5f", "#f65e3b"],
  ...["#edcf72", "#edcc61", "#edc850", "#edc53f", "#edc22e", "#3c3a32"],
];
/** Dark colours: a sign on them is white. */
const DARK = [0, 2, 19];
/** By player. */
const OWNED = [2, 3, 0, 1, 4, 7];
/** Of signs, by the number of letters. */
const SIZES = [17, 17, 15, 11, 9];

const colourOf = ({ owner, colour }) => colour ?? OWNED[owner % OWNED.length];
export const fillOf = (cell) => FILLS[colourOf(cell)];

/** A piece in its colour, with its sign: of a player round, else a tile. */
export function painted(cell) {
  const { x, y, owner, last } = cell;
  const shape = (grown, name) => (owner === null ? square(x, y, UNIT - 7 + 2 * grown, name, 5) : disc(x, y, 0.4 * UNIT + grown, name));
  const drawn = shape(0, owner === null ? "tile" : "stone");
  drawn.setAttribute("fill", fillOf(cell));
  const sign = text(x, y, cell.text, "letter");
  sign.setAttribute("fill", DARK.includes(colourOf(cell)) ? "#ffffff" : "#000000");
  sign.setAttribute("font-size", SIZES[cell.text.length - 1] ?? SIZES[0]);
  return [drawn, sign, ...(last ? [shape(2, "latest")] : [])];
}

/** Labels of the rows at the left and the columns below. */
export function labels(panel) {
  // As large on a small board, which is drawn larger.
  const size = Math.min(12, Math.max(6, panel.width / 42));
  const label = (x, y, words) => svg("text", { x, y, class: "label", "font-size": size, "text-anchor": "middle", "dominant-baseline": "central" }, words);
  const left = panel.rows.map((name, r) => label(MARGIN / 2 - 2 + r * panel.lean, MARGIN / 2 + r * panel.pitch + 0.5 * UNIT, name));
  const below = panel.columns.map((name, c) => {
    // The columns of a slanted board end where they meet its edge.
    const end = panel.slant ? panel.cells.findLast((cell) => cell.column === c) : { x: MARGIN + (c + 0.5) * UNIT, y: panel.height - MARGIN - UNIT / 2 };
    return label(end.x + panel.slant, end.y + (UNIT + MARGIN) / 2, name);
  });
  return [...left, ...below];
}

/** A stone: of the first player dark, of the second light, or the other way round. */
export function stone(cell, darkOwner, radius = 0.42) {
  const name = cell.owner === darkOwner ? "stone dark" : "stone light";
  const drawn = [disc(cell.x, cell.y, radius * UNIT, name)];
  if (cell.last) drawn.push(disc(cell.x, cell.y, radius * UNIT * 0.3, "last"));
  return drawn;
}
