import { randomUUID } from "node:crypto";
import type { Announcement } from "../../../db/contract/announcement-store.js";
import type { Item } from "../../../db/contract/item-store.js";
import type { Poll } from "../../../db/contract/poll-store.js";
import type { Store, Visitor } from "../../../db/contract/store.js";
import type { UserCopy, WorldCopy } from "../../../schemas/documents/world-document.js";
import type { PermissionConfig } from "../../../schemas/plain/permissions.js";
import { Random } from "../../protocol/simulation/random.js";
import { exported } from "../../support/database.js";
import { worldOf } from "../../support/helper.js";
import { ODD_TEXTS, oddJson } from "./call-mapping.js";

// Calls of the store's contract that follow from a seed, and are played on two stores. The ids
// that the stores choose differ, so an argument is a name for one thing in both.

type MethodOf<P extends keyof Store> = Store[P] extends (...args: never[]) => unknown
  ? P
  : `${P}.${Extract<keyof Store[P], string>}`;

/**
 * The methods of the contract: the compiler asks for an operation for each. The store closes once,
 * and what tells one history of a database from another belongs to its engine.
 */
type Method =
  | Exclude<{ [P in keyof Store]: MethodOf<P> }[keyof Store], "close" | "log.history" | "log.state">
  | "worlds.remake"
  | "together";

/** What one thing is called in each of the stores. */
class Name<T = string> {
  constructor(
    readonly left: T,
    readonly right: T,
  ) {}
}

const both = <T>(value: T): Name<T> => new Name(value, value);

/** A value with the names of one store. */
function inStore<T>(value: T, side: 0 | 1): unknown {
  if (value instanceof Name) return side === 0 ? value.left : value.right;
  if (Array.isArray(value)) return value.map((one) => inStore(one, side));
  const isPlain = typeof value === "object" && value?.constructor === Object;
  if (!isPlain) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inStore(one, side)]));
}

const fixedId = (kind: number, n: number) =>
  `${String(kind).padStart(8, "0")}-0000-4000-8000-${String(n).padStart(12, "0")}`;

const ABSENT = both(fixedId(0, 0));
export const WORLDS = ["demo", "other", "missing"];
const RULES = [undefined, [], ["crew"], ["crew", ["a", "b"]], [["ß", "i"], "😀"]];

export type Answers = [left: unknown, right: unknown];

/** One operation: a call with arguments that have names, or something else, on each store. */
export interface Operation {
  /** `<part of the store>.<method>`; the name of the operation by default. */
  call?: string;
  args?: unknown[];
  run?: (store: Store, side: 0 | 1) => Promise<unknown>;
  /** What to remember of its answers. */
  keep?: (answers: Answers) => void;
}

const nameOf = ({ token_id, client_id }: Pick<UserCopy, "token_id" | "client_id">) =>
  `${token_id} ${client_id}`;

