import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { LocalFiles } from "../../../db/blobs/folder/local-files.js";
import { type Store, StoreError } from "../../../db/contract/store.js";
import { check } from "../../../db/maintenance/check.js";
import { deleteFile, deleteWorld } from "../../../db/world-management.js";
import { openStore } from "../../support/database.js";
import { finished, unfinished } from "../../support/files.js";
import { worldOf } from "../../support/helper.js";
import { testdir } from "../../support/testdir.js";
import { fileStoreContract, pieces, noop } from "./file-contract.js";
import { guest, SECRET } from "./store-contract/setup.js";

// Files in a folder, with their records in the database next to them.

function filesIn(t: Test, dataDir: string): LocalFiles {
  const files = new LocalFiles(dataDir);
  t.teardown(() => files.close());
  return files;
}

const x = () => pieces(Buffer.from("x"));

/** Starts a process that runs module code, whose imports are paths below `db/`. */
function run(t: Test, lines: string) {
  const script = lines.replace(/from "(.*?)"/g, (_, path: string) => {
    return `from ${JSON.stringify(new URL(`../../../db/${path}`, import.meta.url))}`;
  });
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.teardown(() => child.kill("SIGKILL"));
  return child;
}

void t.test("a folder", (t) => fileStoreContract(t, (t) => filesIn(t, testdir(t))));

void t.test("where files lie, and who may read them", async (t) => {
  const dataDir = join(testdir(t), "new");
  const files = filesIn(t, dataDir);
  await files.put("pub/demo/a.pdf", x(), noop);
  if (process.platform !== "win32") {
    const modes = { media: 0o700, "media/pub/demo": 0o700, "media/pub/demo/a.pdf": 0o600 };
    for (const [path, mode] of Object.entries({ ...modes, work: 0o700 })) {
      t.equal(statSync(join(dataDir, path)).mode & 0o777, mode, path);
    }
  }
  await files.close();
  t.strictSame(readdirSync(join(dataDir, "work")), [], "nothing is left");
});

/** Leaves what a killed process would: a work folder, and files already in place. */
function wreck(dataDir: string, name: string): void {
  const work = join(dataDir, "work", name);
  const media = join(dataDir, "media/pub/demo");
  for (const folder of [work, media]) mkdirSync(folder, { recursive: true });
  for (const end of ["told", "untold"]) mkdirSync(join(work, `pub%2Fdemo%2F${name}-${end}.note`));
  for (const [path, content] of Object.entries({
    [`${work}.lock`]: "",
    [join(work, "1")]: "half a file",
    [join(work, "2.clean")]: "half an image",
    [join(work, "5.note")]: `pub/demo/${name}-never`,
    [join(work, "6.note")]: "",
    [join(media, `${name}-told`)]: "whole",
    [join(media, `${name}-untold`)]: "whole",
    [join(media, `${name}-old`)]: "whole",
  })) {
    writeFileSync(path, content);
  }
}

void t.test("what a crash left is swept", async (t) => {
  const dataDir = testdir(t);
  const files = filesIn(t, dataDir);
  for (const name of ["one", "two"]) wreck(dataDir, name);
  let asked = 0;
  await files.sweep(async (key) => {
    asked++;
    return key.endsWith("-told");
  });
  t.strictSame(await unfinished(dataDir), []);
  t.strictSame(readdirSync(join(dataDir, "work")), [], "no lock either");
  const left = readdirSync(join(dataDir, "media/pub/demo")).sort();
  t.strictSame(left, ["one-old", "one-told", "two-old", "two-told"]);
  t.equal(asked, 6, "and only noted files were looked at");
});

void t.test("what another process works on is left alone", async (t) => {
  const dataDir = testdir(t);
  const files = filesIn(t, dataDir);
  const child = run(
    t,
    `import { LocalFiles } from "blobs/folder/local-files.js";
     const files = new LocalFiles(${JSON.stringify(dataDir)});
     await files.put("pub/whole", [Buffer.from("x")], async () => {
       process.stdout.write("ready");
       await new Promise(() => setInterval(() => {}, 1000));
     });`,
  );
  await once(child.stdout, "data");
  const path = join(dataDir, "media/pub/whole");
  await files.sweep(async () => false);
  t.ok(existsSync(path), "its process lives");
  t.equal((await unfinished(dataDir)).length, 1, "and so does its note");

  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
  await files.sweep(async () => false);
  t.notOk(existsSync(path), "its link was never returned");
  t.strictSame(await unfinished(dataDir), []);
});

