// The cluster: throughput of the last minutes by search, and what every worker did in the last minute.

import * as api from "./api.js";
import { byId, el, percent, seconds, short } from "./dom.js";
import { follow } from "./events.js";
import { timeline } from "./plot.js";
import { titleOf } from "./titles.js";
import { lately } from "./watch.js";

/** Searches with a colour of their own; all others share one. */
const TONES = 6;
/** With more workers than this, a worker is a strip, and words about it are shown on demand. */
const MOST_ROWS = 60;
const MARKS = 8;
/** The shortest span of time that is drawn, in seconds. */
const LEAST_S = 60;
const LOST = -1;
const STARTING = -2;
const UNSEEN = -3;
const ALIVE = ["busy", "idle", "preparing"];
/** States of workers without a process that nobody misses. */
const ENDED = ["given back", "ended"];
const STATES = { busy: "working", waiting: "waits for a machine" };
const CLASSES = { busy: "running", lost: "lost", "given up": "lost", starting: "starting", preparing: "starting" };
const CLOCK = new Intl.DateTimeFormat([], { timeStyle: "medium", hourCycle: "h23" });
const INKS = ["working", "merging", "idle", "starting", "lost"];

/** Show the cluster from now on, as it changes. Gives back a function that stops it. */
export function cluster() {
  const view = new View();
  const stopper = new AbortController();
  const on = (node, type, action) => node.addEventListener(type, action, { signal: stopper.signal });
  const look = () => (document.hidden ? view.stop() : view.follow());
  on(document, "visibilitychange", look);
  on(window, "resize", () => view.soon());
  on(byId("measure"), "change", () => view.soon());
  on(byId("cluster-still"), "change", () => view.soon());
  on(byId("cluster-begin"), "click", () => view.begin());
  for (const type of ["pointerover", "focusin", "click"]) on(byId("machines"), type, ({ target }) => view.point(target));
  on(byId("machines"), "keydown", (event) => view.step(event));
  look();
  return () => {
    stopper.abort();
    view.stop();
  };
}

class View {
  constructor() {
    /** The object Cluster as the service describes it, kept up to date by its ticks. */
    this.now = null;
    this.rows = [];
    this.tones = new Map();
    this.connected = true;
    this.problem = "";
    this.stop = () => {};
    this.wanted = 0;
  }

  /** Ask for all again: a hidden page takes nothing in. */
  follow() {
    this.stop();
    const end = follow("/cluster/events", {
      event: (name, data) => {
        if (name === "cluster") this.#take(data);
        else if (name === "tick" && this.now) this.#tick(data);
        this.soon();
      },
      link: (connected) => {
        this.connected = connected;
        this.soon();
      },
      failed: (error) => {
        this.problem = error.message;
        this.soon();
      },
    });
    this.stop = () => {
      end();
      cancelAnimationFrame(this.wanted);
      this.wanted = 0;
    };
  }

  /** Draw once, however many events have come until then. */
  soon() {
    this.wanted ||= requestAnimationFrame(() => {
      this.wanted = 0;
      this.draw();
    });
  }

