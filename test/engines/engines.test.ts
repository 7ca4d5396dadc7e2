import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import t from "tap";
import { Database } from "../../db/postgres/engine/database.js";
import { postgresStore } from "../../db/postgres/index.js";
import type { Author } from "../../db/contract/author.js";
import type { Webhook } from "../../db/contract/webhooks.js";
import { type Entry, INDEX } from "../../db/log/entries.js";
import { openSqliteStore } from "../../db/sqlite/index.js";
import {
  type Store,
  StoreError,
  type Visitor,
} from "../../db/contract/store.js";
import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import type { ProgramDocument } from "../../schemas/documents/program-document.js";
import type { SessionDraft } from "../../schemas/program/program.js";
import type {
  UserCopy,
  WorldCopy,
} from "../../schemas/documents/world-document.js";
import { worldOf } from "../helper.js";
import { startPostgres } from "../servers/postgres.js";
import { testdir } from "../testdir.js";
import { mapping } from "./engine-mapping.js";
import { ODD_TEXTS, oddJson } from "./odd-values.js";
import { randoms } from "./randoms.js";

// The same operations, on SQLite and on PostgreSQL, must give the same answers. `SEED`
// and `OPERATIONS` choose others.

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
const questions: Name<string>[] = [];
const polls: Name<string>[] = [];
const options: Name<string>[] = [];
const announcements: Name<string>[] = [];
const sessions: Name<string>[] = [];
const speakers: Name<string>[] = [];
const webhooks: Name<string>[] = [];
const files: Name<string>[] = [];
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

const { pick, chance, whole } = randoms(SEED);
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

const title = () => text() || "x";

/** A session with some fields, whose room and speakers each store calls by its own ids. */
function sessionDraft() {
  const [of, who, track] = [room(), from(speakers, ABSENT), word()];
  const [hasRoom, hasSpeaker] = [chance(0.7), chance(0.3)];
  const start = 1_800_000_000_000 + 600_000 * whole(20);
  const times = chance(0.6)
    ? {
        starts_at: new Date(start).toISOString(),
        ends_at: new Date(start + 3_600_000).toISOString(),
      }
    : {};
  const rest = {
    ...{ ...times, track, title: title() },
    state: pick(["public", "draft"] as const),
    import_id: chance(0.3) ? `s${whole(6)}` : null,
  };
  return (side: number): SessionDraft => ({
    ...rest,
    room_id: hasRoom ? of[side]! : null,
    speaker_ids: hasSpeaker ? [who[side]!] : [],
  });
}

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

