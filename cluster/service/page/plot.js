// Plots: lines over time or over a number, drawn as SVG.

import { el, svg } from "./dom.js";

const WIDTH = 320;

/**
 * A small plot of one series. `points`: [x, y]; `range`: [low, high] of y, or null to fit;
 * `label`: what it shows, for those who do not see it; `text`: y as text.
 */
export function spark(points, { range = null, label, text, height = 84, zero = false }) {
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const [low, high] = range ?? [0, Math.max(...ys, 1e-9) * 1.1];
  const end = Math.max(...xs, 1e-9);
  const at = ([x, y]) => [(x / end) * WIDTH, height - ((y - low) / (high - low)) * height];
  const path = points.map((point, i) => `${i ? "L" : "M"}${at(point).map((v) => v.toFixed(1)).join(" ")}`).join("");
  const last = points.length ? at(points[points.length - 1]) : null;
  return el(
    "figure",
    { class: "spark" },
    svg(
      "svg",
      { viewBox: `-4 -6 ${WIDTH + 10} ${height + 12}`, role: "img", "aria-label": label, preserveAspectRatio: "none" },
      svg("line", { x1: 0, x2: WIDTH, y1: height, y2: height, class: "axis" }),
      zero ? svg("line", { x1: 0, x2: WIDTH, y1: at([0, 0])[1], y2: at([0, 0])[1], class: "axis faint" }) : null,
      svg("path", { d: path, class: "series", fill: "none" }),
      last ? svg("circle", { cx: last[0], cy: last[1], r: 3.5, class: "now" }) : null,
    ),
    el("figcaption", {}, el("span", {}, label), points.length ? el("b", {}, text(ys[ys.length - 1])) : null),
  );
}

const CHART = { width: 560, height: 320, left: 66, right: 130, top: 14, bottom: 44 };

/**
 * A chart of several series. `series`: {name, points: [[x, y, low?, high?]], dashed?}; axes are
 * {label, log?, text?}. Intervals are drawn where there are any.
 */
export function chart(series, { title, x, y }) {
  const all = series.flatMap((each) => each.points);
  const xScale = scale(all.map((p) => p[0]), CHART.left, CHART.width - CHART.right, x.log);
  const heights = all.flatMap((p) => p.slice(1)).filter((v) => v !== null && v !== undefined);
  const yScale = scale(y.log ? heights : [0, ...heights], CHART.height - CHART.bottom, CHART.top, y.log);
  const drawn = svg(
    "svg",
    { viewBox: `0 0 ${CHART.width} ${CHART.height}`, role: "img", "aria-label": `${title}: ${y.label} by ${x.label}` },
    axes(xScale, yScale, x, y),
    spread(series, yScale).map(({ each, k, labelY }) => line(each, k, xScale, yScale, labelY)),
  );
  return el("figure", { class: "chart" }, el("figcaption", {}, title), drawn, table(series, x, y));
}

function scale(values, start, end, log) {
  const f = log ? Math.log2 : (v) => v;
  // What is 0 has no place on a logarithmic axis: it stands at its end.
  const placed = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
  let [low, high] = placed.length ? [Math.min(...placed), Math.max(...placed)] : [1, 1];
  if (!(high > low)) [low, high] = log ? [low / 2, high * 2] : [low - 1, high + 1];
  const place = (v) => start + ((f(log ? Math.max(v, low) : v) - f(low)) / (f(high) - f(low))) * (end - start);
  return { place, ticks: log ? powers(low, high) : steps(low, high) };
}

function steps(low, high) {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const found = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-6; v += step) found.push(Number(v.toPrecision(6)));
  return found;
}

function powers(low, high) {
  const every = Math.max(1, Math.ceil((Math.log2(high) - Math.log2(low)) / 7));
  const found = [];
  for (let e = Math.ceil(Math.log2(low) - 1e-9); e <= Math.log2(high) + 1e-9; e += every) found.push(2 ** e);
  return found.length > 1 ? found : [low, high];
}

