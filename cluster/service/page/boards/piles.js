// Grundy's piles: a pile is chosen, then one of the ways to split it.

import { el, percent } from "../dom.js";

const SPLIT = /^(\d+)-(\d+)\+(\d+)$/;

/** The piles as buttons; `choose(moves)` is told of the splits of the one that was clicked. */
function draw(position, { enabled, choose }) {
  const splits = position.legal_moves.map((move) => ({ move, size: Number(SPLIT.exec(move)?.[1]) }));
  const piles = position.board.rows.flat().filter((cell) => cell.text);
  const shown = piles.map((cell, i) => {
    const size = Number(cell.text);
    const moves = splits.filter((split) => split.size === size).map((split) => split.move);
    const share = el("span", { class: "share" });
    const node = el(
      "button",
      {
        type: "button",
        class: cell.last ? "pile lately" : "pile",
        "data-cell": `pile-${i}`,
        "aria-label": `a pile of ${size}${cell.last ? ", new" : ""}${moves.length ? "" : ", cannot be split"}`,
        "aria-disabled": String(!enabled || moves.length === 0),
        onclick: () => enabled && moves.length && choose(moves),
      },
      el("span", { class: "dots", "aria-hidden": "true" }, Array.from({ length: size }, () => el("i"))),
      el("b", {}, cell.text),
      share,
    );
    return { node, share, moves };
  });
  const node = el("div", { class: "piles", role: "group", "aria-label": "The piles" }, shown.map((pile) => pile.node));
  node.addEventListener("keydown", (event) => walk(event, shown.map((pile) => pile.node)));
  return {
    node,
    /** Show the share of visits of each pile. */
    warm(children) {
      const total = children.reduce((sum, child) => sum + child.visits, 0);
      for (const { share, moves } of shown) {
        const visits = children.filter((child) => moves.includes(child.move)).reduce((sum, child) => sum + child.visits, 0);
        share.textContent = total && visits ? percent(visits / total) : "";
      }
    },
  };
}

function walk(event, nodes) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const at = nodes.indexOf(event.target);
  if (!step || at < 0) return;
  nodes[(at + step + nodes.length) % nodes.length].focus();
  event.preventDefault();
}

export default { draw };