/** Keeps the id of what was written, if it was not refused. */
function keepWritten(
  names: Name<string>[],
  of: (answer: object) => unknown,
  [a, b]: [unknown, unknown],
): void {
  if ("faults" in (a as object)) return;
  const idOf = (answer: unknown) =>
    (of(answer as object) as { value: { id: string } }).value.id;
  names.push([idOf(a), idOf(b)]);
}

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
    const asked = { history: chance(0.7), votes: chance(0.7) };
    return {
      run: async (s) => {
        const copy = await s.worlds.export(w, asked);
        // Users have random ids, by which they are ordered.
        copy?.users?.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
        return copy;
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
  "files.add": () => {
    const [w, id, who] = [world(), randomUUID(), visitor()];
    const key = `pub/${w}/${id}.AbCdEfGh_-12.pdf`;
    const record = { key, size: pick([0, 1, 2 ** 40]), sha256: "0".repeat(64) };
    return {
      run: (s) => s.files.add(w, who, record, 2 ** 41),
      keep: () => void files.push(both(id)),
    };
  },
  "files.get": () => {
    const [w, id] = [world(), from(files, ABSENT)];
    const isDeleted = chance(0.2);
    return {
      run: (s, i) => s.files[isDeleted ? "delete" : "get"](w, id[i]),
    };
  },
  "files.list": () => {
    const [w, asked] = [world(), page()];
    return {
      run: async (s) => [
        await s.files.list(w, asked),
        await s.files.size(w),
        (await s.files.keys(w)).sort(),
      ],
    };
  },
  "announcements.create": () => {
    const w = world();
    const draft = { text: text(), show_until: pick([null, 5000, 8.64e15]) };
    return {
      run: (s) => s.announcements.create(w, draft),
      keep: keepIn(announcements),
    };
  },
  "announcements.update": () => {
    const [w, id] = [world(), from(announcements, ABSENT)];
    const changes = pick([
      { text: text() },
      { state: "active" as const },
      { state: "archived" as const },
    ]);
    return { run: (s, i) => s.announcements.update(w, id[i], changes) };
  },
  "announcements.list": () => {
    const w = world();
    return { run: (s) => s.announcements.list(w) };
  },
  "program.get": () => {
    const [w, who] = [world(), user()];
    return {
      run: async (s, i) => {
        const { sessions, speakers } = await s.program.get(w);
        // Those that only their random ids set apart stand in any order.
        return {
          sessions: sessions.map(({ value }) => value.title),
          speakers: speakers.map(({ value }) => value.name),
          favorites: await s.program.favorites(w, who[i]),
        };
      },
    };
  },
  "program.createSession": () => {
    const w = world();
    const draft = sessionDraft();
    return {
      run: (s, i) => s.program.createSession(w, draft(i)),
      keep: ([a, b]) =>
        keepWritten(
          sessions,
          (answer) => ("session" in answer ? answer.session : answer),
          [a, b],
        ),
    };
  },
  "program.updateSession": () => {
    const [w, id, draft] = [world(), from(sessions, ABSENT), sessionDraft()];
    return { run: (s, i) => s.program.updateSession(w, id[i], draft(i)) };
  },
  "program.deleteSession": () => {
    const [w, id] = [world(), from(sessions, ABSENT)];
    return { run: (s, i) => s.program.deleteSession(w, id[i]) };
  },
  "program.createSpeaker": () => {
    const w = world();
    const draft = { name: title(), biography: text() };
    return {
      run: (s) => s.program.createSpeaker(w, draft, []),
      keep: ([a, b]) => keepWritten(speakers, (answer) => answer, [a, b]),
    };
  },
  "program.updateSpeaker": () => {
    const [w, id, of] = [world(), from(speakers, ABSENT), user()];
    const how = chance(0.5);
    return {
      run: (s, i) => {
        const changes = how ? { name: "x" } : { user_id: of[i] };
        return s.program.updateSpeaker(w, id[i], changes, []);
      },
    };
  },
  "program.deleteSpeaker": () => {
    const [w, id] = [world(), from(speakers, ABSENT)];
    return { run: (s, i) => s.program.deleteSpeaker(w, id[i]) };
  },
  "program.import": () => {
    const w = world();
    const options = {
      createRooms: chance(0.2),
      removeMissing: chance(0.3),
      dryRun: chance(0.2),
    };
    const document: ProgramDocument = {
      sessions: Array.from({ length: whole(5) }, (_, i) => ({
        fields: { title: title() },
        import_id: `s${i}`,
        room: chance(0.5) ? { name: `room ${whole(6)}` } : null,
        speakers: chance(0.5) ? [`p${whole(3)}`] : [],
        position: { line: i + 1 },
      })),
      speakers: [0, 1, 2].map((i) => ({
        fields: { name: title() },
        key: `p${i}`,
        import_id: `p${i}`,
        position: {},
      })),
      problems: [],
    };
    return {
      run: (s, i) => {
        const visibleRooms = rooms.map((id) => id[i]);
        return s.program.import(w, document, options, {
          visibleRooms,
          hosts: [],
        });
      },
    };
  },
  "program.favor": () => {
    const [w, who, id] = [world(), user(), from(sessions, ABSENT)];
    const on = chance(0.7);
    return { run: (s, i) => s.program.favor(w, who[i], id[i], on) };
  },
  "programLinks.link": () => {
    const [w, who, renew] = [world(), user(), chance(0.3)];
    return {
      run: async (s, i) => {
        const token = await s.programLinks.link(w, who[i], renew);
        const of = await s.programLinks.user(w, token);
        return [of === who[i], await s.programLinks.user("none", token)];
      },
    };
  },
  "push.keep": () => {
    const key = { publicKey: text(), privateKey: text() };
    return { run: (s) => s.push.keep("", key) };
  },
  "push.subscribe": () => {
    const [w, who, endpoint] = [world(), user(), word()];
    const subscription = { endpoint, p256dh: text(), auth: text() };
    const at = chance(0.5) ? 1 : 2;
    return {
      run: async (s, i) => {
        await s.push.subscribe(w, who[i], subscription, at);
        return [await s.push.of(w, who[i]), await s.push.due(0, at)];
      },
    };
  },
  "push.forget": () => {
    const [w, endpoint] = [world(), word()];
    return { run: (s) => s.push.forget(w, endpoint) };
  },
  "push.claim": () => {
    const [w, name] = [world(), word()];
    return { run: (s) => s.push.claim(w, name, 5) };
  },
  "invites.link": () => {
    const [w, id] = [world(), room()];
    const times = { now: 1, soon: 10, ends: chance(0.5) ? 5 : 50 };
    return {
      run: async (s, i) => {
        const { token, ...invite } = await s.invites.link(w, id[i], times);
        const found = await s.invites.find(w, token);
        const of = await s.invites.of(w, id[i]);
        const isSame = found?.token === token && of?.token === token;
        return [isSame, invite.ends, await s.invites.find("none", token)];
      },
    };
  },
  "invites.end": () => {
    const [w, id] = [world(), room()];
    return { run: (s, i) => s.invites.end(w, id[i]) };
  },
  "webhooks.create": () => {
    const w = world();
    const settings = {
      ...{ url: "https://example.org/", types: [text(), "room.*"] },
      ...{ enabled: chance(0.5), description: text() },
    };
    const secret = text();
    return {
      run: async (s) => undated(await s.webhooks.create(w, settings, secret)),
      keep: keepIn(webhooks),
    };
  },
  "webhooks.update": () => {
    const [w, id] = [world(), from(webhooks, ABSENT)];
    const changes = pick([
      { enabled: true },
      { enabled: false, secret: "x" },
      { position: whole(100) },
      { url: "https://example.com/", description: text() },
    ]);
    return {
      run: async (s, i) => undated(await s.webhooks.update(w, id[i], changes)),
    };
  },
  "webhooks.delete": () => {
    const id = from(webhooks, ABSENT);
    const isAll = webhooks.length > 15;
    return {
      run: async (s, i) => {
        if (!isAll) return s.webhooks.delete("demo", id[i]);
        for (const one of webhooks) {
          await s.webhooks.delete("demo", one[i]).catch(() => undefined);
        }
      },
      keep: () => void (isAll && webhooks.splice(0)),
    };
  },
  "webhooks.note": () => {
    const id = from(webhooks, ABSENT);
    const holder = pick(["one", "two"]);
    const [isOver, isOther] = [chance(0.3), chance(0.2)];
    const state = {
      ...{ position: whole(100), delivered_at: whole(1000) },
      ...{ failing_since: pick([null, 1]), last_status: pick([null, 500]) },
      ...{ last_error: pick([null, text()]), next_try_at: pick([null, 7]) },
      attempts: whole(9),
    };
    return {
      run: async (s, i) => {
        const found = await s.webhooks.get("demo", id[i]);
        const seen = found ?? { holder: null, beat: 0, revision: 1 };
        const { revision } = seen;
        const held = await s.webhooks.hold("demo", id[i], holder, seen);
        const of = { revision: revision + (isOther ? 1 : 0), holder };
        const args = ["demo", id[i], of, state] as const;
        const noted = await (isOver
          ? s.webhooks.disable(...args)
          : s.webhooks.note(...args));
        await s.webhooks.beat("demo", holder);
        return [held, noted, undated(await s.webhooks.get("demo", id[i]))];
      },
    };
  },
  "webhooks.list": () => {
    const [w, asked] = [world(), page()];
    return {
      run: async (s) => {
        const { count, webhooks: some } = await s.webhooks.list(w, asked);
        return [count, some.map(undated), (await s.webhooks.enabled()).length];
      },
    };
  },
  "attendance.sample": () => {
    const [w, r, people] = [world(), room(), whole(9)];
    const at = whole(20) * 60_000;
    return {
      run: (s, i) => s.attendance.sample(w, at, [{ room: r[i], people }]),
    };
  },
  "attendance.note": () => {
    const [w, r, who, from, time] = [
      ...[world(), room(), user(), whole(99_999)],
      whole(99_999),
    ] as const;
    return {
      run: (s, i) =>
        s.attendance.note(w, [
          { user: who[i], room: r[i], from, to: from + time },
        ]),
    };
  },
  "attendance.counts": () => {
    const [w, r] = [world(), room()];
    const asked = { from: whole(9) * 60_000, limit: 1 + whole(9) };
    const span = 60_000 * (1 + whole(4));
    return { run: (s, i) => s.attendance.counts(w, r[i], { ...asked, span }) };
  },
  "attendance.visits": () => {
    const [w, r, who, limit] = [world(), room(), user(), 1 + whole(9)];
    const isFirst = chance(0.5);
    return {
      run: (s, i) => {
        const after = isFirst ? undefined : { user: who[i], session: "" };
        return s.attendance.visits(w, r[i], after, limit);
      },
    };
  },
  "attendance.prune": () => {
    const before = { counts: whole(9) * 60_000, visits: whole(9999) };
    return { run: (s) => s.attendance.prune(world(), before) };
  },
  "audit.record": () => {
    const [w, uid] = [world(), text()];
    const by = pick<Author>([
      { kind: "command" },
      { kind: "api", token: `t${uid.length}`, uid, request: text() },
    ]);
    const changes = [{ field: text(), before: json(), after: object() }];
    const act = { type: "token.created", subject: { x: text() }, changes };
    return { run: (s) => s.audit.record(w, act, by) };
  },
  "audit.list": () => {
    const [w, asked, who] = [world(), page(), user()];
    const isOne = chance(0.3);
    const types = pick([
      undefined,
      ["room.updated", "token.created"],
      ["webhook.deleted"],
    ]);
    return {
      run: async (s, i) => {
        const one = isOne ? { user: who[i] } : {};
        const found = await s.audit.list(w, { ...asked, ...one, types });
        return [
          found.count,
          found.entries.map(({ number, at, ...entry }) => ({
            ...{ ...entry, isStamped: number > 0 && at > 0 },
          })),
          [...(await s.audit.callers(w, ["t0", "t1", "t2", "t3"]))].sort(),
        ];
      },
    };
  },
  "audit.prune": () => {
    const isAll = chance(0.2);
    return { run: (s) => s.audit.prune("demo", 1, isAll ? 8e15 : 1) };
  },
  "questions.list": () => {
    const [w, r, who, asked, all] = [
      world(),
      room(),
      user(),
      page(),
      chance(0.5),
    ];
    return {
      run: async (s, i) => [
        await s.questions.list(w, r[i], asked),
        await s.questions.seen(w, r[i], who[i], all, 10, 20_000),
      ],
    };
  },
};

/** Operations on a question or poll, which has to be named with its room. */
const questionRoom = new Map<string, Name<string>>();
const pollRoom = new Map<string, Name<string>>();
const inRoom = (names: Name<string>[], places: Map<string, Name<string>>) => {
  const id = from(names, ABSENT);
  return [chance(0.95) ? (places.get(id[0]) ?? room()) : room(), id] as const;
};

Object.assign(operations, {
  "questions.ask": () => {
    const [r, who] = [room(), user()];
    const draft = {
      content: text(),
      state: pick(["visible", "mod_queue"] as const),
    };
    return {
      run: (s, i) =>
        s.questions.create("demo", r[i], { ...draft, sender: who[i] }),
      keep: (answers) => {
        keepIn(questions)(answers);
        questionRoom.set((answers[0] as { id: string }).id, r);
      },
    };
  },
  "questions.update": () => {
    const [r, id] = inRoom(questions, questionRoom);
    const who = user();
    const changes = pick([
      { content: text() },
      { state: pick(["mod_queue", "visible", "archived"] as const) },
      { answered: chance(0.5) },
      { is_pinned: chance(0.5) },
    ]);
    return {
      run: (s, i) => s.questions.update("demo", r[i], id[i], changes, who[i]),
    };
  },
  "questions.vote": () => {
    const [r, id] = inRoom(questions, questionRoom);
    const [who, vote, all] = [user(), chance(0.7), chance(0.5)];
    return {
      run: (s, i) => s.questions.vote("demo", r[i], id[i], who[i], vote, all),
    };
  },
  "questions.pin": () => {
    const [r, id] = inRoom(questions, questionRoom);
    const [who, none] = [user(), chance(0.2)];
    return {
      run: (s, i) => s.questions.pin("demo", r[i], none ? null : id[i], who[i]),
    };
  },
  "questions.delete": () => {
    const [r, id] = inRoom(questions, questionRoom);
    const isRare = chance(0.2);
    return {
      run: (s, i) =>
        s.questions[isRare ? "delete" : "get"]("demo", r[i], id[i]),
    };
  },
  "polls.create": () => {
    const r = room();
    const draft = {
      content: text(),
      options: Array.from({ length: 1 + whole(4) }, () => ({
        content: text(),
        ...(chance(0.3) && { order: pick([0, -5, 2 ** 31 - 1]) }),
      })),
      ...(chance(0.8) && {
        state: pick([
          "draft",
          "open",
          "open",
          "open",
          "open",
          "closed",
          "archived",
        ] as const),
      }),
      ...(chance(0.5) && { poll_type: "multi" as const }),
    };
    return {
      run: (s, i) => s.polls.create("demo", r[i], draft),
      keep: (answers) => {
        keepIn(polls)(answers);
        const [a, b] = answers as [
          { id: string; options: { id: string }[] },
          { options: { id: string }[] },
        ];
        pollRoom.set(a.id, r);
        a.options.forEach(({ id }, n) => options.push([id, b.options[n]!.id]));
      },
    };
  },
  "polls.list": () => {
    const [r, who, isPublic] = [room(), user(), chance(0.5)];
    return {
      run: async (s, i) => [
        await s.polls.list("demo", r[i], { limit: 5, size: 30_000, isPublic }),
        await s.polls.ballots("demo", r[i], who[i]),
      ],
    };
  },
  "polls.update": () => {
    const [r, id] = inRoom(polls, pollRoom);
    const who = user();
    const kept = [from(options, ABSENT), from(options, ABSENT)];
    const added = text();
    const changes = pick([
      { content: text() },
      { state: pick(["draft", "open", "closed", "archived"] as const) },
      { poll_type: pick(["choice", "multi"] as const) },
      { is_pinned: chance(0.5) },
      undefined,
    ]);
    return {
      run: (s, i) =>
        s.polls.update(
          "demo",
          r[i],
          id[i],
          changes ?? {
            options: [
              ...kept.map((one) => ({ id: one[i], order: 3 })),
              { content: added },
            ],
          },
          who[i],
        ),
    };
  },
  "polls.vote": () => {
    const [r, id] = inRoom(polls, pollRoom);
    const [who, all, n] = [user(), chance(0.3), whole(3)];
    return {
      run: async (s, i) => {
        const poll = await s.polls.get("demo", r[i], id[i]);
        const ids = (poll?.options ?? []).map((option) => option.id);
        return s.polls.vote(
          "demo",
          r[i],
          id[i],
          who[i],
          all ? ids : ids.slice(n, n + 1),
        );
      },
    };
  },
  "polls.voters": () => {
    const [r, id] = inRoom(polls, pollRoom);
    return {
      run: async (s, i) => {
        const voters = await s.polls.voters("demo", r[i], id[i], 0);
        voters?.users.sort((a, b) => (a.id < b.id ? -1 : 1));
        return [voters, await s.polls.get("demo", r[i], id[i])];
      },
    };
  },
  "polls.pin": () => {
    const [r, id] = inRoom(polls, pollRoom);
    const [who, none] = [user(), chance(0.2)];
    return {
      run: (s, i) => s.polls.pin("demo", r[i], none ? null : id[i], who[i]),
    };
  },
  "polls.delete": () => {
    const [r, id] = inRoom(polls, pollRoom);
    const isRare = chance(0.2);
    return {
      run: (s, i) => s.polls[isRare ? "delete" : "get"]("demo", r[i], id[i]),
    };
  },
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

/** A webhook without its time. */
const undated = (hook: Webhook | undefined) => ({ ...hook, created_at: 0 });

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
