// A drawn board: cells that can be clicked, walked over with arrow keys, and read aloud.

import { nearest } from "./walk.js";
import { UNIT, disc, labels, line, square, text } from "./boards/shapes.js";
import { kindOf } from "./boards/kinds.js";
import { el, percent, svg } from "./dom.js";
import { Moves, heatOf } from "./moves.js";
import { panelsOf } from "./panels.js";

const SHOWN = 0.005;
/** Shares are written on so many cells, and only if they are a percent at least. */
const FIGURES = 12;
const WRITTEN = 0.01;
const ARROWS = 3;
const SMALLEST = 360;
const LARGEST = 1.7;

export class Board {
  /** Draws into `host`; `play(move)` is told of a move that somebody has made. */
  constructor(host, play) {
    this.host = host;
    this.play = play;
    this.children = [];
    this.focused = null;
    this.chances = true;
  }

  /** Whether chances of what is hidden are shown. */
  showChances(shown) {
    this.chances = shown;
    if (this.cells) this.#warm();
  }

  /** Show a position. `players`: what the two are called; `mine`: whose secret is seen, or null. */
  show(position, { players, enabled, mine = null }) {
    const focused = this.host.contains(document.activeElement);
    this.position = position;
    this.players = players;
    this.enabled = enabled && !position.over;
    this.mine = mine;
    this.moves = new Moves(position, kindOf(position)?.falls);
    this.source = null;
    this.children = [];
    this.#draw(focused);
  }

  /** Show how often each move was visited: `children` as a search gives them. */
  heat(children) {
    this.children = children;
    if (this.cells) this.#warm();
    else this.piles?.warm(children);
  }

  #draw(focus) {
    this.kind = kindOf(this.position);
    this.cells = new Map();
    this.arrows = this.piles = null;
    this.chooser = el("div", { class: "chooser", role: "group", "aria-label": "Which move?", hidden: true });
    if (this.kind === null || this.kind.draw) {
      this.cells = null;
      const choose = (moves) => this.#ask(moves);
      this.piles = this.kind?.draw(this.position, { enabled: this.enabled, choose }) ?? null;
      const drawing = this.piles?.node ?? el("pre", { class: "drawing", tabindex: 0 }, this.position.drawing);
      this.host.replaceChildren(drawing, this.chooser);
      return;
    }
    const panels = panelsOf(this.position, this.kind, this.players, this.mine);
    this.host.replaceChildren(
      el("div", { class: panels.length > 1 ? "panels two" : "panels" }, panels.map((each) => this.#panel(each))),
      this.chooser,
    );
    this.#warm();
    this.#rove(this.cells.has(this.focused) ? this.focused : (this.#middle() ?? null), focus);
  }

  #panel(panel) {
    const rows = new Map();
    for (const cell of panel.cells) {
      if (!rows.has(cell.row)) rows.set(cell.row, svg("g", { role: "row" }));
      rows.get(cell.row).append(this.#cell(cell));
    }
    const arrows = svg("g", { class: "arrows", "aria-hidden": "true" });
    this.arrows ??= arrows;
    if (panel.cells.some((cell) => this.#touched(cell.key))) this.arrows = arrows;
    const drawn = svg(
      "svg",
      {
        class: `board ${this.position.game.split(":")[0]}`,
        viewBox: `0 0 ${panel.width} ${panel.height}`,
        role: "grid",
        "aria-label": panel.caption || `The board of ${this.position.game.split(":")[0]}`,
      },
      svg("g", { class: "ground", "aria-hidden": "true" }, labels(panel), this.kind.ground(panel)),
      ...rows.values(),
      arrows,
    );
    // A small board is not blown up to the size of a large one.
    drawn.style.maxWidth = `${Math.max(SMALLEST, LARGEST * panel.width)}px`;
    return el("figure", { class: panel.aside ? "aside" : null }, drawn, panel.caption ? el("figcaption", {}, panel.caption) : null);
  }

  #touched(key) {
    return this.moves.all.some((move) => this.moves.targets.get(move) === key);
  }

  #cell(cell) {
    const heat = this.kind.sparse || this.kind.words || cell.colour !== null ? square(cell.x, cell.y, UNIT - 1, "heat", 5) : disc(cell.x, cell.y, UNIT * 0.46, "heat");
    const share = text(cell.x, cell.y, "", "share");
    const node = svg(
      "g",
      {
        class: "cell",
        role: "gridcell",
        tabindex: -1,
        "data-cell": cell.name,
        "data-key": cell.key,
        onclick: () => this.#choose(cell.key),
        onkeydown: (event) => this.#key(event, cell),
        onfocus: () => this.#rove(cell.key, false),
      },
      square(cell.x, cell.y, UNIT, "area"),
      heat,
      this.kind.piece(cell),
      share,
      square(cell.x, cell.y, UNIT - 3, "ring", 6),
    );
    this.cells.set(cell.key, { ...cell, node, heat, share });
    return node;
  }

  /** Colour cells by their share of visits, or by the chance of what is hidden, and mark what can be clicked. */
  #warm() {
    const heat = heatOf(this.children, this.moves, this.source);
    const searched = heat.size > 0;
    const top = Math.max(...(searched ? heat.values() : [...this.cells.values()].map((cell) => this.#chance(cell) ?? 0)), 1e-9);
    const more = searched ? ([...heat.values()].sort((a, b) => b - a)[FIGURES] ?? 0) : 0;
    for (const cell of this.cells.values()) {
      const share = searched ? (heat.get(cell.key) ?? 0) : (this.#chance(cell) ?? 0);
      const written = share >= WRITTEN && share > more;
      cell.heat.style.opacity = share < SHOWN ? 0 : written ? 1 : 0.5;
      cell.heat.style.setProperty("--warmth", `${(8 + 92 * (share / top)).toFixed(1)}%`);
      const free = cell.owner === null && cell.colour === null && written;
      cell.share.textContent = free ? percent(share).replace(" ", "\u202f") : "";
      cell.share.classList.toggle("strong", share / top > 0.55);
      cell.node.setAttribute("aria-label", this.#words(cell, searched ? share : 0));
      const open = this.enabled && this.#usable(cell.key);
      cell.node.classList.toggle("open", open);
      cell.node.classList.toggle("chosen", cell.key === this.source);
      cell.node.classList.toggle("target", this.enabled && this.source !== null && this.moves.to(cell.key, this.source).length > 0);
      cell.node.setAttribute("aria-disabled", String(!open));
      cell.node.setAttribute("aria-selected", String(cell.key === this.source));
    }
    this.#point();
  }

  /** Arrows for the most visited of the moves that go from one cell to another. */
  #point() {
    const total = this.children.reduce((sum, child) => sum + child.visits, 0);
    const top = [...this.children].sort((a, b) => b.visits - a.visits).slice(0, ARROWS);
    this.arrows?.replaceChildren(
      ...top.flatMap((child) => {
        const from = this.cells.get(this.moves.sources.get(child.move));
        const to = this.cells.get(this.moves.targets.get(child.move));
        return from && to && total ? [arrow(from, to, child.visits / top[0].visits)] : [];
      }),
    );
  }

  #words(cell, share) {
    const plain = cell.text.trim();
    const said = this.kind.words?.[plain];
    let what = said ?? (cell.owner === null ? (plain === "." || plain === "" ? "empty" : plain) : this.players[cell.owner]);
    if (plain === "*") what = "the Thudstone";
    const more = [];
    if (cell.ship) more.push("your ship");
    if (cell.last) more.push(cell.owner === null && this.kind.taken ? this.kind.taken : "last move");
    if (share >= SHOWN) more.push(`${percent(share)} of visits`);
    else if (this.#chance(cell) !== null) more.push(`a ship with ${percent(cell.chance)}`);
    if (cell.key === this.source) more.push("chosen");
    return [cell.name, what, ...more].join(", ");
  }

  #chance(cell) {
    return this.chances ? cell.chance : null;
  }

  #usable(key) {
    if (this.moves.to(key).length || this.moves.from(key).length) return true;
    return this.source !== null && this.moves.to(key, this.source).length > 0;
  }

  #choose(key) {
    if (!this.enabled) return;
    const here = this.source === null ? [] : this.moves.to(key, this.source);
    const found = here.length ? here : this.moves.to(key);
    if (found.length === 1) this.#make(found[0]);
    else if (found.length > 1) this.#ask(found);
    else {
      this.source = this.source !== key && this.moves.from(key).length ? key : null;
      this.#ask([]);
      this.#warm();
    }
  }

  #make(move) {
    this.enabled = false;
    this.play(move);
  }

