// Which game is drawn how. Whatever is not named here is drawn as marks in squares, or as a list of moves.
// With `offBoard` there may be moves that no cell makes, such as a pass: then the list of moves is open.

import { discs } from "./discs.js";
import fleet from "./fleet.js";
import hexes from "./hexes.js";
import marks from "./marks.js";
import mill from "./mill.js";
import octagon from "./octagon.js";
import piles from "./piles.js";
import slots from "./slots.js";
import stones from "./stones.js";
import tiles from "./tiles.js";

const KINDS = {
  2048: tiles,
  battleship: fleet,
  breakthrough: discs(1),
  connect_four: slots,
  gomoku: stones,
  grundy: piles,
  hex: hexes,
  morris: mill,
  othello: discs(0, { offBoard: true }),
  thud: octagon,
  tictactoe: marks,
};

/** The name of the game that a spec names. */
export const nameOf = (spec) => spec.split(":")[0];

/** How a position is drawn; null: as text, with a list of moves. */
export function kindOf(position) {
  const known = KINDS[nameOf(position.game)];
  if (known) return known;
  return Object.keys(position.cells).length ? marks : null;
}
