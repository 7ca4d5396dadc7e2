import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import type { openEngines as OpenEngines } from "../db/open.js";
import { inTurns, isWanted, newFolder, OWN_BUILD, readOptions, report } from "./support.js";

// `npm run bench:store -- [part of a name …] [--rounds N] [--against <dist>] [--database
// postgres://…]` measures the processor time of store calls, compared with another build in the
// same process. With a database, only this process's time counts, and each build has its own
// database, since the tables may differ.

const options = readOptions({ rounds: 30 });
const { against, database: url, rounds } = options;

/** Number of people who write concurrently. */
const CROWD = 100;

/** Number of passes over the crowd per round, for each kind of write. */
const TURNS = url ? 2 : 10;

/** Number of sequential writes per round. */
const ALONE = url ? 50 : 200;

/** Number of warm-up rounds, so that all code is compiled. */
const WARM_UP = url ? 5 : 20;

const numbers = Array.from({ length: CROWD }, (_, i) => i);
const traits = new Set<string>();
const admin = url ? new pg.Client(url) : undefined;
await admin?.connect();

/** Opens the store of a build, and defines the kinds of calls to it. Each receives the number of a person. */
async function open(dist: string, id: string) {
  const { openEngines } = (await import(pathToFileURL(join(dist, "db/open.js")).href)) as {
    openEngines: typeof OpenEngines;
  };
  await admin?.query(`CREATE DATABASE "${id}"`);
  const engines = await openEngines({
    dataDir: newFolder(),
    ...(url && { database: { url: new URL(`/${id}`, url).href, pool: 10 } }),
  });
  const { store } = engines;
  await store.worlds.create({
    id,
    title: "Bench",
    domain: `${id}.example.org`,
    config: { JWT_secrets: [{ issuer: "a", audience: "b", secret: "c" }] },
    permission_config: {},
  });
  const { value: room } = await store.rooms.create(id, {
    name: "Hall",
    module_config: [{ type: "chat.native", config: {} }],
  });
  const enter = (i: number) =>
    store.users.enter(id, { clientId: `guest ${i}`, traits, login: true });
  const users = await Promise.all(numbers.map(enter));
  await Promise.all(users.map((user) => store.chat.join(id, room.id, user.id)));
  const poll = await store.polls.create(id, room.id, {
    content: "Which?",
    state: "open",
    poll_type: "choice",
    options: ["a", "b"].map((content, order) => ({ content, order })),
  } as unknown as Parameters<typeof store.polls.create>[2]);

  const choices = numbers.map(() => 0);
  let patched = 0;
  let marked = 0;
  const works: Record<string, (i: number) => Promise<unknown>> = {
    message: (i) =>
      store.chat.send(id, room.id, {
        sender: users[i]!.id,
        content: { type: "text", body: `A message of the usual length, ${i}` },
      }),
    "message and its deletion": async (i) => {
      const sender = users[i]!.id;
      const say = (type: string, more: object) =>
        store.chat.send(id, room.id, { sender, content: { type, body: `Wrong, ${i}` }, ...more });
      const { event } = await say("text", {});
      await say("deleted", { replaces: event.id });
    },
    vote: (i) => {
      choices[i] = 1 - choices[i]!;
      const option = poll.options[choices[i]]!.id;
      return store.polls.vote(id, room.id, poll.id, users[i]!.id, { options: [option] });
    },
    "100 marks": () => {
      const mark = { world: id, channel: room.id, pointer: ++marked, listed: null, forward: true };
      return store.chat.mark(users.map((user) => ({ ...mark, user: user.id })));
    },
    "join and leave": async (i) => {
      await store.chat.leave(id, room.id, users[i]!.id, false);
      await store.chat.join(id, room.id, users[i]!.id);
    },
    "GET of unread channels": (i) => store.chat.unread(id, users[i]!.id),
    "GET of memberships": (i) => store.chat.memberships(id, users[i]!.id),
    login: enter,
    "PATCH of a room": () => store.rooms.update(id, room.id, { sorting_priority: ++patched }),
    "GET of a room": () => store.rooms.get(id, room.id),
    "GET of a page of the chat": () => store.chat.events(id, room.id, { limit: 50 }),
    "POST of a room": (i) =>
      store.rooms.create(id, {
        name: `Room ${i}`,
        description: "Where people meet.",
        module_config: [{ type: "chat.native", config: {} }],
      }),
  };
  const close = async () => {
    await engines.close();
    await admin?.query(`DROP DATABASE "${id}"`);
  };
  return { works, close };
}

type Work = (i: number) => Promise<unknown>;
const ways: Record<string, (work: Work) => Promise<number>> = {
  async "of a crowd"(work) {
    for (let i = 0; i < TURNS; i++) await Promise.all(numbers.map(work));
    return TURNS * CROWD;
  },
  async alone(work) {
    for (let i = 0; i < ALONE; i++) await work(i % CROWD);
    return ALONE;
  },
};

/** Returns the average processor time per call, in microseconds. */
async function spend(act: () => Promise<number>): Promise<number> {
  const before = process.cpuUsage();
  const count = await act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

const name = `bench-${process.pid}`;
const sides = [await open(OWN_BUILD, name)];
if (against) sides.push(await open(against, `${name}-other`));
try {
  for (const kind of Object.keys(sides[0]!.works)) {
    for (const [manner, way] of Object.entries(ways)) {
      const work = `${kind}, ${manner}`;
      if (!isWanted(options, work)) continue;
      const measure = (side: (typeof sides)[number]) => spend(() => way(side.works[kind]!));
      await inTurns(sides, WARM_UP, measure);
      const [own, other] = await inTurns(sides, rounds, measure);
      const to = other && { name: "the other build", values: other };
      report(work, own!, "µs", to);
    }
  }
} finally {
  for (const { close } of sides) await close();
  await admin?.end();
}
