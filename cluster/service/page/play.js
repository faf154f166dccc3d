// One game: whose turn it is, what was played, and the searches that play for a side.

import { answerOf } from "./answer.js";
import * as api from "./api.js";
import { Board } from "./board.js";
import { kindOf } from "./boards/kinds.js";
import { byId, el, percent } from "./dom.js";
import { dotOf, outcomeOf, sideOf } from "./sides.js";
import { titleOf } from "./titles.js";
import { Watch } from "./watch.js";

const CHANCES = "banyan-chances";
const DICE = "banyan-dice";
/** Who moves where chance does. */
const CHANCE = -1;
const SEEDS = 2 ** 32;
/** Places all ships that a person has not placed. */
const REST = "random";
const DRAWS = 300;
const REST_MS = 350;
/** The player that is a search, which can be watched; others are asked for a move. */
const SEARCH = "uct";
/** Seconds a move of the strongest player, if the form names none. */
const MOVE_S = 1;

export class Play {
  constructor() {
    this.board = new Board(byId("board"), (move) => this.#made(move));
    this.watch = new Watch(byId("watch"), {
      grown: (children) => this.board.heat(children),
      ended: (final) => this.#answered(final),
    });
    this.turn = 0;
    this.left = {};
    byId("undo").addEventListener("click", () => this.#undo());
    byId("hint").addEventListener("click", () => this.#hint());
    byId("draw").addEventListener("click", () => this.#draw());
    byId("rest").addEventListener("click", () => this.#made(REST));
    kept("chances", CHANCES, (shown) => this.board.showChances(shown));
    kept("dice", DICE, (drawn) => {
      this.dice = drawn;
      if (drawn && this.position?.player === CHANCE) this.#draw();
    });
  }

  /** Begin the game that the plan says. */
  async begin(plan) {
    const turn = this.#leave();
    this.#prepare(plan.game);
    await this.#try(turn, async () => {
      const game = await api.game(plan.game, plan.sides.flatMap(({ player }) => player ?? []));
      const deal = Math.floor(Math.random() * SEEDS);
      // Where there is chance, games may begin in different ways.
      const start = game.chance && !hides(game) ? (await api.position(plan.game, { deal })).position : null;
      if (turn !== this.turn) return;
      Object.assign(this, { game, start, moves: [], chosen: [], fleet: [], deal: hides(game) ? deal : null });
      this.plan = { ...plan, sides: sidesOf(plan.sides, game) };
      await this.#show();
    });
  }

  /** Have nothing done on the board of another game while the rules of this one are compiled. */
  #prepare(spec) {
    this.#say(`Preparing ${titleOf(spec)} \u2026`);
    freeze(true);
  }

  /** Do something for this turn; say what goes wrong, unless another one has begun. */
  async #try(turn, action) {
    try {
      await action();
    } catch (error) {
      if (turn === this.turn) this.#failed(error);
    }
  }

  /** Say what went wrong. Of what cannot be shown nothing stays. */
  #failed(error) {
    this.#say(api.words(error), true);
    freeze(false);
    if (error instanceof api.Problem) return;
    for (const id of ["board", "legal-moves", "moves"]) byId(id).replaceChildren();
  }

