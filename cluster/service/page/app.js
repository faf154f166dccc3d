// The page: what is looked at, and the token that the service may ask for.

import * as api from "./api.js";
import { cluster } from "./cluster.js";
import { byId } from "./dom.js";
import { Play } from "./play.js";
import { reports, watch } from "./reports.js";
import { list } from "./searches.js";
import { Setup } from "./setup.js";
import { theme } from "./theme.js";

const VIEWS = ["cluster", "play", "searches", "reports"];
let play = null;
let setup = null;
/** Ends what the view that is left does. */
let leave = () => {};

theme();
reports();
needToken();
window.addEventListener("hashchange", route);
route();
byId("skip").addEventListener("click", toBoard);
start();

async function start() {
  for (;;) {
    try {
      const games = await api.games();
      play ??= new Play();
      setup = new Setup(byId("setup"), games, (plan) => {
        if (location.hash.startsWith("#/searches/")) history.replaceState(null, "", "#/play");
        play.begin(plan);
        if (matchMedia("(max-width: 60rem)").matches) byId("table").scrollIntoView();
        else byId("title").scrollIntoView({ block: "nearest" });
      });
      if (watched()) route();
      else play.begin(setup.plan());
      return;
    } catch (error) {
      byId("status").textContent = api.words(error);
      await new Promise((resolve) => {
        api.needs.addEventListener("given", resolve, { once: true });
        if (error.status !== 401) setTimeout(resolve, 2000);
      });
    }
  }
}

/** Show the board and have it focused: the cell that keys begin at, or what else is on it. */
function toBoard(event) {
  event.preventDefault();
  if (byId("view-play").hidden) {
    history.pushState(null, "", "#/play");
    route();
  }
  const board = byId("board");
  (board.querySelector('[tabindex="0"], button') ?? board).focus();
}

/** The search that the address names, if it names one. */
function watched() {
  return /^#\/searches\/(\w+)$/.exec(location.hash)?.[1] ?? null;
}

async function route() {
  const id = watched();
  const wanted = id ? "play" : (VIEWS.find((name) => location.hash === `#/${name}`) ?? "cluster");
  for (const name of VIEWS) {
    byId(`view-${name}`).hidden = name !== wanted;
    const link = byId(`to-${name}`);
    if (name === wanted) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  leave();
  leave = { cluster, searches: list, reports: watch }[wanted]?.() ?? (() => {});
  if (id && play) {
    try {
      const search = await api.search(id);
      if (!search.request) throw new api.Problem(200, { detail: `${search.error.title}: ${search.error.detail}` });
      setup.show(search.request.game);
      await play.open(search);
    } catch (error) {
      byId("status").textContent = api.words(error);
    }
  }
}

/** Ask for a token when one is needed, and keep it as long as the tab is open. After a refusal a button asks, or the next view. */
function needToken() {
  const dialog = byId("token-dialog");
  const again = byId("token-again");
  const open = () => {
    again.hidden = true;
    dialog.returnValue = "";
    if (!dialog.open) dialog.showModal();
  };
  api.needs.addEventListener("token", () => again.hidden && open());
  again.addEventListener("click", open);
  dialog.addEventListener("close", () => (again.hidden = dialog.returnValue !== ""));
  window.addEventListener("hashchange", () => (again.hidden = true));
  byId("token-form").addEventListener("submit", () => {
    api.setToken(byId("token").value.trim());
    byId("token").value = "";
    api.needs.dispatchEvent(new Event("given"));
  });
}
