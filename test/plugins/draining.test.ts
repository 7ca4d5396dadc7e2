import { configOf } from "../stack.js";
import t from "tap";
import { createApp, createMetricsApp } from "../../app.js";
import {
  admin,
  connectionsOf,
  dial,
  listen,
  rawRequest,
  serve,
  timed,
  until,
} from "../helper.js";
import { testdir } from "../testdir.js";

const rooms = "/api/v1/worlds/demo/rooms/";
const head = {
  Authorization: admin("demo"),
  "Content-Type": "application/json",
  "Content-Length": "20",
};

void t.test("a close waits no longer than it should", async (t) => {
  const half = rawRequest(`POST ${rooms}`, { ...head, Expect: "100-continue" });
  const cases: [
    name: string,
    sent: string,
    statuses: number[],
    waits: boolean,
  ][] = [
    ["nothing", "", [], false],
    ["half a line", "GET /hea", [], false],
    ["half its headers", "GET /healthz HTTP/1.1\r\nHost: a\r\n", [], false],
    ["no body", half, [100], true],
    ["two, and half a line", rawRequest("GET /healthz") + "GET", [200], false],
    [
      "another, and no body",
      rawRequest("GET /healthz") + half,
      [200, 100],
      true,
    ],
  ];
  for (const [name, sent, statuses, waits] of cases) {
    const patience = { stop: 60_000, close: waits ? 300 : 20_000 };
    const { app } = await serve(t, undefined, { config: { patience } });
    const wire = dial(t, await listen(app));
    wire.send(sent);
    await until(async () => (await connectionsOf(app)) === 1);
    for (const status of statuses) {
      t.equal((await wire.answer()).status, status, name);
    }
    const took = await timed(() => app.close());
    // A timer may fire a millisecond early.
    t.equal(took >= patience.close - 1, waits, `${name}: ${took} ms`);
    t.ok(took < 20_000, `${name}: ${took} ms`);
  }
});

void t.test("the port of the metrics closes as soon", async (t) => {
  const { app } = await serve(t);
  const metrics = createMetricsApp(app, undefined);
  const wire = dial(t, await listen(metrics));
  wire.send("GET /met");
  await until(async () => (await connectionsOf(metrics)) === 1);
  const took = await timed(() => metrics.close());
  t.ok(took < 20_000, `${took} ms`);
});

void t.test("a close answers what came whole", async (t) => {
  const app = createApp({ config: await configOf(testdir(t)) });
  let begun = 0;
  let answer = () => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  app.get("/held", { config: { requires: "public" } }, async () => {
    begun++;
    await held;
    return { held: true };
  });
  const wire = dial(t, await listen(app));
  wire.send(rawRequest("GET /held"));
  await until(() => begun === 1);
  const closed = app.close();
  setTimeout(answer, 200);
  t.equal((await wire.answer()).text, '{"held":true}');
  await closed;
});

void t.test("nothing waits for an answer that is not read", async (t) => {
  const app = createApp({ config: await configOf(testdir(t)) });
  t.teardown(() => app.close());
  app.get(
    "/held",
    { config: { requires: "public" } },
    () => new Promise(() => {}),
  );
  const wire = dial(t, await listen(app));
  let arrived = 0;
  app.server.on("request", () => arrived++);
  // The second waits behind the first, and never gets a socket of its own.
  wire.send(rawRequest("GET /held") + rawRequest("GET /held"));
  await until(() => arrived === 2);
  const took = await timed(async () => {
    const drained = app.drain(60_000);
    wire.hangUp();
    await drained;
  });
  t.ok(took < 30_000, `${took} ms`);
});
