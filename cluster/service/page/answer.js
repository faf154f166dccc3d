// What a player that is not a search says about its move.

import { el, percent, signed } from "./dom.js";

/** Elements for an answer of the service; `mover`: the side that it moved for, as an element. */
export function answerOf({ player, move, value, thought }, mover) {
  const judged = value === null ? [] : [el("span", {}, signed(value)), el("span", { class: "dim" }, `${percent((value + 1) / 2)} for `, mover)];
  return [
    el("header", { class: "watch-head" }, el("h2", {}, "Player"), el("span", { class: "state done" }, player)),
    el("div", { class: "answer" }, el("p", { class: "best" }, el("strong", { "data-best": move }, move), judged), el("p", { class: "line" }, thought)),
  ];
}
