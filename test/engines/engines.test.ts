import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import t from "tap";
import { Database } from "../../db/postgres/engine/database.js";
import { postgresStore } from "../../db/postgres/index.js";
import { type Entry, INDEX } from "../../db/log/entries.js";
import { openSqliteStore } from "../../db/sqlite/index.js";
import {
  type Store,
  StoreError,
  type Visitor,
} from "../../db/contract/store.js";
import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import { exported } from "../exported.js";
import type {
  UserCopy,
  WorldCopy,
} from "../../schemas/documents/world-document.js";
import { worldOf } from "../helper.js";
import { startPostgres } from "../servers/postgres.js";
import { testdir } from "../testdir.js";
import { mapping } from "./engine-mapping.js";
import { ODD_TEXTS, oddJson } from "./odd-values.js";
import { Random } from "../simulation/random.js";

// The same operations, on SQLite and on PostgreSQL, must give the same answers. `SEED`
// and `OPERATIONS` choose others. What both share (db/shared/) has the store contract only.

const SEED = Number(process.env.SEED ?? 19);
const OPERATIONS = Number(process.env.OPERATIONS ?? 2000);

const server = await startPostgres();
t.setTimeout(300_000);
t.teardown(() => server.close());

/** What one thing is called in each of the stores. */
type Name<T> = readonly [sqlite: T, postgres: T];

const both = <T>(value: T): Name<T> => [value, value];

const fixedId = (kind: number, n: number) =>
  `${String(kind).padStart(8, "0")}-0000-4000-8000-${String(n).padStart(12, "0")}`;

const ABSENT = both(fixedId(0, 0));
const WORLDS = ["demo", "other", "missing"];
const rooms = Array.from({ length: 12 }, (_, i) => both(fixedId(1, i)));
const users = Array.from({ length: 12 }, (_, i) => both(fixedId(2, i)));
const events: Name<number>[] = [];
/** Where each event is, and who sent it. */
const placeOf = new Map<number, readonly [Name<string>, Name<string>]>();
const versions: Name<string>[] = [];

const RULES = [
  undefined,
  [],
  ["crew"],
  ["crew", ["a", "b"]],
  [["ß", "i"], "😀"],
];

const random = new Random(SEED);
const pick = random.pick.bind(random);
const chance = random.chance.bind(random);
const whole = random.below.bind(random);
const word = () =>
  chance(0.7) ? pick(["a", "b", "Ab", "x y"]) : pick(ODD_TEXTS);
const text = () => word() + (chance(0.5) ? word() : "");
const json = () => oddJson(pick, whole, text);
const object = () => ({ [text()]: json(), [text()]: json() });
const world = () => (chance(0.9) ? "demo" : pick(WORLDS));
const from = <T>(names: Name<T>[], none: Name<T>) =>
  names.length > 0 && chance(0.93) ? pick(names) : none;
const user = () => from(users, ABSENT);
const room = () => from(rooms, ABSENT);
const traits = () =>
  new Set([pick(["crew", "a", "b", "ß", "i", "😀"]), text()].slice(whole(3)));
const page = () => ({ page: 1 + whole(3), pageSize: 1 + whole(30) });
const permissions = (): PermissionConfig => {
  const rule = pick(RULES);
  return rule ? { "room.view": rule } : {};
};
const modules = () =>
  Array.from({ length: whole(3) }, () => ({
    type: pick(["chat.native", "poll", text()]),
    config: object(),
  }));
const condition = (side: number) =>
  versions.length > 0 && chance(0.1) ? [pick(versions)[side]!] : undefined;

type Run = (store: Store, side: 0 | 1) => Promise<unknown>;

/**
 * One operation with its arguments, and what to remember of its answers. The conditions
 * are chosen once, so that both stores get the same.
 */
interface Operation {
  run: Run;
  keep?: (answers: [unknown, unknown]) => void;
}

const keepIn =
  (
    names: Name<string>[],
    idOf = (answer: unknown) => (answer as { id: string }).id,
  ) =>
  ([a, b]: [unknown, unknown]) =>
    void names.push([idOf(a), idOf(b)]);

const keepVersion = ([a, b]: [unknown, unknown]) =>
  void versions.push([
    (a as { version: string }).version,
    (b as { version: string }).version,
  ]);

