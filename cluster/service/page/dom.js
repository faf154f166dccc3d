// Elements, and numbers as people read them.

import { words } from "./api.js";

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. Properties that begin with "on" are listeners, others attributes; null leaves one out. */
export function el(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** An SVG element. */
export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

/** Draw in `host`; whether that succeeds. If not, a sentence takes the place of all that is there, until it is drawn again. */
export function drawn(host, draw, sentence = undefined) {
  host.querySelector(":scope > .fault")?.remove();
  try {
    draw();
    return true;
  } catch (error) {
    host.prepend(el("p", { class: "fault problem", role: "alert" }, words(error, sentence)));
    return false;
  }
}

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/** 1234567 as "1,234,567". */
export const whole = (number) => `${number}`.replace(/\B(?=(\d{3})+$)/g, ",");

/** 1234567 as "1.23 M". */
export function short(number) {
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(number) >= 0.9995 * size) return `${(number / size).toPrecision(3)} ${unit}`;
  }
  return `${Math.round(number)}`;
}

/** A share of 1 as percent; what is not nothing is not shown as nothing. */
export function percent(share) {
  const value = 100 * share;
  return value > 0 && value < 1 ? "<1 %" : `${Math.round(value)} %`;
}

/** A value in [-1, 1] with its sign, and what it is as a chance to win. */
export const signed = (value) => `${value < 0 ? "\u2212" : "+"}${Math.abs(value).toFixed(3)}`;

/** Seconds as "4.2 s" or "3 min 5 s". */
export function seconds(value, digits = 1) {
  const text = value.toFixed(digits);
  if (Number(text) < 60) return `${text} s`;
  const all = Math.round(value);
  return `${Math.floor(all / 60)} min ${all % 60} s`;
}