  /** Several moves are meant by the same cells: let one be picked by its notation. */
  #ask(moves) {
    this.chooser.hidden = moves.length === 0;
    this.chooser.replaceChildren(
      ...moves.map((move) => el("button", { type: "button", class: "choice", "data-move": move, onclick: () => this.#make(move) }, move)),
    );
    this.chooser.querySelector("button")?.focus();
  }

  #key(event, cell) {
    if (event.key === "Enter" || event.key === " ") this.#choose(cell.key);
    else if (event.key === "Escape") {
      this.source = null;
      this.#ask([]);
      this.#warm();
    } else {
      const next = nearest([...this.cells.values()], cell, event.key);
      if (next === undefined) return;
      this.#rove(next.key, true);
    }
    event.preventDefault();
  }

  /** One cell can be reached by Tab; the others from there by arrow keys. */
  #rove(key, focus) {
    if (key === null) return;
    this.cells.get(this.roving)?.node.setAttribute("tabindex", -1);
    this.roving = this.focused = key;
    const { node } = this.cells.get(key);
    node.setAttribute("tabindex", 0);
    if (focus) node.focus();
  }

  #middle() {
    const cells = [...this.cells.values()].filter((cell) => this.#usable(cell.key));
    return (cells[Math.floor(cells.length / 2)] ?? this.cells.values().next().value)?.key;
  }
}

function arrow(from, to, weight) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy);
  const [ux, uy] = [dx / length, dy / length];
  const [x, y] = [to.x - ux * 6, to.y - uy * 6];
  const head = [
    [x, y],
    [x - ux * 11 - uy * 6, y - uy * 11 + ux * 6],
    [x - ux * 11 + uy * 6, y - uy * 11 - ux * 6],
  ];
  const shaft = line(from.x + ux * 12, from.y + uy * 12, x - ux * 10, y - uy * 10, "shaft");
  const drawn = svg("g", { class: "arrow" }, shaft, svg("polygon", { points: head.join(" "), class: "head" }));
  drawn.style.opacity = (0.25 + 0.65 * weight).toFixed(2);
  return drawn;
}
