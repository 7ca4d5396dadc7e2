import { exported, rowsIn } from "../../exported.js";
import { kioskId } from "../../../db/rules/user-kinds.js";
import { worldOf } from "../../helper.js";
import { fill } from "../filled-store.js";
import { ABSENT, type Contract, fails, headOf } from "./setup.js";

/** A row of a document. */
type Entry = Record<string, unknown>;

/** Replaces values in the first row of a table. */
const change = (table: string, values: Entry) =>
  [table, (row: Entry) => JSON.stringify({ ...row, ...values })] as const;

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

/** What a document may have wrong: the text of the first row of a table, and what is said. */
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
  [
    change("poll_options", { poll: 2 }),
    /poll_options\.poll: There is no row 2/,
  ],
  [
    change("poll_options", { poll: 0 }),
    /poll_options\.poll: There is no row 0/,
  ],
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
      (row) =>
        JSON.stringify({ ...row, last_seen: 1 }).replace(
          /:1\b/,
          ":9007199254740993",
        ),
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
    /users\.profile\.a: May not be nested more than 100 levels/,
  ],
];

/** What may be wrong with the lines of a document: an edit, the line at fault, and what is said. */
const LAYOUTS: readonly (readonly [
  edit: (lines: string[], users: number) => string[],
  line: (users: number, count: number) => number,
  says: RegExp,
])[] = [
  [(lines, at) => lines.with(at, '"audit":['), (at) => at + 1, /no table/],
  [(lines, at) => lines.with(at, '"__proto__":['), (at) => at + 1, /no table/],
  [(lines, at) => lines.with(at, '"rooms":['), (at) => at + 1, /too late/],
  [
    (lines, at) => lines.toSpliced(at, 0, '"users":[', "],"),
    (at) => at + 3,
    /too late/,
  ],
  [
    (lines, at) => lines.toSpliced(at + 1, 0, lines[at + 1]!),
    (at) => at + 3,
    /users\.id: May occur only once/,
  ],
  [(lines) => lines.slice(0, -1), (_, count) => count, /is missing/],
  [(lines) => [...lines, "[]"], (_, count) => count + 1, /follows the end/],
  [() => ["{", "{}", "}"], () => 1, /is not the head|is not JSON/],
  [
    (lines) => lines.with(0, lines[0]!.replace(/\d+/, "999")),
    () => 1,
    /newer Foyer/,
  ],
  [(lines) => lines.toSpliced(1, 1), () => 2, /must have the world/],
];

export async function worldLineContract(contract: Contract): Promise<void> {
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
    t.strictSame(
      (await exported(store, "demo", { history: true })).lines,
      lines,
    );
  });

  await contract("a clone is a world of its own", async (t, store) => {
    await store.worlds.delete("demo");
    const { ada, room } = await fill(store);
    const [poll] = await store.polls.list("demo", room, { limit: 1 });
    const closed = { state: "closed" } as const;
    await store.polls.update("demo", room, poll!.id, closed, ada);
    // Frozen results keep an option that is deleted; those of a clone do not.
    const options = poll!.options.slice(1).map(({ id }) => ({ id }));
    await store.polls.update("demo", room, poll!.id, { options }, ada);
    const screen = { clientId: kioskId("hall"), traits: new Set<string>() };
    const { id } = await store.users.enter("demo", screen);
    await store.users.block("demo", ada, id);
    const { rows: from } = await exported(store, "demo");
    t.match(from, {
      program_speakers: [{ name: "Ada" }],
      program_sessions: [{ title: "Talk" }],
      program_favorites: { length: 1 },
      blocks: { length: 2 },
    });
    const made = await store.worlds.clone("demo", worldOf("twin"));
    t.match(made.value, { id: "twin", domain: "twin.example.org" });
    const lines: string[] = [];
    for await (const line of store.worlds.export("twin", { history: true })) {
      lines.push(line);
    }
    const to = rowsIn(lines);
    t.match(to, {
      program_speakers: [{ name: "Ada", user_id: null, picture: null }],
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
      [rows.rooms, rows.announcements, rows.questions, rows.poll_options].map(
        (some) =>
          some!
            .map((row) => String(row.name ?? row.text ?? row.content))
            .sort(),
      );
    t.same(textsIn(to), textsIn(from));
    t.ok(to.questions!.every((one) => !one.sender && !one.moderator));
    const results = to.poll_options!.map(({ id }) => [id, 0]);
    t.match(to.polls, [
      { ...closed, results: JSON.stringify(Object.fromEntries(results)) },
    ]);
    const all = [from, to].flatMap((rows) =>
      [rows.rooms, rows.users, rows.announcements, rows.questions, rows.polls]
        .concat([rows.poll_options])
        .flatMap((some) => some!.map(({ id }) => id)),
    );
    t.equal(new Set(all).size, all.length, "with ids of its own");
    const tables = Object.keys(to);
    t.notOk(
      tables.some((name) => /chat|votes|ballots|favorites|links/.test(name)),
      "without what users did",
    );
    await fails(t, store.worlds.clone("none", worldOf("x")), "absent", "world");
    await fails(t, store.worlds.clone("demo", worldOf("twin")), "taken", "id");
  });
}
