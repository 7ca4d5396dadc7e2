import { on, once } from "node:events";
import t, { type Test } from "tap";
import { WebSocket } from "ws";
import { type LiveLimits, loadConfig } from "../../config.js";
import { networkOf } from "../../plugins/limits/guests.js";
import { startTestServer } from "../../testing.js";
import { keyOf, tokenOf, until } from "../helper.js";
import { configOf } from "../stack.js";
import { testdir } from "../testdir.js";

// How many new guests come from one address, and how many websockets without a login.

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
  for (const [address, network] of table) {
    t.equal(networkOf(address), network, address);
  }
});

async function start(
  t: Test,
  trustProxy: string[] | false = ["loopback"],
  limits: Partial<LiveLimits> = {},
) {
  const config = await configOf(testdir(t));
  const live = { ...loadConfig({}).live, maxConnections: 1000, ...limits };
  const server = await startTestServer({
    config: { ...config, trustProxy, guestsPerMinute: 2, live },
  });
  t.teardown(() => server.close());
  await server.createWorld({
    id: "demo",
    config: { JWT_secrets: [keyOf("demo")] },
  });
  const from = (address: string) => ({ "X-Forwarded-For": address });
  const open = async (address: string) => {
    const url = `${server.baseUrl.replace("http", "ws")}/ws/world/demo/`;
    const ws = new WebSocket(url, { headers: from(address) });
    t.teardown(() => ws.terminate());
    await once(ws, "open");
    return ws;
  };
  /** Logs in. @returns the name of the answer, or its code. */
  const login = async (
    credentials: object,
    address: string,
    opened?: WebSocket,
  ) => {
    const ws = opened ?? (await open(address));
    ws.send(JSON.stringify(["authenticate", credentials]));
    const [data] = (await once(ws, "message")) as [Buffer];
    const [name, body] = JSON.parse(data.toString()) as [
      string,
      { code?: string },
    ];
    if (!opened) ws.terminate();
    return body.code ?? name;
  };
  const upload = async (clientId: string, address: string) => {
    const body = new FormData();
    const pdf = new Blob(["%PDF-1.7\n%%EOF\n"]);
    body.append("file", pdf, "a.pdf");
    const authorization = `Client ${clientId}`;
    const headers = { authorization, ...from(address) };
    const url = `${server.baseUrl}/storage/upload/?world=demo`;
    const { status } = await fetch(url, { method: "POST", headers, body });
    return status;
  };
  return { login, upload, open, server };
}

void t.test("new guests of one address", async (t) => {
  const { login, upload } = await start(t);
  const guest = (client_id: string, address = "198.51.100.7") =>
    login({ client_id }, address);
  const token = tokenOf(keyOf("demo"), { uid: "ada" });
  const steps: [name: string, got: unknown, expected: unknown][] = [
    ["the first", await guest("a"), "authenticated"],
    ["an upload of the second", await upload("b", "198.51.100.7"), 201],
    ["one more", await guest("c"), "auth.too_many_guests"],
    ["an upload of one more", await upload("d", "198.51.100.7"), 429],
    ["a guest who is known", await guest("b"), "authenticated"],
    ["and their upload", await upload("a", "198.51.100.7"), 201],
    ["a token", await login({ token }, "198.51.100.7"), "authenticated"],
    ["another address", await guest("e", "198.51.100.8"), "authenticated"],
    ["IPv6", await guest("f", "2001:db8::1"), "authenticated"],
    ["its network", await guest("g", "2001:db8::2"), "authenticated"],
    ["its network", await upload("h", "2001:db8::3"), 429],
    ["another one", await guest("i", "2001:db8:0:1::1"), "authenticated"],
    ["no address", await guest("m", "one"), "authenticated"],
    ["another text", await guest("n", "two"), "authenticated"],
    ["and another", await guest("o", "three"), "auth.too_many_guests"],
  ];
  for (const [name, got, expected] of steps) t.equal(got, expected, name);
  for (const id of ["j", "k", "l"]) {
    t.equal(await guest(id, "127.0.0.1"), "authenticated", "this machine");
  }
});

