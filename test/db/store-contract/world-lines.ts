import { exported, rowsIn } from "../../exported.js";
import { kioskId } from "../../../db/rules/user-kinds.js";
import { worldOf } from "../../helper.js";
import { fill } from "../filled-store.js";
import { ABSENT, type Contract, fails, headOf } from "./setup.js";

/** Replaces a value in the first row of a table. */
const change = (table: string, column: string, value: unknown) =>
  [
    table,
    (row: unknown[], columns: string[]) =>
      row.with(columns.indexOf(column), value),
  ] as const;

/** What a document may have wrong: its table, what happens to its first row, and what is said. */
const FAULTS: readonly (readonly [
  fault: readonly [
    table: string,
    edit: (row: unknown[], columns: string[]) => unknown,
  ],
  says: RegExp,
])[] = [
  [change("worlds", "title", ""), /worlds\.title: May not be empty/],
  [change("worlds", "config", "{"), /worlds\.config: Must be the JSON of a/],
  [change("rooms", "world_id", "other"), /rooms\.world_id: Must be demo/],
  [change("rooms", "module_config", "{}"), /rooms\.module_config: .* a list/],
  [change("rooms", "name", 7), /rooms\.name: Must be a text/],
  [change("users", "last_seen", 0.5), /users\.last_seen: Must be a whole/],
  [change("users", "id", null), /users\.id: May not be null/],
  [change("blocks", "blocked_id", ABSENT), /blocks\.blocked_id: There is no/],
  [change("announcements", "number", 2), /announcements\.number: Must be 1/],
  [change("polls", "room_id", ABSENT), /polls\.room_id: There is no row/],
  [change("poll_options", "poll", 2), /poll_options\.poll: There is no row 2/],
  [change("poll_options", "poll", 0), /poll_options\.poll: There is no row 0/],
  [change("poll_options", "poll", -1), /poll_options\.poll: There is no/],
  [change("chat_events", "id", 9), /chat_events\.id: Must be 1/],
  [change("chat_events", "channel", 99), /chat_events\.channel: There is no/],
  [change("chat_readers", "pointer", 99), /There is no event 99/],
  [change("chat_readers", "pointer", -1), /pointer: May not be negative/],
  [["users", (row) => row.slice(1)], /another number of values/],
  [["users", () => 5], /names no table/],
  [["users", () => ({ table: "audit", columns: [] })], /names no table/],
  [["users", () => ({ table: "rooms", columns: [] })], /comes too late/],
  [["users", (_, columns) => ({ table: "users", columns })], /comes too late/],
];

/** What every store keeps to about the lines of a document. */
export async function worldLineContract(contract: Contract): Promise<void> {
  await contract("a document with a fault is refused", async (t, store) => {
    await store.worlds.delete("demo");
    await fill(store);
    const { lines } = await exported(store, "demo", { history: true });
    await store.worlds.delete("demo");
    const head = await headOf(store);
    const refused = async (bad: string[], says: RegExp, line = "\\d+") => {
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
      const at = lines.findIndex((line) =>
        line.includes(`{"table":"${table}"`),
      );
      const read = (line: number) =>
        JSON.parse(lines[line]!.replace(/,$/, "")) as unknown;
      const { columns } = read(at) as { columns: string[] };
      const edited = edit(read(at + 1) as unknown[], columns);
      const bad = lines.with(at + 1, `${JSON.stringify(edited)},`);
      await refused(bad, says, String(at + 2));
    }
    const foreign = lines.map((line) =>
      line.includes('{"table":"users"') ? line.replace('"id"', '"sid"') : line,
    );
    await refused(foreign, /"sid" is no column of users/);
    await refused(lines.slice(0, -1), /is missing/);
    await refused([...lines, "[]"], /follows the end/);
    await refused(["[", "{}", "]"], /is not the head/);
    await refused(
      lines.with(1, lines[1]!.replace(/\d+/, "999")),
      /newer Foyer/,
    );
    await refused(lines.toSpliced(2, 2), /comes before the world/);
    await refused(lines.with(7, "[1,"), /is not JSON/);
    t.equal(await store.worlds.get("demo"), undefined, "nothing is left");
    t.equal(await headOf(store), head);
    await store.worlds.import({ lines });
    t.strictSame(
      (await exported(store, "demo", { history: true })).lines,
      lines,
    );
  });

  await contract("a clone has a program of its own", async (t, store) => {
    await store.worlds.delete("demo");
    const { ada } = await fill(store);
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
    const tables = Object.keys(to);
    t.notOk(
      tables.some((name) => /chat|votes|ballots|favorites|links/.test(name)),
      "without what users did",
    );
    await fails(t, store.worlds.clone("none", worldOf("x")), "absent", "world");
    await fails(t, store.worlds.clone("demo", worldOf("twin")), "taken", "id");
  });
}
