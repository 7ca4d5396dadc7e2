import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { type FileHandle, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import Database from "better-sqlite3";
import t from "tap";
import { ArchiveError } from "../../db/maintenance/manifest.js";
import { restore } from "../../db/maintenance/restore.js";
import { BACKUP_VERSION, TABLES } from "../../db/copies/tables.js";
import { Failure } from "../../schemas/plain/failure.js";
import { openStore } from "../database.js";
import {
  allEvents,
  chatting,
  message,
} from "../db/store-contract/chat-setup.js";
import { expectOldAudit, OLD_AUDIT } from "../db/old-audit.js";
import { foyer, worldOf } from "../helper.js";
import { furnished } from "./furnished.js";
import {
  auditedArchive,
  entriesOf,
  flipped,
  formerArchive,
  memberOf,
  oldArchive,
  rowsAt,
  tarOf,
  withBytes,
  withManifest,
  withRows,
  type Entry,
} from "./tar.js";

const ROOMS = TABLES.find(({ name }) => name === "rooms")!;

/** Those that are also refused by a process of its own. */
const AS_A_COMMAND = new Set([
  "text",
  "cut in the rows",
  "a byte of the rows",
  "a room of no world",
  "a byte of a file",
  "a missing file",
  "../evil",
]);

void t.test("an archive that is not whole is refused", async (t) => {
  const { dataDir, store } = await furnished(t, 2);
  const dir = join(dataDir, "..");
  const good = join(dir, "good.tar");
  t.equal((await foyer(dataDir, ["backup", good])).code, 0);
  const bytes = await readFile(good);
  const entries = entriesOf(bytes);
  const [file, other, ...rest] = entries as [Entry, Entry, ...Entry[]];
  const tables = rest.slice(0, -1);
  const manifest = entries.at(-1)!;
  t.same(
    entries.map(({ path }) => path),
    [
      "media/pub/demo/0.pdf",
      "media/pub/demo/1.pdf",
      ...["worlds", "world_issuers", "view_groups", "rooms", "users"].map(
        rowsAt,
      ),
      ...["files", "log_heads", "log", "sequences"].map(rowsAt),
      "manifest.json",
    ],
  );
  t.strictSame(tarOf(entries).length, bytes.length, "tests write the same");
  const isRooms = ({ path }: Entry) => path === rowsAt("rooms");
  const rooms = tables.find(isRooms)!;
  const others = entries.filter((entry) => entry !== rooms);
  /** With another room, or with none. */
  const room = (change: (row: unknown[]) => unknown[] | undefined) =>
    withRows(entries, "rooms", ([first, ...rest]) => {
      const changed = change(first!);
      return changed ? [changed, ...rest] : rest;
    });
  const set = (column: string, value: unknown) =>
    room((row) => {
      const at = ROOMS.columns.findIndex(({ name }) => name === column);
      return row.with(at, value);
    });
  await store.close();
  const old = oldArchive(readFileSync(join(dataDir, "foyer.db")), [
    file,
    other,
  ]);
  const database = old.at(-2)!;

  const evil = (path: string) => ({ path, body: Buffer.from("evil") });
  /** With an entry that the manifest names as well. */
  const named = (entry: Entry) =>
    withManifest([entry, ...entries], ({ members }) =>
      members.push(memberOf(entry) as never),
    );
  /** With another database, which the manifest names. */
  const swapped = (body: Buffer) => oldArchive(body, [file, other]);
  const changedDatabase = (sql: string) => {
    const path = join(dir, "changed.db");
    writeFileSync(path, database.body);
    const db = new Database(path);
    db.exec(sql);
    db.close();
    return swapped(readFileSync(path));
  };
  const whole = "is not a complete backup: ";
  const cases: [name: string, archive: Buffer | Entry[], says: string][] = [
    ["empty", Buffer.alloc(0), `${whole}Unrecognized archive`],
    ["text", Buffer.from("not a tar\n".repeat(200)), whole],
    ["zeros", Buffer.alloc(4096), `${whole}Unrecognized archive`],
    [
      "cut in the rows",
      bytes.subarray(0, bytes.indexOf(rooms.body) + 9),
      whole,
    ],
    ["cut in a file", bytes.subarray(0, 520), whole],
    ["cut after an entry", tarOf(entries.slice(0, 2)), `${whole}it lacks its`],
    [
      "a byte of the rows",
      flipped(bytes, bytes.indexOf("The demo")),
      `${whole}the table worlds has the wrong checksum`,
    ],
    [
      "a byte of a file",
      [{ ...file, body: flipped(file.body) }, other, ...rest],
      `${whole}media/pub/demo/0.pdf has the wrong checksum`,
    ],
    ["a byte of a name", flipped(bytes, 3), `${whole}checksum failure`],
    [
      "a byte of the manifest",
      flipped(bytes, bytes.indexOf('"sha256"') + 20),
      whole,
    ],
    [
      "a missing file",
      [other, ...rest],
      `${whole}it lacks media/pub/demo/0.pdf`,
    ],
    [
      "an old one without its database",
      old.filter((entry) => entry !== database),
      `${whole}it lacks foyer.db`,
    ],
    [
      "an old one without a database",
      withManifest(
        old.filter((entry) => entry !== database),
        ({ members }) => members.pop(),
      ),
      `${whole}it has no database`,
    ],
    [
      "a database and rows",
      named({ path: "foyer.db", body: database.body }),
      `${whole}it has a database and rows`,
    ],
    [
      "rows in an old one",
      [...old.slice(0, -1), rooms, old.at(-1)!],
      `${whole}it has a database and rows`,
    ],
    ["missing rows", others, `${whole}the table rooms has 0 rows instead of 2`],
    [
      "a table that is not named",
      withManifest(others, (content) => {
        content.tables = content.tables.filter(({ name }) => name !== "rooms");
      }),
      `${whole}its manifest lacks the table rooms`,
    ],
    [
      "a table that is named twice",
      withManifest(entries, ({ tables }) => tables.push(tables[0]!)),
      `${whole}its manifest repeats the table worlds`,
    ],
    [
      "a table of its own",
      withManifest(entries, ({ tables }) =>
        tables.push({ ...tables[0]!, name: "evil" }),
      ),
      `${whole}it has an unknown table: evil`,
    ],
    [
      "other columns",
      withManifest(entries, ({ tables }) => tables[0]!.columns.push("evil")),
      `${whole}its table worlds has other columns`,
    ],
    [
      "tables in another order",
      [file, other, rooms, ...others.slice(2)],
      `${whole}it has an unexpected entry: tables/worlds-1.ndjson`,
    ],
    [
      "a file after the tables",
      [other, ...tables, file, manifest],
      `${whole}it has an unexpected entry: media/pub/demo/0.pdf`,
    ],
    [
      "a part out of order",
      entries.map((entry) =>
        isRooms(entry) ? { ...entry, path: "tables/rooms-2.ndjson" } : entry,
      ),
      `${whole}it has an unexpected entry: tables/rooms-2.ndjson`,
    ],
    ...["tables/evil-1.ndjson", "tables/rooms-0.ndjson", "tables/../evil"].map(
      (path): [string, Entry[], string] => [
        path,
        named(evil(path)),
        `${whole}it has an unexpected entry: ${path}`,
      ],
    ),
    [
      "a row that is no array",
      withRows(entries, "rooms", () => [{}]),
      `${whole}a row of rooms has not the 13 values of its columns`,
    ],
    [
      "a row that is too short",
      room((row) => row.slice(1)),
      `${whole}a row of rooms has not the 13 values of its columns`,
    ],
    ...(
      [
        ["id", null],
        ["id", 7],
        ["name", { evil: 1 }],
        ["revision", "1"],
        ["revision", 1.5],
        ["revision", 2 ** 53],
        ["revision", null],
        ["domain", 1],
      ] as const
    ).map(([column, value]): [string, Entry[], string] => [
      `a room with ${column}: ${JSON.stringify(value)}`,
      set(column, value),
      `${whole}a row of rooms has a wrong ${column}`,
    ]),
    [
      "a row that is not JSON",
      withBytes(entries, "rooms", () => Buffer.from("[\n")),
      `${whole}a row of rooms is not JSON`,
    ],
    [
      "a row that is not UTF-8",
      withBytes(entries, "rooms", () => Buffer.from([0x22, 0xff, 0x22, 10])),
      `${whole}a row of rooms is not UTF-8`,
    ],
    [
      "a row that is cut off",
      withBytes(entries, "rooms", (body) => body.subarray(0, -1)),
      `${whole}the last row of rooms is cut off`,
    ],
    [
      "a row twice",
      withRows(entries, "rooms", (rows) => [...rows, rows[0]!]),
      "cannot be used: a row of rooms cannot be stored: UNIQUE",
    ],
    [
      "a state that there is not",
      withRows(entries, "users", ([row]) => [
        row!.map((value) => (value === "" ? "evil" : value)),
      ]),
      "cannot be used: a row of users cannot be stored: CHECK",
    ],
    [
      "a room of no world",
      set("world_id", "evil"),
      "cannot be used: a row of rooms refers to a row of view_groups that does not",
    ],
    [
      "a sequence of nothing",
      withRows(entries, "sequences", () => [["evil", 1]]),
      "cannot be used: there is no sequence evil",
    ],
    [
      "an extra file",
      [evil("media/pub/demo/evil"), ...entries],
      `${whole}its manifest does not name media/pub/demo/evil`,
    ],
    ["something after the end", [...entries, evil("media/x")], whole],
    ["a file twice", [file, ...entries], whole],
    [
      "a link",
      named({
        path: "media/link",
        body: Buffer.alloc(0),
        type: "SymbolicLink",
        linkpath: "/etc/passwd",
      }),
      whole,
    ],
    ...["../evil", "media/../../evil", "/evil", "media/pub/..", "evil"].map(
      (path): [string, Entry[], string] => [
        path,
        named(evil(path)),
        `${whole}it has an unexpected entry: ${path}`,
      ],
    ),
    [
      "a newer format",
      withManifest(
        entries,
        (content) => (content.version = BACKUP_VERSION + 1),
      ),
      `${whole}it was made by a newer Foyer`,
    ],
    [
      "a manifest of something else",
      [file, { ...manifest, body: Buffer.from("[]") }],
      `${whole}its manifest is wrong: Expected object`,
    ],
    [
      "a manifest that is not JSON",
      [file, { ...manifest, body: Buffer.from("{") }],
      `${whole}its manifest is not JSON`,
    ],
    ...(
      [
        ["modified", 1e300],
        ["modified", 8.64e15 + 1],
        ["modified", -1],
        ["modified", 0.5],
        ["modified", null],
        ["size", 1e300],
        ["size", -1],
        ["sha256", "x".repeat(64)],
        ["sha256", ""],
        ["path", "../evil"],
        ["path", "foyer.db\n"],
      ] as const
    ).map(([field, value]): [string, Entry[], string] => [
      `${field}: ${JSON.stringify(value)}`,
      withManifest(entries, ({ members }) =>
        Object.assign(members[1]!, { [field]: value }),
      ),
      `${whole}its manifest is wrong at /members/1/${field}: `,
    ]),
    ...["yesterday", "2027-13-01T00:00:00.000Z", ""].map(
      (created): [string, Entry[], string] => [
        `created: ${created}`,
        withManifest(entries, (content) => Object.assign(content, { created })),
        `${whole}its manifest is wrong at /created: `,
      ],
    ),
    [
      "a file that its manifest names twice",
      withManifest(entries, ({ members }) => members.push(members[1]!)),
      `${whole}its manifest names media/pub/demo/1.pdf twice`,
    ],
    [
      "a file that is a folder as well",
      named(evil("media/pub")),
      `${whole}media/pub is a file and a folder`,
    ],
    [
      "a database of a newer version",
      changedDatabase("PRAGMA user_version = 99"),
      "cannot be used: it has version 99",
    ],
    [
      "a database of something else",
      changedDatabase("PRAGMA application_id = 7"),
      "cannot be used: it is not a Foyer database",
    ],
    [
      "a database that is none",
      swapped(Buffer.from("no database at all".repeat(100))),
      "cannot be used: file is not a database",
    ],
    [
      "a damaged database, well wrapped",
      swapped(
        Buffer.concat([database.body.subarray(0, 8192), Buffer.alloc(90_112)]),
      ),
      "cannot be used: ",
    ],
  ];
  const missing = join(dir, "missing");
  const empty = join(dir, "empty");
  mkdirSync(empty);
  for (const [i, [name, archive, says]] of cases.entries()) {
    const path = join(dir, `${i}.tar`);
    await writeFile(path, Array.isArray(archive) ? tarOf(archive) : archive);
    const to = i % 2 === 0 ? missing : empty;
    const refused = await restore(path, { dataDir: to }, () => {}).catch(
      (error: unknown) => error,
    );
    t.ok(refused instanceof ArchiveError, name);
    t.match((refused as Error).message, /^[^\n]+$/, `${name}: one line`);
    t.match((refused as Error).message, new RegExp(`${path} ${says}`), name);
    t.notOk(existsSync(missing), `${name}: nothing is there`);
    t.same(readdirSync(empty), [], `${name}: nothing is there`);

    if (!AS_A_COMMAND.has(name)) continue;
    t.match(await foyer(to, ["restore", path]), {
      code: 1,
      stdout: "",
      stderr: `foyer: ${(refused as Error).message}\n`,
    });
    t.notOk(existsSync(missing), `${name}: nothing is there`);
    t.same(readdirSync(empty), [], `${name}: nothing is there`);
  }
  t.same(
    readdirSync(dir).filter((name) => name.includes("evil")),
    [],
  );

  const zipped = join(dir, "good.tar.gz");
  await writeFile(zipped, gzipSync(bytes));
  const to = empty;
  // What a restore leaves that was killed, and what a new volume has.
  for (const name of ["restore/media", "lost+found"]) {
    mkdirSync(join(to, name), { recursive: true });
  }
  writeFileSync(join(to, "restore/foyer.db"), "half");
  t.same(await foyer(to, ["restore", zipped]), {
    code: 0,
    stdout: `Restored 1 world, 2 rooms, 2 files into ${to}.\n`,
    stderr: "",
  });
  t.same(readdirSync(to).sort(), ["foyer.db", "lost+found", "media"]);
  t.equal((await foyer(to, ["check"])).code, 0);

  const before = readdirSync(to);
  t.match(await foyer(to, ["restore", good]), {
    code: 1,
    stdout: "",
    stderr: /^foyer: .*empty is not empty; .*\n$/,
  });
  t.same(readdirSync(to), before);
  for (const [source, says] of [
    [join(dir, "none.tar"), `cannot restore into ${missing}: ENOENT`],
    [dir, `${dir} is a folder.`],
  ] as const) {
    const got = await foyer(missing, ["restore", source]);
    t.match(got, { code: 1, stdout: "" });
    t.match(got.stderr, new RegExp(`^foyer: ${says}[^\\n]*\\n$`));
    t.notOk(existsSync(missing));
  }
});

void t.test("an archive with a database, as older ones are", async (t) => {
  const { dataDir, store, files } = await furnished(t, 2);
  await store.close();
  const bytes = readFileSync(join(dataDir, "foyer.db"));
  const entries = ["0.pdf", "1.pdf"].map((name) => ({
    path: `media/pub/demo/${name}`,
    body: readFileSync(join(files.root, "pub/demo", name)),
  }));
  const archive = join(dataDir, "../old.tar");
  writeFileSync(archive, tarOf(oldArchive(bytes, entries)));
  const to = join(dataDir, "../restored");
  t.same(await foyer(to, ["restore", archive]), {
    code: 0,
    stdout: `Restored 1 world, 2 rooms, 2 files into ${to}.\n`,
    stderr: "",
  });
  t.strictSame(readFileSync(join(to, "foyer.db")), bytes);
  t.equal(statSync(join(to, "media/pub/demo/0.pdf")).mtimeMs, 0);
  t.equal((await foyer(to, ["check"])).code, 0);
  t.same(readdirSync(to).sort(), ["foyer.db", "media"]);
});

void t.test("an archive without logs, as older ones are", async (t) => {
  const { dataDir, store } = await furnished(t, 1);
  const { room, elsewhere, ada, bob, say } = await chatting(store);
  const { event } = await say("first", { mentioned: [bob] });
  await say("edited", { replaces: event.id });
  const last = (await say("last")).event.id;
  const all = await allEvents(store, room);
  const unread = await store.chat.unread("demo", bob);
  const dir = join(dataDir, "..");
  const good = join(dir, "good.tar");
  t.equal((await foyer(dataDir, ["backup", good])).code, 0);
  const entries = entriesOf(await readFile(good));
  const former = formerArchive(entries, last + 10);
  const archive = join(dir, "former.tar");
  await writeFile(archive, tarOf(former));
  const to = join(dir, "restored");
  t.match(await foyer(to, ["restore", archive]), {
    code: 0,
    stdout: /^Restored 2 worlds, 4 rooms, 1 file, 7 chat events into/,
  });
  t.match(await foyer(to, ["check"]), { code: 0 });
  const copy = openStore(t, to);
  t.strictSame(await allEvents(copy, room), all);
  t.strictSame(await copy.chat.unread("demo", bob), unread);
  t.strictSame(
    (await copy.log.heads(["demo", "other", ""])).map(({ seq }) => seq),
    [last + 11, last + 11, 1],
  );
  t.match((await copy.log.since("demo", last - 1, 9)).entries, [
    { seq: last, tag: 0 },
    { seq: last + 11, type: "log.began" },
  ]);
  const draft = message(ada);
  t.equal((await copy.chat.send("demo", room, draft)).event.id, last + 12);
  t.equal((await allEvents(copy, elsewhere.room, "other")).length, 1);

  const bad = join(dir, "bad.tar");
  for (const [archive, says] of [
    [
      withManifest(entries, (manifest) => (manifest.version = 2)),
      "its table users has other columns",
    ],
    [
      withManifest(former, (manifest) => (manifest.version = 3)),
      "its table chat_events has other columns",
    ],
    [
      // With rows that the manifest does not name.
      [
        ...former.slice(0, -2),
        entries.find(({ path }) => path === rowsAt("log"))!,
        ...former.slice(-2),
      ],
      "its manifest lacks the table log",
    ],
  ] as const) {
    await writeFile(bad, tarOf(archive));
    await t.rejects(
      restore(bad, { dataDir: join(dir, "none") }, () => {}),
      { message: `${bad} is not a complete backup: ${says}` },
    );
  }
});

void t.test("an archive with the audit as a table", async (t) => {
  const { dataDir, store } = await furnished(t, 0);
  await store.worlds.create(worldOf("old"));
  const dir = join(dataDir, "..");
  const good = join(dir, "good.tar");
  t.equal((await foyer(dataDir, ["backup", good])).code, 0);
  const archive = join(dir, "former.tar");
  const entries = entriesOf(await readFile(good));
  const raised = withRows(entries, "log_heads", (rows) =>
    rows.map((row) => (row[0] === "old" ? [...row.with(1, 8)] : row)),
  );
  await writeFile(archive, tarOf(auditedArchive(raised, OLD_AUDIT)));
  const to = join(dir, "restored");
  t.match(await foyer(to, ["restore", archive]), { code: 0 });
  t.match(await foyer(to, ["check"]), { code: 0 });
  await expectOldAudit(t, openStore(t, to));
});

void t.test("a folder that cannot be restored into is named", async (t) => {
  const { dataDir } = await furnished(t, 0);
  const dir = join(dataDir, "..");
  const archive = join(dir, "good.tar");
  t.equal((await foyer(dataDir, ["backup", archive])).code, 0);
  const to = join(dir, "locked");
  // A folder where the lock should be: what SQLite then says is not a word of the system's.
  mkdirSync(join(to, "restore.lock"), { recursive: true });
  const file = join(dir, "file");
  writeFileSync(file, "");
  for (const folder of [to, file, join(file, "below")]) {
    const got = await foyer(folder, ["restore", archive]);
    t.match(got, { code: 1, stdout: "" }, folder);
    t.match(got.stderr, /^foyer: cannot restore into [^\n]+\n$/, folder);
    t.match(got.stderr, `into ${folder}: `, folder);
  }
});

void t.test("a restore that is stopped", async (t) => {
  const { dataDir } = await furnished(t, 2);
  const archive = join(dataDir, "../good.tar");
  t.equal((await foyer(dataDir, ["backup", archive])).code, 0);
  const to = join(dataDir, "../stopped");
  const steps = new Map<string, number>();
  await restore(archive, { dataDir: join(dataDir, "../whole") }, (step) => {
    steps.set(step, 1 + (steps.get(step) ?? 0));
  });
  t.same([...steps.keys()], ["Checking the archive", "Restoring"]);
  for (const [step, count] of steps) {
    for (let last = 1; last <= count; last++) {
      let left = last;
      const stop = (now: string) => {
        if (now === step && --left === 0) throw new Failure("Stopped.");
      };
      const stopped = restore(archive, { dataDir: to }, stop);
      await t.rejects(stopped, { message: /^Stopped\.$/ });
      t.notOk(existsSync(to), `${step} ${last} times: nothing is there`);
    }
  }
});

void t.test("times that cannot be kept", async (t) => {
  const { dataDir, files } = await furnished(t, 2);
  const dir = join(dataDir, "..");
  const archive = join(dir, "odd.tar");
  // Before 1970: no archive says so.
  execFileSync("touch", ["-d", "@-100", join(files.root, "pub/demo/0.pdf")]);
  t.equal((await foyer(dataDir, ["backup", archive])).code, 0);
  const to = join(dir, "restored");
  t.match(await restore(archive, { dataDir: to }, () => {}), {
    files: 2,
    untimed: 0,
  });
  t.equal(statSync(join(to, "media/pub/demo/0.pdf")).mtimeMs, 0);

  const handle = await open(archive);
  const handles = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const utimes = Object.getOwnPropertyDescriptor(handles, "utimes")!;
  const pretend = (code: string) => {
    handles.utimes = async () => {
      throw Object.assign(new Error(code), { code, syscall: "futime" });
    };
  };
  t.teardown(() => Object.defineProperty(handles, "utimes", utimes));
  pretend("EPERM");
  const untimed = join(dir, "untimed");
  t.match(await restore(archive, { dataDir: untimed }, () => {}), {
    files: 2,
    untimed: 2,
  });
  t.equal((await foyer(untimed, ["check"])).code, 0, "all else is there");
  pretend("EIO");
  const failed = join(dir, "failed");
  await t.rejects(
    restore(archive, { dataDir: failed }, () => {}),
    {
      message: `cannot restore into ${failed}: EIO`,
    },
  );
  t.notOk(existsSync(failed));
});
