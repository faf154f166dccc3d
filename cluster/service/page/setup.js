// What to play, and who plays: the form.

import { el } from "./dom.js";

const TITLES = {
  battleship: "Battleship",
  explicit: "A tree that is written down",
  gomoku: "Gomoku",
  grundy: "Grundy's game",
  morris: "Mill games",
  thud: "Thud",
  tictactoe: "Tic-tac-toe",
};
const FIRST_CHOICE = "gomoku";
const CHOICES = /^[\w-]+(?: or [\w-]+)+$/;
const RANGE = /^a whole number from (\d+) to (\d+)/;
const STRATEGIES = ["tree", "root", "leaf"];

const MILLS = { three: "Three men's morris", six: "Six men's morris", nine: "Nine men's morris", lasker: "Lasker's morris", twelve: "Twelve men's morris" };

/** What a game is called, by its name, or by its spec, where options have a say. */
export function titleOf(spec) {
  const [name, options] = spec.split(":");
  const variant = /variant=(\w+)/.exec(options ?? "");
  return (name === "morris" && variant && MILLS[variant[1]]) || (TITLES[name] ?? name);
}

export class Setup {
  /** The form in `host`; `begun(plan)` is told of {game, sides, effort} to play. */
  constructor(host, games, begun) {
    this.games = games;
    this.begun = begun;
    this.game = el(
      "select",
      { id: "game", name: "game", onchange: () => this.#options() },
      games.map(({ name }) => el("option", { value: name }, titleOf(name))),
      el("option", { value: "" }, "Another, by its name"),
    );
    this.spec = el("input", { id: "spec", name: "spec", placeholder: "openspiel:connect_four", autocomplete: "off", spellcheck: "false" });
    this.other = field("Name, and options", this.spec);
    this.options = el("div", { class: "options" });
    this.sides = [side("first", "person"), side("second", "search")];
    host.replaceChildren(
      el(
        "form",
        { class: "setup", onsubmit: (event) => this.#submit(event) },
        field("Game", this.game),
        this.other,
        el("details", { class: "more" }, el("summary", {}, "Options"), this.options),
        el("fieldset", {}, el("legend", {}, "First"), this.sides[0].node),
        el("fieldset", {}, el("legend", {}, "Second"), this.sides[1].node),
        el("button", { type: "submit", class: "primary" }, "New game"),
      ),
    );
    this.details = host.querySelector("details.more");
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
      sides: this.sides.map((each) => each.read()),
    };
  }

  #options() {
    const game = this.games.find(({ name }) => name === this.game.value);
    this.other.hidden = game !== undefined;
    this.spec.required = game === undefined;
    this.options.replaceChildren(...(game?.options ?? []).map((option) => field(option.name.replaceAll("_", " "), input(option))));
    this.details.hidden = !game?.options.length;
  }

  #submit(event) {
    event.preventDefault();
    this.begun(this.plan());
  }
}

function input({ name, default: preset, accepted }) {
  const shared = { name, id: `option-${name}`, title: accepted, "data-default": preset };
  if (CHOICES.test(accepted)) {
    return el("select", shared, accepted.split(" or ").map((value) => el("option", { value, selected: value === preset }, value.replaceAll("_", " "))));
  }
  const range = RANGE.exec(accepted);
  if (range) return el("input", { ...shared, type: "number", min: range[1], max: range[2], value: preset });
  return el("input", { ...shared, type: "text", value: preset, autocomplete: "off", spellcheck: "false" });
}

function field(label, control) {
  return el("label", { class: "field" }, el("span", {}, label), control);
}

/** Who plays for one side. A search has a budget: so many simulations, or so many seconds. */
function side(name, preset) {
  const who = el("select", { id: `${name}-who`, "aria-label": `Who plays for the ${name} player` }, [["person", "You"], ["search", "A search"]].map(([value, words]) => el("option", { value, selected: value === preset }, words)));
  const amount = el("input", { id: `${name}-amount`, type: "number", min: 1, value: 200000, step: "any", "aria-label": `Budget of the ${name} player's search` });
  const unit = el("select", { id: `${name}-unit`, "aria-label": `Unit of the ${name} player's budget` }, [["simulations", "simulations"], ["seconds", "seconds"]].map(([value, words]) => el("option", { value }, words)));
  const strategy = el("select", { id: `${name}-strategy`, "aria-label": `Strategy of the ${name} player's search` }, STRATEGIES.map((value) => el("option", { value }, value)));
  const lanes = el("input", { id: `${name}-lanes`, type: "number", min: 1, max: 1024, value: 16, "aria-label": `Lanes of the ${name} player's search` });
  const effort = el("div", { class: "effort" }, el("span", { class: "pair" }, amount, unit), el("span", { class: "pair" }, strategy, lanes, el("span", { class: "dim" }, "lanes")));
  unit.addEventListener("change", () => {
    amount.value = unit.value === "seconds" ? 5 : 200000;
  });
  const settle = () => {
    effort.classList.toggle("idle", who.value !== "search");
  };
  who.addEventListener("change", settle);
  settle();
  return {
    node: el("div", {}, who, effort),
    read() {
      const budget = unit.value === "seconds" ? { seconds: Number(amount.value) } : { simulations: Math.round(Number(amount.value)) };
      return { who: who.value, effort: { ...budget, strategy: strategy.value, lanes: Number(lanes.value) } };
    },
  };
}
