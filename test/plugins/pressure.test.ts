import t, { type Test } from "tap";
import { loadConfig } from "../../config.js";
import type { Store } from "../../db/contract/store.js";
import { admin, dial, listen, rawRequest, serve, until } from "../helper.js";

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";
const { load } = loadConfig({});

const busy = (t: Test, { status, headers, body }: Busy, name: string) => {
  t.equal(status, 503, name);
  t.equal(headers["retry-after"], "1", name);
  t.strictSame(body, {
    detail: "The server is too busy. Try again soon.",
    code: "unavailable",
  });
};
interface Busy {
  status: number;
  headers: Record<string, string | undefined>;
  body: unknown;
}

void t.test("writes at a time", async (t) => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const held = (store: Store): Store => ({
    ...store,
    rooms: {
      ...store.rooms,
      create: async (...args) => {
        await gate;
        return store.rooms.create(...args);
      },
    },
  });
  const { call } = await serve(t, undefined, {
    config: { load: { ...load, requests: 2 } },
    wrap: held,
  });
  const write = { method: "POST", url: rooms, as, body: { name: "A" } };
  const waiting = [call(write), call(write)];
  busy(t, await call(write), "a third");
  busy(
    t,
    await call({ ...write, as: undefined }),
    "a third, before it is asked who it is",
  );
  t.equal((await call({ url: rooms, as })).status, 200, "a read");
  t.equal((await call({ url: "/healthz" })).status, 200, "health");
  release();
  for (const { status } of await Promise.all(waiting)) t.equal(status, 201);
  for (let i = 0; i < 5; i++) {
    t.equal((await call(write)).status, 201, "room again");
    const refused = await call({ ...write, as: undefined });
    t.equal(refused.status, 401, "and after a refusal");
  }
});

void t.test("reads of a database that is a server", async (t) => {
  let reads = 0;
  let release = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const { call } = await serve(t, undefined, {
    config: { load: { ...load, requests: 2 } },
    health: () => ({ ok: true }) as never,
    wrap: (store) => ({
      ...store,
      rooms: {
        ...store.rooms,
        list: async (...args) => {
          reads++;
          await gate;
          return store.rooms.list(...args);
        },
      },
    }),
  });
  const waiting = [call({ url: rooms, as }), call({ url: rooms, as })];
  await until(() => reads === 2);
  busy(t, await call({ url: rooms, as }), "a third");
  const write = { method: "POST", url: rooms, as, body: { name: "A" } };
  t.equal((await call(write)).status, 201, "a write");
  release();
  for (const { status } of await Promise.all(waiting)) t.equal(status, 200);
  for (let i = 0; i < 5; i++) {
    t.equal((await call({ url: rooms, as })).status, 200, "room again");
    const refused = await call({ url: rooms });
    t.equal(refused.status, 401, "and after a refusal");
  }
});

void t.test("uploads at a time", async (t) => {
  const { app, call } = await serve(t, undefined, {
    config: { load: { ...load, uploads: 1 } },
  });
  const port = await listen(app);
  const upload = (length: number) =>
    rawRequest("POST /storage/upload/", {
      Authorization: "Client me",
      "Content-Type": "multipart/form-data; boundary=x",
      "Content-Length": String(length),
      Expect: "100-continue",
    });
  const slow = dial(t, port);
  slow.send(upload(1000));
  t.equal((await slow.answer()).status, 100, "one is under way");
  const other = dial(t, port);
  other.send(upload(1000));
  const { status, headers, text } = await other.answer();
  busy(t, { status, headers, body: JSON.parse(text) }, "another");
  t.equal((await call({ url: rooms, as })).status, 200, "the API goes on");
  const imports = {
    "PUT /api/v1/worlds/demo/program/": "text/csv",
    "POST /storage/schedule_import/": "multipart/form-data; boundary=x",
  };
  for (const [line, type] of Object.entries(imports)) {
    const wire = dial(t, port);
    wire.send(
      rawRequest(line, {
        ...{ Authorization: as, "Content-Type": type },
        ...{ "Content-Length": "1000", Expect: "100-continue" },
      }),
    );
    const { status, headers, text } = await wire.answer();
    busy(t, { status, headers, body: JSON.parse(text) }, line);
  }

  slow.hangUp();
  await until(async () => {
    const next = dial(t, port);
    next.send(upload(1000));
    const { status } = await next.answer();
    next.hangUp();
    return status === 100;
  });
  t.pass("a client that leaves makes room");
});

void t.test("an event loop that is late", async (t) => {
  const { call } = await serve(t, undefined, {
    config: { load: { ...load, eventLoopDelay: 30 } },
  });
  const block = (ms: number) => {
    const end = performance.now() + ms;
    while (performance.now() < end);
  };
  const asked = () => call({ url: rooms, as });
  // The start itself may be late.
  await until(async () => (await asked()).status === 200);
  await until(async () => {
    block(200);
    return (await asked()).status === 503;
  });
  busy(t, await asked(), "late");
  t.equal((await call({ url: "/healthz" })).status, 200, "it is alive");
  await until(async () => (await asked()).status === 200);
  t.pass("and in time again");
});

void t.test("bounds that are off", async (t) => {
  const { call } = await serve(t, undefined, {
    config: {
      load: {
        requests: 0,
        uploads: 0,
        eventLoopDelay: 0,
        perMinute: undefined,
      },
    },
  });
  t.equal((await call({ url: rooms, as })).status, 200);
});

void t.test("clients that take their time", async (t) => {
  const { app } = await serve(t, undefined, {
    config: { requestTimeout: 400 },
  });
  const port = await listen(app);
  const body = { Authorization: as, "Content-Type": "application/json" };
  const cases: [name: string, sent: string][] = [
    ["half a header", "GET /healthz HTTP/1.1\r\nHost: a"],
    [
      "half a body",
      rawRequest(`POST ${rooms}`, { ...body, "Content-Length": "100" }, "{"),
    ],
  ];
  for (const [name, sent] of cases) {
    const wire = dial(t, port);
    wire.send(sent);
    const { status, headers, text } = await wire.answer();
    t.equal(status, 408, name);
    t.strictSame(
      JSON.parse(text),
      { detail: "Request Timeout.", code: "invalid_request" },
      name,
    );
    t.equal(headers["x-content-type-options"], "nosniff", name);
  }
});

void t.test("a body in many packets, within the time", async (t) => {
  const { app } = await serve(t, undefined, {
    config: { requestTimeout: 20_000 },
  });
  const wire = dial(t, await listen(app));
  const json = '{"name":"slow"}';
  wire.send(
    rawRequest(`POST ${rooms}`, {
      Authorization: as,
      "Content-Type": "application/json",
      "Content-Length": String(json.length),
    }),
  );
  for (const letter of json) {
    wire.send(letter);
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.equal((await wire.answer()).status, 201);
});
