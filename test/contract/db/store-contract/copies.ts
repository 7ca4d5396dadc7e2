import type { RoomSelection, Store } from "../../../../db/contract/store.js";
import { kioskId } from "../../../../db/rules/user-rows.js";
import { exported, rowsIn } from "../../../support/database.js";
import { keyOf, worldOf } from "../../../support/helper.js";
import { fill } from "../filled-store.js";
import { allEvents, chatting, DELETED, message } from "./chat-setup.js";
import { ABSENT, type Contract, enter, fails, headOf, idsOf, selection } from "./setup.js";

/** A row of an export document. */
type Entry = Record<string, unknown>;

/** Replaces values in a table's first row. */
const change = (table: string, values: Entry) =>
  [table, (row: Entry) => JSON.stringify({ ...row, ...values })] as const;

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

/** Invalid rows: an edit of a table's first row, and the expected error. */
const FAULTS: readonly (readonly [
  fault: readonly [table: string, edit: (row: Entry) => string],
  says: RegExp,
])[] = [
  [change("world", { title: "" }), /world\.title: May not be empty/],
  [change("world", { config: [] }), /world\.config: Must be an object/],
  [change("rooms", { world_id: "other" }), /"world_id" is no column/],
  [change("rooms", { module_config: {} }), /rooms\.module_config: .* a list/],
  [change("rooms", { name: 7 }), /rooms\.name: Must be a text/],
  [change("rooms", { name: undefined }), /rooms\.name: This field is requi/],
  [change("users", { last_seen: 0.5 }), /users\.last_seen: Must be a whole/],
  [change("users", { last_seen: 9e15 }), /users\.last_seen: Must be a time/],
  [change("users", { id: null }), /users\.id: May not be null/],
  [change("users", { moderation_state: "x" }), /state: Must be one of "", "s/],
  [change("users", { profile: { a: "\ud800" } }), /profile\.a: .* unpaired/],
  [change("users", JSON.parse('{"__proto__":{}}') as Entry), /"__proto__" is/],
  [change("blocks", { blocked_id: ABSENT }), /blocks\.blocked_id: There is no/],
  [change("announcements", { number: 2 }), /announcements\.number: Must be 1/],
  [change("polls", { room_id: ABSENT }), /polls\.room_id: There is no row/],
  [change("polls", { state: "x" }), /polls\.state: Must be one of "draft", /],
  [change("polls", { is_pinned: 2 }), /polls\.is_pinned: Must be one of 0, 1/],
  [change("poll_options", { poll: 3 }), /poll_options\.poll: There is no row 3/],
  [change("poll_options", { poll: 0 }), /poll_options\.poll: There is no row 0/],
  [change("poll_options", { poll: -1 }), /poll_options\.poll: There is no/],
  [change("chat_events", { id: 9 }), /chat_events\.id: Must be 1/],
  [change("chat_events", { channel: 99 }), /chat_events\.channel: There is no/],
  [change("chat_readers", { pointer: 99 }), /There is no event 99/],
  [change("chat_readers", { pointer: -1 }), /pointer: May not be negative/],
  [["users", (row) => JSON.stringify([row])], /must be an object/],
  [["users", () => "{"], /is not JSON/],
  [
    ["users", (row) => JSON.stringify(row).replace("{", '{"id":"x",')],
    /users\.id: This name may occur only once/,
  ],
  [
    [
      "users",
      (row) => JSON.stringify({ ...row, last_seen: 1 }).replace(/:1\b/, ":9007199254740993"),
    ],
    /users\.\S+: Must be a number that fits/,
  ],
  [
    [
      "users",
      (row) =>
        JSON.stringify({ ...row, profile: 1 }).replace(
          '"profile":1',
          `"profile":{"a":${nested(9999)}}`,
        ),
    ],
    /users\.profile\.a: May be nested at most 100 levels/,
  ],
];

/** Invalid lines: an edit of the document, the line at fault, and the expected error. */
const LAYOUTS: readonly (readonly [
  edit: (lines: string[], users: number) => string[],
  line: (users: number, count: number) => number,
  says: RegExp,
])[] = [
  [(lines, at) => lines.with(at, '"audit":['), (at) => at + 1, /no table/],
  [(lines, at) => lines.with(at, '"__proto__":['), (at) => at + 1, /no table/],
  [(lines, at) => lines.with(at, '"rooms":['), (at) => at + 1, /too late/],
  [(lines, at) => lines.toSpliced(at, 0, '"users":[', "],"), (at) => at + 3, /too late/],
  [
    (lines, at) => lines.toSpliced(at + 1, 0, lines[at + 1]!),
    (at) => at + 3,
    /users\.id: May occur only once/,
  ],
  [(lines) => lines.slice(0, -1), (_, count) => count, /is missing/],
  [(lines) => [...lines, "[]"], (_, count) => count + 1, /follows the end/],
  [() => ["{", "{}", "}"], () => 1, /is not the head|is not JSON/],
  [(lines) => lines.with(0, lines[0]!.replace(/\d+/, "999")), () => 1, /newer Foyer/],
  [(lines) => lines.toSpliced(1, 1), () => 2, /must have the world/],
];

/** Reads all data of a world through its users' eyes. */
async function viewOf(store: Store, people: string[], rooms: string[], channels: string[]) {
  const { users, announcements, questions, polls, chat } = store;
  const ofAll = <T>(read: (user: string) => Promise<T>) => Promise.all(people.map(read));
  const inRooms = <T>(read: (room: string) => Promise<T>) => Promise.all(rooms.map(read));
  const events = await Promise.all(channels.map((id) => allEvents(store, id)));
  const voters = async (room: string) => {
    const all = await polls.list("demo", room, { limit: 9 });
    const lists = all.map(async ({ id }) => (await polls.voters("demo", room, id, 0))!.users);
    const voted = (await Promise.all(lists)).map((list) => list.filter(({ voted }) => voted));
    return voted.map((list) => idsOf(list).sort());
  };
  return {
    world: await store.worlds.get("demo"),
    rooms: await inRooms((room) => store.rooms.get("demo", room)),
    users: (await users.search("demo", { page: 1, pageSize: 9, banned: true })).users,
    blocked: await ofAll((user) => users.blocked("demo", user)),
    announcements: await announcements.list("demo"),
    questions: await inRooms((room) =>
      ofAll((user) => questions.seen("demo", room, user, true, 9, 9000)),
    ),
    polls: await inRooms((room) => polls.list("demo", room, { limit: 9 })),
    ballots: await inRooms((room) => ofAll((user) => polls.ballots("demo", room, user))),
    voters: await inRooms(voters),
    events: events.map((list) => list.map(({ id: _id, replaces: _replaces, ...event }) => event)),
    members: await Promise.all(channels.map((id) => chat.members("demo", id, 9))),
    hidden: await ofAll(async (user) =>
      (await chat.memberships("demo", user)).map(({ id, hidden }) => [id, hidden]),
    ),
    notified: await ofAll(async (user) => (await chat.unread("demo", user)).notifications.length),
  };
}

/** Tests exporting, importing and cloning worlds. */
export async function copyContract(contract: Contract): Promise<void> {
  await contract("a world moves as a whole", async (t, store) => {
    const { users, announcements, questions, polls, chat, worlds } = store;
    const { room, ada, bob, cy: gone, dan: eve, elsewhere, say } = await chatting(store);
    const own = await store.rooms.create("demo", {
      name: "own",
      description: "d",
      module_config: [{ type: "m", x: [null, 0.5] }],
      permission_config: { "room.view": ["crew"] },
      sorting_priority: -1,
      domain: "own.org",
    });
    const other = own.value.id;
    const extras = { picture: "p", schedule_data: { "1": null } };
    await store.rooms.update("demo", room, { name: "changed", extras });
    await worlds.update("demo", { title: "Changed" });

    const visitor = { traits: new Set(["x"]), profile: { display_name: "F", "1": [null] } };
    await users.enter("demo", { ...visitor, tokenId: "f", pretalxId: "Pf", login: true });
    await users.enter("demo", { clientId: "g", traits: new Set<string>() });
    await users.update("demo", ada, { client_state: { x: { y: 1 } } });
    for (const text of ["z", "a", "m"]) {
      await announcements.create("demo", { text, show_until: 5000 });
    }

    const ask = async (sender: string, content: string, where = room) => {
      const draft = { sender, content, state: "mod_queue" as const, named: sender === ada };
      return (await questions.create("demo", where, draft)).id;
    };
    const [why, how] = [await ask(gone, "Why?"), await ask(ada, "How?\r\n👏")];
    await ask(bob, "Where?", other);
    await questions.update("demo", room, why, { state: "visible", answered: true }, gone);
    await questions.pin("demo", room, how, bob);
    for (const [user, counts] of [
      [gone, true],
      [ada, true],
      [eve, true],
      [bob, true],
      [eve, false],
    ] as const) {
      await questions.vote("demo", room, why, user, counts, false);
    }
    const draft = {
      content: "Which?",
      state: "open",
      poll_type: "multi",
      options: ["b", "a", "c"].map((content) => ({ content, order: 0 })),
    } as const;
    const opened = await polls.create("demo", room, draft);
    const closed = await polls.create("demo", room, draft);
    await polls.create("demo", other, { content: "Empty?", options: [] });
    for (const poll of [opened, closed]) {
      const [first, second, third] = idsOf(poll.options) as [string, string, string];
      for (const [user, ...options] of [
        [gone, first, second],
        [bob, third],
        [ada, second],
        [eve, first],
        [eve],
      ] as [string, ...string[]][]) {
        await polls.vote("demo", room, poll.id, user, { options });
      }
    }
    await polls.update("demo", room, closed.id, { state: "closed" }, ada);
    // The frozen results stay the same, even though this deletes an option.
    const edited = {
      options: [{ id: closed.options[1]!.id }, { content: "new", order: -1 }],
      poll_type: "choice",
      is_pinned: true,
    } as const;
    await polls.update("demo", room, closed.id, edited, ada);

    t.notOk((await exported(store, "demo")).rows.chat_events, "only if it is asked for");
    const first = (await say("one\0", { mentioned: [bob, gone] })).event.id;
    const [second, third] = [(await say("two")).event.id, (await say("three")).event.id];
    await say("two again", { replaces: second });
    await say("", { content: DELETED, replaces: third });
    for (const [user, reaction] of [
      [gone, "b"],
      [ada, "a"],
      [bob, "b"],
      [gone, "a"],
    ] as const) {
      await chat.react("demo", room, first, { user, reaction, remove: false, volatile: false });
    }
    const direct = (await chat.direct("demo", ada, [bob, gone, ada], true)).channel.id;
    await chat.send("demo", direct, message(bob));
    await chat.leave("demo", direct, ada, false);
    await chat.mark([{ world: "demo", user: ada, channel: room, pointer: first, listed: 0 }]);
    await users.block("demo", ada, bob);
    await users.block("demo", bob, ada);
    await users.moderate("demo", bob, "silenced");
    await users.moderate("demo", eve, "banned");
    await users.erase("demo", { user_id: gone });

    const copy = await exported(store, "demo", { history: true });
    const nobody = { token_id: null, client_id: null, profile: null };
    t.match(
      copy.rows.users!.find(({ id }) => id === gone),
      nobody,
    );
    const domains = copy.rows.rooms!.map(({ id, domain }) => [id, domain]);
    t.same(
      new Map(domains as []),
      new Map([
        [other, "own.org"],
        [room, null],
      ]),
      "only their own",
    );
    t.match(copy.rows.question_votes, [
      { question: 1, user_id: null },
      { question: 1, user_id: ada },
      { question: 1, user_id: bob },
    ]);
    t.match(copy.rows.poll_ballots, [
      { poll: 1, user_id: null },
      { poll: 1, user_id: bob },
      { poll: 1, user_id: ada },
    ]);
    const view = () => viewOf(store, [ada, bob, eve], [room, other], [room, direct]);
    const before = await view();
    t.match(before.questions[0]![0], [
      { id: why, sender: null, moderator: null, score: 3, voted: true },
      { id: how, sender: ada, moderator: bob, score: 0, is_pinned: true },
    ]);
    t.same(Object.values(before.polls[0]![1]!.results), [1, 2, 1]);
    t.match(before.rooms[0]!.value.extras, extras);
    const chats = copy.rows.chat_events!.length;
    const head = (await headOf(store)) + 1;

    await fails(t, exported(store, "missing"), "absent", "world");
    await worlds.delete("demo");
    await worlds.import(copy, { dryRun: true });
    t.equal(await worlds.get("demo"), undefined, "a dry run");
    t.equal(await headOf(store), head, "writes nothing");
    await chat.send("other", elsewhere.room, message(elsewhere.user));
    const { rows, world } = await worlds.import(copy);
    t.match(rows, { worlds: 1, rooms: 2 });
    t.strictSame(world, before.world);
    t.strictSame(await view(), before);
    t.strictSame(await exported(store, "demo", { history: true }), copy, "the same document");
    const { issuer, audience } = keyOf("demo");
    t.strictSame(await worlds.issuing(issuer, audience), [before.world]);
    const crew = new Set(["crew"]);
    const found: [Partial<RoomSelection>, number][] = [
      [{}, 1],
      [{ traits: crew }, 2],
      [{ traits: crew, type: "m" }, 1],
      [{ search: "CHANGED" }, 1],
    ];
    for (const [asked, count] of found) {
      t.equal((await store.rooms.list("demo", selection(asked))).value.count, count);
    }

    // The world continues where it left off, including its counts and ids.
    const [joined] = await allEvents(store, direct);
    t.ok(joined!.id > head, "no id is used again");
    t.equal(await headOf(store), head + chats + 1);
    const { lastMessage } = (await chat.channel("demo", room))!;
    t.match(await say("next"), { previousMessage: lastMessage });
    t.match(await users.get("demo", gone), { deleted: true });
    t.equal(await enter(store, "bob"), bob, "known by the same name");
    const [yes] = opened.options;
    await users.moderate("demo", eve, "");
    await polls.vote("demo", room, opened.id, ada, { options: [yes!.id] });
    const { poll } = await polls.vote("demo", room, opened.id, eve, { options: [yes!.id] });
    t.same(Object.values(poll.results), [3, 1, 1]);
    t.equal((await questions.vote("demo", room, why, ada, true, false)).score, 3);
    const last = await ask(ada, "Last?");
    const all = await questions.list("demo", room, { page: 1, pageSize: 9 });
    t.equal(all.at(-1)!.id, last);
    await users.erase("demo", { user_id: ada });
    t.strictSame(await users.blocked("demo", bob), []);
  });

  await contract("a world comes as a whole or not at all", async (t, store) => {
    const { worlds, polls, users } = store;
    const { room, ada, bob } = await chatting(store);
    await store.announcements.create("demo", { text: "x" });
    const sender = ada;
    const asked = await store.questions.create("demo", room, {
      sender,
      content: "q",
      state: "visible",
    });
    const options = ["a", "b"].map((content) => ({ content }));
    const poll = await polls.create("demo", room, { content: "p", options });
    const { channel } = await store.chat.direct("demo", ada, [ada, bob], true);
    const { rows } = await exported(store, "demo");
    const timestamp = "2026-01-01T00:00:00Z";
    const rest = { client_id: null, profile: null, traits: [], last_seen: timestamp };
    const user = { id: ada, token_id: "ada", ...rest };
    const fresh = { ...user, id: ABSENT };
    const announcement = {
      id: rows.announcements![0]!.id as string,
      text: "x",
      show_until: null,
      state: "active" as const,
    };
    const question = {
      id: asked.id,
      room: ABSENT,
      content: "x",
      timestamp,
      state: "visible" as const,
    };
    const [first, second] = idsOf(poll.options) as [string, string];
    const frozen = {
      ...{ id: poll.id, room: ABSENT, content: "x", timestamp },
      ...{ state: "closed" as const, poll_type: "multi" as const },
      options: [{ id: second, content: "a", order: 0 }],
      ballots: [{ options: [second] }, { options: [second] }],
    };
    const whole = { world: worldOf("new"), rooms: [{ id: ABSENT, name: "copy" }] };
    const domain = "demo.example.org";
    const taken = { id: channel.id, direct: [ABSENT, `1${ABSENT.slice(1)}`] };
    const cases: [field: string, changes: object][] = [
      ["id", { world: worldOf("demo", { domain: "free.org" }) }],
      ["domain", { world: worldOf("new", { domain }) }],
      ["rooms", { rooms: [...whole.rooms, { id: room, name: "copy" }] }],
      ["rooms", { rooms: [...whole.rooms, ...whole.rooms] }],
      ["users", { users: [user] }],
      ["users", { users: [fresh, fresh] }],
      ["users", { users: [fresh, { ...fresh, id: `1${ABSENT.slice(1)}` }] }],
      ["users", { users: [user], announcements: [announcement] }],
      ["users", { chat: { erased: [ada], channels: [], events: [] } }],
      ["announcements", { announcements: [announcement] }],
      ["questions", { questions: [question], polls: [frozen] }],
      ["polls", { polls: [{ ...frozen, ballots: undefined }] }],
      ["polls", { polls: [{ ...frozen, id: ABSENT, ballots: undefined }] }],
      ["chat", { chat: { channels: [taken], events: [] } }],
    ];
    for (const [field, changes] of cases) {
      for (const dryRun of [true, false]) {
        await fails(t, worlds.import({ ...whole, ...changes }, { dryRun }), "taken", field);
      }
      t.equal(await worlds.get("new"), undefined, field);
      t.equal(await store.rooms.get("new", ABSENT), undefined);
    }
    const { world } = await worlds.import({ ...whole, users: [fresh] });
    t.same(world.value, worldOf("new"));
    t.equal((await store.rooms.list("new", selection())).value.count, 1);
    t.equal((await users.get("new", ABSENT))?.token_id, "ada");
    await worlds.delete("demo");
    await worlds.delete("new");
    const both = [...frozen.options, { id: first, content: "b", order: -1 }];
    await worlds.import({ ...whole, polls: [{ ...frozen, options: both }] });
    const [found] = await polls.list("new", ABSENT, { limit: 9 });
    t.same(Object.values(found!.results), [2, 0], "results that are missing are counted");

    const copy = await exported(store, "new");
    let isWriting = true;
    const writes = (async () => {
      for (let i = 0; i < 30; i++) {
        await worlds.delete("new");
        await worlds.import(copy);
      }
    })().finally(() => (isWriting = false));
    let torn = 0;
    while (isWriting) {
      const seen = await exported(store, "new").catch(() => undefined);
      if (seen && seen.rows.rooms?.length !== 1) torn++;
      await new Promise(setImmediate);
    }
    await writes;
    t.equal(torn, 0, "no reader sees a part");
  });

  await contract("a document with a fault is refused", async (t, store) => {
    await store.worlds.delete("demo");
    await fill(store);
    const { lines } = await exported(store, "demo", { history: true });
    await store.worlds.delete("demo");
    const head = await headOf(store);
    const refused = async (bad: string[], says: RegExp, line: number) => {
      for (const dryRun of [true, false]) {
        const message = new RegExp(`^Line ${line}: .*${says.source}`);
        await t.rejects(
          store.worlds.import({ lines: bad }, { dryRun }),
          { problem: "unfit", message },
          says.source,
        );
      }
    };
    for (const [[table, edit], says] of FAULTS) {
      const isWorld = table === "world";
      const at = isWorld ? 1 : lines.indexOf(`"${table}":[`) + 1;
      const prefix = isWorld ? '"world":' : "";
      const text = lines[at]!.slice(prefix.length).replace(/,$/, "");
      const edited = edit(JSON.parse(text) as Entry);
      const end = lines[at]!.endsWith(",") ? "," : "";
      await refused(lines.with(at, prefix + edited + end), says, at + 1);
    }
    for (const [edit, line, says] of LAYOUTS) {
      const users = lines.indexOf('"users":[');
      await refused(edit(lines, users), says, line(users, lines.length));
    }
    t.equal(await store.worlds.get("demo"), undefined, "nothing is left");
    t.equal(await headOf(store), head);
    await store.worlds.import({ lines });
    t.strictSame((await exported(store, "demo", { history: true })).lines, lines);
  });

  await contract("a clone is a world of its own", async (t, store) => {
    await store.worlds.delete("demo");
    const { ada, room } = await fill(store);
    const all = await store.polls.list("demo", room, { limit: 9 });
    const poll = all.find(({ poll_type }) => poll_type === "multi");
    const closed = { state: "closed" } as const;
    await store.polls.update("demo", room, poll!.id, closed, ada);
    // Frozen results keep a deleted option; those of a clone do not.
    const options = poll!.options.slice(1).map(({ id }) => ({ id }));
    await store.polls.update("demo", room, poll!.id, { options }, ada);
    const screen = { clientId: kioskId("hall"), traits: new Set<string>() };
    const { id } = await store.users.enter("demo", screen);
    await store.users.block("demo", ada, id);
    const { rows: from } = await exported(store, "demo");
    // Speakers are ordered by random ids.
    const speakersIn = (rows: typeof from) =>
      rows.program_speakers!.toSorted((a, b) => (String(a.name) < String(b.name) ? -1 : 1));
    t.match(speakersIn(from), [{ name: "Ada" }, { name: "Boe" }]);
    t.match(from, {
      program_sessions: [{ title: "Talk" }],
      program_favorites: { length: 1 },
      session_ratings: [{ stars: 4, content: "Lively!" }],
      blocks: { length: 2 },
    });
    const made = await store.worlds.clone("demo", worldOf("twin"));
    t.match(made.value, { id: "twin", domain: "twin.example.org" });
    const lines: string[] = [];
    for await (const line of store.worlds.export("twin", { history: true })) {
      lines.push(line);
    }
    const to = rowsIn(lines);
    t.match(speakersIn(to), [{ name: "Ada", user_id: null, picture: null }, { name: "Boe" }]);
    t.match(to, {
      program_edits: [{ field: "name" }],
      program_sessions: [{ title: "Talk", revision: 1 }],
      blocks: { length: 1 },
      users: { length: from.users!.length - 1 },
    });
    const ids = from.program_sessions!.map(({ id }) => id as string);
    t.notMatch(lines.join(), ids[0]!, "with new ids");
    type Rows = typeof to;
    const peopleIn = ({ users, blocks }: Rows) => {
      const people = users!.filter(({ client_id }) => !client_id);
      const nameOf = new Map(people.map((user) => [user.id, user.token_id]));
      return {
        people: people
          .map(({ id: _id, world_id: _world, ...user }) => user)
          .sort((a, b) => (String(a.token_id) < String(b.token_id) ? -1 : 1)),
        blocks: blocks!
          .map((row) => [nameOf.get(row.user_id), nameOf.get(row.blocked_id)])
          .filter(([, blocked]) => blocked !== undefined),
      };
    };
    t.same(peopleIn(to), peopleIn(from));
    t.match(peopleIn(to), { blocks: [["ada", "bob"]] });
    const textsIn = (rows: Rows) =>
      [rows.rooms, rows.announcements, rows.questions, rows.poll_options].map((some) =>
        some!.map((row) => String(row.name ?? row.text ?? row.content)).sort(),
      );
    t.same(textsIn(to), textsIn(from));
    t.ok(to.questions!.every((one) => !one.sender && !one.moderator));
    const results = to.poll_options!.map(({ id }) => [id, 0]);
    t.match(
      to.polls!.find(({ poll_type }) => poll_type === "multi"),
      { ...closed, results: JSON.stringify(Object.fromEntries(results)) },
    );
    const every = [from, to].flatMap((rows) =>
      [rows.rooms, rows.users, rows.announcements, rows.questions, rows.polls]
        .concat([rows.poll_options])
        .flatMap((some) => some!.map(({ id }) => id)),
    );
    t.equal(new Set(every).size, every.length, "with ids of its own");
    const tables = Object.keys(to);
    t.notOk(
      tables.some((name) =>
        /chat|votes|ballots|answers|hidden|captions|reports|favorites|ratings|links/.test(name),
      ),
      "without what users did",
    );
    const { config } = made.value;
    t.equal(config.access, undefined);
    const opens_at = "2020-01-01T09:00:00Z";
    for (const [name, access, copied] of [
      ["a past event", { opens_at, closes_at: opens_at, after: "invited" }, { after: "invited" }],
      [
        "a future one",
        { closes_at: "2999-01-01T09:00:00Z" },
        { closes_at: "2999-01-01T09:00:00Z" },
      ],
      ["an unpublished one", { published: false }, { published: false }],
    ] as const) {
      await store.worlds.configure("twin", { config: { ...config, access } });
      const { value } = await store.worlds.clone(
        "twin",
        worldOf(`of ${name}`.replaceAll(" ", "-")),
      );
      t.strictSame(value.config.access, copied, name);
    }
    await fails(t, store.worlds.clone("none", worldOf("x")), "absent", "world");
    await fails(t, store.worlds.clone("demo", worldOf("twin")), "taken", "id");
  });
}
