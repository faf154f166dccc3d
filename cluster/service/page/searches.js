// The searches that the service knows, the latest first.

import * as api from "./api.js";
import { byId, el, short, signed } from "./dom.js";
import { titleOf } from "./setup.js";

const SHOWN = 30;
const EVERY_MS = 2000;

/** Keep the list fresh while it is looked at. Gives back a function that stops it. */
export function list() {
  let wanted = true;
  let shown = "";
  const look = async () => {
    while (wanted) {
      try {
        const { searches } = await api.searches(SHOWN);
        const now = JSON.stringify(searches);
        if (now !== shown) draw(searches);
        shown = now;
        byId("searches-status").textContent = "";
      } catch (error) {
        byId("searches-status").textContent = error.message;
      }
      await api.pause(EVERY_MS);
    }
  };
  look();
  return () => {
    wanted = false;
  };
}

function draw(searches) {
  const focused = document.activeElement?.getAttribute("href");
  byId("searches-rows").replaceChildren(
    ...searches.map((search) => {
      const shown = search.result ?? search.progress;
      const { request } = search;
      const budget = request.simulations ? short(request.simulations) : request.seconds ? `${request.seconds} s` : "";
      return el(
        "tr",
        {},
        el("td", {}, el("span", { class: `state ${search.state}` }, search.state)),
        el("td", {}, el("a", { href: `#/searches/${search.id}` }, titleOf(request.game)), el("span", { class: "dim small" }, ` ${request.moves.length} ${request.moves.length === 1 ? "move" : "moves"}`)),
        el("td", { class: "n" }, budget),
        el("td", { class: "n" }, shown?.best_move ?? ""),
        el("td", { class: "n" }, shown?.best_move ? signed(shown.value) : ""),
        el("td", { class: "n wide" }, el("time", { datetime: search.created_at }, new Date(search.created_at).toLocaleTimeString())),
      );
    }),
  );
  byId("searches-empty").hidden = searches.length > 0;
  if (focused) [...byId("searches-rows").querySelectorAll("a")].find((each) => each.getAttribute("href") === focused)?.focus();
}
