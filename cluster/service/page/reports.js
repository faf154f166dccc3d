// Results of `banyan speedup`, `predict` and `strength`: a list, plots, and a measurement on the server's workers.

import * as api from "./api.js";
import { byId, drawn, el, percent, seconds, short } from "./dom.js";
import { chart } from "./plot.js";
import { titleOf } from "./titles.js";

const TIMES = (v) => `${Number(v.toPrecision(3))}\u00d7`;
const COUNT = (v) => (v < 1e4 ? Math.round(v).toLocaleString("en") : v.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 }));
const SHARE = (v) => `${Math.round(100 * v)} %`;
const WORKERS = { label: "workers", log: true };
const LOOK_MS = 1000;
/** The list is asked for at each look of so many. */
const LIST_EVERY = 10;

let newest = "";
let opened = null;
let running = null;
let looks = 0;

/** Take files that are chosen or dropped, and measure when that is wanted. */
export function reports() {
  const input = byId("report-file");
  const drop = byId("drop");
  input.addEventListener("change", () => take(input.files));
  drop.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    take(event.dataTransfer.files);
  });
  byId("speedup").addEventListener("submit", begin);
  byId("speedup-cancel").addEventListener("click", () => said("speedup-status", () => api.ask("DELETE", `/speedups/${running}`)));
}

/** Look at the server until the function that is given back is called. */
export function watch() {
  let wanted = true;
  looks = 0;
  const all = async () => {
    while (wanted) {
      if (!document.hidden) await said("report-problem", look);
      await api.pause(LOOK_MS);
    }
  };
  all();
  return () => (wanted = false);
}

/** Do something with the server, and say what goes wrong. */
async function said(where, action) {
  try {
    await action();
    byId(where).textContent = "";
  } catch (error) {
    byId(where).textContent = api.words(error);
  }
}

async function look() {
  const measured = await api.ask("GET", "/speedups");
  const ended = running !== null && measured.last?.state !== "running";
  await offer(measured);
  if (ended || looks % LIST_EVERY === 0) await list();
  looks += 1;
  progress(measured.last);
}

/** The form of a measurement, or why there is none. */
async function offer({ reason, workers }) {
  byId("speedup").hidden = reason !== null;
  byId("speedup-off").hidden = reason === null;
  byId("speedup-off").textContent = `No measurement can be started here: ${reason}.`;
  // The number follows that of the workers until another one is typed.
  const most = byId("speedup-workers");
  if (most.value === most.max) most.value = workers;
  most.max = workers;
  const choice = byId("speedup-game");
  if (reason !== null || choice.options.length) return;
  const names = (await api.games()).map(({ name }) => name);
  choice.append(...names.map((name) => el("option", { value: name, selected: name === "gomoku" }, titleOf(name))));
}

function begin(event) {
  event.preventDefault();
  const strategies = [...byId("speedup").querySelectorAll("[name=strategy]:checked")].map((box) => box.value);
  const body = { game: byId("speedup-game").value, strategies, workers: Number(byId("speedup-workers").value), seconds: Number(byId("speedup-seconds").value) };
  said("speedup-status", async () => progress(await api.ask("POST", "/speedups", body)));
}

function progress(last) {
  const runs = last?.state === "running";
  if (runs) {
    const rate = last.simulations_per_s ? `${short(last.simulations_per_s)} simulations/s; ` : "";
    byId("speedup-words").textContent = `${titleOf(last.game)}: ${last.doing}; ${rate}about ${seconds(last.left_s)} left`;
    byId("speedup-bar").value = 1 - Math.min(1, last.left_s / last.seconds);
  } else if (running !== null) {
    byId("speedup-status").textContent = last?.error ? `There is no result: ${last.error}.` : "";
  }
  running = runs ? last.id : null;
  byId("speedup-now").hidden = !runs;
  byId("speedup-begin").disabled = runs;
}

/** The list of the server's files. A new one is opened. */
async function list() {
  const { reports: found } = await api.ask("GET", "/reports");
  byId("report-none").hidden = found.length > 0;
  drawn(byId("report-list"), () => byId("report-list").replaceChildren(...found.map(entry)));
  const first = found.find((report) => report.problem === null);
  const latest = first && `${first.id} ${first.modified}`;
  if (!first || latest === newest) return;
  await said("report-status", async () => {
    await open(first);
    newest = latest;
  });
}

