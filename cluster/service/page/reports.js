// Reports that `banyan speedup`, `predict` and `strength` wrote, as plots. Files are read here and sent nowhere.

import { byId, el } from "./dom.js";
import { chart } from "./plot.js";

const TIMES = (v) => `${Number(v.toPrecision(3))}\u00d7`;
const COUNT = (v) => v.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 });
const WORKERS = { label: "workers", log: true };

/** Take files that are chosen or dropped. */
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
}

async function take(files) {
  for (const file of files) {
    const shown = byId("report-shown");
    try {
      const report = JSON.parse(await file.text());
      const measured = (Array.isArray(report) ? report[0] : report)?.measured_on;
      shown.prepend(el("section", { class: "report" }, el("h2", {}, file.name), draw(report), measured ? el("p", { class: "dim" }, `Measured on ${measured}`) : null));
      byId("report-status").textContent = `${file.name} is shown.`;
    } catch {
      byId("report-status").textContent = `${file.name} is not a report that banyan speedup, predict or strength wrote with --out.`;
    }
  }
}

/** The charts of a report; throws if it is none. */
function draw(report) {
  if (Array.isArray(report) && report.every((row) => row.speedup && row.workers)) return speedup(report);
  if (report.predicted?.length && report.costs) return prediction(report);
  if (report.rows && report.curve && report.matches) return strength(report);
  throw new Error("no report");
}

function grouped(rows, point) {
  const groups = Map.groupBy ? Map.groupBy(rows, nameOf) : group(rows);
  return [...groups].map(([name, members]) => ({ name, points: members.map(point).sort((a, b) => a[0] - b[0]) }));
}

const nameOf = (row) => row.strategy;

function group(rows) {
  const groups = new Map();
  for (const row of rows) groups.set(nameOf(row), [...(groups.get(nameOf(row)) ?? []), row]);
  return groups;
}

function speedup(rows) {
  const most = Math.max(...rows.map((row) => row.workers));
  const ideal = { name: "linear", dashed: true, points: [[1, 1], [most, most]] };
  const ratio = (row) => row.speedup / row.simulations_per_s;
  const series = grouped(rows, (row) => [row.workers, row.speedup, ...row.spread.map((rate) => rate * ratio(row))]);
  return [
    chart([...series, ...(most > 1 ? [ideal] : [])], {
      title: `How many times as many simulations per second workers make in a ${rows[0].game} search`,
      x: WORKERS,
      y: { label: "speedup", log: true, text: TIMES },
    }),
    chart(grouped(rows, (row) => [row.workers, row.of_ceiling]), {
      title: "Share of what as many independent processes do on the same cores",
      x: WORKERS,
      y: { label: "of the ceiling", text: (v) => `${Math.round(100 * v)} %` },
    }),
  ];
}

function prediction({ predicted, measured }) {
  const charts = [
    chart(grouped(predicted, (row) => [row.workers, row.speedup]), {
      title: `Simulations per second of a ${predicted[0].game} search against one worker: speedup, predicted`,
      x: { ...WORKERS, text: COUNT },
      y: { label: "speedup", log: true, text: TIMES },
    }),
    chart(grouped(predicted, (row) => [row.workers, row.coordinator_busy]), {
      title: "How busy the coordinator is, predicted",
      x: { ...WORKERS, text: COUNT },
      y: { label: "share of the time", text: (v) => `${Math.round(100 * v)} %` },
    }),
  ];
  if (measured?.length) charts.push(checks(measured));
  return charts;
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
      title: `Playing strength of a ${game} search: what lanes are worth`,
      x: { label: "lanes", log: true },
      y: { label: "strength speedup", log: true, text: TIMES },
    }));
  }
  const scored = rows.filter((row) => row.equal_total_score !== null);
  if (scored.length) {
    charts.push(chart(grouped(scored, (row) => [row.lanes, row.equal_total_score, ...(row.equal_total_interval ?? [])]), {
      title: "Score against one lane with as many simulations in all",
      x: { label: "lanes", log: true },
      y: { label: "score", text: (v) => `${Math.round(100 * v)} %` },
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
  if (!charts.length) throw new Error("nothing was played yet");
  return charts;
}
