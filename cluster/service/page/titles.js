// What games are called, and what is typed by someone who looks for one.

const TITLES = {
  battleship: "Battleship",
  breakthrough: "Breakthrough",
  chinese_checkers: "Chinese checkers",
  connect_four: "Connect four",
  explicit: "A tree that is written down",
  gomoku: "Gomoku",
  grundy: "Grundy's game",
  hex: "Hex",
  jobshop: "Job shop",
  morris: "Mill games",
  othello: "Othello",
  pig: "Pig",
  samegame: "SameGame",
  thud: "Thud",
  tictactoe: "Tic-tac-toe",
};
const MILLS = { three: "Three men's morris", five: "Five men's morris", six: "Six men's morris", seven: "Seven men's morris", nine: "Nine men's morris", lasker: "Lasker's morris", twelve: "Twelve men's morris" };
const OPENSPIEL = "openspiel:";

/** What a game is called, by its name, or by its spec, where options have a say. */
export function titleOf(spec) {
  if (spec.startsWith(OPENSPIEL)) return `OpenSpiel: ${spec.slice(OPENSPIEL.length)}`;
  const [name, options] = spec.split(":");
  const variant = /variant=(\w+)/.exec(options ?? "");
  return (name === "morris" && variant && MILLS[variant[1]]) || (TITLES[name] ?? name);
}

/** Texts of which one is in the spec of each game that is meant: what was typed, and specs of titles with it. */
export function specsLike(typed) {
  const like = ([, title]) => title.toLowerCase().includes(typed.toLowerCase());
  const names = Object.entries(TITLES).filter(like).map(([name]) => name);
  const variants = Object.entries(MILLS).filter(like).map(([name]) => `variant=${name}`);
  return [typed.replace(/^openspiel: /i, OPENSPIEL), ...names, ...variants];
}
