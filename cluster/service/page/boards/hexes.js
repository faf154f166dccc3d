// Stones on hexagons, and the edges in the colours of the players who connect them: Hex.

import { UNIT, stone } from "./shapes.js";
import { svg } from "../dom.js";

const LONG = UNIT / Math.sqrt(3);
const HALF = UNIT / 2;
/** The corners of a hexagon, clockwise from the upper one. */
const CORNERS = [
  [0, -LONG],
  [HALF, -LONG / 2],
  [HALF, LONG / 2],
  [0, LONG],
  [-HALF, LONG / 2],
  [-HALF, -LONG / 2],
];
const pointsOf = (cell, corners) => corners.map((corner) => [cell.x + CORNERS[corner][0], cell.y + CORNERS[corner][1]].join(",")).join(" ");

export default {
  offBoard: true,
  ground(panel) {
    const hexagons = panel.cells.map((cell) => svg("polygon", { points: pointsOf(cell, [0, 1, 2, 3, 4, 5]), class: "hexagon" }));
    const [rows, columns] = [panel.rows.length - 1, panel.columns.length - 1];
    const drawn = (cells, corners, name) => cells.map((cell) => svg("polyline", { points: pointsOf(cell, corners), class: `edge ${name}` }));
    const side = (chosen, corners, name) => {
      const cells = panel.cells.filter(chosen);
      return [...drawn(cells, corners, "rim"), ...drawn(cells, corners, name)];
    };
    return [
      ...hexagons,
      ...side((cell) => cell.column === 0, [5, 4, 3], "light"),
      ...side((cell) => cell.column === columns, [0, 1, 2], "light"),
      ...side((cell) => cell.row === 0, [5, 0, 1], "dark"),
      ...side((cell) => cell.row === rows, [4, 3, 2], "dark"),
    ];
  },
  piece: (cell) => (cell.owner === null ? [] : stone(cell, 0, 0.38)),
  side: (owner) => ({ owner }),
};
