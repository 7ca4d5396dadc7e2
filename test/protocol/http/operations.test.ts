import { readFileSync } from "node:fs";
import Fastify from "fastify";
import t, { type Test } from "tap";
import type { Engines } from "../../../db/contract/engines.js";
import { type Store, StoreError } from "../../../db/contract/store.js";
import engines from "../../../plugins/engines.js";
import retention, { applyRetention, ClockTrust } from "../../../plugins/retention.js";
import { fileForm, PDF, textsBelow, upload } from "../../support/files.js";
import { admin, foyer, startFoyer, until, worldOf } from "../../support/helper.js";
import { startServer } from "../../support/server.js";
import { openStoreIn } from "../../support/stack.js";
import { testdir } from "../../support/testdir.js";

// What operators can observe on a server, and what it deletes after some days.

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";
const token = "a-token-of-30-characters-or-so";
const on = { metrics: { host: "127.0.0.1", port: undefined, token } };

/** Returns the value of one metric with its labels, as Prometheus parses it. */
const valueOf = (text: string, metric: string) => {
  const line = text.split("\n").find((line) => line.startsWith(`${metric} `));
  return line === undefined ? undefined : Number(line.split(" ").at(-1));
};

const scrape = { url: "/metrics", headers: { authorization: `Bearer ${token}` } };

void t.test("who may read the metrics", async (t) => {
  const closed = await startServer(t);
  const open = await startServer(t, { config: on });
  const cases: [name: string, server: typeof open, as: string | undefined, status: number][] = [
    ["nobody, by default", closed, undefined, 404],
    ["nobody, whatever they send", closed, `Bearer ${token}`, 404],
    ["no token", open, undefined, 401],
    ["another token", open, `Bearer ${token.replace("a", "b")}`, 401],
    ["half of the token", open, `Bearer ${token.slice(0, 9)}`, 401],
    ["the token of an admin", open, as, 401],
    ["the token in another scheme", open, `Basic ${token}`, 401],
    ["the token", open, `Bearer ${token}`, 200],
  ];
  for (const [name, { app }, as, status] of cases) {
    const headers = { ...(as !== undefined && { authorization: as }) };
    const got = await app.inject({ url: "/metrics", headers });
    t.equal(got.statusCode, status, name);
    if (status !== 200) {
      t.match(got.json(), { detail: /./ }, name);
      continue;
    }
    const type = /^text\/plain; version=0\.0\.4/;
    t.match(got.headers, { "content-type": type, "cache-control": "no-store" });
  }
});

void t.test("what they count", async (t) => {
  const { app, store, call } = await startServer(t, { config: on });
  const read = async () => (await app.inject(scrape)).body;
  for (const request of [
    { url: rooms, as },
    { url: rooms, as },
    { url: rooms },
    { url: "/no/such/path?with=a-secret" },
    { url: `${rooms}${"x".repeat(100)}/`, as },
    { method: "POST", url: rooms, as, body: { name: "a" } },
    { method: "POST", url: rooms, as, body: { name: "b" } },
  ]) {
    await call(request);
  }
  t.equal((await upload({ call }, fileForm("a.pdf", PDF))).status, 201);
  const text = await read();
  const count = "foyer_http_request_duration_seconds_count";
  const list = "/api/v1/worlds/:world_id/rooms/";
  const cases: [metric: string, value: number][] = [
    [`${count}{method="GET",route="${list}",status="200"}`, 2],
    [`${count}{method="GET",route="${list}",status="401"}`, 1],
    [`${count}{method="POST",route="${list}",status="201"}`, 2],
    [`${count}{method="GET",route="${list}:room_id/",status="403"}`, 1],
    [`${count}{method="GET",route="none",status="404"}`, 1],
    [`${count}{method="POST",route="/storage/upload/",status="201"}`, 1],
    ["foyer_uploads_total", 1],
    ["foyer_upload_bytes_total", PDF.length],
    ["foyer_worlds", 1],
    ["foyer_rooms", 2],
    ["foyer_users", 1],
    ["foyer_oldest_erasure_seconds", 0],
    ["foyer_file_bytes", PDF.length],
  ];
  for (const [metric, value] of cases) t.equal(valueOf(text, metric), value, metric);
  for (const metric of [
    "foyer_database_bytes",
    "process_resident_memory_bytes",
    "nodejs_eventloop_lag_p99_seconds",
  ]) {
    t.ok(valueOf(text, metric)! > 0, metric);
  }
  t.match(text, /^foyer_build_info\{version="\d[^"]+",node="\d[^"]+"\} 1$/m);
  t.notMatch(text, /secret|xxx|no\/such/, "nothing that a client made up");
  await store.rooms.create("demo", { name: "c" });
  t.equal(valueOf(await read(), "foyer_rooms"), 3, "asked for at each scrape");
});

