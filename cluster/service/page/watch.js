// One search, watched while it runs: how far it is, its answer, its value over time, its workers and merges.

import { valueOf } from "./answer.js";
import * as api from "./api.js";
import { drawn, el, percent, seconds, short, signed, whole } from "./dom.js";
import { follow } from "./events.js";
import { spark } from "./plot.js";

const CHILDREN = 7;
/** Moves of a line to the end that are shown. */
const LINE = 24;
const MERGES = 5;
const POINTS = 240;
/** Values smaller than this are drawn as small. */
const LEAST = 0.2;
export const WORDS = { queued: "waiting", running: "searching", done: "done", cancelled: "cancelled", failed: "failed" };

export class Watch {
  /** Draws into `host`; `grown(children)` is told of visits, and `ended(final)` of the end. */
  constructor(host, { grown, ended }) {
    this.host = host;
    this.grown = grown;
    this.ended = ended;
    this.stop = () => {};
    this.more = el("details", {}, el("summary", {}, "Details of the search"), el("div"));
  }

  /**
   * Watch this search, as the service has it, from now on. `mover()`: the side that it moves for, as an element;
   * `shares`: whether values are shares of wins; `players`: functions that give the element of each.
   */
  open(search, { mover = null, shares = true, players = [] } = {}) {
    this.close();
    this.about = { mover, shares, players };
    const { id, request, state, progress, result, error } = search;
    Object.assign(this, { id, request, state, progress, result, error });
    this.connected = true;
    this.values = [];
    this.rates = [];
    this.merges = [];
    this.host.hidden = false;
    if (this.draw() && this.#shown) this.grown(this.#shown.children);
    if (search.started_at) this.#past(search.id);
    if (["done", "cancelled", "failed"].includes(this.state)) return;
    this.stop = follow(`/searches/${search.id}/events`, {
      event: (name, data) => drawn(this.host, () => this.#event(name, data)),
      link: (connected) => {
        this.connected = connected;
        this.draw();
      },
      failed: (error) => this.#fail(error),
    });
  }

  /** Why there is no answer to show. */
  #waits() {
    if (this.state === "queued" || this.state === "running") return "No answer yet: the workers get ready, or are busy. A game is compiled for its first search, which takes up to a minute.";
    return "It ended without an answer.";
  }

  /** Watch no more; the search goes on. */
  close() {
    this.stop();
    this.host.hidden = true;
  }

  get #shown() {
    return this.result ?? this.progress;
  }

  #event(name, data) {
    if (name === "state") this.state = data.state;
    else if (name === "progress") this.#grow(data);
    else if (name === "final") this.#end(data);
    if (this.draw() && name !== "state" && this.#shown) this.grown(this.#shown.children);
    if (name === "final") this.ended(data);
  }

