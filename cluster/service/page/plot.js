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

const CHART = { width: 560, height: 320, left: 66, right: 150, top: 14, bottom: 44 };
/** A curve has at least so many points; fewer are bars. */
const CURVE = 3;
const BAR = 22;
/** The first ones are those of strategies, as in the figures of commands; their colours are in strategies.css. */
const STRATEGIES = ["root", "tree", "leaf"];
const MARKERS = ["M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z", "M-3.6-3.6H3.6V3.6H-3.6Z", "M0-5.2L5.2 0L0 5.2L-5.2 0Z", "M0-5L4.6 3.6H-4.6Z", "M0 5L4.6-3.6H-4.6Z", "M-5-1.5H5V1.5H-5Z"];
const KEY_LINE = 17;

/**
 * A chart of several series. `series`: {name, points: [[x, y, low?, high?]], dashed?}; axes are
 * {label, log?, text?, most?}: an axis that is not logarithmic goes from 0 to `most` at least. Intervals are drawn
 * where there are any.
 */
export function chart(series, { title, x, y }) {
  const all = series.flatMap((each) => each.points);
  const xs = all.map((p) => p[0]);
  const bars = new Set(xs).size < CURVE;
  const xScale = (bars ? places : scale)(xs, CHART.left, CHART.width - CHART.right, x.log);
  const heights = all.flatMap((p) => p.slice(1)).filter((v) => v !== null && v !== undefined);
  const log = y.log && !bars;
  const yScale = scale(log ? heights : [0, y.most ?? 0, ...heights], CHART.height - CHART.bottom, CHART.top, log);
  const solid = series.filter((each) => !each.dashed).length;
  const drawn = svg(
    "svg",
    { viewBox: `0 0 ${CHART.width} ${CHART.height}`, role: "img", "aria-label": `${title}: ${y.label} by ${x.label}` },
    axes(xScale, yScale, x, y),
    key(series, yScale).map(({ each, k, keyY }) => {
      const aside = bars && !each.dashed ? (k - (solid - 1) / 2) * BAR : 0;
      return line(each, k, (v) => xScale.place(v) + aside, yScale, keyY, bars);
    }),
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

/** A scale on which each of a few values has a place of its own. */
function places(values, start, end) {
  const ticks = [...new Set(values)].sort((a, b) => a - b);
  return { place: (v) => start + ((ticks.indexOf(v) + 0.5) / ticks.length) * (end - start), ticks };
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

/** Places of names, one below the other in the order of the ends of their lines. */
function key(series, yScale) {
  const ends = series
    .map((each, k) => ({ each, k, keyY: yScale.place(each.points[each.points.length - 1][1]) }))
    .sort((a, b) => a.keyY - b.keyY);
  for (let i = 1; i < ends.length; i += 1) ends[i].keyY = Math.max(ends[i].keyY, ends[i - 1].keyY + KEY_LINE);
  return ends;
}

function line({ name, points, dashed }, k, placeX, yScale, keyY, bars) {
  const at = points.map(([x, y]) => [placeX(x), yScale.place(y)]);
  const ground = CHART.height - CHART.bottom;
  const known = STRATEGIES.indexOf(name);
  const marker = ([x, y]) => svg("path", { d: MARKERS[known < 0 ? STRATEGIES.length + (k % 3) : known], class: "marker", transform: `translate(${x} ${y})` });
  const whiskers = points
    .filter((p) => p[2] !== undefined && p[2] !== null && p[3] !== null)
    .map(([x, , low, high]) => svg("line", { x1: placeX(x), x2: placeX(x), y1: yScale.place(low), y2: yScale.place(high), class: "whisker" }));
  const polyline = (corners) => svg("polyline", { points: corners.map((p) => p.join(",")).join(" "), class: "series", fill: "none" });
  const end = CHART.width - CHART.right + 16;
  return svg(
    "g",
    { class: `of-${name.split(":")[0].replaceAll(" ", "-")}${dashed ? " dashed" : ""}` },
    bars && !dashed ? at.map(([x, y]) => svg("rect", { x: x - BAR / 2 + 1, width: BAR - 2, y, height: ground - y, class: "bar" })) : polyline(at),
    whiskers,
    dashed ? polyline([[end - 7, keyY], [end + 7, keyY]]) : [...at, [end, keyY]].map(marker),
    svg("text", { x: end + 11, y: keyY + 4, class: "name" }, name),
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