  #take(data) {
    // A server that was started again has forgotten what was before.
    const before = this.now?.history.filter((point) => point.time < data.started) ?? [];
    const marks = this.now?.marks.filter((mark) => mark.time < data.started) ?? [];
    const searches = { ...this.now?.searches, ...data.searches };
    this.now = { ...data, searches, history: [...before, ...data.history], marks: [...marks, ...data.marks] };
    this.#forget();
    this.#layout();
  }

  #tick({ time, ready, point, marks, now, strips, rates, busy, changed, searches }) {
    const all = this.now;
    const merging = [...all.now.merging.slice(1), now.merging];
    Object.assign(all, { time, ready, now: { ...now, merging } });
    Object.assign(all.searches, searches);
    if (point) all.history.push(point);
    all.marks.push(...marks);
    this.#forget();
    let moved = false;
    for (const worker of changed) {
      const old = all.workers[worker.slot];
      moved ||= old?.machine !== worker.machine;
      all.workers[worker.slot] = { ...worker, strip: old?.strip ?? Array(all.strip_s).fill(UNSEEN) };
    }
    all.workers.forEach((worker, slot) => {
      worker.strip = [...worker.strip.slice(1), strips[slot] ?? UNSEEN];
      worker.simulations_per_s = rates[slot] ?? 0;
      worker.busy = busy[slot] ?? 0;
    });
    if (moved) this.#layout();
  }

  /** Leave out what is too long ago. */
  #forget() {
    const all = this.now;
    const since = all.time - all.span_s;
    all.history = all.history.filter((point) => point.time >= since);
    all.marks = all.marks.filter((mark) => mark.time >= since).slice(-200);
  }

  /** Make a row for every worker, by machine. */
  #layout() {
    const focus = document.activeElement?.dataset?.slot;
    const { workers } = this.now;
    this.compact = workers.length > MOST_ROWS;
    const machines = new Map();
    for (const worker of workers) machines.set(worker.machine, [...(machines.get(worker.machine) ?? []), worker.slot]);
    this.rows = workers.map((worker) => new Row(worker.slot, this.compact));
    this.machines = [...machines].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true })).map(([name, slots]) => ({ slots, name, head: el("span", { class: "dim small" }) }));
    byId("machines").className = this.compact ? "compact" : "";
    byId("machines").replaceChildren(
      ...this.machines.map(({ slots, name, head }) => el("section", {}, el("header", { class: "title" }, el("h3", {}, name || "Not on a machine"), head), el("ul", {}, slots.map((slot) => this.rows[slot].node)))),
    );
    if (this.compact) this.#reach(focus ?? this.machines[0].slots[0], focus !== undefined);
  }

  draw() {
    const all = this.now;
    const lost = this.problem || !this.connected;
    const state = byId("cluster-state");
    state.className = `state ${lost ? "lost" : all?.ready ? "running" : "starting"}`;
    write(state, this.problem || (lost ? "No connection to the server: the page tries again and goes on by itself." : all ? waits(all) : "Connecting \u2026"));
    if (!all) return;
    const { searches_running: running, searches_waiting: waiting } = all.now;
    const empty = !running && !waiting && all.history.every((point) => !point.rates.length);
    byId("cluster-empty").hidden = !empty;
    write(byId("cluster-command"), `banyan search gomoku --server ${location.origin}`);
    byId("cluster-figures").hidden = empty;
    byId("throughput").hidden = empty;
    if (!empty) {
      figures(all);
      this.#throughput();
    }
    this.#workers();
  }

  #throughput() {
    const all = this.now;
    const kind = document.querySelector("#measure :checked").value;
    const width = Math.max(280, byId("throughput-plot").clientWidth);
    const drawn = `${all.history.at(-1)?.time} ${all.marks.length} ${kind} ${width}`;
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const column = kind === "simulations" ? 1 : 2;
    const totals = new Map();
    for (const { rates } of all.history) for (const rate of rates) totals.set(rate[0], (totals.get(rate[0]) ?? 0) + rate[column]);
    const largest = [...totals.keys()].sort((a, b) => totals.get(b) - totals.get(a)).slice(0, TONES);
    this.#colour(largest);
    const own = [...totals.keys()].filter((id) => largest.includes(id));
    const others = totals.size - own.length;
    const values = new Map([...own, ...(others ? [null] : [])].map((id) => [id, all.history.map(() => 0)]));
    all.history.forEach(({ rates }, i) => {
      for (const rate of rates) values.get(values.has(rate[0]) ? rate[0] : null)[i] += rate[column];
    });
    const tone = (id) => this.tones.get(id) ?? "others";
    const to = all.time;
    const from = Math.min(to - LEAST_S, Math.max(to - all.span_s, all.history[0]?.time ?? to));
    const last = [...values].map(([id, rates]) => ({ id, rate: rates.at(-1) }));
    const groups = together(all.marks);
    const now = `${short(last.reduce((sum, { rate }) => sum + rate, 0))} ${kind}/s`;
    byId("throughput-plot").replaceChildren(
      timeline(all.history.map((point) => point.time), [...values].map(([id, each]) => ({ tone: tone(id), values: each })), {
        from,
        to,
        gap: 2.5 * all.step_s,
        marks: groups.map((marks) => ({ ...marks[0], title: tell(marks) })),
        width,
        unit: `${kind}/s`,
        label: `${kind} a second over time, by search; now ${now}`,
        text: short,
      }),
    );
    byId("throughput-searches").replaceChildren(
      ...last.reverse().map(({ id, rate }) => el("li", {}, el("i", { class: `tone-${tone(id)}` }), id === null ? `${others} others` : this.#search(id), el("span", { class: "n dim" }, rate ? `${short(rate)} ${kind}/s` : "ended"))),
    );
    byId("cluster-marks").replaceChildren(...groups.slice(-MARKS).reverse().map((marks) => el("li", { class: marks[0].change }, tell(marks))));
  }

  /** Keep the colour of each of these searches, or give it one that is free. */
  #colour(ids) {
    for (const id of this.tones.keys()) if (!ids.includes(id)) this.tones.delete(id);
    const free = [...Array(TONES).keys()].filter((tone) => ![...this.tones.values()].includes(tone));
    for (const id of ids) if (!this.tones.has(id)) this.tones.set(id, free.shift());
  }

  /** The name of a search, which leads to it. */
  #search(id) {
    const about = this.now.searches[id];
    return el("a", { href: `#/searches/${id}` }, about ? `${titleOf(about.game)}, ${about.strategy}` : id);
  }

  #workers() {
    const { workers, now, time } = this.now;
    const inks = INKS.map((name) => ink(document.querySelector(`#strip-key .${name}`)));
    const still = byId("cluster-still").checked;
    for (const [slot, row] of this.rows.entries()) {
      const worker = workers[slot];
      row.node.hidden = still && lately(worker) === "busy";
      if (!row.node.hidden) row.draw(worker, now.merging, inks, time, (id) => this.#search(id));
    }
    for (const { slots, head } of this.machines) {
      const here = slots.map((slot) => workers[slot]);
      const alive = here.filter((worker) => ALIVE.includes(worker.state)).length;
      const rate = here.reduce((sum, worker) => sum + worker.simulations_per_s, 0);
      write(head, `${alive} of ${slots.length} workers alive, ${short(rate)} simulations/s`);
    }
    byId("worker-shown").hidden = !this.compact;
    if (this.compact) this.#describe();
  }

  /** Where there is no room for words about every worker: those about the one that is pointed at. */
  point(target) {
    const slot = target.closest?.("[data-slot]")?.dataset.slot;
    if (!this.compact || slot === undefined) return;
    this.#reach(Number(slot));
    this.#describe();
  }

  /** From worker to worker by keys. */
  step(event) {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!this.compact || !by) return;
    event.preventDefault();
    const order = this.machines.flatMap(({ slots }) => slots).filter((slot) => !this.rows[slot].node.hidden);
    this.#reach(order[order.indexOf(this.shown) + by] ?? this.shown, true);
    this.#describe();
  }

  /** Make this worker the one that the key Tab leads to. */
  #reach(slot, focused = false) {
    this.rows[this.shown]?.node.setAttribute("tabindex", -1);
    this.shown = Number(slot);
    this.rows[this.shown]?.node.setAttribute("tabindex", 0);
    if (focused) this.rows[this.shown]?.node.focus();
  }

  #describe() {
    const worker = this.now.workers[this.shown];
    if (!worker) return;
    const words = [`Worker ${worker.slot} on ${worker.machine || "no machine"}: ${STATES[lately(worker)] ?? worker.state}`, `${short(worker.simulations_per_s)} simulations/s`, minute(worker, this.now.now.merging)];
    byId("worker-shown").replaceChildren(words.join("; "), ...(worker.search ? ["; ", this.#search(worker.search), ` for ${lasting(this.now.time - worker.search_since)}`] : []), restarts(worker, "; "));
  }

  async begin() {
    byId("cluster-begin").disabled = true;
    try {
      await api.begin({ game: "gomoku", seconds: 30 });
    } catch (error) {
      this.problem = error.message;
      this.soon();
    }
    byId("cluster-begin").disabled = false;
  }
}

/** One worker: a row with words, or only its strip of the last minute. */
class Row {
  constructor(slot, compact) {
    this.canvas = el("canvas", { width: 60, height: compact ? 8 : 24, role: "img" });
    this.context = this.canvas.getContext("2d", { willReadFrequently: true });
    this.image = this.context.createImageData(this.canvas.width, this.canvas.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.cells = Object.fromEntries(["state", "rate", "runs", "restarts"].map((name) => [name, el("span", { class: name })]));
    const { state, rate, runs, restarts: again } = this.cells;
    this.compact = compact;
    this.node = el("li", { "data-slot": slot, tabindex: compact ? -1 : null }, compact ? this.canvas : [el("b", { class: "n" }, `${slot}`), state, rate, this.canvas, runs, again]);
  }

  draw(worker, merging, inks, time, link) {
    paint(this.pixels, this.image.width, this.image.height, worker, merging, inks);
    this.context.putImageData(this.image, 0, 0);
    // Read by few, and as long as the strip: where there are many, a part of them each second.
    if (!this.compact || Math.floor(time) % 10 === worker.slot % 10 || !this.canvas.ariaLabel) {
      this.canvas.ariaLabel = `Worker ${worker.slot}, the last minute: ${minute(worker, merging)}`;
      this.canvas.title = minute(worker, merging);
    }
    if (this.compact) return;
    const { state, rate, runs, restarts: again } = this.cells;
    const word = lately(worker);
    state.className = `state ${CLASSES[word] ?? ""}`;
    write(state, STATES[word] ?? word);
    write(rate, `${short(worker.simulations_per_s)} simulations/s`);
    if (this.search !== worker.search) {
      this.search = worker.search;
      this.lasts = el("span", { class: "dim" });
      runs.replaceChildren(...(worker.search ? [link(worker.search), " ", this.lasts] : []));
    }
    if (worker.search) write(this.lasts, `for ${lasting(time - worker.search_since)}`);
    write(again, restarts(worker));
  }
}

const restarts = (worker, before = "") => (worker.restarts ? `${before}${worker.restarts} ${worker.restarts === 1 ? "restart" : "restarts"}` : "");

/** Set the text of an element, if it is another one. */
function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** The colour of an element's background, as a pixel. */
function ink(node) {
  const [r, g, b] = getComputedStyle(node).backgroundColor.match(/[\d.]+/g).map(Number);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** Draw the last minute of a worker: a column of pixels is a second, from the ground up working, merging, idle. */
function paint(pixels, width, height, { strip, state }, merging, [working, waits, idle, starting, lost]) {
  pixels.fill(0);
  for (let x = 0; x < width; x += 1) {
    const share = strip[x];
    if (share === UNSEEN || (share === LOST && ENDED.includes(state))) continue;
    const top = height - Math.round((Math.max(0, share) / 100) * height);
    const next = top - Math.round((Math.min(100 - share, merging[x]) / 100) * height);
    for (let y = 0; y < height; y += 1) {
      // What is lost is striped, so that it is not told by its colour alone.
      if (share === LOST) pixels[y * width + x] = y % 4 < 2 ? lost : 0;
      else pixels[y * width + x] = share === STARTING ? starting : y >= top ? working : y >= next ? waits : idle;
    }
  }
}

/** What a worker did in the last minute, as words. */
function minute({ strip, state }, merging) {
  const seen = strip.map((share, i) => [share, Math.min(100 - share, merging[i])]).filter(([share]) => share >= 0);
  const mean = (column) => percent(seen.reduce((sum, each) => sum + each[column], 0) / (100 * seen.length));
  const count = (value, word) => {
    const found = strip.filter((share) => share === value).length;
    return found ? `${word} ${found} s` : "";
  };
  const away = ENDED.includes(state) ? state : "lost";
  return [seen.length ? `working ${mean(0)}, merging ${mean(1)}` : "", count(LOST, away), count(STARTING, "starting")].filter(Boolean).join(", ") || "nothing seen yet";
}

/** What the pool does, or waits for. */
function waits({ ready, workers, executor }) {
  const counts = new Map();
  for (const { state } of workers) if (!ALIVE.includes(state)) counts.set(state, (counts.get(state) ?? 0) + 1);
  const rest = [...counts].map(([state, n]) => `${n} ${STATES[state] ?? state}`).join(", ");
  const alive = workers.filter(({ state }) => ALIVE.includes(state)).length;
  const all = `${alive} of ${workers.length} workers alive${rest ? ` (${rest})` : ""}`;
  return ready ? `Ready: ${all}, executor ${executor}` : `Searches wait for workers: ${all}`;
}

const bytes = (n) => (n < 1000 ? `${n} B` : `${short(n)}B`);
const brief = (s) => (s < 1 ? `${Math.round(1000 * s)} ms` : seconds(s));

/** Seconds that last, as "12 s", "3 min 5 s" or "2 h 10 min". */
function lasting(value) {
  const s = Math.max(0, Math.round(value));
  if (s < 60) return `${s} s`;
  return s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

/** The figures at the head: name, value with its unit, what else belongs to it, and what it means. */
function figures({ now }) {
  const shown = [
    ["Throughput", `${short(now.simulations_per_s)} simulations/s`, `${short(now.playouts_per_s)} playouts/s`, "What all searches make together, in the last seconds"],
    ["Searches", `${now.searches_running} running`, `${now.searches_waiting} waiting`, "A waiting search begins when a running one has ended"],
    ["Jobs", `${now.jobs_in_flight} in flight`, `${now.jobs_waiting} waiting`, "A job is what a worker does in one go. In flight: sent to a worker, its result not back yet"],
    ["Merge lag", brief(now.merge_lag_s), `${now.results_waiting} ${now.results_waiting === 1 ? "result waits" : "results wait"}`, "Age of the oldest result that is not merged yet. Results are merged in the order of their jobs, so that answers do not depend on timing"],
    ["One merge takes", now.merge_ms === null ? "\u2013" : `${now.merge_ms.toFixed(1)} ms`, `${now.merging.at(-1)} % of the last second`, "The server merges; workers of searches that need the merged tree wait meanwhile"],
    ["Duplicates", now.duplicates === null ? "\u2013" : percent(now.duplicates), "of new nodes", "New nodes that several lanes created: work that was done twice"],
    ["Unobserved samples", short(now.unobserved_samples), "in flight", "Simulations that are under way: chosen in a tree, their results not counted yet"],
    ["Memory of trees", bytes(now.tree_bytes), `largest of a worker ${bytes(now.worker_tree_bytes)}`, "Trees that the server keeps for running searches, and the largest tree that a worker reported"],
  ];
  const list = byId("cluster-figures");
  if (!list.children.length) list.append(...shown.map(([name, , , title]) => el("div", { title }, el("dt", {}, name), el("dd"), el("dd", { class: "dim small" }))));
  shown.forEach(([, value, more], i) => {
    write(list.children[i].children[1], value);
    write(list.children[i].children[2], more);
  });
}

/** Marks as groups of what happened at once, for the same reason, on the same machine. */
function together(marks) {
  const groups = [];
  for (const mark of marks) {
    const last = groups.at(-1)?.at(-1);
    const same = last && ["machine", "change", "reason"].every((name) => last[name] === mark[name]);
    if (same && mark.time - last.time <= 2) groups.at(-1).push(mark);
    else groups.push([mark]);
  }
  return groups;
}

/** Marks of a group as words. */
function tell(marks) {
  const [{ time, machine, change, reason }] = marks;
  const found = marks.map(({ worker }) => worker).sort((a, b) => a - b);
  const all = found.at(-1) - found[0] === found.length - 1 ? `${found[0]} to ${found.at(-1)}` : found.join(", ");
  const slots = marks.length === 1 ? `Worker ${found[0]}` : `Workers ${all}`;
  const word = { joined: "joined", left: "left", lost: marks.length === 1 ? "was lost" : "were lost" }[change];
  return `${CLOCK.format(time * 1000)} ${slots} on ${machine || "no machine"} ${word}${reason ? `: ${reason}` : ""}`;
}
