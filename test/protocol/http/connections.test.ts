import { once } from "node:events";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import t, { type Test } from "tap";
import { createMetricsApp } from "../../../app.js";
import { loadConfig } from "../../../config.js";
import type { ByteRange } from "../../../db/contract/file-store.js";
import type { Store } from "../../../db/contract/store.js";
import { fileForm, finished, headOf, PDF, upload, urlOf } from "../../support/files.js";
import {
  admin,
  ask,
  connectionsOf,
  dial,
  listen,
  rawRequest,
  until,
  type Wire,
} from "../../support/helper.js";
import { type Server, startServer } from "../../support/server.js";

// Pipelined requests, upgrades, and what a shutdown waits for.

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";
const { load } = loadConfig({});
const HOUR = 3_600_000;

/** Wraps a store so that creating the first room blocks until the gate is opened. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  let begun = 0;
  const create = (store: Store) =>
    (async (...args) => {
      begun++;
      await opened;
      return store.rooms.create(...args);
    }) as Store["rooms"]["create"];
  const wrap = (store: Store): Store => ({
    ...store,
    rooms: { ...store.rooms, create: create(store) },
  });
  return { open, faults: { wrap }, begun: () => begun };
}

const json = { Authorization: as, "Content-Type": "application/json" };
const post = (name: string) => {
  const body = JSON.stringify({ name });
  return rawRequest(`POST ${rooms}`, { ...json, "Content-Length": String(body.length) }, body);
};

const form = fileForm("a.pdf", PDF);
const send = headOf(form) + form.body.toString();

/** Uploads a file larger than the socket buffers. */
async function largeFile(server: Server): Promise<string> {
  const large = fileForm("a.pdf", PDF.padEnd(9_000_000, "x"));
  return new URL(urlOf(await upload(server, large))).pathname;
}

/** Counts the open file streams, and their maximum. */
function countOpened(t: Test, { app: { files } }: Server) {
  const opened = { now: 0, most: 0 };
  const open = files.open.bind(files);
  t.capture(files, "open", async (key: string) => {
    const file = await open(key);
    const read = async (range?: ByteRange) => {
      const stream = await file!.read(range);
      if (!stream) return undefined;
      opened.most = Math.max(opened.most, ++opened.now);
      return stream.once("close", () => opened.now--);
    };
    return file && { ...file, read };
  });
  return opened;
}

const statusesOf = async (calls: Promise<{ status: number }>[]) =>
  (await Promise.all(calls)).map(({ status }) => status);

void t.test("uploads behind an answer that is not read", async (t) => {
  const server = await startServer(t, { config: { load: { ...load, uploads: 2 } } });
  const path = await largeFile(server);
  for (let i = 0; i < 3; i++) {
    const wire = dial(t, server.port, { paused: true });
    let requests = 0;
    const count = () => requests++;
    server.app.server.on("request", count);
    wire.send(rawRequest(`GET ${path}`) + send.repeat(3));
    await until(() => requests === 4);
    server.app.server.off("request", count);
    wire.hangUp();
  }
  await until(async () => (await upload(server, form)).status === 201);
  const taken = await statusesOf([upload(server, form), upload(server, form)]);
  t.strictSame(taken, [201, 201], "every slot is free");
  t.equal((await finished(server.dataDir)).length, 4, "none of them was begun");
});

void t.test("files behind an answer that is not read", async (t) => {
  const server = await startServer(t);
  const path = await largeFile(server);
  const opened = countOpened(t, server);
  const wires = [1, 2, 3].map(() => dial(t, server.port, { paused: true }));
  let requests = 0;
  server.app.server.on("request", () => requests++);
  for (const wire of wires) wire.send(rawRequest(`GET ${path}`).repeat(50));
  await until(() => requests === 150 && opened.now >= wires.length);
  for (const wire of wires) wire.hangUp();
  await until(() => opened.now === 0);
  t.equal(opened.most, wires.length, "one file for each connection");
  const reading = dial(t, server.port);
  reading.send(rawRequest(`GET ${path}`).repeat(3));
  for (let i = 1; i <= 3; i++)
    t.equal((await reading.answer()).text.length, 9_000_000, `file ${i}`);
});

