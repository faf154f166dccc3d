// What a player says about its move.

import { el, percent, signed, whole } from "./dom.js";

/** A value of `mover`, which is an element; where values are `shares` of wins, as its expected score in percent too. */
export function valueOf(value, mover, shares) {
  const score = "The mean result of the simulations: a win counts 100 %, a draw 50 %, a loss 0 %";
  return [
    el("span", {}, "value ", el("span", { class: "value" }, signed(value))),
    el("span", { class: "dim", title: shares ? score : null }, shares ? `expected score ${percent((value + 1) / 2)} for ` : "for ", mover),
  ];
}

/** Elements for an answer of the service; `mover`: the side that it moved for, as an element. */
export function answerOf({ player, move, value, simulations, thought }, mover, shares) {
  const told = thought || (simulations ? `${whole(simulations)} simulations` : "");
  const judged = value === null ? [] : valueOf(value, mover, shares);
  return [
    el("header", { class: "watch-head" }, el("h2", {}, "Player"), el("span", { class: "state done" }, player)),
    el("div", { class: "answer" }, el("p", { class: "best" }, el("strong", { "data-best": move }, move), judged), el("p", { class: "line" }, told)),
  ];
}
