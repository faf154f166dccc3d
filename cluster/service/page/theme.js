// Light or dark: as the system says, until somebody says otherwise.

import { byId, el } from "./dom.js";

const KEY = "banyan-theme";
const ICONS = { auto: "\u25d0", light: "\u2600\ufe0e", dark: "\u263e\ufe0e" };
const NEXT = { auto: "light", light: "dark", dark: "auto" };

export function theme() {
  const button = byId("theme");
  let now = localStorage.getItem(KEY) ?? "auto";
  const show = () => {
    if (now === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = now;
    button.ariaLabel = `Colours: ${now}`;
    button.replaceChildren(ICONS[now], el("span", {}, ` ${button.ariaLabel}`));
  };
  button.addEventListener("click", () => {
    now = NEXT[now];
    if (now === "auto") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, now);
    show();
  });
  show();
}