  /** Show a search that somebody asked for, and the position that it is about. */
  async open(search) {
    const turn = this.#leave(search.id);
    this.#prepare(search.request.game);
    await this.#try(turn, async () => {
      const { request } = search;
      const game = await api.game(request.game);
      if (turn !== this.turn) return;
      this.game = game;
      const effort = { strategy: request.strategy, lanes: request.lanes, ...(request.simulations ? { simulations: request.simulations } : { seconds: request.seconds ?? 5 }) };
      this.plan = { game: request.game, sides: this.game.players.map(() => ({ who: "person", effort })) };
      this.moves = [...request.moves];
      this.chosen = this.moves.map(() => true);
      this.start = request.position;
      this.deal = null;
      await this.#show();
      this.asking = null;
      this.#watch(search);
    });
  }

  /** Leave the search that is watched; one that was asked for here and is wanted no more ends. */
  #drop(next = null) {
    this.turn += 1;
    this.watch.close();
    if (this.asked && this.asked !== next) api.cancel(this.asked).catch(() => {});
    this.asked = null;
  }

  /** Leave what is shown; returns the turn that begins: whoever waits is outdated when another has begun. */
  #leave(next = null) {
    this.#drop(next);
    this.asking = null;
    this.left = {};
    return this.turn;
  }

  /** Whether values are shares of wins. */
  get #shares() {
    return this.game.num_players === 2 && !this.game.rewards;
  }

  /** Who is a person alone; null if several are, or none is. */
  get #mine() {
    const people = this.plan.sides.flatMap(({ who }, side) => (who === "person" ? [side] : []));
    return people.length === 1 ? people[0] : null;
  }

  /** Whose secret is shown; null if nobody's is. */
  get #seen() {
    return hides(this.game) ? this.#mine : null;
  }

  /** The position as the service takes it. */
  #where() {
    const dealt = this.deal === null ? {} : { deal: this.deal, ...(this.#seen === null ? {} : { show: this.#seen, fleet: this.fleet }) };
    return { moves: this.moves, ...(this.start === null ? {} : { position: this.start }), ...dealt };
  }

  /** Have the service say where the game is, and go on from there. */
  async #show() {
    const turn = this.turn;
    const mine = this.#seen;
    try {
      let position = await api.position(this.plan.game, { ...this.#where(), ...(this.deal === null ? {} : { draws: DRAWS }) });
      if (turn !== this.turn) return;
      if (position.placing) position = placed(position, mine);
      this.position = position;
      const given = this.deal !== null && !position.placing && position.legal_moves.length === 1 && !position.cells[position.legal_moves[0]];
      if (given) {
        // An answer that only one thing can be is nobody's choice.
        this.#played(position.legal_moves[0]);
        return;
      }
      const chance = position.player === CHANCE;
      const person = position.placing || !position.over && (chance ? !this.dice : this.plan.sides[position.player].who === "person");
      this.board.show(position, { players: this.game.players, enabled: person, mine });
      this.#status(person);
      if (chance) {
        if (this.dice) await this.#draw();
      } else if (!position.over && !person) await this.#ask(turn, true);
    } catch (error) {
      if (turn === this.turn) this.#refused(error);
    }
  }

  /** Have the service draw what chance brings. */
  async #draw() {
    this.#drop();
    const turn = this.turn;
    const body = { ...this.#where(), seed: Math.floor(Math.random() * SEEDS) };
    await this.#try(turn, async () => {
      const { move } = await api.move(this.plan.game, body, () => turn === this.turn);
      if (turn === this.turn) this.#playSoon(move);
    });
  }

  /** What was not taken: say it, and let the move be made otherwise. */
  #refused(error) {
    this.#failed(error);
    if (this.moves.length && error.status === 422) {
      this.moves.pop();
      this.chosen.pop();
      this.#show();
    }
  }

  #made(move) {
    this.#drop();
    if (this.position.placing) {
      this.fleet.push(move);
      this.#show();
    } else this.#played(move, this.position.player !== CHANCE);
  }

  /** `chosen`: whether a person chose the move. */
  #played(move, chosen = false) {
    this.moves.push(move);
    this.chosen.push(chosen);
    this.#show();
  }

  /** Have the position searched; its answer is played if `play`. */
  async #ask(turn, play) {
    const side = this.plan.sides[this.position.player];
    if (play && isPlayer(side, this.game)) {
      await this.#askPlayer(turn, side);
      return;
    }
    const body = { game: this.plan.game, moves: this.moves, ...settingsOf(side, this.game), ...side.effort, seed: this.moves.length };
    if (this.start !== null) body.position = this.start;
    const left = this.left[this.position.player];
    const goesOn = left?.moves.every((move, i) => move === this.moves[i]);
    const begin = (more) => api.begin({ ...body, ...more }, () => turn === this.turn);
    await this.#try(turn, async () => {
      // The server keeps the latest trees alone.
      const search = await begin(goesOn ? { continues: left.id } : {}).catch((error) => (error.field === "continues" ? begin({}) : Promise.reject(error)));
      if (turn !== this.turn) {
        api.cancel(search.id).catch(() => {});
        return;
      }
      this.asked = search.id;
      this.asking = play ? turn : null;
      this.#watch(search);
    });
  }

  /** Have the player move that is known to be the strongest, or the one that was chosen. */
  async #askPlayer(turn, side) {
    const body = { ...this.#where(), ...(side.player ? { player: side.player } : { seconds: secondsOf(side) }), seed: this.moves.length };
    const { player } = this.position;
    await this.#try(turn, async () => {
      const answer = await api.move(this.plan.game, body, () => turn === this.turn);
      if (turn !== this.turn) return;
      const host = byId("watch");
      host.replaceChildren(...answerOf(answer, this.#side(player), this.#shares));
      host.hidden = false;
      this.#playSoon(answer.move);
    });
  }

  /** Watch a search of the position that is shown, for the side that is to move there. */
  #watch(search) {
    const { player } = this.position;
    const mover = player === null ? null : () => this.#side(player);
    this.watch.open(search, { mover, shares: this.#shares, players: this.game.players.map((_, side) => () => this.#side(side)) });
  }

  #side(player) {
    if (player === CHANCE) return el("span", {}, "chance");
    const named = sideOf(kindOf(this.position), player, this.game.players[player]);
    return this.game.num_players > 2 ? el("span", { class: "owned" }, dotOf(player), named) : named;
  }

  /** The scores so far, as words and elements; nothing where there are no rewards. */
  #scores() {
    const { scores } = this.position;
    if (!scores) return [];
    if (scores.length === 1) return [` Score: ${scores[0]}.`];
    return [" Scores: ", ...scores.flatMap((score, side) => [side ? ", " : "", this.#side(side), ` ${score}`]), "."];
  }

  #answered({ state, result, error }) {
    if (error?.field === "continues") {
      // The tree was lost with the server.
      this.left = {};
      this.#ask(this.turn, this.asking === this.turn);
      return;
    }
    const best = result?.best_move ?? null;
    if (best !== null && this.asked) this.left[this.position.player] = { id: this.asked, moves: [...this.moves] };
    this.asked = null;
    if (best === null) {
      this.#say(state === "failed" ? "The search failed." : `The search was stopped before it had an answer.${this.asking === this.turn ? " Continue it, or take a move back." : ""}`, true);
      return;
    }
    if (this.asking !== this.turn) {
      this.#say(`The search\u2019s best move is ${best}.`);
      return;
    }
    this.#playSoon(best);
  }

  /** Play the move of the computer; between two of them there is a moment to look. */
  #playSoon(move) {
    const turn = this.turn;
    const both = this.plan.sides.every(({ who }) => who === "search");
    setTimeout(() => turn === this.turn && this.#played(move), both ? REST_MS : 0);
  }

  #hint() {
    this.#drop();
    this.#ask(this.turn, false);
  }

  /** Take back the last move that a person chose, and what followed; a single move where nobody did. */
  #undo() {
    this.#drop();
    if (this.position.placing) this.fleet.pop();
    const back = Math.max(this.chosen.lastIndexOf(true), -1);
    const left = back < 0 ? this.moves.length - 1 : back;
    this.moves.splice(left);
    this.chosen.splice(left);
    this.#show();
  }

  #status(person) {
    const { position } = this;
    freeze(false);
    byId("title").textContent = titleOf(position.game);
    byId("spec-shown").title = position.game;
    byId("spec-shown").textContent = position.game.replace(":", ": ").replaceAll(",", ", ").replaceAll("=", " ");
    const last = this.#last();
    const chance = position.player === CHANCE;
    if (position.over) this.#say([`${last}The game is over: `, ...outcomeOf(kindOf(position), this.game.players, position.outcome), ".", ...(this.game.num_players > 1 ? this.#scores() : [])]);
    else if (position.placing) this.#say(`Place your ${position.placing}: choose its first cell, then the marked cell in its direction.`);
    else if (chance) this.#say([`${last}Chance moves.`, ...this.#scores()]);
    else {
      const side = this.plan.sides[position.player];
      const mover = side.player ?? (isPlayer(side, this.game) ? this.game.opponent : "A search");
      const alone = person && this.game.num_players === 1;
      const who = alone ? "Your move" : person ? (this.#mine === null ? "To move: " : "Your move, as ") : `${mover} moves for `;
      this.#say([last + who, alone ? "" : this.#side(position.player), ".", ...this.#scores()]);
    }
    byId("settings-shown").textContent = settingsLine(this.plan.sides, this.game);
    byId("undo").disabled = position.placing ? !this.fleet.length : position.moves.length === 0 || (this.deal !== null && !position.over);
    byId("rest").hidden = !position.placing;
    byId("chances-shown").hidden = position.chances === null;
    byId("hint").disabled = position.over || position.placing || chance || !person;
    byId("dice-shown").hidden = !this.game.chance || this.game.open_loop;
    byId("draw").hidden = !chance || this.dice;
    const moves = byId("moves");
    moves.replaceChildren(...position.moves.map((move) => el("li", {}, move)));
    moves.scrollTop = moves.scrollHeight;
    byId("moves-empty").hidden = position.moves.length > 0;
    this.#list(person);
  }

  /** What was played last; a shot and its answer are one thing. */
  #last() {
    const { moves } = this.position;
    if (!moves.length) return "";
    const answered = this.deal !== null && moves.length > 1;
    return `${answered ? moves.slice(-2).join(": ") : `${moves[moves.length - 1]} was played`}. `;
  }

  /** All legal moves as buttons: for games whose board does not show them, and for who would rather read. */
  #list(person) {
    const { position } = this;
    byId("legal-count").textContent = position.legal_moves.length;
    const legal = byId("legal");
    const kind = kindOf(position);
    const hidden = kind?.offBoard && position.legal_moves.some((move) => !position.cells[move]);
    legal.open = person && (kind === null || position.player === CHANCE || Boolean(hidden));
    legal.hidden = position.over;
    byId("legal-moves").replaceChildren(
      ...position.legal_moves.map((move) =>
        el("button", { type: "button", class: "choice", "data-move": move, disabled: !person, onclick: () => this.#made(move) }, move, position.outcomes ? el("span", { class: "dim small" }, ` ${percent(position.outcomes[move])}`) : null),
      ),
    );
  }

  /** Words, or words and elements in a row. */
  #say(words, problem = false) {
    const node = byId("status");
    node.replaceChildren(...[words].flat());
    node.classList.toggle("problem", problem);
  }
}