const dated = ({ title, modified }) => `${title.replace(/^.*?(?=: )/, titleOf)}, ${new Date(1000 * modified).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}`;

function entry(report) {
  const pressed = { "aria-pressed": `${report.id === opened}`, "data-id": report.id, class: "quiet", type: "button" };
  const shown = report.problem === null
    ? el("button", { ...pressed, title: `${report.title}, in ${report.name}`, onclick: () => said("report-status", () => open(report)) }, dated(report))
    : el("span", { class: "dim small" }, `${report.title}: ${report.problem}`);
  return el("li", {}, shown);
}

async function open(report) {
  const content = await api.ask("GET", `/reports/${report.id}`);
  const shown = byId("report-shown");
  shown.replaceChildren();
  drawn(shown, () => shown.append(section(dated(report), content)), `${dated(report)} cannot be drawn: it is not what banyan speedup, predict or strength writes.`);
  opened = report.id;
  for (const each of byId("report-list").querySelectorAll("button")) each.setAttribute("aria-pressed", `${each.dataset.id === opened}`);
}

async function take(files) {
  for (const file of files) {
    try {
      byId("report-shown").prepend(section(file.name, api.read(await file.text())));
      byId("report-status").textContent = `${file.name} is shown.`;
    } catch {
      byId("report-status").textContent = `${file.name} is not a report that banyan speedup, predict or strength wrote with --out.`;
    }
  }
}

/** A report under its title; throws if it is none. */
function section(title, report) {
  const rows = Array.isArray(report) ? report : [report];
  const measured = rows[0]?.measured_on;
  return el("section", { class: "report" }, el("h2", {}, title), draw(report), measured ? el("p", { class: "dim" }, `Measured on ${measured}`) : null);
}

/** The charts of a report; throws if it is none. */
function draw(report) {
  if (Array.isArray(report) && report.length && report.every(({ speedup, workers }) => speedup > 0 && workers > 0 && speedup * workers < Infinity)) return speedup(report);
  if (report.predicted?.length && report.costs) return prediction(report);
  if (report.rows && report.curve && report.matches) return strength(report);
  throw new Error("no report");
}

const beside = (charts) => el("div", { class: "charts" }, charts);

function grouped(rows, point) {
  return [...group(rows)].map(([name, members]) => ({ name, points: members.map(point).sort((a, b) => a[0] - b[0]) }));
}

function group(rows) {
  const groups = new Map();
  for (const row of rows) groups.set(row.strategy, [...(groups.get(row.strategy) ?? []), row]);
  return groups;
}

function speedup(rows) {
  const most = Math.max(...rows.map((row) => row.workers));
  const ideal = { name: "linear", dashed: true, points: [[1, 1], [most, most]] };
  const ratio = (row) => row.speedup / row.simulations_per_s;
  const series = grouped(rows, (row) => [row.workers, row.speedup, ...row.spread.map((rate) => rate * ratio(row))]);
  const charts = [
    chart([...series, ...(most > 1 ? [ideal] : [])], {
      title: `Speedup of ${titleOf(rows[0].game)}: simulations per second against one worker`,
      x: WORKERS,
      y: { label: "speedup", log: true, text: TIMES },
    }),
    chart(grouped(rows, (row) => [row.workers, row.speedup / row.workers, ...row.spread.map((rate) => (rate * ratio(row)) / row.workers)]), {
      title: "Efficiency: the speedup divided by the number of workers",
      x: WORKERS,
      y: { label: "efficiency", text: SHARE, most: 1 },
    }),
  ];
  const compared = rows.filter((row) => typeof row.of_ceiling === "number");
  if (compared.length) {
    charts.push(
      chart(grouped(compared, (row) => [row.workers, row.of_ceiling]), {
        title: "Share of what as many independent processes do on the same cores",
        x: WORKERS,
        y: { label: "of the ceiling", text: SHARE, most: 1 },
      }),
    );
  }
  return [summary(rows), beside(charts)];
}

