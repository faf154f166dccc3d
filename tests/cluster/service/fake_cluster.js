// A cluster that is made up: the page's requests for its events are answered here, a tick each second.
// Evaluated before the page's own scripts, with {machines, each, searches, ended}: how many, workers of each, and searches.
({ machines, each, searches, ended = 0 }) => {
  const kept = window.fetch;
  window.ahead_s = 0;
  const ids = [...Array(searches).keys()].map((k) => `fake${k}`);
  // Some that have ended: of gomoku, and one of hex that is nearly nothing.
  const over = [...Array(ended).keys()].map((k) => `over${k}`);
  const games = ["gomoku", "thud", "othello:size=8", "morris"];
  const share = (slot, t) => (slot % 23 === 7 && t % 60 > 53 ? -2 : slot % 23 === 7 && t % 60 > 45 ? -1 : slot % 11 === 3 ? 0 : 60 + ((slot * 7 + t * 13) % 41));
  // What other programs take of its core: all of it now and then, and half of it from some workers.
  const core = (slot, t) => Math.round(Math.max(0, share(slot, t)) * (slot % 8 === 5 ? 0.35 + 0.2 * Math.sin(t / 9) : 1));
  const overRates = (i) => (i >= 100 && i < 115 ? over.map((id, k) => [id, k ? 4e6 : 1e3, 4e6]) : []);
  const point = (time, i) => ({ time, rates: [...ids.map((id, k) => [id, (k + 1) * 4e5 * (1.2 + Math.sin(time / 40 + k)), (k + 1) * 8e5]), ...overRates(i)] });
  const now = (time) => ({
    simulations_per_s: 5.4e6, playouts_per_s: 1.08e7, searches_running: ids.length, running: ids, searches_waiting: ids.length && 3, jobs_waiting: 12, jobs_in_flight: machines * each,
    results_waiting: 4, merge_lag_s: 0.012, merge_ms: 3.1, merging: 4 + (Math.floor(time) % 9), duplicates: 0.004, unobserved_samples: 512, tree_bytes: 1.2e8, worker_tree_bytes: 6.4e7,
  });
  const worker = (slot, time) => {
    const last = share(slot, Math.floor(time));
    return {
      slot, machine: `node-${Math.floor(slot / each)}`, pid: 4000 + slot, state: last === -1 ? "lost" : last === -2 ? "starting" : last ? "busy" : "idle", since: time - 300, search: last > 0 && ids.length ? ids[slot % ids.length] : null,
      search_since: time - 75, simulations_per_s: last > 0 ? 9000 + slot : 0, busy: Math.max(0, last) / 100, jobs: 40, restarts: slot % 23 === 7 ? 2 : 0,
    };
  };
  const slots = [...Array(machines * each).keys()];
  const mark = (time, slot, change, reason) => ({ time, worker: slot, machine: `node-${Math.floor(slot / each)}`, change, reason });
  const first = (time) => ({
    time, started: time - 800, executor: "ray", ready: true, span_s: 900, step_s: 2, strip_s: 60,
    // Nothing for a minute, as if the server had been down.
    history: [...Array(400).keys()].map((i) => point(time - 800 + 2 * i, i)).filter((p) => p.time < time - 500 || p.time > time - 440),
    searches: Object.fromEntries([...ids.map((id, k) => [id, { game: games[k % 4], strategy: k % 2 ? "root" : "tree" }]), ...over.map((id, k) => [id, { game: k ? "gomoku:size=9" : "hex", strategy: "tree" }])]),
    marks: [...slots.slice(0, 150).map((slot) => mark(time - 430, slot, "joined", "")), mark(time - 300, 7, "lost", "its process died (SIGKILL)"), mark(time - 280, 7, "joined", ""), mark(time - 100, 3, "left", "node-0 has gone")],
    workers: slots.map((slot) => ({ ...worker(slot, time), ...Object.fromEntries([["strip", share], ["cores", core]].map(([name, of]) => [name, [...Array(60).keys()].map((i) => of(slot, Math.floor(time) - 59 + i))])) })),
    now: { ...now(time), merging: [...Array(60).keys()].map((i) => 4 + (i % 9)) },
  });
  const tick = (time) => ({
    time, ready: true, point: Math.floor(time) % 2 ? point(time) : null, marks: [], now: now(time), strips: slots.map((slot) => share(slot, Math.floor(time))), cores: slots.map((slot) => core(slot, Math.floor(time))), rates: slots.map((slot) => 9000 + slot),
    busy: slots.map((slot) => Math.max(0, share(slot, Math.floor(time))) / 100), changed: slots.filter((slot) => slot % 23 === 7).map((slot) => worker(slot, time)), searches: {},
  });
  window.fetch = (url, options) => {
    if (!url.endsWith("/cluster/events")) return kept(url, options);
    const text = (name, data) => new TextEncoder().encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
    let timer;
    const now_s = () => Date.now() / 1000 + window.ahead_s;
    const start = (stream) => {
      const whole = () => stream.enqueue(text("cluster", first(now_s())));
      whole();
      // For tests: another cluster, and a clock that is set.
      window.become = (workers, some) => ([slots.length, ids.length] = [workers, some]) && whole();
      timer = setInterval(() => stream.enqueue(text("tick", tick(now_s()))), 1000);
      options.signal.addEventListener("abort", () => (clearInterval(timer), stream.error(new DOMException("", "AbortError"))));
    };
    return Promise.resolve(new Response(new ReadableStream({ start, cancel: () => clearInterval(timer) })));
  };
}
