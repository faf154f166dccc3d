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

/** Labels of the rows at the left and the columns below. */
export function labels(panel) {
  // As large on a small board, which is drawn larger.
  const size = Math.min(12, Math.max(6, panel.width / 42));
  const label = (x, y, words) => svg("text", { x, y, class: "label", "font-size": size, "text-anchor": "middle", "dominant-baseline": "central" }, words);
  const left = panel.rows.map((name, r) => label(MARGIN / 2 - 2 + r * panel.slant, MARGIN / 2 + r * panel.pitch + 0.5 * UNIT, name));
  const last = panel.rows.length - 1;
  const bottom = MARGIN + last * panel.pitch + UNIT;
  const below = panel.columns.map((name, c) => label(MARGIN + (c + 0.5) * UNIT + (panel.slant ? last + 1 : 0) * panel.slant, bottom, name));
  return [...left, ...below];
}

/** A stone: of the first player dark, of the second light, or the other way round. */
export function stone(cell, darkOwner, radius = 0.42) {
  const name = cell.owner === darkOwner ? "stone dark" : "stone light";
  const drawn = [disc(cell.x, cell.y, radius * UNIT, name)];
  if (cell.last) drawn.push(disc(cell.x, cell.y, radius * UNIT * 0.3, "last"));
  return drawn;
}
