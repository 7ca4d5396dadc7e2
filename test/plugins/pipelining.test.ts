import t, { type Test } from "tap";
import { loadConfig } from "../../config.js";
import type { ByteRange } from "../../db/contract/files.js";
import type { Store } from "../../db/contract/store.js";
import {
  admin,
  connectionsOf,
  dial,
  listen,
  rawRequest,
  serve,
  until,
  type TestServer,
} from "../helper.js";
import { fileForm, finished, PDF, upload, urlOf, headOf } from "../files.js";

// Requests that a client sends without waiting for the answers to those before.

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";
const { load } = loadConfig({});

/** A store whose first new room waits, and what lets it go on. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  let begun = 0;
  const wrap = (store: Store): Store => ({
    ...store,
    rooms: {
      ...store.rooms,
      create: async (...args) => {
        begun++;
        await opened;
        return store.rooms.create(...args);
      },
    },
  });
  return { open, wrap, begun: () => begun };
}

const post = (name: string) => {
  const body = JSON.stringify({ name });
  return rawRequest(
    `POST ${rooms}`,
    {
      Authorization: as,
      "Content-Type": "application/json",
      "Content-Length": String(body.length),
    },
    body,
  );
};

const form = fileForm("a.pdf", PDF);
const send = headOf(form) + form.body.toString();

/** A file that does not fit into the buffers of a socket. */
async function largeFile(server: TestServer): Promise<string> {
  const large = fileForm("a.pdf", PDF.padEnd(9_000_000, "x"));
  return new URL(urlOf(await upload(server, large))).pathname;
}

/** Counts the streams of files that an application has open, and has had at most. */
function countOpened(t: Test, { app: { files } }: TestServer) {
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

void t.test("uploads behind an answer that is not read", async (t) => {
  const server = await serve(t, undefined, {
    config: { load: { ...load, uploads: 2 } },
  });
  const path = await largeFile(server);
  const port = await listen(server.app);
  for (let i = 0; i < 3; i++) {
    const wire = dial(t, port, { paused: true });
    let requests = 0;
    const count = () => requests++;
    server.app.server.on("request", count);
    wire.send(rawRequest(`GET ${path}`) + send.repeat(3));
    await until(() => requests === 4);
    server.app.server.off("request", count);
    wire.hangUp();
  }
  await until(async () => (await upload(server, form)).status === 201);
  const taken = await Promise.all([upload(server, form), upload(server, form)]);
  t.strictSame(
    taken.map(({ status }) => status),
    [201, 201],
    "every slot is free",
  );
  t.equal((await finished(server.dataDir)).length, 4, "none of them was begun");
});

void t.test("files behind an answer that is not read", async (t) => {
  const server = await serve(t);
  const path = await largeFile(server);
  const opened = countOpened(t, server);
  const port = await listen(server.app);
  const wires = [1, 2, 3].map(() => dial(t, port, { paused: true }));
  let requests = 0;
  server.app.server.on("request", () => requests++);
  for (const wire of wires) wire.send(rawRequest(`GET ${path}`).repeat(50));
  await until(() => requests === 150);
  await until(() => opened.now >= wires.length);
  for (const wire of wires) wire.hangUp();
  await until(() => opened.now === 0);
  t.equal(opened.most, wires.length, "one file for each connection");

  const reading = dial(t, port);
  reading.send(rawRequest(`GET ${path}`).repeat(3));
  for (let i = 1; i <= 3; i++) {
    t.equal((await reading.answer()).text.length, 9_000_000, `file ${i}`);
  }
});

void t.test("writes behind a slow one", async (t) => {
  const { open, wrap, begun } = gate();
  const server = await serve(t, undefined, {
    config: { load: { ...load, requests: 2 } },
    wrap,
  });
  const wire = dial(t, await listen(server.app));
  wire.send(post("A") + post("B").repeat(5));
  await until(() => begun() > 0);
  wire.hangUp();
  await until(async () => (await connectionsOf(server.app)) === 0);
  open();
  const write = { method: "POST", url: rooms, as, body: { name: "C" } };
  await until(async () => (await server.call(write)).status === 201);
  const answers = await Promise.all([server.call(write), server.call(write)]);
  t.strictSame(
    answers.map(({ status }) => status),
    [201, 201],
    "every slot is free",
  );
  const { results } = (await server.call({ url: rooms, as })).body as {
    results: { name: string }[];
  };
  t.notOk(
    results.some(({ name }) => name === "B"),
    "nothing is begun for a client that is gone",
  );
});

void t.test("a write keeps its slot when its client is gone", async (t) => {
  const { open, wrap, begun } = gate();
  const server = await serve(t, undefined, {
    config: { load: { ...load, requests: 1 } },
    wrap,
  });
  const write = { method: "POST", url: rooms, as, body: { name: "B" } };
  const wire = dial(t, await listen(server.app));
  wire.send(post("A"));
  await until(() => begun() === 1);
  wire.hangUp();
  await until(async () => (await connectionsOf(server.app)) === 0);
  for (let i = 0; i < 3; i++) {
    t.equal((await server.call(write)).status, 503, "it is not done yet");
  }
  open();
  await until(async () => (await server.call(write)).status === 201);
  t.equal((await server.call(write)).status, 201);
});

void t.test("each request sees what those before it did", async (t) => {
  const server = await serve(t);
  const wire = dial(t, await listen(server.app));
  const list = rawRequest(`GET ${rooms}`, { Authorization: as });
  wire.send([post("A"), list, post("B"), list, send, list].join(""));
  const counts: unknown[] = [];
  for (const status of [201, 200, 201, 200, 201, 200]) {
    const answer = await wire.answer();
    t.equal(answer.status, status);
    if (status === 200) {
      counts.push((JSON.parse(answer.text) as { count: number }).count);
    }
  }
  t.strictSame(counts, [1, 2, 2]);
});

void t.test("a queue has an end", async (t) => {
  const { open, wrap, begun } = gate();
  const server = await serve(t, undefined, { wrap });
  const wire = dial(t, await listen(server.app));
  wire.send(post("A") + rawRequest("GET /healthz").repeat(120));
  await until(() => begun() > 0);
  open();
  const statuses: number[] = [];
  for (let i = 0; i < 121; i++) statuses.push((await wire.answer()).status);
  t.equal(statuses[0], 201);
  t.ok(statuses.slice(1, 101).every((status) => status === 200));
  t.ok(statuses.slice(101).every((status) => status === 429));
});

void t.test("a stop does not wait for requests of a lost client", async (t) => {
  const { open, wrap, begun } = gate();
  const server = await serve(t, undefined, { wrap });
  const wire = dial(t, await listen(server.app));
  wire.send(post("A") + rawRequest("GET /healthz").repeat(2));
  await until(() => begun() > 0);
  const began = performance.now();
  const drained = server.app.drain(60_000);
  wire.hangUp();
  await drained;
  t.ok(performance.now() - began < 30_000);
  open();
});
