import { randomUUID } from "node:crypto";
import type { Announcement } from "../../../db/contract/announcement-store.js";
import type { Item } from "../../../db/contract/item-store.js";
import type { Poll } from "../../../db/contract/poll-store.js";
import type { Store, Visitor } from "../../../db/contract/store.js";
import type { UserCopy, WorldCopy } from "../../../schemas/documents/world-document.js";
import { previewKeyOf } from "../../../schemas/plain/file-types.js";
import type { PermissionConfig } from "../../../schemas/plain/permissions.js";
import { POLL_KINDS } from "../../../schemas/plain/polls.js";
import { nameShapeOf } from "../../../schemas/plain/look-alikes.js";
import { Random } from "../../protocol/simulation/random.js";
import { exported } from "../../support/database.js";
import { worldOf } from "../../support/helper.js";
import { fromAll } from "../../support/resources.js";
import { ODD_TEXTS, oddJson } from "./call-mapping.js";
import {
  ABSENT,
  type Answers,
  both,
  type CallKit,
  type CallTable,
  fixedId,
  inStore,
  Name,
  type Operation,
} from "./calls.js";

// Generates calls of the store contract from a seed, to be run on two stores. The ids that the
// stores choose differ, so arguments refer to things by a {@link Name}.

export const WORLDS = ["demo", "other", "missing"];
const RULES = [undefined, [], ["crew"], ["crew", ["a", "b"]], [["ß", "i"], "😀"]];

const nameOf = ({ token_id, client_id }: Pick<UserCopy, "token_id" | "client_id">) =>
  `${token_id} ${client_id}`;