function axes(xScale, yScale, x, y, frame = CHART) {
  const { width, height, left, right, top, bottom, drop = 18 } = frame;
  const text = (at, words, more = {}) => svg("text", { ...at, class: "tick", ...more }, words);
  const show = (axis, v) => (axis.text ? axis.text(v) : `${Number(v.toPrecision(3))}`);
  return svg(
    "g",
    { "aria-hidden": "true" },
    yScale.ticks.map((v) => [
      svg("line", { x1: left, x2: width - right, y1: yScale.place(v), y2: yScale.place(v), class: "axis faint" }),
      text({ x: left - 8, y: yScale.place(v) + 4 }, show(y, v), { "text-anchor": "end" }),
    ]),
    xScale.ticks.map((v) => text({ x: xScale.place(v), y: height - bottom + drop }, show(x, v), { "text-anchor": "middle" })),
    svg("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, class: "axis" }),
    text({ x: (left + width - right) / 2, y: height - 6 }, x.label, { "text-anchor": "middle" }),
    text({ x: -(top + height - bottom) / 2, y: 12 }, y.label, { "text-anchor": "middle", transform: "rotate(-90)" }),
  );
}

/** Names at the ends of their lines, none over another. */
function spread(series, yScale) {
  const ends = series
    .map((each, k) => ({ each, k, labelY: yScale.place(each.points[each.points.length - 1][1]) }))
    .sort((a, b) => a.labelY - b.labelY);
  for (let i = 1; i < ends.length; i += 1) ends[i].labelY = Math.max(ends[i].labelY, ends[i - 1].labelY + 15);
  return ends;
}

function line({ name, points, dashed }, k, xScale, yScale, labelY) {
  const at = points.map(([x, y]) => [xScale.place(x), yScale.place(y)]);
  const bars = points
    .filter((p) => p[2] !== undefined && p[2] !== null && p[3] !== null)
    .map(([x, , low, high]) => svg("line", { x1: xScale.place(x), x2: xScale.place(x), y1: yScale.place(low), y2: yScale.place(high), class: "whisker" }));
  return svg(
    "g",
    { class: `series-${k % 4}${dashed ? " dashed" : ""}` },
    bars,
    svg("polyline", { points: at.map((p) => p.join(",")).join(" "), class: "series", fill: "none" }),
    dashed ? null : at.map(([cx, cy]) => svg("circle", { cx, cy, r: 3.5, class: "now" })),
    svg("text", { x: at[at.length - 1][0] + 9, y: labelY + 4, class: "name" }, name),
  );
}

/** The same as a table, for whoever would rather read it. */
function table(series, x, y) {
  const show = (axis, v) => (axis.text ? axis.text(v) : `${Number(v.toPrecision(4))}`);
  return el(
    "details",
    {},
    el("summary", {}, "As a table"),
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, ["", x.label, y.label].map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, series.flatMap(({ name, points }) => points.map((p) => el("tr", {}, el("td", {}, name), el("td", { class: "n" }, show(x, p[0])), el("td", { class: "n" }, show(y, p[1])))))),
    ),
  );
}

const TIMELINE = { height: 250, left: 72, right: 16, top: 10, bottom: 42, drop: 35 };
/** Outlines of marks, so that no mark is told by its colour alone. */
const MARKS = { joined: "M-5 5L0 -5L5 5Z", left: "M-5 -5L0 5L5 -5Z", lost: "M-5 -5L5 5M-5 5L5 -5" };

/**
 * Series stacked over clock time, with marks on the time axis. `times`: of all points, in seconds; `series`:
 * {tone, values}, the lowest first; `marks`: {time, change, title}; from `from` to `to`, which is now. Where points
 * are further than `gap` apart, nothing is drawn. `width`: in pixels, as it is shown; `unit`: of the values.
 */
export function timeline(times, series, { from, to, gap, marks, width, unit, label, text }) {
  const frame = { ...TIMELINE, width };
  const base = frame.height - frame.bottom;
  const place = (v) => frame.left + ((v - from) / (to - from)) * (width - frame.left - frame.right);
  const every = [15, 30, 60, 120, 180, 300].find((s) => (to - from) / s <= width / 110) ?? 300;
  const ticks = [to];
  for (let v = Math.ceil(from / every) * every; place(v) < width - 75; v += every) ticks.push(v);
  const clock = new Intl.DateTimeFormat([], { timeStyle: every < 60 ? "medium" : "short", hourCycle: "h23" });
  const when = (v) => (v === to ? "now" : clock.format(v * 1000));
  const total = times.map((_, i) => series.reduce((sum, { values }) => sum + values[i], 0));
  const yScale = scale([0, 10, ...total], base, frame.top, false);
  const low = times.map(() => 0);
  const runs = [];
  times.forEach((time, i) => {
    if (i && time - times[i - 1] <= gap) runs[runs.length - 1].push(i);
    else runs.push([i]);
  });
  const areas = series.map(({ tone, values }) => {
    const at = (i) => `${place(times[i]).toFixed(1)} ${yScale.place(low[i]).toFixed(1)}`;
    const floors = runs.map((run) => run.map(at).reverse());
    values.forEach((value, i) => (low[i] += value));
    return svg("path", { d: runs.map((run, k) => `M${[...run.map(at), ...floors[k]].join("L")}Z`).join(""), class: `area tone-${tone}` });
  });
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${frame.height}`, role: "img", "aria-label": label, class: "timeline" },
    areas,
    axes({ place, ticks }, yScale, { label: "", text: when }, { label: unit, text }, frame),
    marks.map(({ time, change, title }) => svg("path", { d: MARKS[change], class: `mark ${change}`, transform: `translate(${place(Math.max(time, from)).toFixed(1)} ${base + 10})` }, svg("title", {}, title))),
  );
}
