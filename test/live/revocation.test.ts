import { openStoreIn } from "../stack.js";
import t, { type Test } from "tap";
import { foyer, foyerProcess, keyOf, timed, tokenOf } from "../helper.js";
import { sending } from "../integrate/receivers.js";
import { keyServer, makeKey } from "../plugins/auth/issuer.js";
import {
  type Client,
  demo,
  type Json,
  type LiveServer,
  soon,
  startLive,
} from "./client.js";

/** Within how many milliseconds a change reaches open connections if the machine has time. */
const SOON = 1000;

/** How long changes took to reach open connections, in milliseconds. */
const takes: number[] = [];

/** Waits for what follows from a change, and notes how long it takes. */
async function timely<T>(promise: Promise<T>): Promise<T> {
  let value: T;
  takes.push(await timed(async () => (value = await soon(promise))));
  return value!;
}

/** Opens the store of a server beside it, as a command does. */
async function beside(t: Test, { dataDir }: LiveServer) {
  return openStoreIn(t, dataDir);
}

/** Whether a connection gets the reason, and ends, soon. */
async function ends(t: Test, client: Client, code: string): Promise<void> {
  t.match(await client.next("error"), { code }, code);
  const close = code === "world.unknown_world" ? 1000 : 1008;
  t.equal((await soon(client.closed)).code, close, code);
}

void t.test("a token expires", async (t) => {
  const live = await startLive(t);
  const guest = await live.guest();
  // At least two seconds, so that a busy machine can log in before.
  const client = await live.person({ uid: "u", seconds: 3 });
  await soon(ends(t, client, "auth.expired_token"));
  t.equal(await guest.code("user.list.blocked"), "ok");
});

void t.test("a key is removed by REST", async (t) => {
  const live = await startLive(t);
  const { body } = await live.rest("GET", "demo/");
  const fresh = { ...keyOf("demo"), secret: "z".repeat(40) };
  const old = await live.person({ uid: "old" });
  const guest = await live.guest();
  const both = { ...body.config, JWT_secrets: [fresh, keyOf("demo")] };
  await live.rest("PATCH", "demo/", { config: both });
  await old.next("world.updated");
  const client = await live.connect();
  const token = tokenOf(fresh, { uid: "new" });
  t.equal((await client.login({ token }))[0], "authenticated");
  const config = { ...body.config, JWT_secrets: [fresh] };
  await live.rest("PATCH", "demo/", { config });
  await timely(ends(t, old, "auth.invalid_token"));
  for (const other of [client, guest]) {
    t.equal(await other.code("user.list.blocked"), "ok");
  }
});

void t.test("another issuer is removed by REST", async (t) => {
  const live = await startLive(t);
  const { jwk, sign } = await makeKey("ES256", "1");
  const entry = { issuer: "shop", audience: "event", jwks: { keys: [jwk] } };
  const config = { JWT_issuers: [{ ...entry, traits: { always: ["crew"] } }] };
  await live.rest("PATCH", "demo/", { config });
  const claims = { iss: "shop", aud: "event", name: "Ada" };
  const token = await sign({ ...claims, sub: "7" });
  const client = await live.connect();
  const [answer, content] = await client.login({ token });
  const { "user.config": user } = content as Json;
  t.equal(answer, "authenticated");
  t.match(user.profile, { display_name: "Ada" });
  t.match(await live.rest("GET", "demo/users/"), {
    body: { results: [{ token_id: "shop#7", traits: ["crew"] }] },
  });
  const nameless = await live.connect();
  const [refused, problem] = await nameless.login({
    token: await sign(claims),
  });
  t.match([refused, problem], ["error", { code: "auth.invalid_token" }]);
  const trusted = [{ ...config.JWT_issuers[0], trusted: true }];
  await live.rest("PATCH", "demo/", { config: { JWT_issuers: trusted } });
  await timely(ends(t, client, "auth.invalid_token"));
  const bare = await live.connect();
  t.equal((await bare.login({ token }))[0], "authenticated");
  t.match(await live.rest("GET", "demo/users/"), {
    body: { results: [{ token_id: "shop#7" }, { token_id: "7" }] },
  });
  await live.rest("PATCH", "demo/", { config: { JWT_issuers: [] } });
  await timely(ends(t, bare, "auth.invalid_token"));
  const again = await live.connect();
  t.match(await again.login({ token }), [
    "error",
    { code: "auth.invalid_token" },
  ]);
});