const valueId = (answer: unknown) =>
  (answer as { value: { id: string } }).value.id;

function visitor(): Visitor {
  const known = chance(0.7);
  const n = known ? whole(users.length) : whole(1000);
  return {
    ...(chance(0.8) || known
      ? { tokenId: `user-${n}` }
      : { clientId: `guest-${n}` }),
    traits: traits(),
    profile: { display_name: `${text()} ${n}`, x: json() },
    login: chance(0.3),
    ...(chance(0.2) && { pretalxId: text() }),
  };
}

const operations: Record<string, () => Operation> = {
  "worlds.get": () => {
    const w = world();
    return { run: (s) => s.worlds.get(w) };
  },
  "worlds.at": () => {
    const host = `${pick(WORLDS)}.example.org`;
    return { run: (s) => s.worlds.at(host) };
  },
  "worlds.list": () => ({ run: (s) => s.worlds.list({ limit: 5 }) }),
  "worlds.update": () => {
    const w = world();
    const changes = pick([
      { title: text() },
      { permission_config: { "world.view": ["ß"], ...permissions() } },
      {
        domain: pick([
          "demo.example.org",
          "other.example.org",
          "demo.example.org:8443",
        ]),
      },
    ]);
    return { run: (s) => s.worlds.update(w, changes), keep: keepVersion };
  },
  "worlds.configure": () => {
    const w = world();
    const changes = { title: text(), config: object() };
    return { run: (s) => s.worlds.configure(w, changes), keep: keepVersion };
  },
  "worlds.export": () => {
    const w = world();
    const asked = { history: chance(0.7) };
    return {
      run: async (s) => {
        const { rows } = await exported(s, w, asked);
        // Random ids give the order of rows without a number.
        const isOrdered = (table: string) =>
          table === "chat_events" || "number" in rows[table]![0]!;
        return Object.entries(rows).map(([table, some]) => [
          table,
          isOrdered(table)
            ? some.map(({ tag: _, ...row }) => row)
            : some.length,
        ]);
      },
    };
  },
  "worlds.import": () => {
    const dryRun = chance(0.5);
    const id = randomUUID().slice(0, 8);
    const copy: WorldCopy = {
      world: worldOf(id),
      rooms: [{ id: fixedId(1, whole(100)), name: text() }],
      users: [
        {
          ...{
            id: fixedId(2, whole(100)),
            profile: object(),
          },
          ...{ token_id: text() + "t", client_id: null, traits: [text()] },
          last_seen: "2027-01-01T00:00:00.000Z",
        },
      ],
    };
    return { run: (s) => s.worlds.import(copy, { dryRun }) };
  },
  "rooms.get": () => {
    const [w, id] = [world(), room()];
    return { run: (s, i) => s.rooms.get(w, id[i]) };
  },
  "rooms.list": () => {
    const w = world();
    const asked = {
      ...page(),
      traits: traits(),
      ordering: pick([
        "sorting_priority",
        "-sorting_priority",
        "name",
        "-name",
      ] as const),
      type: chance(0.3) ? pick(["chat.native", text()]) : "",
      search: chance(0.5) ? text() : "",
    };
    return { run: (s) => s.rooms.list(w, asked) };
  },
  "rooms.all": () => {
    const [w, asked] = [world(), page()];
    return { run: (s) => s.rooms.all(w, asked) };
  },
  "rooms.create": () => {
    const w = world();
    const draft = {
      name: text(),
      ...(chance(0.5) && { description: text() }),
      ...(chance(0.5) && { module_config: modules() }),
      ...(chance(0.5) && { permission_config: permissions() }),
      ...(chance(0.5) && {
        sorting_priority: pick([0, -1, 5, 2 ** 31 - 1, -(2 ** 31)]),
      }),
    };
    const how = chance(0.5) ? "create" : "open";
    return {
      run: (s) => s.rooms[how](w, draft),
      keep: (answers) => {
        if (w === "demo") keepIn(rooms, valueId)(answers);
        keepVersion(answers);
      },
    };
  },
  "rooms.update": () => {
    const [w, id] = [world(), room()];
    const changes = {
      ...(chance(0.4) && { name: text() }),
      ...(chance(0.4) && { description: text() }),
      ...(chance(0.4) && { module_config: modules() }),
      ...(chance(0.4) && { permission_config: permissions() }),
      ...(chance(0.2) && { sorting_priority: whole(10) }),
      ...(chance(0.2) && { domain: pick(["own.org", null]) }),
      ...(chance(0.2) && {
        extras: pick([
          { picture: text() },
          { pretalx_id: 2 ** 53 - 1 },
          { force_join: true },
          { schedule_data: object() },
        ]),
      }),
    };
    const expected = [condition(0), condition(1)];
    if (!expected[0] !== !expected[1]) expected.fill(undefined);
    return {
      run: (s, i) => s.rooms.update(w, id[i], changes, expected[i]),
      keep: keepVersion,
    };
  },
  "rooms.schedule": () => {
    const [w, id, data] = [world(), room(), chance(0.3) ? null : object()];
    return { run: (s, i) => s.rooms.schedule(w, id[i], data) };
  },
  "rooms.reorder": () => {
    const [w, order] = [world(), [room(), room(), room()]];
    return {
      run: (s, i) =>
        s.rooms.reorder(
          w,
          order.map((id) => id[i]),
        ),
    };
  },
  "rooms.delete": () => {
    const [w, id] = [world(), room()];
    const isRare = chance(0.2);
    return {
      run: (s, i) =>
        isRare ? s.rooms.delete(w, id[i]) : s.rooms.get(w, id[i]),
    };
  },
  "users.enter": () => {
    const [w, who] = [world(), visitor()];
    return { run: (s) => s.users.enter(w, who) };
  },
  "users.get": () => {
    const [w, id] = [world(), user()];
    return { run: (s, i) => s.users.get(w, id[i]) };
  },
  "users.find": () => {
    const [w, n] = [world(), whole(users.length)];
    return { run: (s) => s.users.find(w, { tokenId: `user-${n}` }) };
  },
  "users.getMany": () => {
    const [w, ids] = [world(), [user(), user(), user()]];
    return {
      run: async (s, i) => {
        const asked = ids.map((id) => id[i]);
        const found = await s.users.getMany(w, asked);
        const at = ({ id }: { id: string }) => asked.indexOf(id);
        return [...found].sort((a, b) => at(a) - at(b));
      },
    };
  },
  "users.byPretalx": () => {
    const [w, ids] = [world(), [text(), text()]];
    return {
      run: async (s) => {
        const found = await s.users.byPretalx(w, ids);
        return found.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
      },
    };
  },
  "users.search": () => {
    const w = world();
    const asked = {
      ...page(),
      ...(chance(0.7) && { term: text() }),
      ...(chance(0.4) && { fields: ["x", "0", text()] }),
      ...(chance(0.4) && { traits: [...traits()] }),
      banned: chance(0.5),
      named: chance(0.5),
    };
    return { run: (s) => s.users.search(w, asked) };
  },
  "users.update": () => {
    const [w, id] = [world(), user()];
    const changes = pick([
      {
        profile: {
          display_name: text(),
          fields: pick([
            [{ id: "x", value: text() }],
            [text()],
            { x: text(), [text()]: text() },
          ]),
        },
      },
      { client_state: object() },
      { pretalx_id: pick([null, text()]) },
      {},
    ]);
    return { run: (s, i) => s.users.update(w, id[i], changes) };
  },
  "users.moderate": () => {
    const [w, id] = [world(), user()];
    const state = pick(["", "", "silenced", "banned"] as const);
    return { run: (s, i) => s.users.moderate(w, id[i], state) };
  },
  "users.block": () => {
    const [w, id, other] = [world(), user(), user()];
    const how = chance(0.7) ? "block" : "unblock";
    return { run: (s, i) => s.users[how](w, id[i], other[i]) };
  },
  "users.blocked": () => {
    const [w, id] = [world(), user()];
    return { run: (s, i) => s.users.blocked(w, id[i]) };
  },
  "users.list": () => {
    const [w, asked] = [world(), page()];
    return { run: (s) => s.users.list(w, asked) };
  },
  "users.erase": () => {
    const [w, id] = [world(), user()];
    const isRare = chance(0.05);
    return {
      run: (s, i) =>
        isRare ? s.users.erase(w, { user_id: id[i] }) : s.users.get(w, id[i]),
    };
  },
};

