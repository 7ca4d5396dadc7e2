import { once } from "node:events";
import t, { type Test } from "tap";
import { type LiveLimits, loadConfig } from "../../../config.js";
import type { Store } from "../../../db/contract/store.js";
import { networkOf } from "../../../plugins/limits/guests.js";
import { fileForm, PDF, upload } from "../../support/files.js";
import { type Answer, admin, ask, bearer, dial, rawRequest, until } from "../../support/helper.js";
import { type Client, holdRates } from "../../support/open-world.js";
import { demo, type Server, startServer } from "../../support/server.js";

// Limits on concurrent work, and rate limits per caller and network.

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";
const { load } = loadConfig({});

/** Expects a temporary 503. */
const busy = (t: Test, { status, headers, text }: Omit<Answer, "body">, name: string) => {
  t.equal(status, 503, name);
  t.equal(headers["retry-after"], "1", name);
  const detail = "The server is too busy. Try again soon.";
  t.strictSame(JSON.parse(text), { detail, code: "unavailable" });
};

void t.test("writes at a time, and reads of a database that is a server", async (t) => {
  const read = { url: rooms, as };
  const write = { method: "POST", url: rooms, as, body: { name: "A" } };
  for (const [held, other, isServer] of [
    [write, read, false],
    [read, write, true],
  ] as const) {
    let begun = 0;
    let release = () => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    const waits = async <T>(work: () => Promise<T>) => {
      begun++;
      await gate;
      return work();
    };
    const wrap = ({ rooms, ...store }: Store): Store => ({
      ...store,
      rooms: isServer
        ? { ...rooms, list: (...args) => waits(() => rooms.list(...args)) }
        : { ...rooms, create: (...args) => waits(() => rooms.create(...args)) },
    });
    const { call } = await startServer(t, {
      config: { load: { ...load, requests: 2 } },
      faults: { wrap },
      ...(isServer && { health: () => ({ ok: true }) as never }),
    });
    const waiting = [call(held), call(held)];
    await until(() => begun === 2);
    busy(t, await call(held), "a third");
    if (!isServer) busy(t, await call({ ...held, as: undefined }), "before the caller is known");
    t.ok((await call(other)).status < 300, "the others");
    t.equal((await call({ url: "/healthz" })).status, 200, "health");
    release();
    for (const { status } of await Promise.all(waiting)) t.ok(status < 300);
    for (let i = 0; i < 5; i++) {
      t.ok((await call(held)).status < 300, "room again");
      t.equal((await call({ ...held, as: undefined })).status, 401, "and after a refusal");
    }
  }
  const config = { load: { requests: 0, uploads: 0, eventLoopDelay: 0, perMinute: undefined } };
  const { call } = await startServer(t, { config });
  t.equal((await call(read)).status, 200, "bounds that are off");
});

void t.test("uploads at a time", async (t) => {
  const { port, call } = await startServer(t, { config: { load: { ...load, uploads: 1 } } });
  const announce = (line: string, Authorization: string, type: string) =>
    rawRequest(line, {
      Authorization,
      "Content-Type": type,
      "Content-Length": "1000",
      Expect: "100-continue",
    });
  const form = "multipart/form-data; boundary=x";
  const upload = announce("POST /storage/upload/", "Client me", form);
  const slow = dial(t, port);
  slow.send(upload);
  t.equal((await slow.answer()).status, 100, "one is under way");
  for (const sent of [
    upload,
    announce("PUT /api/v1/worlds/demo/program/", as, "text/csv"),
    announce("POST /storage/schedule_import/", as, form),
  ]) {
    busy(t, await ask(t, port, sent), sent);
  }
  t.equal((await call({ url: rooms, as })).status, 200, "the API goes on");
  slow.hangUp();
  await until(async () => {
    const next = dial(t, port);
    next.send(upload);
    const { status } = await next.answer();
    next.hangUp();
    return status === 100;
  });
});

void t.test("an event loop that is late", async (t) => {
  const config = { load: { ...load, eventLoopDelay: 30 } };
  const { call } = await startServer(t, { config });
  const asked = () => call({ url: rooms, as });
  // Starting the server may delay the event loop, too.
  await until(async () => (await asked()).status === 200);
  await until(async () => {
    const end = performance.now() + 200;
    while (performance.now() < end);
    return (await asked()).status === 503;
  });
  busy(t, await asked(), "late");
  t.equal((await call({ url: "/healthz" })).status, 200, "it is alive");
  await until(async () => (await asked()).status === 200);
});