  #grow(data) {
    const before = this.progress;
    this.progress = data;
    if (data.best_move !== null) this.#point(this.values, [data.elapsed_s, data.value]);
    this.#point(this.rates, [data.elapsed_s, data.simulations_per_s]);
    if (before && data.merges > before.merges) this.merges = [added(before, data), ...this.merges].slice(0, MERGES);
  }

  /** The final answer takes the place of the last partial one everywhere. */
  #end({ state, result, error }) {
    Object.assign(this, { state, result, error });
    if (!result) return;
    if (result.best_move !== null) this.#point(this.values, [result.elapsed_s, result.value]);
    if (this.progress) this.merges = [rest(this.progress, result), ...this.merges].slice(0, MERGES);
  }

  /** Have the curves begin with the search, which may have been opened in its middle or after its end. */
  async #past(id) {
    const points = await api.curve(id).catch(() => []);
    if (id !== this.id) return;
    const before = (found, seen) => [...found.filter(([time]) => !seen.length || time < seen[0][0]), ...seen];
    this.values = before(points.filter(([, value]) => value !== null).map(([time, value]) => [time, value]), this.values);
    this.rates = before(points.map(([time, , rate]) => [time, rate]), this.rates);
    this.draw();
  }

  #point(points, point) {
    // A search that goes on after a restart may be where it was before.
    while (points.length && points[points.length - 1][0] >= point[0]) points.pop();
    points.push(point);
    if (points.length > POINTS) points.splice(0, points.length, ...points.filter((_, i) => i % 2 === 1));
  }

  draw() {
    return drawn(this.host, () => this.#draw());
  }

  #draw() {
    const focus = this.host.contains(document.activeElement) ? document.activeElement.dataset.action : null;
    const shown = this.#shown;
    this.host.replaceChildren(
      this.#head(),
      this.error ? el("p", { class: "problem", role: "alert" }, this.error.detail) : "",
      shown && shown.best_move !== null ? this.#answer(shown) : el("p", { class: "dim" }, this.#waits()),
      shown ? el("p", { class: "dim small" }, `${whole(shown.simulations)} simulations in ${seconds(shown.elapsed_s, shown.elapsed_s < 1 ? 3 : 1)}, ${rate(shown.simulations_per_s)}. `, this.result ? endingOf(this.result, this.request) : null, this.result?.kept_visits ? ` It began with ${whole(this.result.kept_visits)} visits of the search before.` : null) : "",
      this.#curves(),
      shown ? this.more : "",
    );
    // It stays folded up, or open, whatever it says.
    this.more.lastChild.replaceWith(
      el("div", { class: "details" }, shown ? this.#facts(shown) : null, this.progress && !this.result ? this.#workers(this.progress) : null, this.merges.length ? this.#merges() : null),
    );
    if (focus) this.host.querySelector(`[data-action="${focus}"]`)?.focus();
  }

  #head() {
    const open = this.state === "queued" || this.state === "running";
    const word = this.connected || !open ? WORDS[this.state] : "connecting again";
    return el(
      "header",
      { class: "watch-head" },
      el("h2", {}, "Search"),
      el("span", { class: `state ${this.connected || !open ? this.state : "lost"}`, "data-state": this.state }, word),
      open ? el("button", { type: "button", "data-action": "cancel", title: "End the search now, with the best move so far", onclick: () => api.cancel(this.id).catch(() => {}) }, "Stop") : null,
      ["cancelled", "failed"].includes(this.state)
        ? el("button", { type: "button", "data-action": "resume", onclick: () => this.#resume() }, "Continue")
        : null,
      open ? el("progress", { max: 1, value: this.progress?.budget_used ?? 0, "aria-label": "share of the budget that is used up" }) : null,
    );
  }

  #answer(shown) {
    const most = Math.max(1, ...shown.children.map((child) => child.visits));
    const total = shown.children.reduce((sum, child) => sum + child.visits, 0) || 1;
    const rows = shown.children.slice(0, CHILDREN).map((child) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, child.move),
        el("td", { class: "bar" }, el("meter", { min: 0, max: most, value: child.visits, "aria-hidden": "true" })),
        el("td", { class: "n" }, percent(child.visits / total)),
        el("td", { class: "n" }, signed(child.value)),
      ),
    );
    return el(
      "div",
      { class: "answer" },
      el("p", { class: "best" }, el("strong", { "data-best": shown.best_move }, shown.best_move), valueOf(shown.value, this.about.mover?.() ?? "the player to move", this.about.shares)),
      el("p", { class: "line" }, el("span", { class: "dim" }, "Best line "), shown.pv.slice(0, 12).join(" ") || "none"),
      this.#beyond(shown),
      el("table", { class: "children" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Move"), el("td", {}), el("th", { scope: "col", class: "n" }, "Visits"), el("th", { scope: "col", class: "n" }, "Value"))), el("tbody", {}, rows)),
    );
  }

  /** What answers about two players have not: the best line to the end that was found, and each player's score. */
  #beyond({ best_line: found, values }) {
    const rest = found && found.moves.length > LINE ? " \u2026" : "";
    return [
      found ? el("p", { class: "line" }, el("span", { class: "dim" }, `Best found, ${Number(found.value.toPrecision(6))} `), found.moves.slice(0, LINE).join(" ") + rest) : null,
      values ? el("p", { class: "line" }, el("span", { class: "dim" }, "Expected "), values.map((value, side) => [this.about.players[side]?.() ?? "", ` ${signed(value)} `])) : null,
    ];
  }

  #facts(shown) {
    const { evaluator, strategy, seed } = this.request;
    const facts = [
      [evaluator ? "Evaluations asked for" : "Playouts", whole(shown.playouts)],
      evaluator
        ? ["Recalled", `${whole(shown.recalled)} (${percent(shown.recalled / Math.max(1, shown.recalled + shown.playouts))})`]
        : ["Playouts/s", rate((shown.simulations_per_s * shown.playouts) / Math.max(1, shown.simulations))],
      ["Tree", `${whole(shown.tree_nodes)} nodes`],
      ["Jobs of workers", `${whole(shown.jobs)} done${shown.jobs_retried ? `, ${shown.jobs_retried} repeated` : ""}`],
    ];
    const lanes = shown.lanes ?? this.request.lanes;
    return [
      el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
      el("p", { class: "dim small" }, `Strategy ${strategy}, ${lanes === null ? "" : `${lanes} ${lanes === 1 ? "lane" : "lanes"}, `}seed ${seed}`),
      this.result ? digestOf(this.result) : null,
    ];
  }

  #curves() {
    if (this.values.length < 2) return "";
    const mean = this.result?.simulations_per_s ?? null;
    const most = Math.max(LEAST, ...this.values.map(([, value]) => 1.25 * Math.abs(value)));
    const high = this.about.shares ? Math.min(1, most) : most;
    return el(
      "div",
      { class: "curves" },
      spark(this.values, { range: [-high, high], zero: true, label: "Value over time", text: signed }),
      mean === null
        ? spark(this.rates, { label: "Simulations/s over time", text: rate })
        : spark(this.rates, { label: "Simulations/s over time; on average", text: () => rate(mean) }),
    );
  }

  #workers({ workers, jobs_in_flight: flying, results_waiting: waiting }) {
    return el(
      "section",
      { class: "workers" },
      el("h3", {}, "Workers"),
      el(
        "ul",
        {},
        workers.map((worker) =>
          el("li", {}, el("span", { class: `lamp ${lately(worker)}`, "aria-hidden": "true" }), `${worker.slot} ${lately(worker)}`, el("meter", { min: 0, max: 1, value: worker.busy, "aria-label": `share of time in which worker ${worker.slot} is busy` }), el("span", { class: "n" }, percent(worker.busy)), worker.restarts ? el("span", { class: "dim" }, `restarted ${worker.restarts} times`) : null),
        ),
      ),
      el("p", { class: "dim small" }, `${flying} jobs in flight, ${waiting} results wait for their merge; ${api.about.workers}`),
    );
  }

  #merges() {
    return el("section", { class: "merges" }, el("h3", {}, "Latest merges"), el("ol", {}, this.merges.map((words) => el("li", {}, words))));
  }

  async #resume() {
    await api.resume(this.id).then((search) => this.open(search, this.about), (error) => this.#fail(error));
  }

  #fail(error) {
    this.error = { detail: api.words(error) };
    this.draw();
  }
}