Object.assign(operations, {
  "chat.join": () => {
    const [w, r, who] = [world(), room(), user()];
    return { run: (s, i) => s.chat.join(w, r[i], who[i]) };
  },
  "chat.leave": () => {
    const [r, who, silent] = [room(), user(), chance(0.3)];
    const isRare = chance(0.3);
    return {
      run: (s, i) =>
        isRare
          ? s.chat.leave("demo", r[i], who[i], silent)
          : s.chat.isMember("demo", r[i], who[i]),
    };
  },
  "chat.send": () => {
    const [w, r, who] = [world(), channel(), user()];
    const content = pick([
      { type: "text", body: text() },
      { type: "deleted" },
      { type: "x", ...object() },
    ]);
    const draft = {
      content,
      volatile: chance(0.5),
      moderates: chance(0.3),
      notifiesAll: chance(0.2),
    };
    const mentioned = [user(), user()].slice(whole(3));
    const replaces = chance(0.3) ? from(events, both(99_999)) : undefined;
    return {
      run: (s, i) =>
        s.chat.send(w, r[i], {
          ...draft,
          sender: who[i],
          mentioned: mentioned.map((one) => one[i]),
          ...(replaces && { replaces: replaces[i] }),
        }),
      keep: ([a, b]) => {
        const idOf = (answer: unknown) =>
          (answer as { event: { id: number } }).event.id;
        events.push([idOf(a), idOf(b)]);
        placeOf.set(idOf(a), [r, who]);
      },
    };
  },
  "chat.react": () => {
    const event = from(events, both(99_999));
    const [r, who] = chance(0.8)
      ? (placeOf.get(event[0]) ?? [channel(), user()])
      : [channel(), user()];
    const reaction = {
      reaction: pick(["+", "😀", text()]),
      remove: chance(0.3),
      volatile: chance(0.5),
    };
    return {
      run: (s, i) =>
        s.chat.react("demo", r[i], event[i], { ...reaction, user: who[i] }),
    };
  },
  "chat.direct": () => {
    const who = user();
    const all = [...new Set([who, user(), user(), user()])];
    const hide = chance(0.2);
    return {
      run: (s, i) =>
        s.chat.direct("demo", who[i], all.map((one) => one[i]).sort(), hide),
      keep: ([a, b]) => {
        const idOf = (answer: unknown) =>
          (answer as { channel: { id: string } }).channel.id;
        directs.push([idOf(a), idOf(b)]);
      },
    };
  },
  "chat.mark": () => {
    const [r, who, at] = [channel(), user(), from(events, both(0))];
    const isListed = chance(0.5);
    return {
      run: (s, i) =>
        s.chat.mark([
          {
            world: "demo",
            user: who[i],
            channel: r[i],
            pointer: at[i],
            listed: isListed ? at[i] : null,
          },
        ]),
    };
  },
  "chat.events": () => {
    const [w, r] = [world(), channel()];
    const before = chance(0.3) ? from(events, both(5)) : undefined;
    const after = !before && chance(0.4) ? from(events, both(5)) : undefined;
    const asked = { limit: 1 + whole(20), withoutMembers: chance(0.5) };
    return {
      run: async (s, i) => [
        await s.chat.events(w, r[i], {
          ...asked,
          ...(before && { before: before[i] }),
          ...(after && { after: after[i] }),
        }),
        (await s.chat.sent(w, r[i], after?.[i] ?? 0, asked.limit)).length,
        await s.chat.channel(w, r[i]),
        await s.chat.members(w, r[i], 20),
        await s.chat.deliveries(w, r[i], after?.[i] ?? 0, 5),
      ],
    };
  },
  "chat.unread": () => {
    const who = user();
    return {
      run: async (s, i) => {
        return [
          await s.chat.unread("demo", who[i]),
          await s.chat.memberships("demo", who[i]),
        ];
      },
    };
  },
  "chat.empty": () => {
    const who = user();
    const isRare = chance(0.1);
    return {
      run: async (s, i) => {
        if (!isRare) return (await s.log.heads(["demo"]))[0]!.seq;
        // How many it empties depends on how far the chores are with deleted channels.
        const { next } = await s.chat.empty("demo", who[i], 0);
        return { next };
      },
    };
  },
} satisfies Record<string, () => Operation>);

