// The cluster: throughput of the last minutes by search, and what every worker did in the last minute.

import * as api from "./api.js";
import { byId, drawn, el, percent, seconds, short } from "./dom.js";
import { follow } from "./events.js";
import { timeline } from "./plot.js";
import { titleOf } from "./titles.js";
import { lately } from "./watch.js";

/** Searches with a colour of their own; all others share one. */
const TONES = 6;
/** What searches are called that the service or the page counts together. */
const OTHERS = "others";
/** With more workers than this a worker is a strip only, and the row of one of them is shown below. */
const MOST_ROWS = 60;
const MARKS = 8;
/** Figures that are always shown. */
const AT_HEAD = 3;
/** The shortest time that is drawn, in seconds. */
const LEAST_S = 60;
/** The figures are means of so many seconds: what one search adds comes in portions, as results are merged. */
const MEAN_S = 10;
/** A point of the curve is the mean of this part of the time that is drawn, half of it before the point: about as much as can be told apart. */
const PART = 1 / 60;
/** What is less than this part of the highest point, all the time, would be lower than a pixel. */
const LEAST = 1 / 200;
/** The share of a core in jobs below which a worker is starved: other programs use its machine. */
const STARVED = 0.7;
/** Seconds over which that share is taken. */
const RECENT = 5;
/** Letters of a reason; the rest of it is in the tooltip. */
const LETTERS = 90;
const [LOST, STARTING, UNSEEN] = [-1, -2, -3];
const ALIVE = ["busy", "idle", "preparing"];
/** States of workers whose process nobody misses. */
const ENDED = ["given back", "ended"];
const STATES = { busy: "working", waiting: "waiting for a machine" };
const CLASSES = { busy: "running", lost: "lost", "given up": "lost", starting: "starting", preparing: "starting" };
const INKS = ["working", "starved", "merging", "idle", "starting", "lost"];
const CLOCK = new Intl.DateTimeFormat([], { timeStyle: "medium", hourCycle: "h23" });

/** Show the cluster from now on, as it changes. Gives back a function that stops it. */
export function cluster() {
  const view = new View();
  const stopper = new AbortController();
  const on = (node, types, action) => types.split(" ").forEach((type) => node.addEventListener(type, action, { signal: stopper.signal }));
  // A hidden page takes nothing in; when it is seen again it asks for everything.
  const look = () => (document.hidden ? view.stop() : view.follow());
  on(document, "visibilitychange", look);
  on(window, "resize", () => view.soon());
  on(byId("view-cluster"), "change", () => view.soon());
  on(byId("cluster-begin"), "click", () => view.begin());
  on(byId("machines"), "pointerover focusin click", ({ target }) => view.point(target.closest("li")));
  on(byId("machines"), "keydown", (event) => view.step(event));
  look();
  return () => {
    stopper.abort();
    view.stop();
  };
}

class View {
  constructor() {
    /** What the service has said of its cluster, kept up to date. */
    this.all = null;
    this.rows = [];
    /** By search: the number of its colour. */
    this.tones = new Map();
    this.connected = true;
    this.problem = "";
    this.stop = () => {};
  }

  follow() {
    this.stop();
    const end = follow("/cluster/events", {
      event: (name, data) =>
        drawn(byId("view-cluster"), () => {
          if (name === "cluster") this.#take(data);
          else if (name === "tick" && this.all) this.#tick(data);
          this.soon();
        }),
      link: (connected) => {
        this.connected = connected;
        this.problem = "";
        this.soon();
      },
      failed: (error) => {
        this.problem = api.words(error);
        this.soon();
      },
    });
    this.stop = () => {
      end();
      cancelAnimationFrame(this.frame);
      this.frame = null;
    };
  }

