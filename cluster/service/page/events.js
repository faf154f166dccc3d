// Streams of the service: server-sent events, read by fetch, because EventSource sends no token.

import { pause, read, send } from "./api.js";

const WAITS_MS = [300, 700, 1500, 3000];

/**
 * Follow the stream at this path until its event "final": `event(name, data)` for each event, `link(connected)`
 * whenever the connection is lost or there again. After a loss it goes on behind the last event that it has seen.
 * Gives back a function that stops it.
 */
export function follow(path, { event, link, failed }) {
  const stopper = new AbortController();
  run(path, stopper.signal, event, link).catch((error) => {
    if (!stopper.signal.aborted) failed(error);
  });
  return () => stopper.abort();
}

async function run(path, signal, event, link) {
  let last = null;
  let losses = 0;
  for (;;) {
    try {
      const sent = { Accept: "text/event-stream", ...(last === null ? {} : { "Last-Event-ID": last }) };
      const answer = await send(path, sent, { signal, cache: "no-store" });
      if (answer.status === 204) return;
      link(true);
      for await (const each of messages(answer.body)) {
        last = each.id ?? last;
        const data = read(each.data);
        // By itself: a fault of the page is no lost connection.
        queueMicrotask(() => event(each.name, data));
        losses = 0;
        if (each.name === "final") return;
      }
    } catch (error) {
      if (signal.aborted) throw error;
      // What is refused now may not be later: a full server, a token that is typed in, a proxy that waits.
      if (error.status === 404) throw error;
    }
    link(false);
    await pause(WAITS_MS[Math.min(losses, WAITS_MS.length - 1)]);
    losses += 1;
    if (signal.aborted) return;
  }
}

/** Messages of a stream of events, as the HTML standard says they are written. */
async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
      rest = lines.pop();
      for (const block of lines) {
        const message = parse(block);
        if (message.data) yield message;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parse(block) {
  const message = { id: null, name: "message", data: "" };
  for (const line of block.split("\n")) {
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line);
    if (field === "id") message.id = value;
    else if (field === "event") message.name = value;
    else if (field === "data") message.data += (message.data && "\n") + value;
  }
  return message;
}
