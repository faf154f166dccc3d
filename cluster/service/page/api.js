// The service, over HTTP: requests, the bearer token, and problems as errors.

/** Where the service is: where the page is, which a proxy may have given a prefix. */
export const SERVER = new URL(".", location).href.replace(/\/$/, "");
const ROOT = `${SERVER}/api/v1`;
/** Services of other prefixes of the same host have tokens of their own. */
const TOKEN = `banyan-token ${SERVER}`;

/** What the service refuses, in its own words; the status is 0 where nobody answers. */
export class Problem extends Error {
  constructor(status, body) {
    const other = `Status ${status}, and not from Banyan: a proxy may ask for a login, or wait for the server.`;
    super(body?.detail || (status ? other : "The server does not answer."));
    this.status = status;
    this.field = body?.field;
  }
}

/** Whoever asks for a token is told here when one is needed. */
export const needs = new EventTarget();

const token = () => sessionStorage.getItem(TOKEN);
export const setToken = (value) =>
  value ? sessionStorage.setItem(TOKEN, value) : sessionStorage.removeItem(TOKEN);

/** What went wrong, for people: in the words of the service, or in this sentence if it is a fault of the page. */
export function words(error, sentence = "The page cannot show what the server sent. Reload it: it may be of another version.") {
  if (error instanceof Problem) return error.message;
  console.error(error);
  return sentence;
}

/** JSON in which integers that JavaScript would round read as they were sent, and count as the nearest number. */
export function read(text) {
  return JSON.parse(text, (_, value, { source } = {}) => {
    if (Number.isSafeInteger(value) || !/^-?\d+$/.test(source)) return value;
    return Object.assign(Object(value), { toString: () => source, toJSON: () => JSON.rawJSON(source) });
  });
}

/** Send a request with the token, if there is one, and again if one was given meanwhile. Throws Problem unless it succeeds. */
export async function send(path, headers, options) {
  const known = token();
  if (known) headers.Authorization = `Bearer ${known}`;
  const answer = await fetch(ROOT + path, { headers, ...options }).catch(() => Response.error());
  if (answer.ok) return answer;
  if (answer.status === 401 && token() !== known) return send(path, headers, options);
  if (answer.status === 401) needs.dispatchEvent(new Event("token"));
  throw new Problem(answer.status, await answer.json().catch(() => null));
}

/** JSON from the service. Throws Problem. */
export async function ask(method, path, body = undefined, more = {}) {
  const sent = body === undefined ? { ...more } : { ...more, "Content-Type": "application/json" };
  const answer = await send(path, sent, { method, body: body && JSON.stringify(body) });
  return answer.text().then(read).catch(() => Promise.reject(new Problem(answer.status)));
}

/** How the service works, in its own words, and its players; known once it was asked for its games. */
export const about = { workers: "", players: [] };
export const games = async () => {
  const { games: found, ...rest } = await ask("GET", "/games");
  Object.assign(about, rest);
  return found;
};
/** A game. Throws Problem also where one of these players cannot play it. */
export const game = (spec, players = []) => ask("GET", `/games/${encodeURIComponent(spec)}${players.map((each, i) => `${i ? "&" : "?"}player=${encodeURIComponent(each)}`).join("")}`);
export const position = (spec, body) => ask("POST", `/games/${encodeURIComponent(spec)}/positions`, body);
export const search = (id) => ask("GET", `/searches/${id}`);
/** How value and rate were since the start of a search: [seconds, value or null, simulations per second]. */
export const curve = async (id) => (await ask("GET", `/searches/${id}/curve`)).points;
export const cancel = (id) => ask("DELETE", `/searches/${id}`);
export const resume = (id) => ask("POST", `/searches/${id}/resume`);

/** The latest searches: in this state, unless it is ""; of games with one of these texts, if there are any. */
export function searches(limit, { state, games: texts }) {
  const asked = new URLSearchParams({ limit });
  if (state) asked.set("state", state);
  for (const text of texts) asked.append("game", text);
  return ask("GET", `/searches?${asked}`);
}

/** Ask for a search. Sent again with the same key while no server answers, so that there is one of it. */
export function begin(body, wanted = () => true) {
  const key = randomKey();
  return patiently(() => ask("POST", "/searches", body, { "Idempotency-Key": key }), wanted);
}

/** Ask a player for its move. */
export function move(spec, body, wanted = () => true) {
  return patiently(() => ask("POST", `/games/${encodeURIComponent(spec)}/moves`, body), wanted);
}

/** Send again while no server answers, or one that has too much to do, or a proxy without one, for as long as it is wanted. */
async function patiently(send, wanted) {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (![0, 429, 502, 503, 504].includes(error.status) || !wanted()) throw error;
      await pause(1000);
    }
  }
}

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function randomKey() {
  // crypto.randomUUID is for secure contexts alone.
  return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
}