  /** Draw once, however many events come until then. */
  soon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      drawn(byId("view-cluster"), () => this.#draw());
    });
  }

  #take(data) {
    // A server that was started again has forgotten what was before.
    const older = ({ time }, [first]) => time < (first?.time ?? data.started);
    const kept = (name) => [...(this.all?.[name].filter((each) => older(each, data[name])) ?? []), ...data[name]];
    const before = this.all?.searches;
    this.all = { ...data, history: kept("history"), marks: kept("marks") };
    this.#forget();
    for (const [id] of this.all.history.flatMap(({ rates }) => rates)) if (before?.[id]) data.searches[id] ??= before[id];
    this.#layout();
  }

  /** Keep what belongs to the last minutes. A mark may be a little later than its tick; a clock that is set back makes more of it. */
  #forget() {
    const { time, span_s, step_s } = this.all;
    for (const name of ["history", "marks"]) this.all[name] = this.all[name].filter(({ time: then }) => then >= time - span_s && then <= time + step_s);
  }

  #tick({ time, ready, point, marks, now, strips, cores, rates, busy, changed, searches }) {
    const { all } = this;
    Object.assign(all, { time, ready, now: { ...now, merging: [...all.now.merging.slice(1), now.merging] } });
    Object.assign(all.searches, searches);
    if (point) all.history.push(point);
    all.marks.push(...marks);
    this.#forget();
    let moved = false;
    for (const worker of changed) {
      const old = all.workers[worker.slot];
      moved ||= old?.machine !== worker.machine;
      all.workers[worker.slot] = { ...worker, strip: old?.strip ?? Array(all.strip_s).fill(UNSEEN), cores: old?.cores ?? Array(all.strip_s).fill(0) };
    }
    all.workers.forEach((worker, slot) => {
      worker.strip = [...worker.strip.slice(1), strips[slot]];
      worker.cores = [...worker.cores.slice(1), cores[slot]];
      worker.simulations_per_s = rates[slot];
      worker.busy = busy[slot];
    });
    if (moved) this.#layout();
  }

  /** Make a row for every worker, by machine. */
  #layout() {
    const { workers } = this.all;
    const focus = document.activeElement.dataset.slot;
    this.compact = workers.length > MOST_ROWS;
    const machines = new Map();
    for (const { machine, slot } of workers) machines.set(machine, [...(machines.get(machine) ?? []), slot]);
    this.rows = workers.map(({ slot }) => new Row(slot, this.compact));
    this.machines = [...machines].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true })).map(([name, slots]) => ({ name, slots, head: el("span", { class: "dim small" }) }));
    byId("machines").className = this.compact ? "compact" : "";
    byId("machines").replaceChildren(
      ...this.machines.map(({ slots, name, head }) => el("section", {}, el("header", { class: "title" }, el("h3", {}, name || "Not on a machine"), head), el("ul", {}, slots.map((slot) => this.rows[slot].node)))),
    );
    byId("worker-shown").hidden = !this.compact;
    const slot = [focus, this.one?.slot].find((each) => workers[each]) ?? this.machines[0]?.slots[0];
    if (this.compact) this.#reach(Number(slot), focus !== undefined);
  }

  #draw() {
    const { all } = this;
    const lost = this.problem || (this.connected ? "" : "No connection to the server: the page tries again, and goes on by itself.");
    byId("cluster-state").className = `state ${lost ? "lost" : all?.ready ? "running" : "starting"}`;
    write(byId("cluster-state"), lost || (all ? `${all.ready ? "Ready" : "Not ready, waits for workers"}: ${alive(all.workers)}, executor ${all.executor}` : "Connecting \u2026"));
    if (!all) return;
    const empty = !all.now.searches_running && !all.now.searches_waiting && !Object.keys(all.searches).length;
    byId("cluster-empty").hidden = !empty;
    write(byId("cluster-command"), `banyan search gomoku --server ${api.SERVER}`);
    for (const id of ["cluster-figures", "cluster-more", "throughput"]) byId(id).hidden = empty;
    if (!empty) {
      figures(all);
      this.#throughput();
    }
    this.#workers();
  }

  #throughput() {
    const { history, marks, time, span_s, step_s, now, searches } = this.all;
    const kind = document.querySelector("#measure :checked").value;
    const width = Math.max(280, byId("throughput-plot").clientWidth);
    const drawn = [history.at(-1)?.time, marks.length, kind, width, now.running].join();
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const column = kind === "simulations" ? 1 : 2;
    const from = Math.min(time - LEAST_S, Math.max(time - span_s, history[0]?.time ?? time));
    const mean_s = Math.max(3 * step_s, PART * (time - from));
    const near = Math.ceil(mean_s / step_s / 2);
    /** By name: the points of a search, or of those of a game that have ended, and the ids of these. */
    const found = new Map();
    history.forEach(({ time: then }, i) => {
      const around = history.slice(Math.max(0, i - near), i + near + 1).filter((point) => Math.abs(point.time - then) <= mean_s / 2);
      for (const rate of around.flatMap(({ rates }) => rates)) {
        const [id] = rate;
        const ended = id !== OTHERS && searches[id] && !now.running.includes(id);
        const name = ended ? titleOf(searches[id].game) : id;
        if (!found.has(name)) found.set(name, { name, values: history.map(() => 0), ended: ended ? new Set() : null });
        found.get(name).values[i] += rate[column] / around.length;
        found.get(name).ended?.add(id);
      }
    });
    const least = LEAST * Math.max(...sumOf([...found.values()], history.length));
    for (const { name, values, ended } of found.values()) if (ended && Math.max(...values) < least) found.delete(name);
    const named = [...found.values()].filter(({ name }) => name !== OTHERS);
    const total = ({ values }) => values.reduce((sum, value) => sum + value, 0);
    this.#colour([...named].sort((a, b) => total(b) - total(a)).slice(0, TONES).map(({ name }) => name));
    const series = named.filter(({ name }) => this.tones.has(name));
    const rest = [...found.values()].filter((each) => !series.includes(each));
    if (rest.length) series.unshift({ name: OTHERS, values: sumOf(rest, history.length), ended: null });
    for (const each of series) Object.assign(each, { tone: this.tones.get(each.name) ?? OTHERS, now: each.values.at(-1) });
    const groups = together(marks);
    byId("throughput-plot").replaceChildren(
      timeline(history.map((point) => point.time), series, {
        from,
        to: time,
        gap: 2.5 * step_s,
        marks: groups.map((group) => ({ ...group[0], title: tell(group) })),
        width,
        unit: `${kind}/s, mean of ${Math.round(mean_s)} s`,
        label: `${kind} a second over time, by search; now ${short(series.reduce((sum, { now }) => sum + now, 0))}`,
        text: short,
      }),
    );
    byId("throughput-searches").replaceChildren(
      ...series.reverse().map((each) => {
        const [first, second] = each.ended ?? [each.name];
        const who = second ? el("a", { href: "#/searches" }, each.name) : first === OTHERS ? first : this.#search(first);
        const said = second ? `${each.ended.size} ended` : each.ended ? "ended" : `${short(each.now)} ${kind}/s`;
        return el("li", {}, el("i", { class: `tone-${each.tone}` }), who, el("span", { class: "dim" }, ` ${said}`));
      }),
    );
    byId("cluster-marks").replaceChildren(...groups.slice(-MARKS).reverse().map((group) => el("li", { class: group[0].change, title: tell(group) }, tell(group, LETTERS))));
  }

  /** Let each of these searches keep its colour, or give it one that is free. */
  #colour(ids) {
    for (const id of this.tones.keys()) if (!ids.includes(id)) this.tones.delete(id);
    const used = [...this.tones.values()];
    const free = [...Array(TONES).keys()].filter((tone) => !used.includes(tone));
    for (const id of ids) if (!this.tones.has(id)) this.tones.set(id, free.shift());
  }

  /** The name of a search, which leads to it. */
  #search(id) {
    const about = this.all.searches[id];
    const href = id.startsWith("speedup-") ? "#/reports" : `#/searches/${id}`;
    const title = about ? `${titleOf(about.game)}, ${about.strategy}` : id;
    return id.startsWith("analysis-") ? el("span", {}, title) : el("a", { href }, title);
  }

  #workers() {
    const { workers, now, time } = this.all;
    const inks = INKS.map((name) => ink(document.querySelector(`#strip-key .${name}`)));
    const draw = (row) => row.draw(workers[row.slot], now.merging, inks, time, (id) => this.#search(id));
    const still = byId("cluster-still").checked;
    for (const row of this.rows) {
      const worker = workers[row.slot];
      row.node.hidden = still && lately(worker) === "busy" && coreOf([worker]) >= STARVED;
      if (!row.node.hidden) draw(row);
    }
    if (this.compact) draw(this.one);
    for (const { slots, head } of this.machines) {
      const rate = slots.reduce((sum, slot) => sum + workers[slot].simulations_per_s, 0);
      write(head, `${alive(slots.map((slot) => workers[slot]))}, ${short(rate)} simulations/s`);
    }
  }

  /** Show the row of a worker that is only a strip: of the one that is pointed at, or reached by keys. */
  point(node) {
    if (!this.compact || !node) return;
    this.#reach(Number(node.dataset.slot));
    this.soon();
  }

  step(event) {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!this.compact || !by) return;
    event.preventDefault();
    const order = this.machines.flatMap(({ slots }) => slots).filter((slot) => !this.rows[slot].node.hidden);
    this.#reach(order[order.indexOf(this.one.slot) + by] ?? this.one.slot, true);
  }

  /** Let the key Tab lead to this worker, and show its row. */
  #reach(slot, focused = false) {
    this.rows[this.one?.slot]?.node.setAttribute("tabindex", -1);
    this.one = new Row(slot, false, `${slot} on ${this.all.workers[slot].machine || "no machine"}`);
    byId("worker-shown").replaceChildren(this.one.node);
    const { node } = this.rows[slot];
    node.setAttribute("tabindex", 0);
    if (focused) node.focus();
  }

  async begin() {
    byId("cluster-begin").disabled = true;
    write(byId("cluster-problem"), "");
    await api.begin({ game: "gomoku", seconds: 30 }).catch((error) => write(byId("cluster-problem"), api.words(error)));
    byId("cluster-begin").disabled = false;
  }
}

