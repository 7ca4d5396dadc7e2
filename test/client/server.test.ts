import { configOf } from "../stack.js";
import t from "tap";
import { createApp } from "../../app.js";
import { loadConfig } from "../../config.js";
import { Foyer } from "../../client/index.js";
import { startTestServer } from "../../testing.js";
import { putDatabase } from "../database.js";
import { keyOf, listen, tokenOf, until, worldOf } from "../helper.js";
import { House, liveOf, next, rejection, type Visitor } from "./house.js";
import { testdir } from "../testdir.js";

// The live client and the real server.

void t.test("whom the server turns away", async (t) => {
  const house = await House.open(t);
  const expired = tokenOf(
    (await house.store.worlds.get(house.world))!.value.config.JWT_secrets[0]!,
    { uid: "a", exp: 1 },
  );
  const none = { token: undefined };
  const cases: [code: string, options: Visitor][] = [
    ["world.unknown_world", { world: "other" }],
    ["auth.missing_id_or_token", none],
    ["protocol.invalid_payload", { ...none, clientId: "a b" }],
    ["auth.invalid_token", { token: "abc" }],
    ["auth.expired_token", { token: expired }],
    ["auth.expired_token", { token: () => expired }],
  ];
  for (const [code, options] of cases) {
    const { live } = await house.client(options);
    t.match(await rejection(live.connected()), { code });
  }
});

void t.test("a replaced connection does not come back", async (t) => {
  const house = await House.open(t);
  const config = { connection_limit: 1 };
  await house.store.worlds.configure(house.world, { config });
  const { live: old } = await house.visit();
  const closed = next(old, "client.closed");
  const { live: young } = await house.visit();
  t.match(await closed, { code: "connection.replaced" });
  t.ok(await young.call("user.list.blocked"));
});

void t.test("changes go on after a restart, each once", async (t) => {
  const dataDir = testdir(t);
  await putDatabase(dataDir, [worldOf("demo")]);
  const config = await configOf(dataDir);
  let app = createApp({ config });
  const port = await listen(app);
  t.teardown(() => app.close());
  const token = tokenOf(keyOf("demo"), { uid: "7", traits: ["admin", "api"] });
  const baseUrl = `http://127.0.0.1:${port}`;
  const http = new Foyer({ baseUrl, world: "demo", token });
  const rooms: string[] = [];
  const make = async () =>
    rooms.push((await http.createRoom({ name: "Hall" })).id);
  await make();

  const ends = new AbortController();
  t.teardown(() => ends.abort());
  const seen: unknown[] = [];
  const following = (async () => {
    const options = { after: "0", types: ["room.*"], signal: ends.signal };
    for await (const change of http.changes(options)) {
      t.equal(change.type, "room.created");
      // The type tells what is in the data.
      if (change.type === "room.created") seen.push(change.data.room_id);
    }
  })();
  await until(() => seen.length === 1);
  await make();
  await until(() => seen.length === 2);

  await app.close();
  app = createApp({ config });
  await app.ready();
  await app.store.rooms.create("demo", { name: "While nothing listens" });
  await app.listen({ host: "127.0.0.1", port });
  await until(() => seen.length === 3);
  await make();
  await until(() => seen.length === 4);
  t.strictSame([seen[0], seen[1], seen[3]], rooms, "in order");
  t.equal(new Set(seen).size, 4, "each once");
  ends.abort();
  await following;

  const guest = tokenOf(keyOf("demo"), { uid: "8", traits: ["api"] });
  const refused = new Foyer({ baseUrl, world: "demo", token: guest });
  const error = await refused
    .changes()
    .next()
    .catch((fault: unknown) => fault);
  t.match(error, { status: 403 });
});

void t.test("an outage costs no message", async (t) => {
  const dataDir = testdir(t);
  await putDatabase(dataDir, [worldOf("demo")]);
  const { live: limits } = loadConfig({ LIVE_MESSAGES_PER_SECOND: "20" });
  const config = { ...(await configOf(dataDir)), live: limits };
  const before = createApp({ config });
  const port = await listen(before);
  const { value } = await before.store.rooms.create("demo", {
    name: "Hall",
    module_config: [{ type: "chat.native" }],
  });
  const token = tokenOf(keyOf("demo"), {
    uid: "7",
    profile: { display_name: "Ada" },
  });
  const baseUrl = `http://127.0.0.1:${port}`;
  const live = liveOf(t, { baseUrl }, { token });
  const channel = live.channel(value.id);
  await channel.join();
  await before.close();
  // Twice as many as the server takes at once.
  const numbers = Array.from({ length: 160 }, (_, i) => String(i));
  const sent = Promise.all(numbers.map((number) => channel.send(number)));
  const after = createApp({ config });
  t.teardown(() => after.close());
  await after.listen({ host: "127.0.0.1", port });
  // Others of the user send some, too.
  const other = liveOf(t, { baseUrl }, { token });
  const also = Promise.allSettled(
    ["a", "b", "c"].map((body) =>
      other.call("chat.send", {
        channel: value.id,
        event_type: "channel.message",
        content: { type: "text", body },
      }),
    ),
  );
  await sent;
  await also;
  const stored = await channel.history({ count: 1000 });
  const bodies = stored.flatMap(({ content: { body } }) => body ?? []);
  t.same(
    bodies.filter((body) => numbers.includes(body as string)),
    numbers,
    "each once, in its order",
  );
});

void t.test("a program is followed", async (t) => {
  const server = await startTestServer();
  t.teardown(() => server.close());
  await server.createWorld({
    id: "demo",
    permission_config: { "world.api": [], "program.update": ["host"] },
  });
  const { baseUrl } = server;
  const token = () => server.token("demo", { uid: "ada", traits: ["host"] });
  const http = new Foyer({ baseUrl, world: "demo", token });
  const at = (minutes: number) =>
    new Date(Date.now() + minutes * 60_000).toISOString();
  const { id } = await http.createSession({
    ...{ title: "Maps", starts_at: at(-5), ends_at: at(5) },
  });
  const { id: later } = await http.createSession({
    ...{ title: "Roads", starts_at: at(5), ends_at: at(9) },
  });
  await http.createSession({ title: "Secret", state: "draft" });
  const { program } = liveOf(t, server, { clientId: "ben" });
  const second = liveOf(t, server, { clientId: "ben" });
  const programs = program[Symbol.asyncIterator]();
  const titles = async () =>
    (await programs.next()).value?.sessions.map(({ title }) => title);
  t.strictSame(await titles(), ["Maps", "Roads"]);
  t.match(program.stage(null), { now: { id }, next: { id: later } });
  t.match(program.stage(null, program.now() + 6 * 60_000), {
    ...{ now: { id: later }, next: undefined },
  });
  t.ok(Math.abs(program.now() - Date.now()) < 60_000);

  await program.favorite(id, true);
  t.match((await programs.next()).value, { favorites: [id] });
  await second.program.favorite(later, true);
  t.match((await programs.next()).value, { favorites: [id, later] });
  t.match(await rejection(program.favorite("none", true)), {
    code: "program.unknown",
  });
  await http.updateSession(id, { title: "Maps for all" });
  t.strictSame(await titles(), ["Maps for all", "Roads"]);
  await programs.return!();
  t.equal(program.current, undefined, "nothing is kept without a reader");
});