const directs: Name<string>[] = [];
const channel = () => (chance(0.2) ? from(directs, ABSENT) : room());
const nameOf = ({
  token_id,
  client_id,
}: Pick<UserCopy, "token_id" | "client_id">) => `${token_id} ${client_id}`;

/** Answers, or the problem and the field of an error. */
const outcome = (run: Run, store: Store, side: 0 | 1) =>
  run(store, side).then(
    (answer) => ({ answer }),
    (error: unknown) => {
      if (!(error instanceof StoreError)) throw error;
      return { problem: error.problem, field: error.field };
    },
  );

/** The logs that are compared. */
const LOGS = [...WORLDS, INDEX];

/**
 * What a store has appended to its logs since some numbers, which are moved on. Tags and
 * times are its own.
 */
async function appended({ log }: Store, heads: number[]): Promise<unknown[]> {
  const entries: Entry[] = [];
  for (const [i, { seq }] of (await log.heads(LOGS)).entries()) {
    if (seq === heads[i]) continue;
    entries.push(...(await log.since(LOGS[i]!, heads[i]!, 1000)).entries);
    heads[i] = seq;
  }
  return entries.map(({ tag, at, seq, ...entry }) => ({
    ...entry,
    number: seq,
    isStamped: tag > 0 && at > 0,
  }));
}

