import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { type FileHandle, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { BACKUP_VERSION, TABLES } from "../../../db/copies/tables.js";
import { backup } from "../../../db/maintenance/backup.js";
import { ArchiveError } from "../../../db/maintenance/manifest.js";
import { restore } from "../../../db/maintenance/restore.js";
import { Failure } from "../../../schemas/plain/failure.js";
import { headOf } from "../../contract/db/store-contract/setup.js";
import { foyer } from "../../support/helper.js";
import { startMailServer } from "../../support/mail-server.js";
import {
  entriesOf,
  type Entry,
  flipped,
  furnished,
  memberOf,
  rowsAt,
  tarOf,
  withBytes,
  withManifest,
  withRows,
} from "./archives.js";

const ROOMS = TABLES.find(({ name }) => name === "rooms")!;

/** Cases that are also tested with the command. */
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
      ...["world_ids", "worlds", "world_issuers", "view_groups"].map(rowsAt),
      ...["rooms", "users", "files", "log_heads", "log", "sequences"].map(rowsAt),
      "manifest.json",
    ],
  );
  t.strictSame(tarOf(entries).length, bytes.length, "tests write the same");
  const isRooms = ({ path }: Entry) => path === rowsAt("rooms");
  const rooms = tables.find(isRooms)!;
  const others = entries.filter((entry) => entry !== rooms);
  /** Changes the first room, or removes it. */
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

  const evil = (path: string) => ({ path, body: Buffer.from("evil") });
  /** Adds an entry, and lists it in the manifest. */
  const named = (entry: Entry) =>
    withManifest([entry, ...entries], ({ members }) => members.push(memberOf(entry) as never));
  const unexpected = (...paths: string[]) =>
    paths.map((path): [string, Entry[], string] => [
      path,
      named(evil(path)),
      `it has an unexpected entry: ${path}`,
    ]);
  /** `says` follows "is not a complete backup: ", unless it starts with "cannot be used". */
  const cases: [name: string, archive: Buffer | Entry[], says: string][] = [
    ["empty", Buffer.alloc(0), "Unrecognized archive"],
    ["text", Buffer.from("not a tar\n".repeat(200)), ""],
    ["zeros", Buffer.alloc(4096), "Unrecognized archive"],
    ["cut in the rows", bytes.subarray(0, bytes.indexOf(rooms.body) + 9), ""],
    ["cut in a file", bytes.subarray(0, 520), ""],
    ["cut after an entry", tarOf(entries.slice(0, 2)), "it lacks its"],
    [
      "a byte of the rows",
      flipped(bytes, bytes.indexOf("The demo")),
      "the table worlds has the wrong checksum",
    ],
    [
      "a byte of a file",
      [{ ...file, body: flipped(file.body) }, other, ...rest],
      "media/pub/demo/0.pdf has the wrong checksum",
    ],
    ["a byte of a name", flipped(bytes, 3), "checksum failure"],
    ["a byte of the manifest", flipped(bytes, bytes.indexOf('"sha256"') + 20), ""],
    ["a missing file", [other, ...rest], "it lacks media/pub/demo/0.pdf"],
    ["a database beside the rows", named({ path: "foyer.db", body: Buffer.from("SQLite") }), ""],
    [
      "a build before the release",
      withManifest(entries, (manifest) => (manifest.version = 4)),
      "it has version 4, of a build before release 0.1.0; restore it with that build",
    ],
    ["missing rows", others, "the table rooms has 0 rows instead of 2"],
    [
      "a table that is not named",
      withManifest(others, (content) => {
        content.tables = content.tables.filter(({ name }) => name !== "rooms");
      }),
      "its manifest lacks the table rooms",
    ],
    [
      "a table that is named twice",
      withManifest(entries, ({ tables }) => tables.push(tables[0]!)),
      "its manifest repeats the table world_ids",
    ],
    [
      "a table of its own",
      withManifest(entries, ({ tables }) => tables.push({ ...tables[0]!, name: "evil" })),
      "it has an unknown table: evil",
    ],
    [
      "other columns",
      withManifest(entries, ({ tables }) => tables[0]!.columns.push("evil")),
      "its table world_ids has other columns",
    ],
    [
      "tables in another order",
      [file, other, rooms, ...others.slice(2)],
      "it has an unexpected entry: tables/world_ids-1.ndjson",
    ],
    [
      "a file after the tables",
      [other, ...tables, file, manifest],
      "it has an unexpected entry: media/pub/demo/0.pdf",
    ],
    [
      "a part out of order",
      entries.map((entry) =>
        isRooms(entry) ? { ...entry, path: "tables/rooms-2.ndjson" } : entry,
      ),
      "it has an unexpected entry: tables/rooms-2.ndjson",
    ],
    ...unexpected("tables/evil-1.ndjson", "tables/rooms-0.ndjson", "tables/../evil"),
    [
      "a row that is no array",
      withRows(entries, "rooms", () => [{}]),
      "a row of rooms does not have 13 values, one per column",
    ],
    [
      "a row that is too short",
      room((row) => row.slice(1)),
      "a row of rooms does not have 13 values, one per column",
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
      `a row of rooms has an invalid ${column}`,
    ]),
    [
      "a row that is not JSON",
      withBytes(entries, "rooms", () => Buffer.from("[\n")),
      "a row of rooms is not JSON",
    ],
    [
      "a row that is not UTF-8",
      withBytes(entries, "rooms", () => Buffer.from([0x22, 0xff, 0x22, 10])),
      "a row of rooms is not UTF-8",
    ],
    [
      "a row that is cut off",
      withBytes(entries, "rooms", (body) => body.subarray(0, -1)),
      "the last row of rooms is truncated",
    ],
    [
      "a row twice",
      withRows(entries, "rooms", (rows) => [...rows, rows[0]!]),
      "cannot be used: a row of rooms cannot be stored: UNIQUE",
    ],
    [
      "a state that there is not",
      withRows(entries, "users", ([row]) => [row!.map((value) => (value === "" ? "evil" : value))]),
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
      "its manifest does not list media/pub/demo/evil",
    ],
    ["something after the end", [...entries, evil("media/x")], ""],
    ["a file twice", [file, ...entries], ""],
    [
      "a link",
      named({
        path: "media/link",
        body: Buffer.alloc(0),
        type: "SymbolicLink",
        linkpath: "/etc/passwd",
      }),
      "",
    ],
    ...unexpected("../evil", "media/../../evil", "/evil", "media/pub/..", "evil"),
    [
      "a newer format",
      withManifest(entries, (content) => (content.version = BACKUP_VERSION + 1)),
      "it is from a newer version of Foyer",
    ],
    [
      "a manifest of something else",
      [file, { ...manifest, body: Buffer.from("[]") }],
      "its manifest is invalid: Expected object",
    ],
    [
      "a manifest that is not JSON",
      [file, { ...manifest, body: Buffer.from("{") }],
      "its manifest is not JSON",
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
      withManifest(entries, ({ members }) => Object.assign(members[1]!, { [field]: value })),
      `its manifest is invalid at /members/1/${field}: `,
    ]),
    ...["yesterday", "2027-13-01T00:00:00.000Z", ""].map((created): [string, Entry[], string] => [
      `created: ${created}`,
      withManifest(entries, (content) => Object.assign(content, { created })),
      "its manifest is invalid at /created: ",
    ]),
    [
      "a file that its manifest names twice",
      withManifest(entries, ({ members }) => members.push(members[1]!)),
      "its manifest names media/pub/demo/1.pdf twice",
    ],
    [
      "a file that is a folder as well",
      named(evil("media/pub")),
      "media/pub is a file and a folder",
    ],
  ];
  const missing = join(dir, "missing");
  const empty = join(dir, "empty");
  mkdirSync(empty);
  for (const [i, [name, archive, says]] of cases.entries()) {
    const path = join(dir, `${i}.tar`);
    await writeFile(path, Array.isArray(archive) ? tarOf(archive) : archive);
    const to = i % 2 === 0 ? missing : empty;
    const refused = await restore(path, { dataDir: to }, () => {}).catch((error: unknown) => error);
    t.ok(refused instanceof ArchiveError, name);
    t.match((refused as Error).message, /^[^\n]+$/, `${name}: one line`);
    const reason = says.startsWith("cannot") ? says : `is not a complete backup: ${says}`;
    t.match((refused as Error).message, new RegExp(`${path} ${reason}`), name);
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
  // Leftovers of a killed restore, and a folder found on new volumes.
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

void t.test("a folder that cannot be restored into is named", async (t) => {
  const { dataDir } = await furnished(t, 0);
  const dir = join(dataDir, "..");
  const archive = join(dir, "good.tar");
  t.equal((await foyer(dataDir, ["backup", archive])).code, 0);
  const to = join(dir, "locked");
  // A folder instead of the lock file makes SQLite fail with a message that is not a system error.
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
  // Archives cannot represent times before 1970.
  execFileSync("touch", ["-d", "@-100", join(files.root, "pub/demo/0.pdf")]);
  t.equal((await foyer(dataDir, ["backup", archive])).code, 0);
  const to = join(dir, "restored");
  t.match(await restore(archive, { dataDir: to }, () => {}), { files: 2, untimed: 0 });
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
  t.match(await restore(archive, { dataDir: untimed }, () => {}), { files: 2, untimed: 2 });
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

interface Report {
  findings: { subject: string; problem: string }[];
}

/** Returns the findings of a check, as subjects and problems. */
async function findings(t: Test, dataDir: string) {
  const json = await foyer(dataDir, ["check", "--json"]);
  const { findings } = JSON.parse(json.stdout) as Report;
  t.equal(json.code, findings.length > 0 ? 1 : 0);
  return findings.map(({ subject, problem }) => `${subject} ${problem}`);
}

void t.test("the mail server is asked, too", async (t) => {
  const { dataDir } = await furnished(t, 0);
  const mail = await startMailServer(t);
  const { host } = new URL(mail.url);
  const checked = async (address: string) => {
    const env = { SMTP_URL: address, MAIL_FROM: "a@example.org", PUBLIC_URL: "https://a.example" };
    const { code, stdout } = await foyer(dataDir, ["check", "--json"], env);
    const [found, ...others] = (JSON.parse(stdout) as Report).findings;
    t.strictSame([others, code], [[], found ? 1 : 0]);
    return found && `${found.subject} ${found.problem}`;
  };
  t.equal(await checked(`smtp://${host}`), undefined);
  t.equal(await checked(`smtp://me:pass%40word@${host}`), undefined);
  const wrong = (await checked(`smtp://me:secret@${host}`)) ?? "";
  t.match(wrong, /^The mail server refuses the user or the password: /);
  t.notMatch(wrong, /secret/);
  await mail.close();
  t.match(await checked(`smtp://${host}`), /^The mail server does not work: .*ECONNREFUSED/);
  t.same(mail.begun, [], "nothing is sent");
});

void t.test("what is well", async (t) => {
  const { dataDir } = await furnished(t, 2);
  t.same(await foyer(dataDir, ["check"]), {
    code: 0,
    stdout: "No findings: 1 world, 2 rooms, 2 files.\n",
    stderr: "",
  });
  t.same(await findings(t, dataDir), []);
  t.equal((await foyer(dataDir, ["check", "more"])).code, 2);
  const none = join(dataDir, "none");
  t.match(await foyer(none, ["check"]), {
    code: 1,
    stderr: `foyer: there is no database in ${none}\n`,
  });
});

void t.test("what is not", async (t) => {
  const { dataDir, store, files } = await furnished(t, 4);
  const media = (name: string) => join(files.root, "pub/demo", name);
  writeFileSync(media("0.pdf"), "bytes of pub/demo/X.pdf");
  truncateSync(media("1.pdf"), 3);
  rmSync(media("2.pdf"));
  writeFileSync(media("orphan"), "x");
  const head = await headOf(store);
  await store.close();
  const db = new Database(join(dataDir, "foyer.db"));
  db.pragma("foreign_keys = OFF");
  db.exec(`DELETE FROM log WHERE seq = 3;
    UPDATE view_groups SET rooms = 7;
    UPDATE worlds SET file_bytes = 1;
    INSERT INTO room_modules VALUES ('demo', 'none', 'm');
    INSERT INTO world_ids (id) VALUES ('w');
    INSERT INTO worlds (id, title, config, permission_config, domain) VALUES ('w', 'W', '{}', '{}', 'w');
    INSERT INTO users (id, world_id, client_id, profile, traits, last_seen, client_state) VALUES
      ('u1', 'demo', 'a', NULL, '[]', 0, NULL), ('u2', 'w', 'a', NULL, '[]', 0, NULL),
      ('u3', 'demo', 'b', '{', '[]', 0, NULL), ('u4', 'demo', 'c', NULL, '[', 0, NULL),
      ('u5', 'demo', 'd', NULL, '[]', 0, '{');
    INSERT INTO blocks VALUES ('demo', 'u1', 'u2');
    INSERT INTO log (world_id, seq, tag, at, type, author, detail) VALUES
      ('demo', 3, 1, 0, 'x', '{}', '{}'), ('demo', 900, 1, 0, 'x', '{}', '{'), ('', 7, 1, 0, 'x', '', '{}');
    INSERT INTO chat_events (world_id, id, tag, channel, type, timestamp, content) VALUES ('demo', 3, 1, 1, 0, 0, '{}');
    INSERT INTO announcements (id, world_id, text, state) VALUES ('a', 'none', 'x', 'draft');`);
  db.close();
  const expected = [
    "database a row of announcements refers to a row of world_ids that does not exist",
    "database a row of blocks refers to a row of users that does not exist",
    "database a row of room_modules refers to a row of rooms that does not exist",
    "database the user u3 cannot be read",
    "database the user u4 cannot be read",
    "database the user u5 cannot be read",
    "database a view group of the world demo counts 7 rooms but has 2",
    "database the world demo counts 1 bytes of files but has 92",
    "database 1 event of chat without a channel",
    "database the world w has no last entry in its log",
    "database the log of all worlds names 2 as its last entry and has a later one",
    `database the log of the world demo names ${head} as its last entry and has a later one`,
    "database the log of the world demo has 1 number twice",
    "database the log of all worlds has 1 entry that cannot be read",
    "database the log of the world demo has 1 entry that cannot be read",
    "pub/demo/0.pdf has the wrong checksum",
    "pub/demo/1.pdf has 3 bytes, but its record says 23",
    "pub/demo/2.pdf is missing",
    "pub/demo/orphan has no record",
  ];
  t.same(await findings(t, dataDir), expected);
  t.same(await foyer(dataDir, ["check"]), {
    code: 1,
    stdout: expected.map((line) => `${line}\n`).join(""),
    stderr: "foyer: There are 19 findings.\n",
  });
});

void t.test("a damaged database", async (t) => {
  const { dataDir, store } = await furnished(t, 1);
  await store.close();
  // Damages everything except the schema, without which nothing can be checked.
  const db = new Database(join(dataDir, "foyer.db"), { readonly: true });
  const pages = db
    .prepare<[], number>("SELECT pageno FROM dbstat WHERE name != 'sqlite_schema'")
    .pluck()
    .all();
  db.close();
  const file = await open(join(dataDir, "foyer.db"), "r+");
  for (const page of pages.filter((page) => page > 4)) {
    await file.write(Buffer.alloc(512, 0xff), 0, 512, 4096 * (page - 1));
  }
  await file.close();
  const found = await findings(t, dataDir);
  t.match(found[0], /^database (Tree \d+.* page \d+|table \w+: )/, "where");
  t.ok(found.length > 1 && found.length < 20, "of much, the beginning");
  t.ok(found.every((line) => line.startsWith("database ")));
  t.match(await foyer(dataDir, ["backup", join(dataDir, "x.tar")]), {
    code: 1,
    stderr: /^foyer: .*(damaged|malformed).*restore .*backup\n$/,
  });
  writeFileSync(join(dataDir, "foyer.db"), "");
  t.match(await foyer(dataDir, ["check"]), {
    code: 1,
    stderr: /^foyer: .*uploaded files exist; restore a backup.*\n$/,
  });
  const empty = join(dataDir, "empty");
  mkdirSync(empty);
  writeFileSync(join(empty, "foyer.db"), "");
  for (const args of [["check"], ["world", "list"]]) {
    t.match(await foyer(empty, args), { code: 1, stderr: /^foyer: .*it is empty\n$/ });
    t.equal(statSync(join(empty, "foyer.db")).size, 0, "and stays so");
  }
  writeFileSync(join(dataDir, "foyer.db"), "no database at all".repeat(100));
  t.match(await foyer(dataDir, ["check"]), {
    code: 1,
    stderr: /^foyer: .*file is not a database; .*restore a backup\n$/,
  });
});

void t.test("what is under way is no finding", async (t) => {
  const { dataDir, store, files, keys } = await furnished(t, 2);
  const bytes = (async function* () {
    yield Buffer.from("new");
  })();
  await files.put("pub/demo/new.pdf", bytes, async () => {
    t.same(await findings(t, dataDir), [], "a file that is not yet recorded");
  });
  await files.remove("pub/demo/new.pdf");
  await files.discard(keys, async () => {
    const forgotten = await store.worlds.delete("demo");
    t.same(await findings(t, dataDir), [], "files that are not yet gone");
    return forgotten;
  });
  t.same(await findings(t, dataDir), []);
});

void t.test("files that are deleted during a backup", async (t) => {
  const { dataDir, store, files, keys } = await furnished(t, 4);
  const target = join(dataDir, "../backup.tar");
  const bytes = readFileSync(join(files.root, keys[0]!)).length;
  let begun = 0;
  const made = await backup({ dataDir }, target, (step, done) => {
    if (step.startsWith("Copying") && done === 0) begun++;
    if (!step.startsWith("Writing") || !existsSync(join(files.root, keys[3]!))) return;
    // Synchronous, because the backup continues with the files once this callback returns.
    const db = new Database(join(dataDir, "foyer.db"));
    db.prepare("DELETE FROM files WHERE key IN (?, ?)").run(keys[2], keys[3]);
    db.prepare("UPDATE worlds SET file_bytes = ?").run(2 * bytes);
    db.close();
    for (const key of keys.slice(2)) rmSync(join(files.root, key));
  });
  t.ok(begun <= 1, "it did not begin again");
  t.same(made, {
    worlds: 1,
    rooms: 2,
    files: 2,
    chat_events: 0,
    questions: 0,
    polls: 0,
    bytes: 2 * bytes,
    damaged: [],
  });
  await store.close();
  const to = join(dataDir, "../restored");
  t.equal((await foyer(to, ["restore", target])).code, 0);
  const check = await foyer(to, ["check"]);
  t.equal(check.code, 0, check.stdout);
  t.match(check.stdout, /1 world, 2 rooms, 2 files/);
  t.notOk(readFileSync(target).includes(keys[3]!), "no byte of its key");
});

void t.test("a file that is lost already does not stop a backup", async (t) => {
  const { dataDir, files, keys } = await furnished(t, 3);
  await files.remove(keys[0]!);
  await writeFile(join(files.root, keys[2]!), "other bytes");
  const target = join(dataDir, "../backup.tar");
  const { code, stderr } = await foyer(dataDir, ["backup", target]);
  t.equal(code, 0);
  t.equal(
    stderr,
    [keys[0], keys[2]]
      .map((key) => `foyer: warning: ${key} was already missing or damaged.\n`)
      .join(""),
  );
  const to = join(dataDir, "../restored");
  t.equal((await foyer(to, ["restore", target])).code, 0);
  const [before, after] = await Promise.all([dataDir, to].map((dir) => foyer(dir, ["check"])));
  t.equal(before!.code, 1);
  t.same(after, before, "as it was, faults included");
});

void t.test("what a backup refuses", async (t) => {
  const { dataDir } = await furnished(t, 1);
  const dir = join(dataDir, "..");
  const target = join(dir, "backup.tar");
  await writeFile(target, "precious");
  const cases: [args: string[], code: number, stderr: RegExp, from?: string][] = [
    [[target], 1, /^foyer: .*backup\.tar already exists\.\n$/],
    [[dir], 1, /^foyer: .* already exists\.\n$/],
    [[join(dir, "none/x.tar")], 1, /^foyer: ENOENT.*\n$/],
    [[join(dir, "x.tar")], 1, /^foyer: there is no database in .*none\n$/, join(dir, "none")],
    [[], 2, /missing required argument/],
  ];
  for (const [args, code, stderr, from = dataDir] of cases) {
    const refused = await foyer(from, ["backup", ...args]);
    t.match(refused, { code, stdout: "", stderr });
  }
  t.equal(await readFile(target, "utf8"), "precious");
  t.notOk(existsSync(join(dir, "none")));
  t.same(readdirSync(dir).sort(), ["backup.tar", "data"]);
});
