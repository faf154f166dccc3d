// What to play, and who plays: the form.

import * as api from "./api.js";
import { el } from "./dom.js";
import { titleOf } from "./titles.js";

const FIRST_CHOICE = "gomoku";
const CHOICES = /^[\w-]+(?: or [\w-]+)+$/;
const RANGE = /^a whole number from (\d+) to (\d+)/;
const STRATEGIES = ["", "tree", "root", "leaf"];
const SEARCH = "uct";
const STRENGTH = "Strongest: the player, or the settings of a search, that won the most matches; textbook: UCT with random playouts";
const SIMULATIONS = 200000;
const STRATEGY = "tree: the lanes share one tree; root: each lane grows its own; leaf: one tree, whose playouts are shared out";
const LANES = "Into how many streams of work a search is divided, however many workers there are";
const OPTIONS = "A player with options: name:key=value,key=value";
const SIMULATION = "One simulation is one line of moves from the position, played out or judged at its end";
/** On a narrow screen the board comes right after the choice of a game. */
const NARROW = matchMedia("(max-width: 52rem)");

export class Setup {
  /** The form in `host`; `begun(plan)` is told of {game, sides, effort} to play. */
  constructor(host, games, begun) {
    this.games = games;
    this.begun = begun;
    this.game = el(
      "select",
      { id: "game", name: "game", onchange: () => this.#options() },
      games.map(({ name }) => el("option", { value: name }, titleOf(name))),
      el("option", { value: "" }, "Another game, by name"),
    );
    this.spec = el("input", { id: "spec", name: "spec", placeholder: "openspiel:connect_four", autocomplete: "off", spellcheck: "false" });
    this.other = field("Name and options of the game", this.spec);
    this.options = el("div", { class: "options", onchange: (event) => this.#variant(event.target) });
    this.sides = [side("first", "person"), side("second", "search")];
    this.fieldsets = ["First player", "Second player"].map((name, i) => el("fieldset", {}, el("legend", {}, name), this.sides[i].node));
    host.replaceChildren(
      el(
        "form",
        { class: "setup", onsubmit: (event) => this.#submit(event) },
        field("Game", this.game),
        this.other,
        el("details", { class: "settings" }, el("summary", {}, "Players and options"), el("div", { class: "stack" }, this.#choices())),
        el("button", { type: "submit", class: "primary" }, "New game"),
      ),
    );
    this.details = host.querySelector("details.game-options");
    this.settings = host.querySelector("details.settings");
    NARROW.addEventListener("change", () => this.#fold());
    this.#fold();
    this.game.value = games.some(({ name }) => name === FIRST_CHOICE) ? FIRST_CHOICE : games[0].name;
    this.#options();
  }

  /** What the form says now. */
  plan() {
    const fields = [...this.options.querySelectorAll("[name]")].filter((input) => input.value !== input.dataset.default && input.value !== "");
    const options = fields.map((input) => `${input.name}=${input.value}`).join(",");
    const name = this.game.value;
    return {
      game: name === "" ? this.spec.value.trim() : options ? `${name}:${options}` : name,
      sides: this.sides.filter((_, i) => !this.fieldsets[i].hidden).map((each) => each.read()),
    };
  }

  /** Have the form name the game of a spec, with its options. */
  async show(spec) {
    const known = (name, options) => this.games.find((game) => game.name === name && options.every(([key]) => game.options.some((option) => option.name === key)));
    const [name, rest] = spec.split(/:(.*)/s);
    const options = rest ? rest.split(",").map((option) => option.split("=")) : [];
    this.spec.value = spec;
    this.game.value = (known(spec, []) ?? known(name, options))?.name ?? "";
    this.#options();
    for (const control of this.options.querySelectorAll("[name]")) {
      const given = options.find(([key]) => key === control.name);
      if (given) control.value = given[1];
      await this.#variant(control);
    }
  }

  #fold() {
    this.settings.open = !NARROW.matches;
  }

  #choices() {
    return [
      el("details", { class: "game-options" }, el("summary", {}, "Options"), this.options),
      this.fieldsets,
      el("details", { class: "more" }, el("summary", {}, "More"), this.sides.map(({ more }) => more)),
    ];
  }

  #options() {
    const game = this.games.find(({ name }) => name === this.game.value);
    this.other.hidden = game !== undefined;
    this.spec.required = game === undefined;
    for (const each of this.sides) each.meet(game);
    const [first, second] = this.fieldsets;
    const players = game?.num_players ?? 2;
    second.hidden = this.sides[1].more.hidden = players === 1;
    first.querySelector("legend").textContent = players === 1 ? "Who plays" : "First player";
    second.querySelector("legend").textContent = players > 2 ? "The other players" : "Second player";
    this.options.replaceChildren(...(game?.options ?? []).map((option) => field(option.name.replaceAll("_", " "), input(option))));
    this.details.hidden = !game?.options.length;
  }

  /** A variant has defaults of its own; what was filled in stays. */
  async #variant({ name, value }) {
    const game = this.game.value;
    if (name !== "variant") return;
    const { options } = await api.game(`${game}:variant=${value}`).catch(() => ({ options: [] }));
    if (game !== this.game.value) return;
    for (const { name: option, default: preset } of options) {
      const control = this.options.querySelector(`[name="${option}"]`);
      if (option === name || !control) continue;
      if (control.value === control.dataset.default) control.value = preset;
      control.dataset.default = preset;
    }
  }

  #submit(event) {
    event.preventDefault();
    this.#fold();
    this.begun(this.plan());
  }
}

function input({ name, default: preset, accepted }) {
  const shared = { name, id: `option-${name}`, title: accepted, "data-default": preset };
  if (CHOICES.test(accepted)) {
    return el("select", shared, accepted.split(" or ").map((value) => el("option", { value, selected: value === String(preset) }, value.replaceAll("_", " "))));
  }
  const range = RANGE.exec(accepted);
  if (range) return el("input", { ...shared, type: "number", min: range[1], max: range[2], value: preset });
  return el("input", { ...shared, type: "text", value: preset, autocomplete: "off", spellcheck: "false" });
}

function field(label, control) {
  return el("label", { class: "field" }, el("span", {}, label), control);
}

/** Who plays for one side: a person, the computer at its best, or a player with a name. A search has a budget: so many simulations, or so many seconds. */
function side(name, preset) {
  const players = el("optgroup", { label: "A program" });
  const who = el("select", { id: `${name}-who`, "aria-label": `Who plays for the ${name} player` }, [["person", "You"], ["search", "The computer"]].map(([value, words]) => el("option", { value, selected: value === preset }, words)), players);
  const spec = el("input", { id: `${name}-player`, title: OPTIONS, autocomplete: "off", spellcheck: "false" });
  const about = el("span", { class: "dim small" });
  const program = el("div", { class: "effort" }, about, field("Player, as name:option=value", spec));
  const amount = el("input", { id: `${name}-amount`, type: "number", min: 0.001, max: Number.MAX_SAFE_INTEGER, value: SIMULATIONS, step: "any", "aria-label": `How much the ${name} player's search may do` });
  const unit = el("select", { id: `${name}-unit`, "aria-label": `Simulations or seconds of the ${name} player's search`, title: SIMULATION }, [["simulations", "simulations"], ["seconds", "seconds"]].map(([value, words]) => el("option", { value }, words)));
  const strategy = el("select", { id: `${name}-strategy`, title: STRATEGY }, STRATEGIES.map((value) => el("option", { value }, value || "automatic")));
  const settings = el("select", { id: `${name}-settings`, "aria-label": `Settings of the ${name} player`, title: STRENGTH }, [["best", "strongest settings"], ["plain", "textbook settings"]].map(([value, words]) => el("option", { value }, words)));
  const lanes = el("input", { id: `${name}-lanes`, type: "number", min: 1, max: 1024, placeholder: "auto", title: LANES });
  const use = el("span", { class: "dim small" });
  const effort = el("div", { class: "effort" }, use, el("span", { class: "pair" }, amount, unit), settings);
  unit.addEventListener("change", () => (amount.value = unit.value === "seconds" ? 5 : SIMULATIONS));
  let opponent = SEARCH;
  const named = () => !["person", "search"].includes(who.value);
  const settle = () => {
    effort.hidden = named();
    program.hidden = !named();
    const { description, source } = api.about.players.find((player) => player.name === who.value) ?? {};
    about.replaceChildren(description ?? "", source ? el("span", { class: "source" }, `From: ${source}`) : "");
    // A person's turn can be searched too, by a button.
    use.textContent = who.value === "search" ? "Thinks for" : "\u201cSearch this position\u201d thinks for";
    // A player that is not a search makes no simulations.
    const timed = who.value === "search" && settings.value === "best" && opponent !== SEARCH;
    const simulations = unit.options[0];
    if (timed !== simulations.disabled) {
      simulations.disabled = timed;
      [unit.value, amount.value] = timed ? ["seconds", 1] : ["simulations", SIMULATIONS];
    }
  };
  who.addEventListener("change", () => (spec.value = who.value));
  for (const each of [who, settings]) each.addEventListener("change", settle);
  settle();
  return {
    node: el("div", {}, who, effort, program),
    more: el("div", { class: "pair" }, field(`Strategy, ${name}`, strategy), field("Lanes", lanes)),
    /** The game that is chosen, of which the strongest player may be no search; undefined if it is named. */
    meet(game) {
      opponent = game?.opponent ?? SEARCH;
      const left = who.value;
      players.replaceChildren(...(game?.opponents ?? api.about.players.map((player) => player.name)).map((value) => el("option", { value, selected: value === left }, value)));
      if (who.value !== left) who.value = "search";
      settle();
    },
    read() {
      const budget = unit.value === "seconds" ? { seconds: Number(amount.value) } : { simulations: Math.round(Number(amount.value)) };
      const chosen = { ...(strategy.value ? { strategy: strategy.value } : {}), ...(lanes.value ? { lanes: Number(lanes.value) } : {}) };
      const side = { who: who.value, best: settings.value === "best", effort: { ...budget, ...chosen } };
      return named() ? { ...side, who: "search", player: spec.value.trim() || who.value } : side;
    },
  };
}
