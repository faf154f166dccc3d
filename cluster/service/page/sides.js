// A side of a game in a sentence: its piece as the board draws it, and what the game calls it.

import { el, svg } from "./dom.js";
import { UNIT, fillOf } from "./boards/shapes.js";

/**
 * The side `owner` (0: the first player), which the game calls `name`, as an element.
 * A name of one letter is drawn alone where the board has a piece for it; it is still read aloud.
 */
export function sideOf(kind, owner, name) {
  const cell = kind?.side?.(owner, name) ?? null;
  if (cell === null) return el("span", {}, named(name));
  const drawn = kind.piece({ ...cell, last: false, x: UNIT / 2, y: UNIT / 2 });
  return el(
    "span",
    { class: "piece" },
    svg("svg", { class: "token", viewBox: `0 0 ${UNIT} ${UNIT}`, "aria-hidden": "true" }, drawn),
    el("span", { class: name.length === 1 ? "unseen" : null }, named(name)),
  );
}

/** A dot in the colour of a player. */
export function dotOf(player) {
  const dot = el("i", { class: `dot p${player}`, "aria-hidden": "true" });
  dot.style.background = fillOf({ owner: player });
  return dot;
}

/** How a game ended, in the service's words, with the side that they begin with shown by its piece. */
export function outcomeOf(kind, names, outcome) {
  const owner = names.findIndex((name) => outcome.startsWith(`${name} `));
  return owner < 0 ? [outcome] : [sideOf(kind, owner, names[owner]), outcome.slice(names[owner].length)];
}

const named = (name) => (name === "first" || name === "second" ? `the ${name} player` : name);
