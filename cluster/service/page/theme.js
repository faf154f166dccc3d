// Light or dark: as the system says, until somebody says otherwise.

import { byId } from "./dom.js";

const KEY = "banyan-theme";
const NEXT = { auto: "light", light: "dark", dark: "auto" };

export function theme() {
  const button = byId("theme");
  let now = localStorage.getItem(KEY) ?? "auto";
  const show = () => {
    if (now === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = now;
    button.textContent = `Colours: ${now}`;
  };
  button.addEventListener("click", () => {
    now = NEXT[now];
    if (now === "auto") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, now);
    show();
  });
  show();
}