/** One worker: words and its strip of the last minute, or only its strip. */
class Row {
  constructor(slot, compact, name = `${slot}`) {
    this.slot = slot;
    this.canvas = el("canvas", { width: 60, height: compact ? 8 : 24, role: "img" });
    this.context = this.canvas.getContext("2d", { willReadFrequently: true });
    this.image = this.context.createImageData(60, this.canvas.height);
    this.cells = compact ? null : ["state", "rate", "runs", "process"].map((each) => el("span", { class: each }));
    const [state, rate, ...facts] = this.cells ?? [];
    this.node = el("li", { "data-slot": slot, tabindex: compact ? -1 : null }, compact ? this.canvas : [el("b", { class: "n" }, name), state, rate, this.canvas, el("span", { class: "facts" }, facts)]);
  }

  draw(worker, merging, inks, time, link) {
    paint(this.image, worker, merging, inks);
    this.context.putImageData(this.image, 0, 0);
    // Where there are many, the words that few read are brought up to date for a tenth of them at a time.
    if (this.cells || !this.canvas.title || Math.floor(time) % 10 === this.slot % 10) {
      this.canvas.title = minute(worker, merging);
      this.canvas.ariaLabel = `Worker ${this.slot}, the last minute: ${this.canvas.title}`;
    }
    if (!this.cells) return;
    const [state, rate, runs, process] = this.cells;
    const word = lately(worker);
    const core = coreOf([worker]);
    const starved = word === "busy" && core < STARVED;
    state.className = `state ${starved ? "starved" : (CLASSES[word] ?? "")}`;
    write(state, starved ? `${percent(core)} of a core` : (STATES[word] ?? word));
    write(rate, `${short(worker.simulations_per_s)} simulations/s`);
    if (this.search !== worker.search) {
      this.search = worker.search;
      this.lasts = el("span", { class: "dim" });
      runs.replaceChildren(...(worker.search ? [link(worker.search), this.lasts] : []));
    }
    if (worker.search) write(this.lasts, ` for ${seconds(Math.max(0, Math.round(time - worker.search_since)), 0)}`);
    const restarts = worker.restarts ? `${worker.restarts} ${worker.restarts === 1 ? "restart" : "restarts"}` : null;
    write(process, [worker.pid ? `pid ${worker.pid}` : null, restarts].filter(Boolean).join(", "));
  }
}

