// A position's board as panels of cells, each with its place on the paper. Battleship has two, others one.

import { LOWER, MARGIN, UNIT } from "./boards/shapes.js";
import { keyOf } from "./moves.js";

/**
 * The panels of a position: the first is the one that moves are made on.
 * Each has `rows` and `columns` (labels), `cells`, `lines`, `slant` (how far each row is to the right of the one above),
 * `lean` (the same of the rows' labels), `pitch` (from row to row), `width`, `height`, perhaps a `caption`, and `aside` if no move is made there.
 */
export function panelsOf(position, kind, players, mine) {
  const { board } = position;
  if (!kind.parts) return [panel(position, kind, 0, board.column_labels.length)];
  const size = board.row_labels.length;
  const starts = board.column_labels.length > size ? [0, size + 1] : [0];
  const found = starts.map((start) => panel(position, kind, start, start + size));
  name(found, position, players, mine);
  return found;
}

function panel({ board, chances }, kind, start, end) {
  const columns = board.column_labels.slice(start, end);
  const cells = [];
  const slant = board.slanted ? UNIT / 2 : 0;
  const pitch = board.slanted ? LOWER * UNIT : UNIT;
  board.rows.forEach((row, r) => {
    row.slice(start, end).forEach((drawn, c) => {
      if (kind.sparse && !drawn.text.trim()) return;
      cells.push({
        ...drawn,
        row: r,
        column: start + c,
        key: keyOf(r, start + c),
        name: [columns[c], board.row_labels[r]].join(columns[c].length > 1 ? " " : ""),
        x: MARGIN + (c + 0.5) * UNIT + r * slant,
        y: MARGIN / 2 + r * pitch + 0.5 * UNIT,
        chance: chances?.[r]?.[start + c] ?? null,
      });
    });
  });
  // A star does not begin where its grid does.
  const xs = cells.map((cell) => cell.x);
  const left = Math.min(...xs) - UNIT / 2 - MARGIN;
  for (const cell of cells) cell.x -= left;
  const width = Math.max(...xs) - left + (UNIT + MARGIN) / 2 + slant;
  const height = (board.rows.length - 1) * pitch + UNIT + 1.5 * MARGIN;
  return { cells, columns, rows: board.row_labels, lines: board.lines, slant, lean: kind.sparse ? 0 : slant, pitch, width, height, caption: "" };
}

/** Say whose shots a grid shows, and draw one's own ships under those of the other. */
function name(panels, position, players, mine) {
  // Whoever is to shoot has the left grid. At the end the marks say whose it is.
  const marked = panels[0].cells.find((cell) => cell.owner !== null);
  const left = position.player ?? marked?.owner ?? 0;
  panels.forEach((each, place) => {
    const shooter = place === 0 ? left : 1 - left;
    each.shooter = shooter;
    if (mine === null) each.caption = `Shots of the ${players[shooter]} player`;
    else each.caption = shooter === mine ? "Your shots" : "Your fleet, and the shots at it";
    if (mine === null || shooter === mine || !position.secret) return;
    for (const [i, cell] of each.cells.entries()) {
      const own = position.secret.rows[Math.floor(i / each.columns.length)][i % each.columns.length];
      cell.ship = own.owner !== null && own.owner !== undefined;
    }
  });
  if (mine !== null && panels.length === 2 && panels[0].shooter !== mine) panels.reverse();
  panels.slice(1).forEach((each) => (each.aside = true));
}
