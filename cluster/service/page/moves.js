// Moves by the cells that they touch. What is legal the service says; how a move reads, its notation.

/** "row,column" of a cell of the drawn board, as keys of maps. */
export const keyOf = (row, column) => `${row},${column}`;

/** Cells by name, such as "f6". A board of two grids has each name twice; the left one counts. */
export function namesOf(board) {
  const names = new Map();
  board.rows.forEach((row, r) =>
    row.forEach((_, c) => {
      const name = (board.column_labels[c] ?? "") + board.row_labels[r];
      if (!names.has(name)) names.set(name, keyOf(r, c));
    }),
  );
  return names;
}

/** Where a piece comes to rest that falls from a free cell of the drawn board. */
function landing(board, [row, column]) {
  let end = row;
  while (end + 1 < board.rows.length && board.rows[end + 1][column].owner === null) end += 1;
  return [end, column];
}

const columnOf = (key) => key.split(",")[1];

const STEP = /([A-Za-z][0-9]{1,2})-?([A-Za-z][0-9]{1,2})/;

/** Where a move begins and ends, if its notation is from-to or fromto and the board has both cells; else nulls. */
function stepOf(move, names) {
  const found = STEP.exec(move);
  return found && names.has(found[1]) && names.has(found[2]) ? [names.get(found[1]), names.get(found[2])] : [null, null];
}

/** The legal moves of a position: which begin at a cell, which are made by one cell alone, which by none. */
export class Moves {
  /** `falls`: a move is a column; it is made by any cell of it, and shown where the piece comes to rest. */
  constructor(position, falls = false) {
    this.falls = falls;
    this.names = namesOf(position.board);
    this.all = position.legal_moves;
    this.targets = new Map();
    this.sources = new Map();
    for (const move of this.all) {
      const cell = position.cells[move];
      const target = cell && falls ? landing(position.board, cell) : cell;
      const shown = target ? keyOf(...target) : null;
      const [source, end] = stepOf(move, this.names);
      // A game may show its moves where they begin, or nowhere.
      this.targets.set(move, shown === null || shown === source ? end : shown);
      this.sources.set(move, source);
    }
  }

  /** Whether cells are all that is needed to make any move. */
  get drawn() {
    return this.all.every((move) => this.targets.get(move) !== null);
  }

  /** Moves that begin at the cell. */
  from(key) {
    return this.all.filter((move) => this.sources.get(move) === key);
  }

  /** Moves to the cell: from `source`, or, where that is null, those that need none. */
  to(key, source = null) {
    const meant = (target) => target === key || (this.falls && target !== null && columnOf(target) === columnOf(key));
    return this.all.filter((move) => meant(this.targets.get(move)) && this.sources.get(move) === source);
  }

  /** Where a move is shown: at its target, or, while nothing is chosen, where it begins. */
  cellOf(move, source) {
    const begins = this.sources.get(move) ?? null;
    if (begins === null) return this.targets.get(move) ?? null;
    return source === null ? begins : source === begins ? this.targets.get(move) : null;
  }
}

/** The share of all visits of each cell, while `source` is chosen (or null). */
export function heatOf(children, moves, source) {
  const total = children.reduce((sum, child) => sum + child.visits, 0);
  const heat = new Map();
  if (!total) return heat;
  for (const child of children) {
    const key = moves.cellOf(child.move, source);
    if (key) heat.set(key, (heat.get(key) ?? 0) + child.visits / total);
  }
  return heat;
}
