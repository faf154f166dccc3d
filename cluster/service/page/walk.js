// Where an arrow key leads from a cell: the nearest one that way, the straighter the better.

const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const ASIDE = 3;

/** The cell that the key leads to; undefined if there is none, or the key leads nowhere. */
export function nearest(cells, from, key) {
  const row = cells.filter((cell) => cell.row === from.row);
  if (key === "Home") return row[0];
  if (key === "End") return row[row.length - 1];
  if (!(key in WAYS)) return undefined;
  const [right, down] = WAYS[key];
  let best = undefined;
  let least = Infinity;
  for (const cell of cells) {
    const along = (cell.column - from.column) * right + (cell.row - from.row) * down;
    if (along <= 0) continue;
    const aside = Math.abs((cell.column - from.column) * down) + Math.abs((cell.row - from.row) * right);
    const far = along + ASIDE * aside;
    if (far < least) [best, least] = [cell, far];
  }
  return best;
}
