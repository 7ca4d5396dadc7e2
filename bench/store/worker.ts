import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { openEngines as OpenEngines } from "../../db/open.js";

// Measures the writes of one build, in a process of its own. The first argument is its
// `dist`, the second a database of PostgreSQL or nothing. It writes the processor time of
// each kind of write as JSON, in microseconds.

/** How many people write at the same time. */
const CROWD = 100;

/** How often each kind of write is repeated. */
const TIMES = 40;

const [, , dist, url] = process.argv;
const { openEngines } = (await import(
  pathToFileURL(join(dist!, "db/open.js")).href
)) as { openEngines: typeof OpenEngines };
const dataDir = await mkdtemp(join(tmpdir(), "foyer-bench-"));
const engines = await openEngines({
  dataDir,
  ...(url && { database: { url, pool: 10 } }),
});
const { store } = engines;

const numbers = Array.from({ length: CROWD }, (_, i) => i);
const traits = new Set<string>();
const id = `bench-${process.pid}`;
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
const vote = (i: number) => {
  const option = poll.options[(turn + i) % 2]!.id;
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
  const crowd = async () => {
    for (turn = 0; turn < TIMES; turn++) await Promise.all(numbers.map(work));
  };
  const alone = async () => {
    for (turn = 0; turn < 4 * TIMES; turn++) await work(turn % CROWD);
  };
  await crowd();
  figures[`${name}, of a crowd`] = await measure(crowd, TIMES * CROWD);
  figures[`${name}, alone`] = await measure(alone, 4 * TIMES);
}
await store.worlds.delete(id);
await engines.close();
await rm(dataDir, { recursive: true });
process.stdout.write(JSON.stringify(figures));