const DEMO: WorldCopy = {
  world: worldOf("demo"),
  rooms: rooms.map(([id], i) => ({
    ...{ id, name: `room ${i % 5}`, sorting_priority: i % 3 },
    module_config: [{ type: "chat.native", config: {} }],
  })),
  users: users.map(([id], i) => ({
    ...{ id, token_id: `user-${i}`, client_id: null, traits: [] },
    profile: { display_name: `User ${i % 4}` },
    last_seen: `2027-01-01T00:00:00.${String(i).padStart(3, "0")}Z`,
  })),
};

void t.test("both engines answer alike", async (t) => {
  t.setTimeout(300_000);
  const url = await server.createDatabase();
  const stores = [
    openSqliteStore(testdir(t)),
    postgresStore(await Database.open({ url, pool: 4 }, { create: true })),
  ] as const;
  t.teardown(() => Promise.all(stores.map((store) => store.close())));
  const fixed = new Set([...rooms, ...users].map(([id]) => id));
  const maps = [mapping(fixed), mapping(fixed)] as const;
  for (const store of stores) {
    await store.worlds.import(DEMO);
    await store.worlds.create(worldOf("other"));
  }
  const heads = [LOGS.map(() => 0), LOGS.map(() => 0)] as const;
  for (const [i, store] of stores.entries()) await appended(store, heads[i]!);
  t.strictSame(heads[0], heads[1]);
  const names = Object.keys(operations);
  const seen: Record<string, number> = {};
  const missing = () =>
    names.filter((name) => seen[`${name} succeeds`] === undefined);
  // Some succeed rarely.
  const isOver = (n: number) =>
    n >= OPERATIONS && (missing().length === 0 || n >= 5 * OPERATIONS);
  for (let n = 0; !isOver(n); n++) {
    const name = pick(names);
    const { run, keep } = operations[name]!();
    const [a, b] = [
      await outcome(run, stores[0], 0),
      await outcome(run, stores[1], 1),
    ];
    const logged = [
      await appended(stores[0], heads[0]),
      await appended(stores[1], heads[1]),
    ];
    const [left, right] = [maps[0]([a, logged[0]]), maps[1]([b, logged[1]])];
    if (left !== right) {
      t.equal(right, left, `seed ${SEED}, operation ${n}: ${name}`);
      if (!process.env.GO_ON) return;
    }
    const isDone = "answer" in a && "answer" in b && a.answer !== undefined;
    if (isDone) keep?.([a.answer, b.answer]);
    const kind = `${name} ${"answer" in a ? "succeeds" : a.problem}`;
    seen[kind] = (seen[kind] ?? 0) + 1;
    // What comes later has another time.
    const now = Date.now();
    while (Date.now() === now) await setImmediate();
  }
  t.same(missing(), [], "each succeeded once");
  t.comment(seen);
});