void t.test("clients that are slow", async (t) => {
  const json = '{"name":"slow"}';
  const head = { Authorization: as, "Content-Type": "application/json" };
  const post = { ...head, "Content-Length": String(json.length) };
  const { port } = await startServer(t, { config: { requestTimeout: 400 } });
  for (const [name, sent] of [
    ["half a header", "GET /healthz HTTP/1.1\r\nHost: a"],
    ["half a body", rawRequest(`POST ${rooms}`, post, "{")],
  ] as const) {
    const { status, headers, text } = await ask(t, port, sent);
    t.equal(status, 408, name);
    t.strictSame(JSON.parse(text), { detail: "Request Timeout.", code: "invalid_request" }, name);
    t.equal(headers["x-content-type-options"], "nosniff", name);
  }
  const patient = await startServer(t, { config: { requestTimeout: 20_000 } });
  const wire = dial(t, patient.port);
  wire.send(rawRequest(`POST ${rooms}`, post));
  for (const letter of json) {
    wire.send(letter);
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.equal((await wire.answer()).status, 201, "a body in many packets");
});

void t.test("a token may call so often in a minute", async (t) => {
  const worlds = [demo(), demo({ id: "other" })];
  const config = { load: { ...load, perMinute: 2 } };
  const { call, tokenOf } = await startServer(t, { worlds, config });
  const another = `Bearer ${tokenOf({ uid: "1", traits: ["admin", "api"] })}`;
  const cases: [name: string, as: string | undefined, statuses: number[]][] = [
    ["one token", as, [200, 200, 429, 429]],
    ["the same, written differently", as.replace("Bearer ", "bEARER   "), [429]],
    ["another token of the same world", another, [200, 200, 429]],
    ["nobody", undefined, [401, 401, 401]],
    ["no right", bearer("demo", "guest"), [403, 403, 403]],
    ["another world's", admin("other"), [403, 403, 403]],
  ];
  const body = { detail: "Too many requests. Try again later.", code: "rate_limited" };
  for (const [name, as, statuses] of cases) {
    for (const status of statuses) {
      const got = await call({ url: rooms, as });
      t.equal(got.status, status, name);
      if (status !== 429) continue;
      t.strictSame(got.body, body);
      t.match(got.headers["retry-after"], /^([1-9]|[1-5]\d|60)$/);
    }
  }
  const world = await call({ url: "/api/v1/worlds/demo/", as });
  t.equal(world.status, 429, "every route counts");
  t.equal((await call({ url: "/healthz" })).status, 200);
  t.equal((await call({ url: rooms.replace("demo", "other"), as: admin("other") })).status, 200);
  const unlimited = await startServer(t);
  for (let i = 0; i < 200; i++) await unlimited.call({ url: rooms, as });
  const { status, headers } = await unlimited.call({ url: rooms, as });
  t.equal(status, 200, "by default, there is no limit");
  t.notMatch(Object.keys(headers).join(), /ratelimit/);
});

void t.test("networks that count as one address", async (t) => {
  const table: [address: string, network: string | undefined][] = [
    ["198.51.100.7", "198.51.100.7"],
    ["198.51.100.7:4711", "198.51.100.7"],
    ["::ffff:198.51.100.7", "198.51.100.7"],
    ["::FFFF:c633:6407", "198.51.100.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:db8::9", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["unknown", "no address"],
    ["127.0.0.1", undefined],
    ["127.9.9.9", undefined],
    ["::ffff:127.0.0.1", undefined],
    ["::1", undefined],
    ["", undefined],
  ];
  for (const [address, network] of table) t.equal(networkOf(address), network, address);
});

/** Starts a server behind a proxy that forwards client addresses. */
async function start(t: Test, limits: Partial<LiveLimits> = {}, trustProxy = ["loopback"]) {
  const config = { trustProxy, guestsPerMinute: 2 };
  const server = await startServer(t, { config, limits: { maxConnections: 1000, ...limits } });
  const open = (address: string) =>
    server.connect("demo", { headers: { "X-Forwarded-For": address } });
  /**
   * Logs in.
   * @returns the name of the response, or the error code.
   */
  const login = async (credentials: object, address: string, opened?: Client) => {
    const client = opened ?? (await open(address));
    const [name, body] = (await client.login(credentials)) as [string, { code?: string }];
    if (!opened) client.ws.terminate();
    return body.code ?? name;
  };
  const token = server.tokenOf({ uid: "ada" });
  return { server, open, login, token };
}

const uploadFrom = async (server: Server, clientId: string, address: string) => {
  const headers = { "x-forwarded-for": address, host: "demo.localhost" };
  const form = fileForm("a.pdf", PDF);
  return (await upload(server, form, { as: `Client ${clientId}`, headers })).status;
};

void t.test("new guests of one address", async (t) => {
  const { login, server, token } = await start(t);
  const venue = "198.51.100.7";
  const [known, many] = ["authenticated", "auth.too_many_guests"];
  const steps: [name: string, who: string, address: string, expected: unknown][] = [
    ["the first", "a", venue, known],
    ["an upload of the second", "b", venue, 201],
    ["one more", "c", venue, many],
    ["an upload of one more", "d", venue, 429],
    ["a guest who is known", "b", venue, known],
    ["and their upload", "a", venue, 201],
    ["a token", "", venue, known],
    ["another address", "e", "198.51.100.8", known],
    ["IPv6", "f", "2001:db8::1", known],
    ["its network", "g", "2001:db8::2", known],
    ["its network", "h", "2001:db8::3", 429],
    ["another one", "i", "2001:db8:0:1::1", known],
    ["no address", "m", "one", known],
    ["another text", "n", "two", known],
    ["and another", "o", "three", many],
    ...["j", "k", "l"].map((id): (typeof steps)[0] => ["this machine", id, "127.0.0.1", known]),
  ];
  for (const [name, client_id, address, expected] of steps) {
    const got =
      typeof expected === "number"
        ? await uploadFrom(server, client_id, address)
        : await login(client_id ? { client_id } : { token }, address);
    t.equal(got, expected, name);
  }
  const untrusted = await start(t, {}, ["192.0.2.1"]);
  for (const client_id of ["a", "b", "c"]) {
    t.equal(await untrusted.login({ client_id }, venue), known, "a made-up address is ignored");
  }
});

void t.test("websockets of one address that wait for a login", async (t) => {
  const { login, open, token } = await start(t);
  const venue = "198.51.100.7";
  const [one, two] = await Promise.all(Array.from({ length: 100 }, () => open(venue)));
  await t.rejects(open(venue), /429/);
  for (const other of ["198.51.100.8", "2001:db8::1", "127.0.0.1"]) {
    t.equal(await login({ token }, other), "authenticated", other);
  }
  t.equal(await login({ token }, venue, one), "authenticated");
  t.equal(await login({ token }, venue), "authenticated", "a login makes room");
  await open(venue);
  one!.ws.close();
  await once(one!.ws, "close");
  await t.rejects(open(venue), /429/, "once");
  two!.ws.close();
  const isOpen = () =>
    open(venue).then(
      () => true,
      () => false,
    );
  await until(isOpen);
});

void t.test("bytes that the guests of one network write", async (t) => {
  const { open, server, token } = await start(t, { guestBytesPerMinute: 3000 });
  const modules = ["chat.native", "question"];
  const module_config = modules.map((type) => ({ type, config: { active: true } }));
  const { value } = await server.store.rooms.create("demo", { name: "Hall", module_config });
  const [room, channel] = [value.id, value.id];
  holdRates(t);
  const enter = async (credentials: object, address: string) => {
    const client = await open(address);
    await client.login(credentials);
    await client.do("user.update", { profile: { display_name: "a" } });
    await client.do("chat.join", { channel });
    const text = (length: number) => ({ type: "text", body: "x".repeat(length) });
    const event_type = "channel.message";
    return {
      says: (length: number) =>
        client.code("chat.send", { channel, event_type, content: text(length) }),
      renames: (length: number) =>
        client.code("user.update", { profile: { display_name: "a", about: "x".repeat(length) } }),
      asks: (length: number) => client.code("question.ask", { room, content: "x".repeat(length) }),
      leaves: () => client.ws.terminate(),
    };
  };
  const limited = "protocol.rate_limited";
  const venue = "198.51.100.7";
  const ann = await enter({ client_id: "ann" }, venue);
  t.equal(await ann.says(1300), "ok");
  t.equal(await ann.renames(1300), "ok");
  ann.leaves();
  const bob = await enter({ client_id: "bob" }, venue);
  t.equal(await bob.says(1300), limited, "the bytes outlive a connection");
  t.equal(await bob.renames(1300), limited, "profiles count, too");
  t.equal(await bob.asks(1300), limited, "and questions");
  t.equal(await bob.says(10), "ok", "there is room for a short one");
  const signed = await enter({ token }, venue);
  t.equal(await signed.says(1300), "ok", "people with tokens are free");
  const far = await enter({ client_id: "far" }, "198.51.100.8");
  t.equal(await far.says(1300), "ok", "another network");
  const here = await enter({ client_id: "here" }, "127.0.0.1");
  for (let i = 0; i < 3; i++) t.equal(await here.says(1300), "ok", "this machine has no bound");
});