/** The calls that follow from a seed. */
export function callSequence(seed: number) {
  const rooms = Array.from({ length: 12 }, (_, i) => both(fixedId(1, i)));
  const users = Array.from({ length: 12 }, (_, i) => both(fixedId(2, i)));
  const events: Name<number>[] = [];
  /** Where each event is, and who sent it. */
  const placeOf = new Map<number, readonly [Name, Name]>();
  const versions: Name[] = [];
  const directs: Name[] = [];
  const announcements: Name[] = [];
  const questions: (readonly [Name, Name])[] = [];
  const polls: (readonly [Name, Name])[] = [];
  /** The options of each poll. */
  const optionsOf = new Map<string, Name[]>();
  const sessions: Name[] = [];
  const speakers: Name[] = [];
  const webhooks: Name[] = [];
  /** Titles differ, as ids decide about the order of equal ones. */
  let titles = 0;

  const random = new Random(seed);
  const pick = random.pick.bind(random);
  const chance = random.chance.bind(random);
  const whole = random.below.bind(random);
  const word = () => (chance(0.7) ? pick(["a", "b", "Ab", "x y"]) : pick(ODD_TEXTS));
  const text = () => word() + (chance(0.5) ? word() : "");
  const json = () => oddJson(pick, whole, text);
  const object = () => ({ [text()]: json(), [text()]: json() });
  const world = () => (chance(0.9) ? "demo" : pick(WORLDS));
  const from = <T>(names: Name<T>[], none: Name<T>) =>
    names.length > 0 && chance(0.93) ? pick(names) : none;
  const user = () => from(users, ABSENT);
  const room = () => from(rooms, ABSENT);
  const channel = () => (chance(0.2) ? from(directs, ABSENT) : room());
  const traits = () => new Set([pick(["crew", "a", "b", "ß", "i", "😀"]), text()].slice(whole(3)));
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

  /** Remembers a name that a function finds in each answer. */
  const keepIn =
    <T, A>(names: Name<T>[], nameIn: (answer: A) => T) =>
    (answers: Answers) => {
      const [a, b] = answers as [A, A];
      names.push(new Name(nameIn(a), nameIn(b)));
    };
  const keepVersion = keepIn(versions, ({ version }: { version: string }) => version);
  const keepRoom = keepIn(rooms, ({ value }: { value: { id: string } }) => value.id);
  const keepDirect = keepIn(directs, ({ channel }: { channel: { id: string } }) => channel.id);

  const keepItem = (items: (readonly [Name, Name])[]) => (answers: Answers) => {
    const [a, b] = answers as [Item, Item];
    items.push([new Name(a.room, b.room), new Name(a.id, b.id)]);
  };
  const itemOf = (items: (readonly [Name, Name])[]): readonly [Name, Name] =>
    items.length > 0 && chance(0.93) ? pick(items) : [room(), ABSENT];
  const pinOf = (items: (readonly [Name, Name])[]) => {
    const [r, id] = itemOf(items);
    return ["demo", r, chance(0.3) ? null : id, user()];
  };
  const heldState = () => [
    { revision: 1 + whole(3), holder: pick(["p", "q"]) },
    {
      position: whole(9),
      delivered_at: null,
      failing_since: null,
      last_status: 200,
      last_error: null,
      next_try_at: null,
      attempts: whole(3),
    },
  ];

  function visitor(): Visitor {
    const known = chance(0.7);
    const n = known ? whole(users.length) : whole(1000);
    return {
      ...(chance(0.8) || known ? { tokenId: `user-${n}` } : { clientId: `guest-${n}` }),
      traits: traits(),
      profile: { display_name: `${text()} ${n}`, x: json() },
      login: chance(0.3),
      ...(chance(0.2) && { pretalxId: text() }),
    };
  }

  const operations: Record<Method, () => Operation | unknown[]> = {
    "worlds.get": () => [world()],
    "worlds.at": () => [`${pick(WORLDS)}.example.org`],
    "worlds.list": () => [{ limit: 5 }],
    "worlds.update": () => {
      const changes = pick([
        { title: text() },
        { permission_config: { "world.view": ["ß"], ...permissions() } },
        { domain: pick(["demo.example.org", "other.example.org", "demo.example.org:8443"]) },
      ]);
      return { args: [world(), changes], keep: keepVersion };
    },
    "worlds.configure": () => ({
      args: [world(), { title: text(), config: object() }],
      keep: keepVersion,
    }),
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
            isOrdered(table) ? some.map(({ tag: _, ...row }) => row) : some.length,
          ]);
        },
      };
    },
    "worlds.import": () => {
      const user = {
        id: fixedId(2, whole(100)),
        profile: object(),
        token_id: text() + "t",
        client_id: null,
        traits: [text()],
        last_seen: "2027-01-01T00:00:00.000Z",
      };
      const copy: WorldCopy = {
        world: worldOf(randomUUID().slice(0, 8)),
        rooms: [{ id: fixedId(1, whole(100)), name: text() }],
        users: [user],
      };
      return [copy, { dryRun: chance(0.5) }];
    },
    "rooms.get": () => [world(), room()],
    "rooms.list": () => {
      const ordering = pick(["sorting_priority", "-sorting_priority", "name", "-name"]);
      const type = chance(0.3) ? pick(["chat.native", text()]) : "";
      const search = chance(0.5) ? text() : "";
      return [world(), { ...page(), traits: traits(), ordering, type, search }];
    },
    "rooms.all": () => [world(), page()],
    "rooms.create": () => {
      const w = world();
      const draft = {
        name: text(),
        ...(chance(0.5) && { description: text() }),
        ...(chance(0.5) && { module_config: modules() }),
        ...(chance(0.5) && { permission_config: permissions() }),
        ...(chance(0.5) && { sorting_priority: pick([0, -1, 5, 2 ** 31 - 1, -(2 ** 31)]) }),
      };
      return {
        call: chance(0.5) ? "rooms.create" : "rooms.open",
        args: [w, draft],
        keep: (answers) => {
          if (w === "demo") keepRoom(answers);
          keepVersion(answers);
        },
      };
    },
    "rooms.update": () => {
      const extras = [
        { picture: text() },
        { pretalx_id: 2 ** 53 - 1 },
        { force_join: true },
        { schedule_data: object() },
      ];
      const changes = {
        ...(chance(0.4) && { name: text() }),
        ...(chance(0.4) && { description: text() }),
        ...(chance(0.4) && { module_config: modules() }),
        ...(chance(0.4) && { permission_config: permissions() }),
        ...(chance(0.2) && { sorting_priority: whole(10) }),
        ...(chance(0.2) && { domain: pick(["own.org", null]) }),
        ...(chance(0.2) && { extras: pick(extras) }),
      };
      const expected = versions.length > 0 && chance(0.1) ? [pick(versions)] : undefined;
      return { args: [world(), room(), changes, expected], keep: keepVersion };
    },
    "rooms.schedule": () => [world(), room(), chance(0.3) ? null : object()],
    "rooms.reorder": () => [world(), [room(), room(), room()]],
    "rooms.delete": () => ({
      call: chance(0.2) ? "rooms.delete" : "rooms.get",
      args: [world(), room()],
    }),
    "users.enter": () => [world(), visitor()],
    "users.get": () => [world(), user()],
    "users.getMany": () => {
      const [w, ids] = [world(), [user(), user(), user()]];
      return {
        run: async (s, side) => {
          const asked = inStore(ids, side) as string[];
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
      const asked = {
        ...page(),
        ...(chance(0.7) && { term: text() }),
        ...(chance(0.4) && { fields: ["x", "0", text()] }),
        ...(chance(0.4) && { traits: [...traits()] }),
        banned: chance(0.5),
        named: chance(0.5),
      };
      return [world(), asked];
    },
    "users.update": () => {
      const fields = pick([
        [{ id: "x", value: text() }],
        [text()],
        { x: text(), [text()]: text() },
      ]);
      const changes = pick([
        { profile: { display_name: text(), fields } },
        { client_state: object() },
        { pretalx_id: pick([null, text()]) },
        {},
      ]);
      return [world(), user(), changes];
    },
    "users.moderate": () => [world(), user(), pick(["", "", "silenced", "banned"])],
    "users.block": () => ({
      call: chance(0.7) ? "users.block" : "users.unblock",
      args: [world(), user(), user()],
    }),
    "users.blocked": () => [world(), user()],
    "users.list": () => [world(), page()],
    "users.erase": () =>
      chance(0.05)
        ? [world(), { user_id: user() }]
        : { call: "users.get", args: [world(), user()] },
    "chat.join": () => [world(), room(), user()],
    "chat.leave": () =>
      chance(0.3)
        ? ["demo", room(), user(), chance(0.3)]
        : { call: "chat.isMember", args: ["demo", room(), user()] },
    "chat.send": () => {
      const [w, r, sender] = [world(), channel(), user()];
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
        sender,
        mentioned: [user(), user()].slice(whole(3)),
        ...(chance(0.3) && { replaces: from(events, both(99_999)) }),
      };
      const keepEvent = keepIn(events, ({ event }: { event: { id: number } }) => event.id);
      return {
        args: [w, r, draft],
        keep: (answers) => {
          keepEvent(answers);
          placeOf.set(events.at(-1)!.left, [r, sender]);
        },
      };
    },
    "chat.react": () => {
      const event = from(events, both(99_999));
      const place = chance(0.8) ? placeOf.get(event.left) : undefined;
      const [r, sender] = place ?? [channel(), user()];
      const reaction = pick(["+", "😀", text()]);
      const draft = { reaction, remove: chance(0.3), volatile: chance(0.5), user: sender };
      return ["demo", r, event, draft];
    },
    "chat.direct": () => {
      const who = user();
      const all = [...new Set([who, user(), user(), user()])];
      const hide = chance(0.2);
      return {
        run: (s, side) => {
          const [id, ids] = inStore([who, all], side) as [string, string[]];
          return s.chat.direct("demo", id, ids.sort(), hide);
        },
        keep: keepDirect,
      };
    },
    "chat.mark": () => {
      const at = from(events, both(0));
      const listed = chance(0.5) ? at : null;
      return [[{ world: "demo", user: user(), channel: channel(), pointer: at, listed }]];
    },
    "chat.events": () => {
      const [w, r] = [world(), channel()];
      const before = chance(0.3) ? from(events, both(5)) : undefined;
      const after = !before && chance(0.4) ? from(events, both(5)) : undefined;
      const page = {
        limit: 1 + whole(20),
        withoutMembers: chance(0.5),
        ...(before && { before }),
        ...(after && { after }),
      };
      return {
        run: async (s, side) => {
          const [id, asked] = inStore([r, page], side) as [
            string,
            { limit: number; after?: number },
          ];
          return [
            await s.chat.events(w, id, asked),
            (await s.chat.sent(w, id, asked.after ?? 0, asked.limit)).length,
            await s.chat.channel(w, id),
            await s.chat.members(w, id, 20),
            await s.chat.deliveries(w, id, asked.after ?? 0, 5),
          ];
        },
      };
    },
    "chat.unread": () => {
      const who = user();
      return {
        run: async (s, side) => {
          const id = inStore(who, side) as string;
          return [await s.chat.unread("demo", id), await s.chat.memberships("demo", id)];
        },
      };
    },
    "chat.empty": () => {
      const who = user();
      const isRare = chance(0.1);
      return {
        run: async (s, side) => {
          if (!isRare) return (await s.log.heads(["demo"]))[0]!.seq;
          // How many it empties depends on how far the chores are with deleted channels.
          const { next } = await s.chat.empty("demo", inStore(who, side) as string, 0);
          return { next };
        },
      };
    },
    "worlds.remake": () => {
      const again = chance(0.5);
      return {
        run: async (s) => {
          const keys = (await s.worlds.get("spare")) ? await s.worlds.delete("spare") : [];
          return [keys, again && (await s.worlds.create(worldOf("spare")))];
        },
      };
    },
    "worlds.create": () => [worldOf(pick(["demo", "spare"]))],
    "worlds.delete": () => [pick(["missing", "spare"]), pick([undefined, []])],
    "worlds.clone": () => [pick(["demo", "missing"]), worldOf(pick(["spare", "other"]))],
    "worlds.issuing": () => [pick(["any", "demo"]), pick(["venueless", "demo"])],
    "rooms.open": () => ({ args: [world(), { name: `open ${whole(20)}` }], keep: keepVersion }),
    "users.find": () => [world(), { tokenId: `user-${whole(users.length)}` }],
    "users.unblock": () => ["demo", user(), user()],
    "users.moderateNamed": () => {
      const tokenId = `user-${whole(40)}`;
      const state = pick<"" | "silenced" | "banned">(["", "silenced", "banned"]);
      const display_name = `Named ${titles++}`;
      return {
        run: async (s) => {
          const { id } = await s.users.moderateNamed("demo", tokenId, state);
          // Users without a name would be in the order of their ids.
          return s.users.update("demo", id, { profile: { display_name } });
        },
      };
    },
    "files.add": () => {
      const key = `pub/demo/${whole(60)}.secret-00010.pdf`;
      const digest = { key, size: whole(90), sha256: "0".repeat(64) };
      return {
        run: async (s) => {
          if (await s.files.has(key)) return "there";
          return s.files.add("demo", { tokenId: "user-1", traits: new Set(["a"]) }, digest, 1500);
        },
      };
    },
    "files.has": () => [`pub/demo/${whole(60)}.secret-00010.pdf`],
    "files.get": () => ["demo", String(whole(60))],
    "files.list": () => ["demo", page()],
    "files.keys": () => ({ run: async (s) => (await s.files.keys("demo")).sort() }),
    "files.delete": () => ["demo", String(whole(60))],
    "files.size": () => [world()],
    "announcements.list": () => [world()],
    "announcements.create": () => ({
      args: [
        world(),
        { text: text(), show_until: pick([null, 1e12]), state: pick(["draft", "active"]) },
      ],
      keep: keepIn(announcements, ({ id }: Announcement) => id),
    }),
    "announcements.update": () => [
      "demo",
      from(announcements, ABSENT),
      pick([{ text: text() }, { state: pick(["active", "archived"]) }, { show_until: 2e12 }]),
    ],
    "attendance.sample": () => [
      "demo",
      60_000 * whole(9),
      [...new Set([room(), room(), room()])].map((r) => ({ room: r, people: whole(9) })),
    ],
    "attendance.note": () => {
      const start = whole(1e6);
      return ["demo", [{ user: user(), room: room(), from: start, to: start + 1000 * whole(500) }]];
    },
    "attendance.counts": () => ["demo", room(), { from: 0, span: 120_000, limit: 5 }],
    "attendance.visits": () => {
      const r = room();
      return {
        run: async (s, side) => {
          const visits = await s.attendance.visits(
            "demo",
            inStore(r, side) as string,
            undefined,
            99,
          );
          const inOrder = visits.filter((visit) => FIXED.has(visit.user) && visit.session === "");
          return [visits.length, inOrder];
        },
      };
    },
    "attendance.prune": () => ["demo", { counts: 60_000 * whole(4), visits: whole(1e5) }],
    "chat.lastId": () => [world()],
    "chat.channel": () => [world(), channel()],
    "chat.sent": () => ["demo", channel(), 0, 1 + whole(9)],
    "chat.search": () => {
      const before = chance(0.3) && from(events, both(5));
      return [
        world(),
        channel(),
        { query: text(), limit: 1 + whole(9), ...(before && { before }) },
      ];
    },
    "chat.event": () => {
      const event = from(events, both(99_999));
      return ["demo", chance(0.8) ? (placeOf.get(event.left)?.[0] ?? room()) : channel(), event];
    },
    "chat.deliveries": () => ["demo", channel(), from(events, both(5)), 1 + whole(9)],
    "chat.isMember": () => ["demo", channel(), user()],
    "chat.members": () => ["demo", channel(), 1 + whole(20)],
    "chat.memberships": () => ["demo", user()],
    "chat.marks": () => {
      const of = [user()];
      const run: Operation["run"] = async (s, side) => ({
        marks: await s.chat.marks("demo", inStore(of, side) as string[]),
      });
      return { run };
    },
    "chat.expire": () => [world(), 1000],
    "questions.create": () => ({
      args: [
        world(),
        room(),
        {
          sender: user(),
          content: text(),
          state: pick(["visible", "mod_queue"]),
          named: chance(0.5),
        },
      ],
      keep: keepItem(questions),
    }),
    "questions.get": () => ["demo", ...itemOf(questions)],
    "questions.list": () => ["demo", room(), page()],
    "questions.seen": () => ["demo", room(), user(), chance(0.5), 1 + whole(9), 100 * whole(100)],
    "questions.ofUser": () => {
      const [r, u] = [room(), user()];
      return {
        run: async (s, side) => {
          const [at, who] = inStore([r, u], side) as [string, string];
          const { voted, hasHidden } = await s.questions.ofUser("demo", at, who);
          return [voted.length, hasHidden];
        },
      };
    },
    "questions.update": () => {
      const changes = {
        ...(chance(0.3) && { content: text() }),
        ...(chance(0.4) && { state: pick(["visible", "mod_queue", "archived"]) }),
        ...(chance(0.3) && { answered: chance(0.5) }),
        ...(chance(0.3) && { is_pinned: chance(0.7) }),
      };
      return ["demo", ...itemOf(questions), changes, user()];
    },
    "questions.pin": () => pinOf(questions),
    "questions.vote": () => ["demo", ...itemOf(questions), user(), chance(0.7), chance(0.5)],
    "questions.delete": () =>
      chance(0.3)
        ? ["demo", ...itemOf(questions)]
        : { call: "questions.get", args: ["demo", ...itemOf(questions)] },
    "polls.create": () => ({
      args: [
        world(),
        room(),
        {
          content: text(),
          options: Array.from({ length: whole(5) }, () => ({
            content: text(),
            ...(chance(0.3) && { order: whole(4) }),
          })),
          ...(chance(0.8) && { state: pick(["draft", "open", "open", "closed"]) }),
          ...(chance(0.7) && { poll_type: pick(["choice", "multi"]) }),
        },
      ],
      keep: (answers) => {
        keepItem(polls)(answers);
        const [a, b] = answers as [Poll, Poll];
        const ids = a.options.map(({ id }, i) => new Name(id, b.options[i]!.id));
        optionsOf.set(a.id, ids);
      },
    }),
    "polls.get": () => ["demo", ...itemOf(polls)],
    "polls.list": () => {
      const isPublic = chance(0.3) && { isPublic: true };
      return ["demo", room(), { limit: 1 + whole(9), size: 200 + whole(9000), ...isPublic }];
    },
    "polls.ballots": () => {
      const [r, u] = [room(), user()];
      return {
        run: async (s, side) => {
          const [at, who] = inStore([r, u], side) as [string, string];
          return (await s.polls.ballots("demo", at, who))
            .map(({ options }) => options.length)
            .sort();
        },
      };
    },
    "polls.voters": () => {
      const item = itemOf(polls);
      return {
        run: async (s, side) => {
          const [r, id] = inStore(item, side) as [string, string];
          const found = await s.polls.voters("demo", r, id, 0);
          return found?.users.map(({ voted }) => voted).sort();
        },
      };
    },
    "polls.update": () => {
      const item = itemOf(polls);
      const known = optionsOf.get(item[1].left) ?? [];
      const changes = {
        ...(chance(0.3) && { content: text() }),
        ...(chance(0.5) && { state: pick(["draft", "open", "open", "closed", "archived"]) }),
        ...(chance(0.2) && { poll_type: pick(["choice", "multi"]) }),
        ...(chance(0.3) && { is_pinned: chance(0.7) }),
        ...(chance(0.3) && {
          options: [...known.map((id) => ({ id, content: text() })), { content: text(), order: 2 }],
        }),
      };
      return ["demo", ...item, changes, user()];
    },
    "polls.pin": () => pinOf(polls),
    "polls.vote": () => {
      const item = itemOf(polls);
      const known = optionsOf.get(item[1].left) ?? [];
      return ["demo", ...item, user(), [...known.filter(() => chance(0.5)), ABSENT]];
    },
    "polls.delete": () =>
      chance(0.3)
        ? ["demo", ...itemOf(polls)]
        : { call: "polls.get", args: ["demo", ...itemOf(polls)] },
    "program.get": () => {
      const w = world();
      return {
        run: async (s) => {
          const { sessions, speakers, places, revisions } = await s.program.get(w);
          return [sessions, speakers, places.size, revisions.size];
        },
      };
    },
    "program.favorites": () => ["demo", user()],
    "program.createSession": () => ({
      args: [
        world(),
        {
          title: `${text()} ${titles++}`,
          room_id: pick([null, room()]),
          ...(chance(0.5) && {
            starts_at: `2027-05-0${1 + whole(3)}T10:00:00Z`,
            ends_at: "2027-05-04T11:00:00Z",
          }),
        },
      ],
      keep: keepIn(sessions, (made: { session?: { value: { id: string } } }) =>
        made.session ? made.session.value.id : fixedId(0, 0),
      ),
    }),
    "program.updateSession": () => {
      const changes = pick([{ title: `${text()} ${titles++}` }, { room_id: room() }, {}]);
      return ["demo", from(sessions, ABSENT), changes];
    },
    "program.deleteSession": () =>
      chance(0.3) ? ["demo", from(sessions, ABSENT)] : ["demo", ABSENT],
    "program.createSpeaker": () => ({
      args: [world(), { name: `${text()} ${titles++}`, user_id: pick([null, user()]) }, []],
      keep: keepIn(speakers, (made: { value?: { id: string } }) => made.value?.id ?? fixedId(0, 0)),
    }),
    "program.updateSpeaker": () => [
      "demo",
      from(speakers, ABSENT),
      pick([{ name: `${text()} ${titles++}` }, { biography: text() }, {}]),
      [],
    ],
    "program.deleteSpeaker": () =>
      chance(0.3) ? ["demo", from(speakers, ABSENT)] : ["demo", ABSENT],
    "program.rooms": () => [world()],
    "program.references": () => {
      const named = { users: [user(), user()], pictures: ["https://x.org/media/pub/demo/1.pdf"] };
      return ["demo", named, ["x.org"]];
    },
    "program.import": () => ({
      run: async (s) => {
        // The plan of an import that changes nothing but is no more of this program.
        const basis = { stamp: "never", rooms: "", users: [], pictures: [] };
        const none = {
          rooms: [],
          speakers: [],
          sessions: [],
          deleted: [],
          places: [],
          entries: [],
        };
        return s.program
          .import("demo", { basis, ...none }, [])
          .catch(({ problem }: { problem?: string }) => problem);
      },
    }),
    "program.favor": () => ["demo", user(), from(sessions, ABSENT), chance(0.7)],
    "programLinks.user": () => ["demo", pick(["none", text()])],
    "programLinks.link": () => {
      const [u, renew] = [user(), chance(0.3)];
      return {
        run: async (s, side) => {
          const token = await s.programLinks.link("demo", inStore(u, side) as string, renew);
          return { token, user: await s.programLinks.user("demo", token) };
        },
      };
    },
    "invites.find": () => ["demo", text()],
    "invites.of": () => ["demo", room()],
    "invites.link": () => {
      const now = whole(1000);
      return ["demo", room(), { now, soon: now + 100, ends: now + whole(500) }];
    },
    "invites.end": () => ["demo", room()],
    "push.key": () => [],
    "push.keep": () => ["", { publicKey: "public", privateKey: "private" }],
    "push.of": () => {
      const ids = [user(), user()];
      return {
        run: async (s, side) => {
          const found = await s.push.of("demo", inStore(ids, side) as string[]);
          return found.sort((a, b) => (a.endpoint < b.endpoint ? -1 : 1));
        },
      };
    },
    "push.subscribe": () => {
      const endpoint = `https://push/${whole(50)}`;
      return ["demo", user(), { endpoint, p256dh: text(), auth: text() }, whole(1e6)];
    },
    "push.forget": () => ["demo", `https://push/${whole(50)}`],
    "push.claim": () => ["demo", `notice ${whole(30)}`, 1e6 + whole(1000)],
    "push.due": () => ({
      run: async (s) => (await s.push.due(0, 4e12)).map(({ title }) => title).sort(),
    }),
    "webhooks.list": () => ["demo", page()],
    "webhooks.get": () => ["demo", from(webhooks, ABSENT)],
    "webhooks.enabled": () => ({ run: async (s) => (await s.webhooks.enabled()).length }),
    "webhooks.create": () => {
      const settings = { url: "https://x/", types: [text()], enabled: chance(0.8) };
      return {
        args: [world(), { ...settings, description: text() }, "secret"],
        keep: keepIn(webhooks, ({ id }: { id: string }) => id),
      };
    },
    "webhooks.update": () => [
      "demo",
      from(webhooks, ABSENT),
      pick([{ description: text() }, { enabled: chance(0.5) }, { position: whole(9) }]),
      pick([undefined, [1, 2]]),
    ],
    "webhooks.delete": () => ["demo", from(webhooks, ABSENT), pick([undefined, [1], []])],
    "webhooks.hold": () => [
      "demo",
      from(webhooks, ABSENT),
      pick(["p", "q", null]),
      { holder: pick([null, "p"]), beat: whole(3) },
    ],
    "webhooks.beat": () => ["demo", pick(["p", "q"])],
    "webhooks.note": () => ["demo", from(webhooks, ABSENT), ...heldState()],
    "webhooks.disable": () => ["demo", from(webhooks, ABSENT), ...heldState()],
    "audit.list": () => [world(), page()],
    "audit.callers": () => ["demo", [text(), "abc"]],
    "audit.record": () => [
      world(),
      { type: "results.exported", subject: { room: text() } },
      pick([undefined, { kind: "api", token: "abc", uid: `uid-${whole(9)}`, request: text() }]),
    ],
    "audit.prune": () => ["demo", 1000, 1000],
    "log.heads": () => ({
      run: async (s) => (await s.log.heads(WORLDS)).map(({ seq }) => seq),
    }),
    "log.since": () => {
      const w = world();
      return { run: async (s) => (await s.log.since(w, 0, 20)).entries.map(({ type }) => type) };
    },
    "log.floor": () => [world()],
    "log.prune": () => [world(), 1000],
    counts: () => ({
      run: async (s) => {
        const { worlds, rooms: r, users: u, fileBytes } = await s.counts();
        return [worlds, r, u, fileBytes];
      },
    }),
    together: () => {
      // Equal calls in flight give equal sets of answers in any order.
      const same = operationOf(
        pick<Method>([
          "chat.send",
          "chat.join",
          "chat.react",
          "users.block",
          "users.moderate",
          "users.enter",
          "questions.vote",
          "polls.vote",
          "program.favor",
          "chat.mark",
        ]),
      );
      const read = operationOf(pick<Method>(["users.get", "files.size", "worlds.get"]));
      const size = 2 + whole(4);
      return {
        run: async (s, side) => {
          const all = [...Array.from({ length: size }, () => same.run(s, side)), read.run(s, side)];
          const settled = await Promise.allSettled(all);
          const writes = settled.slice(0, -1).map((one) => {
            if (one.status === "fulfilled") return { answer: one.value };
            const { problem, field } = one.reason as { problem?: string; field?: string };
            if (problem === undefined) throw one.reason;
            return { problem, field };
          });
          const plain = (one: unknown) => JSON.stringify(one, (k, v: unknown) => v ?? k);
          return writes.sort((a, b) => (plain(a) < plain(b) ? -1 : 1));
        },
      };
    },
  };

  /** Chooses the arguments of an operation, once for both stores. */
  function operationOf(name: Method): Required<Pick<Operation, "run">> & Operation {
    const chosen = operations[name]();
    const operation: Operation = Array.isArray(chosen) ? { args: chosen } : chosen;
    const { call = name, args = [] } = operation;
    const [part, method] = call.split(".") as [keyof Store, string];
    const run = async (store: Store, side: 0 | 1) => {
      const methods = store[part] as unknown as Record<string, (...args: unknown[]) => unknown>;
      return methods[method]!(...args.map((arg) => inStore(arg, side)));
    };
    return { run, ...operation };
  }
  return { names: Object.keys(operations) as Method[], operationOf, random };
}

/** The world in which most calls are. */
export const DEMO: WorldCopy = {
  world: worldOf("demo"),
  rooms: Array.from({ length: 12 }, (_, i) => fixedId(1, i)).map((id, i) => ({
    id,
    name: `room ${i % 5}`,
    sorting_priority: i % 3,
    module_config: [{ type: "chat.native", config: {} }],
  })),
  users: Array.from({ length: 12 }, (_, i) => fixedId(2, i)).map((id, i) => ({
    id,
    token_id: `user-${i}`,
    client_id: null,
    traits: [],
    profile: { display_name: `User ${i % 4}` },
    last_seen: `2027-01-01T00:00:00.${String(i).padStart(3, "0")}Z`,
  })),
};

/** The ids that both stores have. */
export const FIXED: ReadonlySet<string> = new Set(
  [...DEMO.rooms, ...DEMO.users!].map(({ id }) => id),
);
