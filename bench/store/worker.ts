import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import type { openEngines as OpenEngines } from "../../db/open.js";

// Measures the writes of one build, in a process of its own. The first argument is its
// `dist`, the second a server of PostgreSQL or nothing. It writes the processor time of
// each kind of write as JSON, in microseconds. On PostgreSQL, that is the time of this
// process alone, in a database of its own: the builds may have other tables.

/** How many people write at the same time. */
const CROWD = 100;

/** How many turns of the crowd are measured for each kind of write. */
const TURNS = 200;

/** How many turns come first, so that all code is compiled: to compile it takes a tenth of a short run. */
const WARM_UP = 200;

/** How many writes are measured that come alone. */
const ALONE = 1000;

const [, , dist, url] = process.argv;
const { openEngines } = (await import(
  pathToFileURL(join(dist!, "db/open.js")).href
)) as { openEngines: typeof OpenEngines };
const dataDir = await mkdtemp(join(tmpdir(), "foyer-bench-"));
const id = `bench-${process.pid}`;
const admin = url ? new pg.Client(url) : undefined;
await admin?.connect();
await admin?.query(`CREATE DATABASE "${id}"`);
const engines = await openEngines({
  dataDir,
  ...(url && { database: { url: withDatabase(url), pool: 10 } }),
});
const { store } = engines;

const numbers = Array.from({ length: CROWD }, (_, i) => i);
const traits = new Set<string>();
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

const send = (i: number) =>
  store.chat.send(id, room.id, {
    sender: users[i]!.id,
    content: { type: "text", body: `A message of the usual length, ${i}` },
  });
let turn = 0;
const choices = numbers.map(() => 0);
const vote = (i: number) => {
  choices[i] = 1 - choices[i]!;
  const option = poll.options[choices[i]]!.id;
  return store.polls.vote(id, room.id, poll.id, users[i]!.id, [option]);
};
const patch = (i: number) =>
  store.rooms.update(id, room.id, { sorting_priority: turn * CROWD + i });

const works: Record<string, (i: number) => Promise<unknown>> = {
  message: send,
  vote: vote,
  login: enter,
  "PATCH of a room": patch,
};

/** @returns the processor time of one write on average, in microseconds. */
async function measure(act: () => Promise<unknown>, count: number) {
  const before = process.cpuUsage();
  await act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

const figures: Record<string, number> = {};
for (const [name, work] of Object.entries(works)) {
  const crowd = async (turns: number) => {
    for (turn = 0; turn < turns; turn++) await Promise.all(numbers.map(work));
  };
  const alone = async () => {
    for (turn = 0; turn < ALONE; turn++) await work(turn % CROWD);
  };
  await crowd(url ? WARM_UP / 10 : WARM_UP);
  const turns = url ? TURNS / 4 : TURNS;
  figures[`${name}, of a crowd`] = await measure(
    () => crowd(turns),
    turns * CROWD,
  );
  await alone();
  figures[`${name}, alone`] = await measure(alone, ALONE);
}
await store.worlds.delete(id);
await engines.close();
await admin?.query(`DROP DATABASE "${id}"`);
await admin?.end();
await rm(dataDir, { recursive: true });
process.stdout.write(JSON.stringify(figures));

/** The address of the database of this process on the server. */
function withDatabase(server: string): string {
  const address = new URL(server);
  address.pathname = id;
  return address.href;
}
