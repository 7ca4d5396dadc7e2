import { readFileSync } from "node:fs";
import t from "tap";
import { fileForm, PDF, upload } from "../files.js";
import { admin, foyer, serve, startFoyer, until } from "../helper.js";
import { testdir } from "../testdir.js";

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";
const token = "a-token-of-30-characters-or-so";
const on = { metrics: { host: "127.0.0.1", port: undefined, token } };

/** The value of one metric with its labels, as Prometheus reads it. */
const valueOf = (text: string, metric: string) => {
  const line = text.split("\n").find((line) => line.startsWith(`${metric} `));
  return line === undefined ? undefined : Number(line.split(" ").at(-1));
};

void t.test("who may read the metrics", async (t) => {
  const cases: [
    name: string,
    isOn: boolean,
    as: string | undefined,
    status: number,
  ][] = [
    ["nobody, by default", false, undefined, 404],
    ["nobody, whatever they send", false, `Bearer ${token}`, 404],
    ["no token", true, undefined, 401],
    ["another token", true, `Bearer ${token.replace("a", "b")}`, 401],
    ["half of the token", true, `Bearer ${token.slice(0, 9)}`, 401],
    ["the token of an admin", true, as, 401],
    ["the token in another scheme", true, `Basic ${token}`, 401],
    ["the token", true, `Bearer ${token}`, 200],
  ];
  const closed = await serve(t);
  const open = await serve(t, undefined, { config: on });
  for (const [name, isOn, as, status] of cases) {
    const { app } = isOn ? open : closed;
    const got = await app.inject({
      url: "/metrics",
      headers: { ...(as !== undefined && { authorization: as }) },
    });
    t.equal(got.statusCode, status, name);
    if (status === 200) {
      t.match(got.headers["content-type"], /^text\/plain; version=0\.0\.4/);
      t.equal(got.headers["cache-control"], "no-store");
    } else t.match(got.json(), { detail: /./ }, name);
  }
});

void t.test("what they count", async (t) => {
  const { app, store, call } = await serve(t, undefined, { config: on });
  const read = async () =>
    (
      await app.inject({
        url: "/metrics",
        headers: { authorization: `Bearer ${token}` },
      })
    ).body;
  await call({ url: rooms, as });
  await call({ url: rooms, as });
  await call({ url: rooms });
  await call({ url: "/no/such/path?with=a-secret" });
  await call({ url: `${rooms}${"x".repeat(100)}/`, as });
  for (const name of ["a", "b"]) {
    await call({ method: "POST", url: rooms, as, body: { name } });
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
  for (const [metric, value] of cases) {
    t.equal(valueOf(text, metric), value, metric);
  }
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

void t.test("a port of their own", async (t) => {
  const env = { METRICS_PORT: "0", LOG_LEVEL: "info" };
  const server = await startFoyer(t, testdir(t), [], env);
  await until(() => server.said.stdout.includes("/metrics"));
  const url = /metrics at (http:[^"]+)/.exec(server.said.stdout)![1]!;
  t.match(url, /^http:\/\/127\.0\.0\.1:/);
  t.equal((await fetch(url)).status, 200);
  t.equal((await fetch(new URL("/healthz", url))).status, 404);
  t.equal((await fetch(`${server.address}/metrics`)).status, 404);

  const dataDir = testdir(t);
  const busy = { PORT: "0", METRICS_PORT: new URL(url).port };
  const got = await foyer(dataDir, ["serve"], busy);
  t.equal(got.code, 1);
  t.match(got.stderr, /^foyer: .*EADDRINUSE.*\n$/);
  server.signal("SIGTERM");
  t.equal((await server.finished).code, 0);
});

void t.test("a port and a token", async (t) => {
  const env = { METRICS_PORT: "0", METRICS_TOKEN: token, LOG_LEVEL: "info" };
  const server = await startFoyer(t, testdir(t), [], env);
  await until(() => server.said.stdout.includes("/metrics"));
  const url = /metrics at (http:[^"]+)/.exec(server.said.stdout)![1]!;
  t.equal((await fetch(url)).status, 401);
  const headers = { authorization: `Bearer ${token}` };
  t.equal((await fetch(url, { headers })).status, 200);
  t.equal((await fetch(`${server.address}/metrics`, { headers })).status, 404);
  t.notMatch(server.said.stdout, token);
});

void t.test("the dashboard shows metrics that there are", async (t) => {
  const { app, call } = await serve(t, undefined, {
    config: on,
    health: () => ({
      database: { isUp: true, idle: 3, used: 2, waiting: 1 },
      isValkeyUp: false,
    }),
  });
  await call({ url: rooms, as });
  const { body } = await app.inject({
    url: "/metrics",
    headers: { authorization: `Bearer ${token}` },
  });
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
      type === "histogram"
        ? [`${name}_bucket`, `${name}_sum`, `${name}_count`]
        : [name],
    ),
  );
  const { panels } = JSON.parse(
    readFileSync(
      new URL("../../../docs/grafana-dashboard.json", import.meta.url),
      "utf8",
    ),
  ) as { panels: { title: string; targets?: { expr: string }[] }[] };
  const shown = new Set<string>();
  for (const { title, targets = [] } of panels) {
    t.ok(targets.length > 0, title);
    for (const { expr } of targets) {
      const names = expr.match(/\b(foyer|process|nodejs)_\w+/g) ?? [];
      t.ok(names.length > 0, `${title}: ${expr}`);
      for (const name of names) {
        t.ok(known.has(name), `${title}: ${name}`);
        shown.add(name);
      }
    }
  }
  const own = [...known].filter((name) => /^foyer_(?!.*_sum$)/.test(name!));
  t.strictSame(
    own.filter((name) => !shown.has(name!)),
    [],
    "and leaves out none of ours",
  );
});
