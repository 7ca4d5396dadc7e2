import { connect } from "node:net";
import t, { type Test } from "tap";
import type { Store } from "../../db/contract/store.js";
import { sealReport } from "../../plugins/auth/sealed-reports.js";
import {
  admin,
  connectionsOf,
  dial,
  listen,
  rawRequest,
  rules,
  serve,
  until,
  worldOf,
} from "../helper.js";

// Exports of results that are asked for at the same time.

const permission_config = rules({
  "world.feed": ["api"],
  "user.list": ["api"],
});

const people = (world: string, format: string) =>
  `/api/v1/worlds/${world}/results/people/?format=${format}`;

/** A server whose exports begin, and go on when the test says so. */
async function startGated(t: Test) {
  let begun = 0;
  const held: (() => void)[] = [];
  const wrap = (store: Store): Store => ({
    ...store,
    audit: {
      ...store.audit,
      async record(...args) {
        begun++;
        await new Promise<void>((resolve) => held.push(resolve));
        return store.audit.record(...args);
      },
    },
  });
  const worlds = ["a", "b"].map((id) => worldOf(id, { permission_config }));
  const server = await serve(t, worlds, { wrap });
  const port = await listen(server.app);
  return {
    store: server.store,
    begun: () => begun,
    /** Lets exports go on. */
    release: () => held.splice(0).forEach((go) => go()),
    /** Sends a request on a connection of its own. */
    ask: (url: string, world?: string) => {
      const wire = dial(t, port);
      wire.send(
        rawRequest(`GET ${url}`, {
          ...(world !== undefined && { authorization: admin(world) }),
        }),
      );
      return wire;
    },
  };
}

void t.test("spreadsheets", async (t) => {
  const server = await startGated(t);
  const { ask, begun, release, store } = server;
  const visitor = { tokenId: "ada", traits: new Set(["admin", "api"]) };
  const { id: user } = await store.users.enter("a", visitor);
  const world = (await store.worlds.get("a"))!.value;
  const report = sealReport(world, {
    ...{ name: "attendee_list", format: "xlsx", user },
    ...{ traits: ["admin", "api"], ends: Date.now() + 3_600_000 },
  });
  const link = `/api/v1/worlds/a/reports/${report}/`;

  const first = ask(people("a", "xlsx"), "a");
  await until(() => begun() === 1);
  const second = ask(link);
  await until(() => begun() === 2);
  // Whichever comes first has the place.
  const both = [ask(people("a", "xlsx"), "a"), ask(link)];
  const [waiting, refused] = await Promise.race(
    both.map(async (wire, i) => [both[1 - i]!, await wire.answer()] as const),
  );
  t.equal(refused.status, 503);
  t.match(JSON.parse(refused.text), {
    detail: "The server is busy with spreadsheets. Try again soon.",
    code: "unavailable",
  });
  t.match(refused.headers, { "retry-after": /\d/ });
  const other = ask(people("b", "xlsx"), "b");
  t.equal(
    (await ask("/api/v1/worlds/b/", "b").answer()).status,
    200,
    "all else is answered",
  );
  t.equal(begun(), 2, "two at a time on the server");

  waiting.hangUp();
  const next = ask(people("a", "xlsx"), "a");
  first.hangUp();
  release();
  t.equal((await second.answer()).status, 200, "a link gets its file");
  await until(() => begun() === 4);
  release();
  t.equal((await other.answer()).status, 200, "another world had its turn");
  t.equal((await next.answer()).status, 200, "the place was free again");
  t.equal(begun(), 4, "nothing is made for clients that left");
});

void t.test("a client that takes nothing of its answer", async (t) => {
  let pages = 0;
  const server = await serve(t, [worldOf("a", { permission_config })], {
    wrap: (store) => ({
      ...store,
      users: {
        ...store.users,
        // There is no end of them.
        async list(world) {
          pages++;
          const { users } = await store.users.list(world, {
            page: 1,
            pageSize: 1,
          });
          const many = Array.from({ length: 100 }, (_, i) => ({
            ...users[0]!,
            id: `${pages} ${i}`,
            token_id: "x".repeat(10_000),
          }));
          return { count: 1e9, users: many };
        },
      },
    }),
  });
  await server.store.users.enter("a", {
    ...{ tokenId: "ada", traits: new Set<string>() },
  });
  const port = await listen(server.app);
  const request = rawRequest(`GET ${people("a", "json")}`, {
    authorization: admin("a"),
  });
  const slow = dial(t, port, { paused: true });
  slow.send(request);
  const quick = connect(port, "127.0.0.1").resume();
  t.teardown(() => quick.destroy());
  quick.write(request);
  // The slow one has what the system holds for it, and the quick one goes on.
  await until(() => pages > 200);
  const look = () => server.app.stalls.look();
  await until(async () => {
    look();
    return (await connectionsOf(server.app)) === 1;
  });
  const before = pages;
  await until(() => {
    look();
    return pages > before + 100;
  });
  t.equal(await connectionsOf(server.app), 1, "one that reads goes on");
});