/** What was measured in words, and why it may be doubted. */
function summary(rows) {
  const lines = [...group(rows).values()].map((members) => {
    const few = members.reduce((a, b) => (b.workers < a.workers ? b : a));
    const many = members.reduce((a, b) => (b.workers > a.workers ? b : a));
    const rate = (row) => `${short(row.simulations_per_s)} simulations/s on ${row.workers} ${row.workers === 1 ? "worker" : "workers"}`;
    const more = many === few ? "" : `, ${rate(many)}: speedup ${TIMES(many.speedup)}, efficiency ${percent(many.speedup / many.workers)}`;
    return el("li", {}, el("b", {}, many.strategy), ` makes ${rate(few)}${more}.`);
  });
  const [least, most] = [Math.min, Math.max].map((choose) => choose(...rows.map((row) => row.repeats ?? NaN)));
  const runs = least < most ? `${least} to ${most} runs` : `${most} runs`;
  const times = most > 1 ? `Medians of ${runs}; bars go from the lowest to the highest.` : most === 1 ? "One run of each: there is no spread." : "";
  return [el("ul", { class: "found" }, lines), doubts(rows).map((line) => el("p", { class: "problem" }, `Warning: ${line}.`)), el("p", { class: "dim" }, times)];
}

/** Reasons to doubt the figures: those in the file, and those that its numbers give. */
function doubts(rows) {
  const lines = [...new Set(rows.flatMap((row) => row.warnings ?? []))];
  const worst = (name) => Math.max(...rows.map((row) => row[name] ?? 0));
  if (worst("others") > 0.05) lines.push(`other programs used ${percent(worst("others"))} of the cores during these runs`);
  if (worst("of_ceiling") > 1.05) lines.push(`${percent(worst("of_ceiling"))} of the ceiling is more than is possible`);
  return lines;
}

function prediction({ predicted, measured }) {
  const charts = [
    chart(grouped(predicted, (row) => [row.workers, row.speedup]), {
      title: `Speedup of ${titleOf(predicted[0].game)}, predicted`,
      x: { ...WORKERS, text: COUNT },
      y: { label: "speedup", log: true, text: TIMES },
    }),
    chart(grouped(predicted, (row) => [row.workers, row.coordinator_busy]), {
      title: "How busy the coordinator is, predicted",
      x: { ...WORKERS, text: COUNT },
      y: { label: "share of the time", text: SHARE, most: 1 },
    }),
  ];
  return [beside(charts), measured?.length ? checks(measured) : null];
}

function checks(measured) {
  const rows = measured.map((row) =>
    el("tr", {}, [row.strategy, row.lanes, row.workers, COUNT(row.measured_per_s), COUNT(row.predicted_per_s), `${(100 * row.error).toFixed(1)} %`].map((value) => el("td", { class: "n" }, value))),
  );
  const heads = ["strategy", "lanes", "workers", "measured a second", "predicted", "error"];
  return el("table", {}, el("caption", {}, "What was predicted, measured"), el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, rows));
}

function strength({ game, rows, curve }) {
  const known = rows.filter((row) => row.strength_speedup !== null);
  const charts = [];
  if (known.length) {
    const lanes = known.map((row) => row.lanes);
    const ideal = { name: "all of them", dashed: true, points: [Math.min(...lanes), Math.max(...lanes)].map((n) => [n, n]) };
    const point = (row) => [row.lanes, row.strength_speedup, ...(row.strength_speedup_interval ?? [])];
    charts.push(chart([...grouped(known, point), ...(new Set(lanes).size > 1 ? [ideal] : [])], {
      title: `Playing strength in ${titleOf(game)}: what lanes are worth`,
      x: { label: "lanes", log: true },
      y: { label: "strength speedup", log: true, text: TIMES },
    }));
  }
  const scored = rows.filter((row) => row.equal_total_score !== null);
  if (scored.length) {
    charts.push(chart(grouped(scored, (row) => [row.lanes, row.equal_total_score, ...(row.equal_total_interval ?? [])]), {
      title: "Score against one lane with as many simulations in all",
      x: { label: "lanes", log: true },
      y: { label: "score", text: SHARE, most: 1 },
    }));
  }
  const rated = curve.filter((point) => point.elo !== null);
  if (rated.length) {
    charts.push(chart([{ name: "one lane", points: rated.map((point) => [point.simulations, point.elo, ...(point.elo_interval ?? [])]) }], {
      title: "Strength of one lane by simulations",
      x: { label: "simulations a move", log: true, text: COUNT },
      y: { label: "Elo" },
    }));
  }
  return charts.length ? beside(charts) : el("p", { class: "dim" }, "Nothing was played yet.");
}
