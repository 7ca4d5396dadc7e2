import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ownerIn } from "../../test/servers/owner.js";
import { startPostgres } from "../../test/servers/postgres.js";
import { startValkey } from "../../test/servers/valkey.js";
import { newVenue, UNLIMITED } from "../crowd/halls.js";
import { callersOf } from "../event.js";
import { say } from "../rounds.js";
import { Person } from "./person.js";
import { newFolder, type Running, startFoyer } from "../servers.js";

// `npm run bench actions` counts the statements and messages that each action makes two nodes
// send to PostgreSQL and Valkey. It takes less than two minutes. TEXTS=1 shows the statements.

/** How often each action is done. */
const TIMES = 8;

/** How long the effects of an action are counted, in milliseconds: marks are kept a second later. */
const SETTLED = 2000;

/** How long idle nodes are counted, in milliseconds. */
const IDLE = 12_000;

const NODES = 2;

/** A message in the log of PostgreSQL that one statement, or several at once, came. */
const STATEMENT = /##LOG: {2}(?:statement|execute [^:]*): ([^]*?)(?=##|$)/g;

const ends: (() => unknown)[] = [];
const postgres = await startPostgres({
  settings: { log_statement: "all", log_line_prefix: "##" },
});
ends.push(() => postgres.close());
const valkey = await startValkey(
  ownerIn(newFolder(), (end) => void ends.push(end)),
);
const published: number[] = [];
const monitor = connect(valkey.port, "127.0.0.1");
let heard = "";
monitor.on("data", (data) => {
  const lines = (heard + String(data)).split("\r\n");
  heard = lines.pop()!;
  for (const line of lines) {
    const [, body] = /"PUBLISH" "[^"]*" "(.*)"$/.exec(line) ?? [];
    if (body !== undefined)
      published.push((JSON.parse(`"${body}"`) as string).length);
  }
});
monitor.write("MONITOR\r\n");

const logged = (): string[] =>
  [
    ...readFileSync(join(postgres.folder, "log"), "utf8").matchAll(STATEMENT),
  ].map(([, text]) => shortened(text!));

/** A statement without its values, in one line. */
const shortened = (text: string): string =>
  text
    .replace(/'[^']*'|\b\d+\b/g, "?")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 160);

/** The rows that were written so far. */
async function written(database: string): Promise<number> {
  const [row] = (await postgres.run(
    `SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::int AS rows FROM pg_stat_user_tables
     WHERE relname <> 'log_heads'`,
    database,
  )) as [{ rows: number }];
  return row.rows;
}

const url = await postgres.createDatabase();
const database = new URL(url).pathname.slice(1);
const { dataDir } = await newVenue(0, { database: { url, pool: 10 } });
const env = { ...UNLIMITED, DATABASE_URL: url, VALKEY_URL: valkey.url };
const nodes: Running[] = [];
for (let n = 0; n < NODES; n++) nodes.push(await startFoyer(dataDir, env));

// They do not see the viewers of a room.
const callers = callersOf("bench", { count: TIMES + NODES, roles: [] });
const [administrator] = callersOf("bench", { count: 1 });

/** Makes a room with a chat whose memberships last. @returns its id. */
async function newRoom(): Promise<string> {
  const module_config = [{ type: "chat.native", config: {} }];
  const draft = { name: "Hall", module_config };
  return ((await rest("POST", "rooms/", draft)) as { id: string }).id;
}

const room = await newRoom();
const channel = room;
const people = callers.map(
  (caller, n) => new Person(nodes[n % NODES]!.port, caller),
);
ends.push(...people.map((person) => () => person.leave()));
const named = { profile: { display_name: "Ada" } };
// The first of each node makes it follow the world.
for (const person of people.splice(0, NODES)) {
  await person.open();
  await person.login();
  await person.do("room.enter", { room });
}

interface Figures {
  action: string;
  statements: number;
  rows: number;
  messages: number;
  bytes: number;
}
const table: Figures[] = [];
const texts = new Map<string, Map<string, number>>();
/** The statements of idle nodes per millisecond. */
const idle: Map<string, number> = new Map();

/** The messages of idle nodes per millisecond. */
const idleBus = { messages: 0, bytes: 0 };

