// The service, over HTTP: requests, the bearer token, and problems as errors.

const ROOT = "/api/v1";
const TOKEN = "banyan-token";

/** What the service refuses, in its own words. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `the server answered ${status}`);
    this.status = status;
    this.field = body.field ?? null;
  }
}

/** Whoever asks for a token is told here when one is needed. */
export const needs = new EventTarget();

export const token = () => sessionStorage.getItem(TOKEN);
export const setToken = (value) =>
  value ? sessionStorage.setItem(TOKEN, value) : sessionStorage.removeItem(TOKEN);

/** Headers with the token, if there is one. */
export function headers(more = {}) {
  const known = token();
  return known ? { ...more, Authorization: `Bearer ${known}` } : more;
}

/** JSON from the service. Throws Problem, and TypeError where no server answers. */
export async function ask(method, path, body = undefined, more = {}) {
  const sent = { ...more };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  const answer = await fetch(ROOT + path, {
    method,
    headers: headers(sent),
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (answer.ok) return answer.json();
  const problem = new Problem(answer.status, await answer.json().catch(() => ({})));
  if (answer.status === 401) needs.dispatchEvent(new Event("token"));
  throw problem;
}

/** How the service works, in its own words; known once it was asked for its games. */
export const about = { workers: "" };
export const games = async () => {
  const { games: found, workers } = await ask("GET", "/games");
  about.workers = workers;
  return found;
};
export const game = (spec) => ask("GET", `/games/${encodeURIComponent(spec)}`);
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

/** Ask a player that is not a search for its move. */
export function move(spec, body, wanted = () => true) {
  return patiently(() => ask("POST", `/games/${encodeURIComponent(spec)}/moves`, body), wanted);
}

/** Send again while no server answers, or one that has too much to do, for as long as it is wanted. */
async function patiently(send, wanted) {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      const busy = error instanceof Problem && (error.status === 429 || error.status === 503);
      if ((error instanceof Problem && !busy) || !wanted()) throw error;
      await pause(1000);
    }
  }
}

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function randomKey() {
  // crypto.randomUUID is for secure contexts alone.
  return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
}