void t.test("writes behind a slow one", async (t) => {
  const { open, faults, begun } = gate();
  const { app, call, port } = await startServer(t, {
    config: { load: { ...load, requests: 2 } },
    faults,
  });
  const wire = dial(t, port);
  wire.send(post("A") + post("B").repeat(5));
  await until(() => begun() > 0);
  wire.hangUp();
  await until(async () => (await connectionsOf(app)) === 0);
  open();
  const write = { method: "POST", url: rooms, as, body: { name: "C" } };
  await until(async () => (await call(write)).status === 201);
  t.strictSame(await statusesOf([call(write), call(write)]), [201, 201], "every slot is free");
  const { body } = await call({ url: `${rooms}?search=B`, as });
  t.match(body, { count: 0 }, "nothing is begun for a client that is gone");
});

void t.test("a write keeps its slot when its client is gone", async (t) => {
  const { open, faults, begun } = gate();
  const config = { load: { ...load, requests: 1 } };
  const { app, call, port } = await startServer(t, { config, faults });
  const write = { method: "POST", url: rooms, as, body: { name: "B" } };
  const wire = dial(t, port);
  wire.send(post("A"));
  await until(() => begun() === 1);
  wire.hangUp();
  await until(async () => (await connectionsOf(app)) === 0);
  for (let i = 0; i < 3; i++) t.equal((await call(write)).status, 503, "it is not done yet");
  open();
  await until(async () => (await call(write)).status === 201);
  t.equal((await call(write)).status, 201);
});

void t.test("each request sees what those before it did", async (t) => {
  const wire = dial(t, (await startServer(t)).port);
  const list = rawRequest(`GET ${rooms}`, { Authorization: as });
  wire.send([post("A"), list, post("B"), list, send, list].join(""));
  const counts: unknown[] = [];
  for (const status of [201, 200, 201, 200, 201, 200]) {
    const answer = await wire.answer();
    t.equal(answer.status, status);
    if (status === 200) counts.push((JSON.parse(answer.text) as { count: number }).count);
  }
  t.strictSame(counts, [1, 2, 2]);
});

void t.test("a queue has an end", async (t) => {
  const { open, faults, begun } = gate();
  const wire = dial(t, (await startServer(t, { faults })).port);
  wire.send(post("A") + rawRequest("GET /healthz").repeat(120));
  await until(() => begun() > 0);
  open();
  const statuses: number[] = [];
  for (let i = 0; i < 121; i++) statuses.push((await wire.answer()).status);
  const expected = [201, ...Array<number>(100).fill(200), ...Array<number>(20).fill(429)];
  t.strictSame(statuses, expected);
});

void t.test("a close waits for a body that was begun, and for nothing else", async (t) => {
  const begun = rawRequest(`POST ${rooms}`, {
    ...json,
    "Content-Length": "12",
    Expect: "100-continue",
  });
  const health = rawRequest("GET /healthz");
  const cases: [name: string, sent: string, statuses: number[], waits: boolean][] = [
    ["nothing", "", [], false],
    ["half a line", "GET /hea", [], false],
    ["half its headers", "GET /healthz HTTP/1.1\r\nHost: a\r\n", [], false],
    ["no body", begun, [100], true],
    ["two, and half a line", `${health}GET`, [200], false],
    ["another, and no body", health + begun, [200, 100], true],
  ];
  const close = async (sent: string, statuses: number[], name: string, bound: number) => {
    const drainTimeoutsMs = { stop: HOUR, close: bound };
    const { app, port } = await startServer(t, { config: { drainTimeoutsMs } });
    const wire = dial(t, port);
    wire.send(sent);
    await until(async () => (await connectionsOf(app)) === 1);
    for (const status of statuses) t.equal((await wire.answer()).status, status, name);
    return { wire, closed: app.close() };
  };
  for (const [name, sent, statuses, waits] of cases) {
    const { wire, closed } = await close(sent, statuses, name, HOUR);
    if (waits) {
      wire.send('{"name":"x"}');
      t.equal((await wire.answer()).status, 201, name);
    }
    await closed;
    if (waits) await (await close(sent, statuses, name, 20)).closed;
  }
  t.pass("each close ends, those that wait at their bound");
});

