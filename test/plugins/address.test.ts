import t from "tap";
import type { Room } from "../../schemas/rooms.js";
import {
  admin,
  dial,
  listen,
  rawRequest,
  serve,
  type ServeOptions,
} from "../helper.js";

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";

void t.test("links point where the client came from", async (t) => {
  const forwarded = {
    host: "10.0.0.5",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "rooms.example.org",
  };
  // Requests by inject come from 127.0.0.1.
  const cases: [
    name: string,
    config: ServeOptions["config"],
    headers: Record<string, string>,
    base: string,
  ][] = [
    ["a name", {}, { host: "localhost" }, "http://localhost"],
    ["a port", {}, { host: "a.org:81" }, "http://a.org:81"],
    ["IPv6", {}, { host: "[::1]:8375" }, "http://[::1]:8375"],
    ["nobody's proxy", {}, forwarded, "http://10.0.0.5"],
    [
      "another proxy",
      { trustProxy: ["10.0.0.0/8"] },
      forwarded,
      "http://10.0.0.5",
    ],
    [
      "a proxy",
      { trustProxy: ["loopback"] },
      forwarded,
      "https://rooms.example.org",
    ],
    [
      "a public address",
      { publicUrl: "https://x.org/foyer", trustProxy: ["loopback"] },
      forwarded,
      "https://x.org/foyer",
    ],
  ];
  for (const [name, config, headers, base] of cases) {
    await t.test(name, async (t) => {
      const { call } = await serve(t, undefined, { config: config ?? {} });
      const post = { method: "POST", url: rooms, as, headers, body: { name } };
      const { headers: answered, body } = await call(post);
      const { id } = body as Room;
      t.equal(answered.location, `${base}${rooms}${id}/`);
      await call(post);
      const list = await call({ url: `${rooms}?page_size=1`, as, headers });
      t.match(list.body, { next: `${base}${rooms}?page_size=1&page=2` });
    });
  }
});

void t.test("no Host gets into a link that is no host", async (t) => {
  const { app, store } = await serve(t);
  await store.rooms.create("demo", { name: "a" });
  await store.rooms.create("demo", { name: "b" });
  const port = await listen(app);
  for (const host of [
    "a b",
    "evil.org/x?",
    "a@b",
    "",
    "a:b:c",
    "a.org:123456",
  ]) {
    const wire = dial(t, port);
    wire.send(
      rawRequest(`GET ${rooms}?page_size=1`, { Host: host, Authorization: as }),
    );
    const { status, text } = await wire.answer();
    t.equal(status, 400, host);
    t.match(JSON.parse(text), { detail: /Host/ }, host);
  }
});

void t.test("a target in absolute form makes the same links", async (t) => {
  const { app, store } = await serve(t);
  await store.rooms.create("demo", { name: "a" });
  await store.rooms.create("demo", { name: "b" });
  const wire = dial(t, await listen(app));
  wire.send(
    rawRequest(`GET http://localhost${rooms}?page_size=1`, {
      Authorization: as,
    }),
  );
  const { status, text } = await wire.answer();
  t.equal(status, 200);
  t.match(JSON.parse(text), {
    next: `http://localhost${rooms}?page_size=1&page=2`,
  });
});
