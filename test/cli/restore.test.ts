import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  promises,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import Database from "better-sqlite3";
import t from "tap";
import { ArchiveError } from "../../db/maintenance/archive.js";
import { restore } from "../../db/maintenance/restore.js";
import { foyer } from "../helper.js";
import { furnished } from "./furnished.js";
import {
  entriesOf,
  flipped,
  memberOf,
  tarOf,
  withManifest,
  type Entry,
} from "./tar.js";

/** Those that are also refused by a process of its own. */
const AS_A_COMMAND = new Set([
  "text",
  "cut in the database",
  "a byte of the database",
  "a byte of a file",
  "a missing file",
  "../evil",
]);

void t.test("an archive that is not whole is refused", async (t) => {
  const { dataDir } = await furnished(t, 2);
  const dir = join(dataDir, "..");
  const good = join(dir, "good.tar");
  t.equal((await foyer(dataDir, ["backup", good])).code, 0);
  const bytes = await readFile(good);
  const entries = entriesOf(bytes);
  const [file, other, database, manifest] = entries as [
    Entry,
    Entry,
    Entry,
    Entry,
  ];
  t.same(
    entries.map(({ path }) => path),
    [
      "media/pub/demo/0.pdf",
      "media/pub/demo/1.pdf",
      "foyer.db",
      "manifest.json",
    ],
  );
  t.strictSame(tarOf(entries).length, bytes.length, "tests write the same");

  const evil = (path: string) => ({ path, body: Buffer.from("evil") });
  /** With an entry that the manifest names as well. */
  const named = (entry: Entry) =>
    withManifest([database, entry, file, other, manifest], ({ members }) =>
      members.push(memberOf(entry) as never),
    );
  /** With another database, which the manifest names. */
  const swapped = (body: Buffer) =>
    withManifest([{ ...database, body }, file, other, manifest], (content) => {
      content.members[2] = memberOf({ ...database, body }) as never;
    });
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
    ["cut in the database", bytes.subarray(0, 9999), whole],
    ["cut in a file", bytes.subarray(0, 520), whole],
    ["cut after an entry", tarOf(entries.slice(0, 2)), `${whole}it lacks its`],
    [
      "a byte of the database",
      flipped(bytes, bytes.indexOf(database.body) + 5000),
      `${whole}foyer.db has the wrong checksum`,
    ],
    [
      "a byte of a file",
      [database, { ...file, body: flipped(file.body) }, other, manifest],
      `${whole}media/pub/demo/0.pdf has the wrong checksum`,
    ],
    ["a byte of a name", flipped(bytes, 3), `${whole}checksum failure`],
    [
      "a byte of the manifest",
      flipped(bytes, bytes.indexOf('"sha256"') + 20),
      `${whole}media/pub/demo/0.pdf has the wrong checksum`,
    ],
    [
      "a missing file",
      [database, other, manifest],
      `${whole}it lacks media/pub/demo/0.pdf`,
    ],
    ["no database", [file, other, manifest], `${whole}it lacks foyer.db`],
    [
      "an extra file",
      [database, evil("media/pub/demo/evil"), file, other, manifest],
      `${whole}its manifest does not name media/pub/demo/evil`,
    ],
    ["something after the end", [...entries, evil("media/x")], whole],
    ["a file twice", [database, file, file, other, manifest], whole],
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
      withManifest(entries, (content) => (content.version = 2)),
      `${whole}it was made by a newer Foyer`,
    ],
    [
      "a manifest of something else",
      [database, { ...manifest, body: Buffer.from("[]") }],
      `${whole}its manifest is wrong: Expected object`,
    ],
    [
      "a manifest that is not JSON",
      [database, { ...manifest, body: Buffer.from("{") }],
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
      [database, evil("media/pub"), file, other, manifest],
      `${whole}media/pub/demo/0.pdf cannot be unpacked: E`,
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
    const refused = await restore(path, to, () => {}).catch(
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

void t.test("times that cannot be kept", async (t) => {
  const { dataDir, files } = await furnished(t, 2);
  const dir = join(dataDir, "..");
  const archive = join(dir, "odd.tar");
  // Before 1970: no archive says so.
  execFileSync("touch", ["-d", "@-100", join(files.root, "pub/demo/0.pdf")]);
  t.equal((await foyer(dataDir, ["backup", archive])).code, 0);
  const to = join(dir, "restored");
  t.match(await restore(archive, to, () => {}), { files: 2, untimed: 0 });
  t.equal(statSync(join(to, "media/pub/demo/0.pdf")).mtimeMs, 0);

  const { utimes } = promises;
  const pretend = (code: string) => {
    promises.utimes = async () => {
      throw Object.assign(new Error(code), { code, syscall: "utime" });
    };
    syncBuiltinESMExports();
  };
  t.teardown(() => {
    promises.utimes = utimes;
    syncBuiltinESMExports();
  });
  pretend("EPERM");
  const untimed = join(dir, "untimed");
  t.match(await restore(archive, untimed, () => {}), { files: 2, untimed: 3 });
  t.equal((await foyer(untimed, ["check"])).code, 0, "all else is there");
  pretend("EIO");
  const failed = join(dir, "failed");
  await t.rejects(
    restore(archive, failed, () => {}),
    {
      message: `cannot restore into ${failed}: EIO`,
    },
  );
  t.notOk(existsSync(failed));
});
