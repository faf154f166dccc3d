// The searches that the service knows, the latest first, and which of them are wanted.

import * as api from "./api.js";
import { byId, drawn, el, seconds, short, signed } from "./dom.js";
import { specsLike, titleOf } from "./titles.js";
import { WORDS } from "./watch.js";

const SHOWN = 30;
const EVERY_MS = 2000;

/** Keep the list fresh while it is looked at. Gives back a function that stops it. */
export function list() {
  const filter = byId("searches-filter");
  let looks = 0;
  let wanted = true;
  let shown = "";
  const look = async () => {
    const mine = (looks += 1);
    const state = byId("searches-state").value;
    const typed = byId("searches-game").value.trim();
    try {
      const { searches, next } = await api.searches(SHOWN, { state, games: typed ? specsLike(typed) : [] });
      // Answers to what was typed before come too late.
      if (!wanted || mine !== looks) return;
      const now = JSON.stringify([state, typed, searches]);
      if (now !== shown) drawn(byId("searches-rows").closest(".scroll"), () => draw(searches));
      shown = now;
      byId("searches-empty").hidden = searches.length > 0;
      byId("searches-empty").textContent = state || typed ? "No search matches." : "No searches yet.";
      byId("searches-more").hidden = next === null;
      byId("searches-status").textContent = "";
    } catch (error) {
      byId("searches-status").textContent = api.words(error);
    }
  };
  const watch = async () => {
    while (wanted) {
      await look();
      await api.pause(EVERY_MS);
    }
  };
  filter.addEventListener("input", look);
  watch();
  return () => {
    wanted = false;
    filter.removeEventListener("input", look);
  };
}

/** When a search was asked for. */
function when(search) {
  const text = new Date(search.created_at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  return el("time", { datetime: search.created_at }, text);
}

/** A search whose record the service cannot read. */
function unreadable(search) {
  return el(
    "tr",
    { title: search.error.detail },
    el("td", { class: "dim small" }, search.id),
    el("td", {}, el("span", { class: `state ${search.state}` }, search.state)),
    el("td", { colspan: 4 }),
    el("td", {}, when(search)),
  );
}

function draw(searches) {
  const focused = document.activeElement?.getAttribute("href");
  byId("searches-rows").replaceChildren(...searches.map(row));
  if (focused) [...byId("searches-rows").querySelectorAll("a")].find((each) => each.getAttribute("href") === focused)?.focus();
}

function row(search) {
  const shown = search.result ?? search.progress;
  const { request } = search;
  if (!request) return unreadable(search);
  const budget = request.simulations ? `${short(request.simulations)} simulations` : request.seconds ? `${request.seconds} s` : "";
  const moves = `${request.moves.length} ${request.moves.length === 1 ? "move" : "moves"}`;
  return el(
    "tr",
    {},
    el("td", { title: request.game }, el("a", { href: `#/searches/${search.id}` }, titleOf(request.game)), el("span", { class: "dim small" }, ` after ${moves}`)),
    el("td", {}, el("span", { class: `state ${search.state}` }, WORDS[search.state])),
    el("td", { class: "n" }, shown?.best_move ?? ""),
    el("td", { class: "n" }, shown?.best_move ? signed(shown.value) : ""),
    el("td", { class: "n" }, budget),
    el("td", { class: "n" }, shown ? seconds(shown.elapsed_s) : ""),
    el("td", {}, when(search)),
  );
}