void t.test("an issuer with keys at an address is removed", async (t) => {
  const { jwk, sign } = await makeKey("ES256", "1");
  const { url: jwks_url } = await keyServer(t, [jwk]);
  const live = await sending(t);
  const entry = { issuer: "shop", audience: "event", jwks_url };
  await live.rest("PATCH", "demo/", { config: { JWT_issuers: [entry] } });
  const client = await live.connect();
  const token = await sign({ iss: "shop", aud: "event", sub: "7" });
  t.equal((await client.login({ token }))[0], "authenticated");
  await live.rest("PATCH", "demo/", { config: { theme: {} } });
  t.equal(await client.code("user.list.blocked"), "ok", "it stays");
  await live.rest("PATCH", "demo/", { config: { JWT_issuers: [] } });
  await timely(ends(t, client, "auth.invalid_token"));
});

void t.test("a silence while its user is busy", async (t) => {
  const live = await startLive(t, { commandsPerSecond: 10_000 });
  const other = await beside(t, live);
  const client = await live.guest();
  let stop = false;
  const busy = (async () => {
    while (!stop) await client.code("user.list.blocked");
  })().catch(() => {});
  await other.users.moderate("demo", client.id, "silenced");
  // A write of the server notices what others wrote.
  await live.guest();
  t.same(await soon(client.next("connection.reload")), {});
  stop = true;
  client.ws.terminate();
  await busy;
});

void t.test("a user is deleted by a command", async (t) => {
  const live = await startLive(t);
  const [one, two] = [await live.guest("g"), await live.guest("g")];
  const args = ["user", "delete", "demo", one.id];
  const { code, stderr } = await foyer(live.dataDir, args);
  t.equal(code, 0, stderr);
  for (const client of [one, two]) {
    t.same(await timely(client.next("connection.reload")), {});
  }
  const again = await live.guest("g");
  t.not(again.id, one.id);
});

void t.test("a world is deleted by a command", async (t) => {
  const live = await startLive(t, {}, [demo(), demo({ id: "other" })]);
  const clients = [await live.guest(), await live.admin()];
  const stranger = await live.guest("x", "other");
  const args = ["world", "delete", "demo", "--yes"];
  const { code, stderr } = await foyerProcess(t, live.dataDir, args);
  t.equal(code, 0, stderr);
  for (const client of clients) {
    await timely(ends(t, client, "world.unknown_world"));
  }
  t.same(await stranger.all(), []);
});

void t.test(
  "nothing is lost between the login and what it holds",
  async (t) => {
    const live = await startLive(t);
    const titles = Array.from({ length: 20 }, (_, i) => `T${i}`);
    const writing = (async () => {
      for (const title of titles) {
        await live.app.store.worlds.configure("demo", { title });
      }
    })();
    const clients: Client[] = [];
    for (let i = 0; i < 10; i++) clients.push(await live.guest());
    await writing;
    const last = "T19";
    for (const client of clients) {
      const first = client.hello["world.config"].world.title;
      if (first === last) continue;
      const isLast = ({ world }: Json) => world.title === last;
      t.ok(await client.next("world.updated", isLast));
    }
    t.pass();
  },
);

void t.test("changes reach open connections soon", (t) => {
  t.ok(takes.length >= 8, `${takes.length} changes`);
  t.ok(Math.min(...takes) < SOON, `at best ${Math.min(...takes)} ms`);
  t.end();
});