void t.test("websockets of one address that wait for a login", async (t) => {
  const { login, open } = await start(t);
  const venue = "198.51.100.7";
  const [one, two] = await Promise.all(
    Array.from({ length: 100 }, () => open(venue)),
  );
  await t.rejects(open(venue), /429/);
  const token = tokenOf(keyOf("demo"), { uid: "ada" });
  for (const other of ["198.51.100.8", "2001:db8::1", "127.0.0.1"]) {
    t.equal(await login({ token }, other), "authenticated", other);
  }
  t.equal(await login({ token }, venue, one), "authenticated");
  t.equal(await login({ token }, venue), "authenticated", "a login makes room");
  await open(venue);
  one!.close();
  await once(one!, "close");
  await t.rejects(open(venue), /429/, "once");
  two!.close();
  await until(() =>
    open(venue).then(
      () => true,
      () => false,
    ),
  );
});

void t.test("an address that a client makes up", async (t) => {
  const { login } = await start(t, ["192.0.2.1"]);
  for (const client_id of ["a", "b", "c"]) {
    const got = await login({ client_id }, "198.51.100.7");
    t.equal(got, "authenticated", "counts for nothing");
  }
});

void t.test("bytes that the guests of one network write", async (t) => {
  const { open, server } = await start(t, ["loopback"], {
    guestBytesPerMinute: 3000,
  });
  const { value: room } = await server.app.store.rooms.create("demo", {
    name: "Hall",
    module_config: [
      { type: "chat.native", config: {} },
      { type: "question", config: { active: true } },
    ],
  });
  // The buckets do not fill up while the test runs.
  const now = performance.now();
  t.intercept(performance, "now", { value: () => now });
  let ids = 0;
  const enter = async (credentials: object, address: string) => {
    const ws = await open(address);
    const ask = async (name: string, payload: object) => {
      const id = ++ids;
      ws.send(JSON.stringify([name, id, payload]));
      for await (const [data] of on(ws, "message")) {
        const [word, about, body] = JSON.parse(String(data)) as [
          string,
          unknown,
          { code?: string } | undefined,
        ];
        if (about === id) return body?.code ?? word;
      }
      return "closed";
    };
    const entered = once(ws, "message");
    ws.send(JSON.stringify(["authenticate", credentials]));
    await entered;
    await ask("user.update", { profile: { display_name: "a" } });
    t.equal(await ask("chat.join", { channel: room.id }), "success");
    return {
      says: (length: number) =>
        ask("chat.send", {
          channel: room.id,
          event_type: "channel.message",
          content: { type: "text", body: "x".repeat(length) },
        }),
      renames: (length: number) =>
        ask("user.update", {
          profile: { display_name: "a", about: "x".repeat(length) },
        }),
      asks: (length: number) =>
        ask("question.ask", { room: room.id, content: "x".repeat(length) }),
      leaves: () => ws.terminate(),
    };
  };
  const limited = "protocol.rate_limited";
  const ann = await enter({ client_id: "ann" }, "198.51.100.7");
  t.equal(await ann.says(1300), "success");
  t.equal(await ann.renames(1300), "success");
  ann.leaves();
  const bob = await enter({ client_id: "bob" }, "198.51.100.7");
  t.equal(await bob.says(1300), limited, "the bytes outlive a connection");
  t.equal(await bob.renames(1300), limited, "profiles count, too");
  t.equal(await bob.asks(1300), limited, "and questions");
  t.equal(await bob.says(10), "success", "there is room for a short one");
  const signed = await enter(
    { token: tokenOf(keyOf("demo"), { uid: "u", traits: [] }) },
    "198.51.100.7",
  );
  t.equal(await signed.says(1300), "success", "people with tokens are free");
  const far = await enter({ client_id: "far" }, "198.51.100.8");
  t.equal(await far.says(1300), "success", "another network");
  const here = await enter({ client_id: "here" }, "127.0.0.1");
  for (let i = 0; i < 3; i++) {
    t.equal(await here.says(1300), "success", "this machine has no bound");
  }
});