/** Set the text of an element, if it is another one. */
function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** The colour of an element's background, as a pixel. */
function ink(node) {
  const [r, g, b] = getComputedStyle(node).backgroundColor.match(/[\d.]+/g).map(Number);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** Draw the last minute of a worker: a column of pixels is a second, from the ground up working, without a core, merging, idle. */
function paint({ data, width, height }, { strip, cores, state }, merging, [working, starved, waiting, idle, starting, lost]) {
  const pixels = new Uint32Array(data.buffer).fill(0);
  strip.forEach((share, x) => {
    if (share === UNSEEN || (share === LOST && ENDED.includes(state))) return;
    const core = height - Math.round((cores[x] / 100) * height);
    const top = height - Math.round((share / 100) * height);
    const next = top - Math.round((Math.min(100 - share, merging[x]) / 100) * height);
    for (let y = 0; y < height; y += 1) {
      // Lost seconds are striped, so that they are not told by their colour alone.
      const drawn = share === LOST ? (y % 4 < 2 ? lost : 0) : share === STARTING ? starting : y >= core ? working : y >= top ? starved : y >= next ? waiting : idle;
      pixels[y * width + x] = drawn;
    }
  });
}

/** What a worker did in the last minute, as words. */
function minute({ strip, cores, state }, merging) {
  const seen = strip.flatMap((share, i) => (share >= 0 ? [[cores[i], Math.min(100 - share, merging[i]), share - cores[i]]] : []));
  const mean = (k) => percent(seen.reduce((sum, each) => sum + each[k], 0) / (100 * seen.length));
  const words = seen.length ? [`working ${mean(0)}, merging ${mean(1)}, waiting for the machine ${mean(2)}`] : [];
  for (const [value, word] of [[LOST, ENDED.includes(state) ? state : "lost"], [STARTING, "starting"]]) {
    const count = strip.filter((share) => share === value).length;
    if (count) words.push(`${word} ${count} s`);
  }
  return words.join(", ") || "not seen yet";
}

/** How many of these workers are alive, and what is with the others. */
function alive(workers) {
  const counts = new Map();
  for (const { state } of workers) if (!ALIVE.includes(state)) counts.set(state, (counts.get(state) ?? 0) + 1);
  const rest = [...counts].map(([state, n]) => `${n} ${STATES[state] ?? state}`);
  const away = rest.length ? ` (${rest.join(", ")})` : "";
  return `${workers.filter(({ state }) => ALIVE.includes(state)).length} of ${workers.length} workers alive${away}`;
}

/** The share of a core that these workers had in the jobs of the last seconds; 1 if they had no jobs. */
function coreOf(workers) {
  const sum = (name) => workers.flatMap((worker) => worker[name].slice(-RECENT)).reduce((all, share) => all + Math.max(0, share), 0);
  return sum("strip") ? sum("cores") / sum("strip") : 1;
}

/** The values of several series, added up, at each of so many points. */
function sumOf(series, points) {
  return Array.from({ length: points }, (_, i) => series.reduce((sum, { values }) => sum + values[i], 0));
}

const bytes = (n) => (n < 1000 ? `${n} B` : `${short(n)}B`);

/** The figures at the head, and more: name, value with its unit, what else belongs to it, and what it means. */
function figures({ now, history, time, workers }) {
  const [head, more] = [byId("cluster-figures"), byId("merge-figures")];
  const recent = history.filter((point) => point.time > time - MEAN_S);
  const mean = (column) => short(recent.flatMap(({ rates }) => rates).reduce((sum, rate) => sum + rate[column], 0) / Math.max(1, recent.length));
  const core = coreOf(workers);
  const shown = [
    ["Throughput", `${mean(1)} simulations/s`, `${mean(2)} playouts/s`, `Of all searches together, mean of the last ${MEAN_S} s`],
    ["Workers", `${workers.filter(({ state }) => ALIVE.includes(state)).length} of ${workers.length} alive`, now.jobs_in_flight ? `jobs get ${percent(core)} of a core` : "no jobs", "The share of a core that workers had while they ran jobs in the last seconds. It is low where other programs use their machines"],
    ["Searches", `${now.searches_running} running`, `${now.searches_waiting} waiting`, "A waiting search begins when a running one has ended"],
    ["Jobs", `${now.jobs_in_flight} in flight`, `${now.jobs_waiting} waiting`, "A job is what a worker does in one go. In flight: sent out, and its result is not back yet"],
    ["Merge lag", now.merge_lag_s < 1 ? `${Math.round(1000 * now.merge_lag_s)} ms` : seconds(now.merge_lag_s), `${now.results_waiting} ${now.results_waiting === 1 ? "result waits" : "results wait"} to be merged`, "Age of the oldest result that is not merged. Results are merged in the order of their jobs, so that answers do not depend on timing"],
    ["Time of a merge", now.merge_ms === null ? "\u2013" : `${now.merge_ms.toFixed(1)} ms`, `merging ${now.merging.at(-1)} % of the time`, "The server merges results into the trees; workers that need them wait meanwhile"],
    ["Duplicates", now.duplicates === null ? "\u2013" : percent(now.duplicates), "of new nodes", "New nodes that several lanes created: work done twice"],
    ["Unobserved samples", short(now.unobserved_samples), "in flight", "Simulations that are under way: chosen in a tree, their results not counted yet"],
    ["Memory of trees", bytes(now.tree_bytes), `largest of a worker ${bytes(now.worker_tree_bytes)}`, "Trees that the server keeps for running searches, and the largest one that a worker reported"],
  ];
  if (!head.children.length) {
    const made = shown.map(([name, , , title]) => el("div", { title }, el("dt", {}, name), el("dd"), el("dd", { class: "dim small" })));
    head.append(...made.slice(0, AT_HEAD));
    more.append(...made.slice(AT_HEAD));
  }
  [...head.children, ...more.children].forEach(({ children: [, value, rest] }, i) => {
    write(value, shown[i][1]);
    write(rest, shown[i][2]);
  });
  head.children[1].classList.toggle("starved", core < STARVED);
}

/** Marks by groups of what happened at once, for the same reason, on the same machine. */
function together(marks) {
  const groups = [];
  for (const mark of marks) {
    const last = groups.at(-1)?.at(-1);
    if (last && mark.time - last.time <= 2 && ["machine", "change", "reason"].every((name) => last[name] === mark[name])) groups.at(-1).push(mark);
    else groups.push([mark]);
  }
  return groups;
}

/** A group of marks as words, with so many letters of the reason; what Ray says of a loss only where all of it is wanted. */
function tell(marks, letters = Infinity) {
  const [{ time, machine, change, reason: full }] = marks;
  const [error] = /^\w+(Died|Crashed)Error/.exec(full) ?? [];
  const reason = error && letters < Infinity ? `its ${change === "left" ? "machine has gone" : "process ended"} (${error})` : full;
  const slots = marks.map(({ worker }) => worker).sort((a, b) => a - b);
  const all = slots.at(-1) - slots[0] === slots.length - 1 ? `${slots[0]} to ${slots.at(-1)}` : slots.join(", ");
  const [who, was] = slots.length === 1 ? [`Worker ${slots[0]}`, "was lost"] : [`Workers ${all}`, "were lost"];
  return `${CLOCK.format(time * 1000)} ${who} on ${machine || "no machine"} ${change === "lost" ? was : change}${reason ? `: ${reason.slice(0, letters)}` : ""}${reason.length > letters ? "\u2026" : ""}`;
}