void t.test("tables that are sent as they are read", async (t) => {
  const { ask, begun, release } = await startGated(t);
  const wires = Array.from({ length: 16 }, () => ask(people("a", "csv"), "a"));
  await until(() => begun() === 16);
  const refused = await ask(people("a", "json"), "a").answer();
  t.equal(refused.status, 503);
  t.match(refused.text, /exports of this event/);
  const other = ask(people("b", "json"), "b");
  await until(() => begun() === 17);
  release();
  for (const wire of [...wires, other]) {
    t.equal((await wire.answer()).status, 200);
  }
});

void t.test("exports of programs", async (t) => {
  const { app, call, store } = await serve(t);
  const { programs } = app;
  const { formats } = programs;
  const ends: AbortSignal[] = [];
  let go = () => {};
  t.intercept(formats, "write", {
    value: async (...[, , , gone]: Parameters<typeof formats.write>) => {
      ends.push(gone!);
      await new Promise<void>((resolve) => (go = resolve));
      gone!.throwIfAborted();
      return "BEGIN:VCALENDAR";
    },
  });
  const world = (await store.worlds.get("demo"))!.value;
  const everything = { edits: true, sees: () => true };
  const exported = () => programs.export(world, everything, "ics", "");
  const api = "/api/v1/worlds/demo/program/?format=ics";
  for (const url of ["/w/demo/program.ics", api]) {
    const headers = { "if-none-match": "*" };
    const { status } = await call({ url, headers, as: admin("demo") });
    t.equal(status, 304);
  }
  t.equal(ends.length, 0, "nothing is written for a client that has it");

  const leaving = [new AbortController(), new AbortController()];
  const waiting = leaving.map(async ({ signal }) =>
    (await exported()).bytes(signal),
  );
  await until(() => ends.length === 1);
  const refused = Promise.all(
    waiting.map((bytes) => t.rejects(bytes, /client went away/)),
  );
  leaving[0]!.abort();
  t.notOk(ends[0]!.aborted, "somebody still waits");
  leaving[1]!.abort();
  t.ok(ends[0]!.aborted, "nobody does");
  go();
  await refused;

  const bytes = [exported(), exported()].map(async (found) =>
    (await found).bytes(),
  );
  await until(() => ends.length === 2);
  go();
  const [first, second] = await Promise.all(bytes);
  t.equal(first, second, "readers share the bytes");
  t.equal(await (await exported()).bytes(), first, "later ones, too");
  t.equal(ends.length, 2);
});

void t.test("imports that meet other writes", async (t) => {
  /** How often the world changes right before an import is written. */
  let changes = 0;
  let made = 0;
  let writes = 0;
  const { call } = await serve(t, undefined, {
    wrap: (store) => ({
      ...store,
      program: {
        ...store.program,
        async import(world, ...args) {
          writes++;
          if (changes-- > 0) {
            const title = "By hand";
            const import_id = `s${++made}`;
            await store.program.createSession(world, { title, import_id });
          }
          return store.program.import(world, ...args);
        },
      },
    }),
  });
  const send = (table: string, query = "", headers = {}) =>
    call({
      method: "PUT",
      url: `/api/v1/worlds/demo/program/${query}`,
      as: admin("demo"),
      headers: { "content-type": "text/csv", ...headers },
      body: table,
    });
  changes = 2;
  // It is known by its title, as the second session by hand is.
  const answer = await send("title\nA\ns2\n");
  t.match(answer, { status: 200, body: { created: 1, updated: 1 } });
  t.equal(writes, 3, "it is planned again from what is there");
  writes = 0;
  changes = 100;
  const busy = await send("title\nB\n");
  t.match(busy, { status: 503, headers: { "retry-after": /\d/ } });
  t.match(busy.body, { detail: /keeps changing/ });
  t.equal(writes, 5, "a bounded number of times");
  changes = 1;
  const { headers } = await call({
    url: "/api/v1/worlds/demo/program/",
    as: admin("demo"),
  });
  const expecting = { "if-match": headers["etag"] };
  t.equal((await send("title\nC\n", "", expecting)).status, 412);
});