/** Starts an application with a route whose response is held back. */
async function holding(t: Test) {
  let arrived = 0;
  let answer = () => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  const extend = (app: FastifyInstance) => {
    app.server.on("request", () => arrived++);
    app.get("/held", { config: { requires: "public" } }, async () => {
      await held;
      return { held: true };
    });
  };
  const { app, port } = await startServer(t, {
    extend,
    config: { drainTimeoutsMs: { stop: HOUR, close: HOUR } },
  });
  t.teardown(answer);
  const send = async (wire: Wire, times: number) => {
    wire.send(rawRequest("GET /held").repeat(times));
    await until(() => arrived === times);
  };
  return { app, answer, send, wire: dial(t, port) };
}

void t.test("a stop answers what arrived whole, and waits for no lost client", async (t) => {
  const metrics = createMetricsApp((await startServer(t)).app, undefined);
  const half = dial(t, await listen(metrics));
  half.send("GET /met");
  await until(async () => (await connectionsOf(metrics)) === 1);
  await metrics.close();

  const answered = await holding(t);
  await answered.send(answered.wire, 1);
  const closed = answered.app.close();
  await new Promise(setImmediate);
  answered.answer();
  t.equal((await answered.wire.answer()).text, '{"held":true}');
  await closed;

  // The second request is queued behind the first, so its response is never assigned a socket.
  const lost = await holding(t);
  await lost.send(lost.wire, 2);
  const drained = lost.app.drain(HOUR);
  lost.wire.hangUp();
  await drained;

  const { open, faults, begun } = gate();
  const { app, port } = await startServer(t, { faults });
  const wire = dial(t, port);
  wire.send(post("A") + rawRequest("GET /healthz").repeat(2));
  await until(() => begun() > 0);
  const stopped = app.drain(HOUR);
  wire.hangUp();
  await stopped;
  open();
});

/** Starts a server with an upgraded socket, and returns both ends. */
async function upgraded(t: Test, isFirst: boolean) {
  const { app, port } = await startServer(t, {
    config: { drainTimeoutsMs: { stop: HOUR, close: HOUR } },
  });
  const sockets: Socket[] = [];
  app.server.on("upgrade", (_request, socket: Socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => socket.write(bytes));
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\n");
  });
  const wire = dial(t, port);
  if (!isFirst) {
    wire.send(rawRequest("GET /healthz"));
    t.equal((await wire.answer()).status, 200);
  }
  wire.send(rawRequest("GET /live", { Connection: "Upgrade", Upgrade: "echo" }));
  await until(() => sockets.length === 1);
  return { app, socket: sockets[0]! };
}

void t.test("an upgraded socket does not hold up a stop", async (t) => {
  for (const [isFirst, drains] of [
    [true, true],
    [false, true],
    [true, false],
  ] as const) {
    const { app, socket } = await upgraded(t, isFirst);
    if (drains) await app.drain(HOUR);
    t.equal(socket.destroyed, false, "it lives until the end");
    const closed = once(socket, "close");
    await app.close();
    await closed;
  }
  // Without a handler, an upgrade is treated as an ordinary request.
  const headers = { Connection: "Upgrade", Upgrade: "echo" };
  const { port } = await startServer(t);
  t.equal((await ask(t, port, rawRequest("GET /healthz", headers))).status, 200);
});
