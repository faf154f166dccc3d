// Which game is drawn how. Whatever is not named here is drawn as signs in squares, or, without names of columns, as text.
// With `offBoard` there may be moves that no cell makes, such as a pass: then the list of moves is open.

import { discs } from "./discs.js";
import fleet from "./fleet.js";
import hexes from "./hexes.js";
import marks from "./marks.js";
import mill from "./mill.js";
import octagon from "./octagon.js";
import piles from "./piles.js";
import slots from "./slots.js";
import star from "./star.js";
import stones from "./stones.js";

const KINDS = {
  battleship: fleet,
  breakthrough: discs(1),
  chinese_checkers: star,
  connect_four: slots,
  gomoku: stones,
  grundy: piles,
  hex: hexes,
  morris: mill,
  othello: discs(0, { offBoard: true }),
  thud: octagon,
};

/** The name of the game that a spec names. */
export const nameOf = (spec) => spec.split(":")[0];

/** How a position is drawn; null: as text, because its signs need not be cells. */
export const kindOf = (position) => KINDS[nameOf(position.game)] ?? (position.board.column_labels.some(Boolean) ? marks : null);