void t.test("a port of their own, with and without a token", async (t) => {
  for (const secret of ["", token]) {
    const env = { METRICS_PORT: "0", LOG_LEVEL: "info", METRICS_TOKEN: secret };
    const server = await startFoyer(t, testdir(t), [], env);
    await until(() => server.said.stdout.includes("/metrics"));
    const url = /metrics at (http:[^"]+)/.exec(server.said.stdout)![1]!;
    t.match(url, /^http:\/\/127\.0\.0\.1:/);
    const { headers } = scrape;
    t.equal((await fetch(url)).status, secret ? 401 : 200);
    t.equal((await fetch(url, { headers })).status, 200);
    t.equal((await fetch(new URL("/healthz", url))).status, 404);
    t.equal((await fetch(`${server.address}/metrics`, { headers })).status, 404);
    t.notMatch(server.said.stdout, token);
    const busy = { PORT: "0", METRICS_PORT: new URL(url).port };
    t.match(await foyer(testdir(t), ["serve"], busy), {
      code: 1,
      stderr: /^foyer: .*EADDRINUSE.*\n$/,
    });
    server.signal("SIGTERM");
    t.equal((await server.finished).code, 0);
  }
});

void t.test("the dashboard shows metrics that there are", async (t) => {
  const database = { isUp: true, idle: 3, used: 2, waiting: 1 };
  const health = () => ({ database, isValkeyUp: false });
  const jitsi = { url: "https://meet.example.org/", appId: "foyer", secret: "x" };
  const { app, call } = await startServer(t, { config: { ...on, calls: { jitsi } }, health });
  await call({ url: rooms, as });
  const { body } = await app.inject(scrape);
  for (const [metric, value] of [
    ['foyer_database_connections{state="used"}', 2],
    ['foyer_database_connections{state="waiting"}', 1],
    ["foyer_database_up", 1],
    ["foyer_valkey_up", 0],
  ] as const) {
    t.equal(valueOf(body, metric), value, metric);
  }
  const known = new Set(
    [...body.matchAll(/^# TYPE (\S+) (\S+)/gm)].flatMap(([, name, type]) =>
      type === "histogram" ? ["bucket", "sum", "count"].map((part) => `${name}_${part}`) : [name!],
    ),
  );
  const path = new URL("../../../../docs/grafana-dashboard.json", import.meta.url);
  const { panels } = JSON.parse(readFileSync(path, "utf8")) as {
    panels: { title: string; targets?: { expr: string }[] }[];
  };
  const shown = new Set<string>();
  for (const { title, targets = [] } of panels) {
    t.ok(targets.length > 0, title);
    for (const { expr } of targets) {
      const names = expr.match(/\b(foyer|process|nodejs)_\w+/g) ?? [];
      t.ok(names.length > 0 && names.every((name) => known.has(name)), `${title}: ${expr}`);
      for (const name of names) shown.add(name);
    }
  }
  const own = [...known].filter((name) => /^foyer_(?!.*_sum$)/.test(name));
  const missing = own.filter((name) => !shown.has(name));
  t.strictSame(missing, [], "and leaves out none of ours");
});

const DAY = 24 * 60 * 60_000;

/** Opens a store with a world that has messages in two rooms. */
async function chatted(t: Test) {
  const dataDir = testdir(t);
  const store = await openStoreIn(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  const traits = new Set<string>();
  const { id: user } = await store.users.enter("demo", { clientId: "x", traits });
  const rooms: string[] = [];
  for (const name of ["a", "b"]) {
    const { value } = await store.rooms.create("demo", { name });
    rooms.push(value.id);
    await store.chat.join("demo", value.id, user);
    const content = { type: "text", body: `said in ${name}` };
    await store.chat.send("demo", value.id, { sender: user, content });
  }
  const keep = (chat: unknown) => store.worlds.configure("demo", { config: { chat } });
  const count = async () => {
    const lists = rooms.map((room) => store.chat.events("demo", room, { after: 0, limit: 99 }));
    return (await Promise.all(lists)).flat().length;
  };
  return { dataDir, store, keep, count, user, room: rooms[0]! };
}

/** Replaces a store's method for the expiry of chat. */
const expiring = (store: Store, expire: Store["chat"]["expire"]): Store => ({
  ...store,
  chat: { ...store.chat, expire },
});

void t.test("a world keeps its chat as long as it says", async (t) => {
  const { dataDir, store, keep, count } = await chatted(t);
  const later = Date.now() + 3 * DAY;
  const days = ["2", 0, -2, null, true, [2], {}, 1e300, 3.5];
  const kept = days.map((retention_days) => ({ retention_days }));
  for (const chat of [undefined, null, 1, "2", [], {}, ...kept]) {
    await keep(chat);
    await applyRetention(store, later);
    t.equal(await count(), 4, JSON.stringify(chat));
  }
  await keep({ retention_days: 2.5 });
  await applyRetention(store, Date.now() + 2 * DAY);
  t.equal(await count(), 4, "not yet");
  await Promise.all([applyRetention(store, later), applyRetention(store, later)]);
  t.equal(await count(), 0, "by two at once");
  await store.close();
  t.strictSame(await textsBelow(dataDir, ["said in"]), [], "with its bytes");
});

void t.test("the log of a world is kept for some days", async (t) => {
  const { store } = await chatted(t);
  const now = Date.now();
  const typesAfter = async (seq: number) =>
    (await store.log.since("demo", seq, 100)).entries.map(({ type }) => type);
  const [head] = await store.log.heads(["demo"]);
  const before = await typesAfter(0);
  await applyRetention(store, now + 9 * DAY, { logDays: 10 });
  t.strictSame(await typesAfter(0), before, "not yet");
  await applyRetention(store, now + 11 * DAY, { logDays: 10 });
  t.ok((await typesAfter(0)).every((type) => type === "chat.event"));
  t.strictSame(await store.log.heads(["demo"]), [head]);
  await store.rooms.create("demo", { name: "c" });
  t.strictSame(await typesAfter(head!.seq), ["room.created"]);
  t.equal((await store.log.since("demo", head!.seq, 1)).entries.length, 1);
});

void t.test("a world keeps no attendance that it does not ask for", async (t) => {
  const { store, user, room } = await chatted(t);
  const now = Date.now();
  const { attendance } = store;
  const keep = (attendance: string) => store.worlds.configure("demo", { config: { attendance } });
  const kept = async (attendanceDays: number) => {
    await applyRetention(store, now, { attendanceDays });
    const all = { from: 0, span: 60_000, limit: 9 };
    return [
      (await attendance.counts("demo", room, all)).length,
      (await attendance.visits("demo", room, undefined, 9)).length,
    ];
  };
  const at = now - 3 * DAY;
  await attendance.sample("demo", at, [{ room, people: 1 }]);
  await attendance.note("demo", [{ user, room, from: at, to: at + 1 }]);
  await keep("people");
  t.strictSame(await kept(4), [1, 1]);
  await store.worlds.update("demo", { config: worldOf("demo").config });
  t.strictSame(await kept(4), [1, 1], "a config that forgets it");
  await keep("numbers");
  t.strictSame(await kept(4), [1, 0]);
  t.strictSame(await kept(2), [0, 0]);
  await attendance.sample("demo", at, [{ room, people: 1 }]);
  await keep("off");
  t.strictSame(await kept(4), [0, 0]);
});

void t.test("a world that fails keeps no other from its turn", async (t) => {
  const { store, keep, count } = await chatted(t);
  await keep({ retention_days: 1 });
  for (const id of ["absent", "broken"]) {
    const { config } = worldOf(id);
    await store.worlds.create(worldOf(id, { config: { ...config, chat: { retention_days: 1 } } }));
  }
  const failing = expiring(store, (world, before) => {
    if (world === "demo") return store.chat.expire(world, before);
    if (world === "broken") return Promise.reject(new Error("broken"));
    return Promise.reject(new StoreError("absent", "There is no such world."));
  });
  const faults: string[] = [];
  const now = Date.now() + 3 * DAY;
  const onFault = (error: unknown, world: string) => faults.push(`${world}: ${String(error)}`);
  await applyRetention(failing, now, { onFault });
  t.strictSame(faults, ["broken: Error: broken"]);
  t.equal(await count(), 0);
  await t.rejects(applyRetention(failing, now), { message: "broken" });
});

void t.test("which clock is believed", (t) => {
  const hour = DAY / 24;
  type Step = [passed: number, jump: number, isTrusted: boolean];
  const steady: Step[] = [
    [0, 0, true],
    [hour, 0, true],
  ];
  const back: Step[] = [
    [0, 0, true],
    [hour, 400 * DAY, false],
    [hour, 0, false],
    [hour, -400 * DAY, false],
    [23 * hour, 0, false],
    [hour, 0, true],
  ];
  const late: Step[] = [
    [0, 0, false],
    [23 * hour, 0, false],
    [hour, 0, true],
  ];
  const cases: [name: string, ahead: number, steps: Step[]][] = [
    ["a steady clock", 0, steady],
    ["one that is corrected a little", 0, [[hour, 9 * 60_000, true]]],
    ["one that jumps and comes back", 0, back],
    ["one that is far ahead of the log at the start", 400 * DAY, late],
    ["a start after some days", 6 * DAY, steady],
    ["an empty log", -Infinity, steady],
  ];
  for (const [name, ahead, steps] of cases) {
    let [now, date] = [0, 0];
    const trust = new ClockTrust({ now: () => now, date: () => date });
    trust.compare(-ahead);
    for (const [i, [passed, jump, isTrusted]] of steps.entries()) {
      now += passed;
      date += passed + jump;
      t.equal(trust.isTrusted(), isTrusted, `${name}, ${i}`);
    }
  }
  t.end();
});

void t.test(
  "retention runs until the application closes, with a clock that it trusts",
  async (t) => {
    const { store, keep, count } = await chatted(t);
    await keep({ retention_days: 1 });
    let calls = 0;
    const counting = expiring(store, async () => ++calls % 3 > 0);
    for (const [used, ahead] of [
      [store, 400 * DAY],
      [counting, 0],
    ] as const) {
      const app = Fastify();
      app.register(engines, { engines: { store: used, close: async () => {} } as Engines });
      let looks = 0;
      const date = () => {
        looks++;
        return Date.now() + ahead;
      };
      const clock = { now: () => performance.now(), date };
      app.register(retention, { first: 1, interval: 1, clock });
      await app.ready();
      await until(() => (ahead > 0 ? looks : calls) > 9);
      await app.close();
      const [looked, called] = [looks, calls];
      await new Promise((resolve) => setTimeout(resolve, 50));
      t.strictSame([looks, calls], [looked, called], "nothing runs after the close");
      t.equal(await count(), 4, "a clock far ahead deletes nothing");
    }
  },
);