/** What a worker mostly does: between two jobs it is idle for a moment. */
export const lately = ({ state, busy }) => (state === "idle" && busy > 0.1 ? "busy" : state);

/** Why a search ended, by the words of the service. */
const ENDINGS = {
  simulations: ({ simulations }) => `Ended after its ${whole(simulations)} simulations.`,
  seconds: ({ seconds: allowed }) => `Ended after its ${allowed ?? 5} s.`,
  memory: () => "Ended: the memory for its tree is full.",
  proven: () => "Ended: the result of the position is proven.",
  decided: () => "Ended: no other move can get as many visits.",
  cancelled: () => "Stopped on request.",
};

/** A rate as "5.4 M/s". */
const rate = (number) => `${short(number)}/s`;

const endingOf = ({ stopped_by: by }, request) => ENDINGS[by]?.(request) ?? `Ended: ${by}.`;

function digestOf({ digest }) {
  const meaning = `SHA-256 of the merged statistics: equal digests mean equal statistics, bit for bit. ${digest}`;
  return el("p", { class: "dim small", title: meaning }, "Digest of the merged statistics ", el("code", {}, `${digest.slice(0, 12)}\u2026`));
}

/** What came in between two looks, as words. */
function added(before, now) {
  const merges = now.merges - before.merges;
  const nodes = now.tree_nodes - before.tree_nodes;
  const each = (1000 * (now.merge_s - before.merge_s)) / merges;
  const turned = before.best_move !== now.best_move ? `; ${now.best_move} is best now` : "";
  const simulations = whole(now.simulations - before.simulations);
  return `+${simulations} simulations, +${whole(nodes)} nodes in ${merges} ${merges === 1 ? "merge" : "merges"} ${each < 0.1 ? "below 0.1" : `of ${each.toFixed(1)}`} ms${turned}`;
}

/** What came in after the last look, and the answer, as words. */
function rest(before, now) {
  const answer = now.best_move === null ? "there is no answer" : `${now.best_move} is the answer`;
  const simulations = now.simulations - before.simulations;
  if (!simulations) return answer;
  return `+${whole(simulations)} simulations, +${whole(now.tree_nodes - before.tree_nodes)} nodes at the end; ${answer}`;
}