/** A position of which `mine` still places ships: the board is that of the own fleet, as the other shoots at it. */
function placed(position, mine) {
  const rows = position.secret.rows.map((row) => row.map(() => ({ text: "", owner: null, last: false, colour: null })));
  return { ...position, player: 1 - mine, chances: null, board: { ...position.secret, rows } };
}

/** Whether some part of a position is hidden, and not what chance will bring alone. */
const hides = (game) => game.hidden_information && !game.open_loop;

/** A side for each player: those of the form, of which the second stands for all others. */
function sidesOf(sides, { players }) {
  return players.map((_, side) => sides[Math.min(side, sides.length - 1)]);
}

/** The fields of a search by a side, beside its budget: what plays the game best, or none. */
function settingsOf({ best }, game) {
  return best ? game.best : {};
}

/** Whether a player is asked for the moves of a side: the chosen one, or the strongest if that is no search. */
function isPlayer({ who, best, player }, game) {
  return who === "search" && (player !== undefined || (best === true && game.opponent !== SEARCH));
}

/** Seconds a move of such a player. */
function secondsOf({ effort }) {
  return effort.seconds ?? MOVE_S;
}

/** One line about who plays, or with which settings the sides search. */
function settingsLine(sides, game) {
  if (sides.some(({ best }) => best === undefined)) return "";
  if (sides.some((side) => isPlayer(side, game))) {
    const names = sides.map((side) => (side.who === "person" ? "a person" : side.player ?? (isPlayer(side, game) ? `${game.opponent}, ${secondsOf(side)} s a move` : side.best ? "a search" : "a textbook search")));
    const who = names[0] === "a person" ? `You play against ${names[1]}` : names[1] === "a person" ? `You play against ${names[0]}` : `${names[0]}, against ${names[1]}`;
    const strongest = sides.some((side) => isPlayer(side, game) && !side.player);
    return `${who}.${strongest ? " No stronger player is known for this game; with \u201ctextbook\u201d a plain search plays." : ""}`;
  }
  const words = Object.entries(game.best).map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);
  const strongest = words.length ? `the strongest search settings known (${words.join(", ")})` : "the default settings, the strongest known of a search";
  const kinds = sides.map(({ best }) => (best ? strongest : "textbook settings"));
  if (kinds.every((kind) => kind === kinds[0])) return `Searches play with ${kinds[0]}.`;
  return `The first side searches with ${kinds[0]}, the ${kinds.length > 2 ? "others" : "second"} with ${kinds[1]}.`;
}

/** Have what belongs to the game that is shown dimmed and out of reach, or not. */
function freeze(frozen) {
  for (const node of document.querySelectorAll("#board, .tools, #legal, .side")) node.inert = frozen;
}

/** The switch with this id, which stays as it was left under this key. `tell(on)` is told of it. */
function kept(id, key, tell) {
  const box = byId(id);
  box.checked = localStorage.getItem(key) !== "hidden";
  const settle = () => {
    localStorage.setItem(key, box.checked ? "shown" : "hidden");
    tell(box.checked);
  };
  box.addEventListener("change", settle);
  settle();
}
