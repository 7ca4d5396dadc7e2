import pino from "pino";
import t from "tap";
import type { Room } from "../../schemas/rooms.js";
import {
  admin,
  dial,
  listen,
  rawRequest,
  serve,
  type ServeOptions,
  until,
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

void t.test("no scheme gets into a link but http and https", async (t) => {
  const { call } = await serve(t, undefined, {
    config: { trustProxy: ["loopback"] },
  });
  for (const [scheme, status] of [
    ["https", 201],
    ["http, https", 201],
    ["javascript", 400],
    ["https://evil.org/?", 400],
    ["HTTPS", 400],
  ] as const) {
    const got = await call({
      method: "POST",
      url: rooms,
      as,
      headers: { "x-forwarded-proto": scheme },
      body: { name: "x" },
    });
    t.equal(got.status, status, scheme);
    if (status === 201) t.match(got.headers.location, /^https:\/\/localhost/);
  }
});

void t.test("whose word counts for where a request comes from", async (t) => {
  const forged = { "x-forwarded-for": "203.0.113.9" };
  const chain = { "x-forwarded-for": "203.0.113.9, 198.51.100.7" };
  // Requests over a socket come from 127.0.0.1.
  const cases: [
    name: string,
    trustProxy: string[] | false,
    headers: Record<string, string>,
    from: string | undefined,
    base: string,
  ][] = [
    [
      "the proxy's, that is no address",
      ["127.0.0.1"],
      { "x-forwarded-for": "\u009b31m admin logged in" },
      undefined,
      "http://localhost",
    ],
    ["nobody's", false, forged, "127.0.0.1", "http://localhost"],
    ["another's", ["10.0.0.0/8"], forged, "127.0.0.1", "http://localhost"],
    ["a neighbour's", ["127.0.0.2"], forged, "127.0.0.1", "http://localhost"],
    ["the proxy's", ["127.0.0.1"], forged, "203.0.113.9", "http://localhost"],
    [
      "the proxy's, of a client that forged more",
      ["127.0.0.1"],
      chain,
      "198.51.100.7",
      "http://localhost",
    ],
    [
      "two proxies'",
      ["127.0.0.1", "198.51.100.0/24"],
      chain,
      "203.0.113.9",
      "http://localhost",
    ],
    [
      "a stranger's of host and scheme",
      ["127.0.0.2"],
      { "x-forwarded-host": "evil.org", "x-forwarded-proto": "https" },
      "127.0.0.1",
      "http://localhost",
    ],
    [
      "the proxy's of host and scheme",
      ["127.0.0.1"],
      { "x-forwarded-host": "rooms.org:444", "x-forwarded-proto": "https" },
      "127.0.0.1",
      "https://rooms.org:444",
    ],
  ];
  for (const [name, trustProxy, headers, from, base] of cases) {
    const lines: { msg: string; from?: string }[] = [];
    const logger = pino(
      { level: "debug" },
      { write: (line) => void lines.push(JSON.parse(line) as { msg: string }) },
    );
    const { app } = await serve(t, undefined, {
      config: { trustProxy },
      logger,
    });
    const wire = dial(t, await listen(app));
    const body = '{"name":"x"}';
    wire.send(
      rawRequest(
        `POST ${rooms}`,
        {
          Authorization: as,
          "Content-Type": "application/json",
          "Content-Length": String(body.length),
          ...headers,
        },
        body,
      ),
    );
    const answer = await wire.answer();
    t.ok(answer.headers.location?.startsWith(`${base}${rooms}`), name);
    await until(() => lines.some(({ msg }) => msg === "request"));
    t.equal(lines.find(({ msg }) => msg === "request")?.from, from, name);
  }
});