/** Counts the effects of an action, minus the idle traffic. */
async function count(
  action: string,
  times: number,
  act: () => Promise<unknown>,
  settled = SETTLED,
): Promise<void> {
  say(action);
  await delay(SETTLED);
  const before = [logged().length, published.length, await written(database)];
  const began = performance.now();
  await act();
  await delay(settled);
  const time = performance.now() - began;
  const messages = published.slice(before[1]);
  const isIdle = idle.size === 0;
  const counts = new Map<string, number>();
  for (const text of logged().slice(before[0])) {
    if (/pg_stat_user_tables/.test(text)) continue;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const rows = (await written(database)) - before[2]!;
  for (const [text, number] of counts) {
    const expected = (idle.get(text) ?? 0) * time;
    if (isIdle) idle.set(text, number / time);
    counts.set(text, Math.max(0, number - expected) / times);
  }
  const sum = (numbers: Iterable<number>) =>
    [...numbers].reduce((all, one) => all + one, 0);
  const told = { messages: messages.length, bytes: sum(messages) };
  for (const kind of ["messages", "bytes"] as const) {
    if (isIdle) idleBus[kind] = told[kind] / time;
    else told[kind] = Math.max(0, told[kind] - idleBus[kind] * time);
  }
  texts.set(action, counts);
  table.push({
    action,
    statements: round(sum(counts.values())),
    rows: round(rows / times),
    messages: round(told.messages / times),
    bytes: Math.round(told.bytes / times),
  });
}

const round = (number: number) => Math.round(number * 10) / 10;

/** Each person does something, one after the other. */
const each = (act: (person: Person, n: number) => Promise<unknown>) =>
  async function all() {
    for (const [n, person] of people.entries()) await act(person, n);
  };

async function rest(
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const answer = await fetch(
    `http://127.0.0.1:${nodes[0]!.port}/api/v1/worlds/bench/${path}`,
    {
      method,
      headers: {
        authorization: administrator!,
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    },
  );
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

await count(
  "idle: a process, a second",
  (NODES * IDLE) / 1000,
  () => delay(IDLE),
  0,
);
await rest("GET", `rooms/${room}/`);
await count("GET of what is cached", TIMES, async () => {
  for (let n = 0; n < TIMES; n++) await rest("GET", `rooms/${room}/`);
});
await Promise.all(people.map((person) => person.open()));
await count(
  "login, the first",
  TIMES,
  each((person) => person.login()),
);
await count(
  "user.update",
  TIMES,
  each((person) => person.do("user.update", named)),
);
await count(
  "room.enter",
  TIMES,
  each((person) => person.do("room.enter", { room })),
);
await count(
  "chat.subscribe",
  TIMES,
  each((person) => person.do("chat.subscribe", { channel })),
);
await count(
  "chat.join",
  TIMES,
  each((person) => person.do("chat.join", { channel })),
);
await count(
  "chat.fetch",
  TIMES,
  each((person) =>
    person.do("chat.fetch", {
      channel,
      count: 50,
      before_id: Number.MAX_SAFE_INTEGER,
    }),
  ),
);
let last = 0;
await count(
  "chat.send",
  TIMES,
  each(async (person, n) => {
    const content = { type: "text", body: `Hello, message ${n}` };
    const sent = (await person.do("chat.send", {
      channel,
      event_type: "channel.message",
      content,
    })) as { event: { event_id: number } };
    last = sent.event.event_id;
  }),
);
await count(
  "chat.mark_read",
  TIMES,
  each((person) => person.do("chat.mark_read", { channel, id: last })),
);
await count("a rule of a room", TIMES, async () => {
  for (let n = 0; n < TIMES; n++) {
    await rest("PATCH", `rooms/${room}/`, { description: `Text ${n}` });
  }
});

console.table(table);
if (process.env.TEXTS) {
  for (const [action, counts] of texts) {
    console.log(`\n${action}`);
    for (const [text, number] of counts) {
      if (number > 0.05) console.log(`  ${number.toFixed(2)} ${text}`);
    }
  }
}
for (const node of nodes) await node.stop();
monitor.destroy();
for (const end of ends.reverse()) await end();
process.exit();