/** Generates calls from a seed. */
export function callSequence(seed: number) {
  const rooms = Array.from({ length: 12 }, (_, i) => both(fixedId(1, i)));
  const users = Array.from({ length: 12 }, (_, i) => both(fixedId(2, i)));
  const events: Name<number>[] = [];
  /** The channel and sender of each event. */
  const placeOf = new Map<number, readonly [Name, Name]>();
  const versions: Name[] = [];
  const directs: Name[] = [];
  const announcements: Name[] = [];
  const questions: (readonly [Name, Name])[] = [];
  const polls: (readonly [Name, Name])[] = [];
  const optionsOf = new Map<string, Name[]>();
  /** Whether the next call is made several times at once, so that it must be a single one. */
  let isTogether = false;
  const sessions: Name[] = [];
  /** Sessions with the room of each, and rooms with a user who joined each. */
  const placed: (readonly [Name, Name])[] = [];
  const members: (readonly [Name, Name])[] = [];
  const files: string[] = [];
  const held: (readonly [Name, Name])[] = [];
  const reports: Name[] = [];
  const speakers: Name[] = [];
  /** Makes titles unique: equal ones would be ordered by id. */
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

  /** Remembers the name that a function finds in each answer. */
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
  const heldOf = (): readonly [Name, Name] =>
    held.length > 0 && chance(0.9) ? pick(held) : [room(), ABSENT];
  /** A moderator of all rooms so far. */
  const scope = () => ({ user: user(), rooms: rooms.slice(whole(5)), world: chance(0.7) });
  const pinOf = (items: (readonly [Name, Name])[]) => {
    const [r, id] = itemOf(items);
    return ["demo", r, chance(0.3) ? null : id, user()];
  };
  function visitor(): Visitor {
    const known = chance(0.7);
    const n = known ? whole(users.length) : whole(1000);
    return {
      ...(chance(0.8) || known ? { tokenId: `user-${n}` } : { clientId: `guest-${n}` }),
      traits: traits(),
      profile: { display_name: `${text()} ${n}`, x: json() },
      login: chance(0.3),
      ...(chance(0.2) && { pretalxId: text() }),
      ...(chance(0.3) && { network: pick(["192.0.2.0/24", "2001:db8:0:1::/64"]) }),
      ...(chance(0.3) && { guest: pick([{ waits: true }, { waits: false, quietUntil: 5e12 }]) }),
    };
  }

  const kit: CallKit = {
    ...{ pick, chance, whole, text, world, user, page, from, keepIn },
    ...{ rooms, users, channel, directs },
  };
  const operations: CallTable = {
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
          // Rows without a number are ordered by random ids.
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
    "users.moderate": () => [
      world(),
      user(),
      pick([
        ...(["", "", "silenced", "banned"] as const),
        { state: "silenced", until: 1e12 + whole(1000) },
        { state: "banned", networkUntil: 4e12 + whole(3) },
      ] as const),
    ],
    "users.answer": () => [
      world(),
      user(),
      chance(0.5),
      chance(0.3) ? 1e12 + whole(1000) : undefined,
    ],
    "users.endModeration": () => [world(), 1e12 + whole(1000)],
    "users.nextModerationEnd": () => [world()],
    "users.networkBan": () => [world(), user()],
    "users.lookAlikes": () => [world(), nameShapeOf(text()), pick([["admin"], []])],
    "users.waiting": () => {
      const w = world();
      return {
        run: async (s) => {
          const { count, guests } = await s.users.waiting(w, 0, 100);
          return { count, names: guests.map(({ client_id }) => client_id).sort() };
        },
      };
    },
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
    "chat.join": () => {
      const [w, r, u] = [world(), room(), user()];
      return { args: [w, r, u], keep: () => void (w === "demo" && members.push([r, u])) };
    },
    "chat.leave": () =>
      chance(0.3)
        ? ["demo", room(), user(), chance(0.3)]
        : { call: "chat.isMember", args: ["demo", room(), user()] },
    "chat.send": () => {
      const w = world();
      const [r, sender] =
        members.length > 0 && chance(0.6) ? pick(members) : ([channel(), user()] as const);
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
    "chat.hold": () => {
      const [r, sender] =
        members.length > 0 && chance(0.8) ? pick(members) : ([channel(), user()] as const);
      const draft = {
        sender,
        content: { type: "text", body: text() },
        volatile: chance(0.5),
        ...(chance(0.3) && { slow: { seconds: 1 + whole(5), at: 1e12 + whole(5000) } }),
        ...(chance(0.2) && { replaces: from(events, both(99_999)) }),
      };
      return {
        args: ["demo", r, draft, 1e12 + whole(1000)],
        keep: (answers) => {
          const [a, b] = answers as [{ id: string }, { id: string }];
          held.push([r, new Name(a.id, b.id)]);
        },
      };
    },
    "chat.held": () => ["demo", room(), pick([null, user()]), whole(5)],
    "chat.heldMessage": () => ["demo", ...heldOf()],
    "chat.approve": () => ["demo", ...heldOf(), [user()].slice(whole(2)), chance(0.3)],
    "chat.reject": () => ["demo", ...heldOf(), pick([null, text()])],
    "chat.rejectAll": () => ["demo", user()],
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
          // How many channels it empties depends on the progress of background cleanup.
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
          // Users without a name would be ordered by id.
          return s.users.update("demo", id, { profile: { display_name } });
        },
      };
    },
    "files.add": () => {
      const id = String(whole(60));
      const key = `pub/demo/${id}.secret-00010.pdf`;
      const digest = { key, size: whole(90), sha256: "0".repeat(64) };
      const hasPreview = chance(0.5);
      return {
        run: async (s) => {
          if (await s.files.has(key)) return "there";
          const preview = hasPreview ? { ...digest, key: previewKeyOf(key), size: 5 } : undefined;
          const uploader = { tokenId: "user-1", traits: new Set(["a"]) };
          return s.files.add("demo", uploader, digest, 1500, preview);
        },
        keep: () => void files.push(id),
      };
    },
    "files.has": () => [`pub/demo/${whole(60)}.secret-00010.pdf`],
    "files.get": () => ["demo", String(whole(60))],
    "files.list": () => ["demo", page()],
    "files.keys": () => ({ run: async (s) => (await s.files.keys("demo")).sort() }),
    "files.delete": () => [
      "demo",
      files.length > 0 && chance(0.9) ? pick(files) : String(whole(60)),
    ],
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
    "chat.sentBy": () => [world(), user(), 0],
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
    "polls.create": () => {
      const kind = pick([...POLL_KINDS, "words"]);
      const isWritten = kind === "words" || kind === "text" || kind === "scale";
      const options = Array.from({ length: isWritten && chance(0.9) ? 0 : 2 + whole(4) }, () => ({
        content: text(),
        ...(chance(0.3) && { order: whole(4) }),
        ...(kind === "quiz" && chance(0.5) && { correct: true }),
      }));
      return {
        args: [
          world(),
          room(),
          {
            content: text(),
            options,
            ...(chance(0.8) && { state: pick(["draft", "open", "open", "open", "closed"]) }),
            ...((isWritten || chance(0.7)) && { poll_type: kind }),
          },
        ],
        keep: (answers) => {
          keepItem(polls)(answers);
          const [a, b] = answers as [Poll, Poll];
          const ids = a.options.map(({ id }, i) => new Name(id, b.options[i]!.id));
          optionsOf.set(a.id, ids);
        },
      };
    },
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
            .map(({ options, answers, value }) => [options.length, answers, value].join())
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
        ...(chance(0.2) && { poll_type: pick([...POLL_KINDS]) }),
        ...(chance(0.3) && { is_pinned: chance(0.7) }),
        ...(chance(0.3) && {
          options: [...known.map((id) => ({ id, content: text() })), { content: text(), order: 2 }],
        }),
      };
      return ["demo", ...item, changes, user()];
    },
    "polls.pin": () => pinOf(polls),
    "polls.vote": () => {
      if (!isTogether && chance(0.4)) {
        const options = ["a", "b"].map((content) => ({ content }));
        const kind = pick(["choice", "multi", "rank"] as const);
        const draft = { content: text(), options, state: "open", poll_type: kind } as const;
        const [who, at] = [user(), room()];
        return {
          run: async (s, side) => {
            const [u, r] = inStore([who, at], side) as [string, string];
            const poll = await s.polls.create("demo", r, draft);
            return s.polls.vote("demo", r, poll.id, u, { options: [poll.options[1]!.id], at: 1 });
          },
        };
      }
      const item = itemOf(polls);
      const known = optionsOf.get(item[1].left) ?? [];
      const vote = pick([
        { options: known.slice(0, 1) },
        { options: [...known.filter(() => chance(0.5)), ABSENT] },
        { options: known.filter(() => chance(0.5)) },
        { value: whole(6) },
        { answers: [pick(["tea", "TEA", "Té"])] },
      ]);
      return ["demo", ...item, user(), { ...vote, at: 1 }];
    },
    "polls.summary": () => {
      const item = itemOf(polls);
      const all = chance(0.5);
      return {
        run: async (s, side) => {
          const [r, id] = inStore(item, side) as [string, string];
          const found = await s.polls.summary("demo", r, id, all);
          const { people, words, counts, answers } = { ...found } as Record<string, unknown>;
          return [people, words, counts, (answers as unknown[] | undefined)?.length];
        },
      };
    },
    "polls.players": () => {
      const at = room();
      return {
        run: async (s, side) => {
          const [r] = inStore([at], side) as [string];
          return (await s.polls.players("demo", r)).map(({ points }) => points);
        },
      };
    },
    "polls.ending": () => [0],
    "polls.end": () => ["demo", ...itemOf(polls), 1],
    "polls.hideAnswer": () => {
      if (chance(0.5)) return ["demo", ...itemOf(polls), "tea", chance(0.5)];
      const cloud = { content: text(), options: [], state: "open", poll_type: "words" } as const;
      const [who, at, isHidden] = [user(), room(), chance(0.5)];
      return {
        run: async (s, side) => {
          const [u, r] = inStore([who, at], side) as [string, string];
          const { id } = await s.polls.create("demo", r, cloud);
          await s.polls.vote("demo", r, id, u, { answers: ["Tea"], at: 1 });
          return s.polls.hideAnswer("demo", r, id, "tea", isHidden);
        },
      };
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
    "program.createSession": () => {
      const r = pick([null, room()]);
      const keepSession = keepIn(sessions, (made: { session?: { value: { id: string } } }) =>
        made.session ? made.session.value.id : fixedId(0, 0),
      );
      const draft = {
        title: `${text()} ${titles++}`,
        room_id: r,
        ...(chance(0.5) && {
          starts_at: `2027-05-0${1 + whole(3)}T10:00:00Z`,
          ends_at: "2027-05-04T11:00:00Z",
        }),
      };
      return {
        args: [world(), draft],
        keep: (answers) => {
          keepSession(answers);
          if (r && "starts_at" in draft) placed.push([sessions.at(-1)!, r]);
        },
      };
    },
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
    "program.mergeSpeakers": () => [
      "demo",
      from(speakers, ABSENT),
      chance(0.5) ? from(speakers, ABSENT) : ABSENT,
    ],
    "program.edits": () => ({
      run: async (s) =>
        Object.values(await s.program.edits("demo"))
          .map((fields) => fields.join())
          .sort(),
    }),
    "program.rooms": () => [world()],
    "program.references": () => {
      const named = { users: [user(), user()], pictures: ["https://x.org/media/pub/demo/1.pdf"] };
      return ["demo", named, ["x.org"]];
    },
    "program.import": () => ({
      run: async (s) => {
        // An import plan that changes nothing, but whose basis is stale.
        const basis = { stamp: "never", rooms: "", users: [], pictures: [] };
        const none = {
          rooms: [],
          speakers: [],
          sessions: [],
          deleted: [],
          followed: [],
          places: [],
          entries: [],
        };
        return s.program
          .import("demo", { basis, ...none }, [])
          .catch(({ problem }: { problem?: string }) => problem);
      },
    }),
    "reports.get": () => ["demo", from(reports, ABSENT)],
    "reports.list": () => ({
      args: [
        "demo",
        scope(),
        { state: pick([null, "open", "dismissed"] as const), limit: 1 + whole(9) },
      ],
      keep: (answers) => {
        const [a, b] = answers as [{ id: string }[], { id: string }[]];
        if (a[0] && b[0]) reports.push(new Name(a[0].id, b[0].id));
      },
    }),
    "reports.notes": () => ({
      run: async (s) => {
        const all = { user: fixedId(9, 9), rooms: [], world: true };
        const found = await s.reports.list("demo", all, { limit: 5 });
        return s.reports.notes(
          "demo",
          found.map(({ number }) => number),
          3,
        );
      },
    }),
    "reports.open": () => {
      const who = user();
      return {
        run: async (s, side) => {
          const { all, about } = await s.reports.open("demo", [inStore(who, side) as string]);
          const total = (counts: readonly { count: number }[]) =>
            counts.reduce((sum, { count }) => sum + count, 0);
          return { open: total(all), about: total(about) };
        },
      };
    },
    "reports.create": () => {
      const event = from(events, both(99_999));
      const [r] = placeOf.get(event.left) ?? [room()];
      const [questionRoom, question] = itemOf(questions);
      const reported = pick([
        { kind: "message", room: r, channel: r, event },
        { kind: "question", room: questionRoom, question, all: chance(0.5) },
        { kind: "user", room: pick([null, room()]), user: user() },
      ] as const);
      const reason = pick(["spam", "harassment", "privacy", "other"] as const);
      return ["demo", reported, { by: user(), reason, text: text(), at: 1e12 + whole(1e8) }];
    },
    "reports.resolve": () => [
      "demo",
      from(reports, ABSENT),
      pick(["dismissed", "deleted", "silenced", "dismissed"] as const),
      user(),
      1e12 + whole(1000),
    ],
    "ratings.own": () => ["demo", user()],
    "ratings.list": () => ["demo", from(sessions, ABSENT), whole(3), 1 + whole(5)],
    "ratings.sums": () => {
      const w = world();
      return { run: async (s) => ({ sums: await s.ratings.sums(w) }) };
    },
    "ratings.rate": () => [
      "demo",
      user(),
      { session: from(sessions, ABSENT), stars: 1 + whole(5), text: pick(["", text()]) },
      1_800_000_000_000 + whole(1000),
    ],
    "program.moved": () => ["demo", user()],
    "program.runSession": () => {
      const [session, r] =
        placed.length > 0 && chance(0.7)
          ? pick(placed)
          : ([from(sessions, ABSENT), room()] as const);
      const asked = { session, action: pick(["start", "plus", "hold", "end"] as const) };
      const now = pick([Date.parse("2027-05-04T10:30:00Z"), 1_900_000_000_000]);
      return ["demo", r, asked, { now: now + whole(7_200_000), overrun: 1_800_000 }];
    },
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
    "invites.byCode": () => [pick(["K7QF2M", text()])],
    "captions.get": () => ["demo", whole(20)],
    "captions.list": () => [
      "demo",
      room(),
      {
        lang: pick([undefined, "en", "de"]),
        session: pick([undefined, from(sessions, ABSENT)]),
        after: pick([undefined, 1_800_000_000_000 + whole(1000)]),
        from: pick([undefined, [1_800_000_000_000 + whole(1000), whole(20)]] as const),
        offset: whole(3),
        limit: whole(5),
      },
    ],
    "captions.count": () => ["demo", room(), { lang: pick([undefined, "en"]), limit: 0 }],
    "captions.kept": () => ["demo", room(), pick([null, from(sessions, ABSENT)])],
    "captions.now": () => ["demo", room(), pick(["en", "de"]), 1_800_000_000_000 + whole(99_000)],
    "captions.languages": () => ["demo", room(), 1_800_000_000_000 + whole(99_000)],
    "captions.add": () => {
      const now = 1_800_000_000_000 + whole(1000);
      const line = () => ({
        lang: pick(["en", "de"]),
        text: text(),
        final: chance(0.6),
        at: now - whole(1000),
        session: pick([undefined, undefined, from(sessions, ABSENT)]),
      });
      const lines = Array.from({ length: 1 + whole(3) }, line);
      return ["demo", room(), lines, pick([null, user()]), now];
    },
    "captions.expire": () => ["demo", 1_800_000_000_000 + whole(500)],
    "screens.get": () => ["demo", room()],
    "screens.show": () => [
      "demo",
      room(),
      pick([{ show: "black" }, { show: "welcome" }, { show: "poll", id: "p" }] as const),
    ],
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
    "push.moderating": () => ({
      run: async (s) => {
        const found = await s.push.moderating("demo");
        return found.sort((a, b) => (a.endpoint < b.endpoint ? -1 : 1));
      },
    }),
    "push.subscribe": () => {
      const endpoint = `https://push/${whole(50)}`;
      const moderation = chance(0.5);
      return ["demo", user(), { endpoint, p256dh: text(), auth: text(), moderation }, whole(1e6)];
    },
    "push.forget": () => ["demo", `https://push/${whole(50)}`],
    "push.claim": () => ["demo", `notice ${whole(30)}`, 1e6 + whole(1000)],
    "push.moved": () => ["demo", from(sessions, ABSENT), 0],
    "push.due": () => ({
      run: async (s) => (await s.push.due(0, 4e12)).map(({ title }) => title).sort(),
    }),
    ...fromAll(({ calls }) => calls?.(kit)),
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
      isTogether = true;
      // Identical concurrent calls return the same set of answers, in any order.
      const same = operationOf(
        pick([
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
      isTogether = false;
      const read = operationOf(pick(["users.get", "files.size", "worlds.get"]));
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

  /** Chooses an operation's arguments, once for both stores. */
  function operationOf(name: string): Required<Pick<Operation, "run">> & Operation {
    const chosen = operations[name]!();
    const operation: Operation = Array.isArray(chosen) ? { args: chosen } : chosen;
    const { call = name, args = [] } = operation;
    const [part, method] = call.split(".") as [keyof Store, string];
    const run = async (store: Store, side: 0 | 1) => {
      const methods = store[part] as unknown as Record<string, (...args: unknown[]) => unknown>;
      return methods[method]!(...args.map((arg) => inStore(arg, side)));
    };
    return { run, ...operation };
  }
  return { names: Object.keys(operations), operationOf, random };
}

/** The world that most calls use. */
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

/** The ids that are the same in both stores. */
export const FIXED: ReadonlySet<string> = new Set(
  [...DEMO.rooms, ...DEMO.users!].map(({ id }) => id),
);