void t.test("a folder that was taken away is made again", async (t) => {
  const dataDir = testdir(t);
  const files = filesIn(t, dataDir);
  for (const key of ["pub/demo/a", "pub/demo/b"]) {
    await files.put(key, x(), noop);
    t.ok(existsSync(join(dataDir, "media", key)), key);
    rmSync(join(dataDir, "media/pub"), { recursive: true });
  }
});

void t.test("a fault of the disk passes", async (t) => {
  const dataDir = testdir(t);
  const files = filesIn(t, dataDir);
  const work = join(dataDir, "work");
  const put = () => files.put("a", x(), noop);
  writeFileSync(work, "where the folder should be");
  for (let i = 0; i < 2; i++) await t.rejects(put(), { name: "StoreError", problem: "unusable" });
  t.strictSame(await finished(dataDir), []);
  rmSync(work);
  await put();
  t.equal((await finished(dataDir)).length, 1);
});

const newKey = (id: string = randomUUID()) => `pub/demo/${id}.${SECRET}.pdf`;

/** Creates a data folder with a world and a file. */
async function oneFile(t: Test) {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  const files = filesIn(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  const id = randomUUID();
  const put = (key: string) =>
    files.put(key, x(), (stored) => store.files.add("demo", guest, { key, ...stored }, 1e9));
  await put(newKey(id));
  const counts = async () => [(await finished(dataDir)).length, (await unfinished(dataDir)).length];
  const findings = async () => (await check({ dataDir }, () => {})).findings;
  return { dataDir, id, key: newKey(id), store, files, put, counts, findings };
}

for (const [moment, isGone] of Object.entries({ before: false, after: true })) {
  void t.test(`a process is killed ${moment} the record goes`, async (t) => {
    const { dataDir, id, key, store, files, counts, findings } = await oneFile(t);
    const child = run(
      t,
      `import { deleteFile } from "world-management.js";
       import { LocalFiles } from "blobs/folder/local-files.js";
       import { openSqliteStore } from "engines/sqlite/index.js";
       const dataDir = ${JSON.stringify(dataDir)};
       const store = openSqliteStore(dataDir);
       const remove = store.files.delete;
       store.files.delete = async (...args) => {
         if (${isGone}) await remove(...args);
         process.kill(process.pid, "SIGKILL");
         await new Promise(() => {});
       };
       await deleteFile({ store, files: new LocalFiles(dataDir) }, "demo", ${JSON.stringify(id)});`,
    );
    t.strictSame(await once(child, "exit"), [null, "SIGKILL"]);
    t.strictSame(await counts(), [1, 1], "its bytes are there, and a note of it");
    t.equal(await store.files.has(key), !isGone);
    t.strictSame(await findings(), []);
    await files.sweep((key) => store.files.has(key));
    t.strictSame(await counts(), [isGone ? 0 : 1, 0]);
    t.strictSame(await findings(), []);
  });
}

void t.test("an upload to a world that is being deleted", async (t) => {
  const { dataDir, store, files, put } = await oneFile(t);
  let isLate = false;
  const keys = async (world: string) => {
    const found = await store.files.keys(world);
    if (!isLate) {
      isLate = true;
      await put(newKey());
    }
    return found;
  };
  const late: Store = { ...store, files: { ...store.files, keys } };
  // Simulates a crash after the records are deleted.
  files.remove = () => Promise.reject(new Error("crashed"));
  await t.rejects(deleteWorld({ store: late, files }, "demo"), /crashed/);
  await files.close();
  t.equal((await finished(dataDir)).length, 2);
  await filesIn(t, dataDir).sweep((key) => store.files.has(key));
  t.strictSame(await finished(dataDir), [], "a sweep finds both");
});

const failures: [name: string, error: Error, notes: number][] = [
  ["a busy store", new StoreError("busy", "x"), 0],
  ["a fault", new Error("x"), 0],
  // The record may have been deleted anyway: the next start checks.
  ["doubt", new StoreError("doubtful", "x"), 1],
];

for (const [name, error, notes] of failures) {
  void t.test(`what a deletion leaves that fails by ${name}`, async (t) => {
    const { dataDir, id, store, files, counts, findings } = await oneFile(t);
    const fail = () => Promise.reject(error);
    const failing: Store = { ...store, files: { ...store.files, delete: fail } };
    await t.rejects(deleteFile({ store: failing, files }, "demo", id), error);
    t.strictSame(await counts(), [1, notes]);
    t.strictSame(await findings(), []);
    await deleteFile({ store, files }, "demo", id);
    t.strictSame(await finished(dataDir), [], "again");
  });
}
