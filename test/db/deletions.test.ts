import { spawn } from "node:child_process";
import { once } from "node:events";
import { hash, randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { check } from "../../db/maintenance/check.js";
import { LocalFiles } from "../../db/blobs/folder/files.js";
import { type Store, StoreError } from "../../db/contract/store.js";
import { copyAsKilled, heldIn, openStore } from "../database.js";
import { finished, textsBelow, unfinished } from "../files.js";
import { until, worldOf } from "../helper.js";
import { filesOf } from "../listed.js";
import { deleteFile, deleteWorld } from "../../db/worlds.js";
import { expectErased, marksIn } from "./expect-erased.js";
import { pieces } from "./file-contract.js";
import { testdir } from "../testdir.js";

const uploader = { clientId: "guest", traits: new Set<string>() };

/** The key of a new file, its id, which stays in the log, and the part of it that has to be erased. */
function newKey() {
  const id = randomUUID();
  const secret = randomBytes(9).toString("base64url");
  return { id, secret, key: `pub/demo/${id}.${secret}.pdf` };
}

const record = (store: Store, key: string) =>
  store.files.add("demo", uploader, { key, size: 1, sha256: "00" }, 1e9);

void t.test("the key of a deleted file is in no byte", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  // With these keys, in this order, SQLite moves some rows to other pages before
  // they are deleted, and leaves their bytes in the old ones. It is rare: one
  // key in thousands.
  const added = Array.from({ length: 3000 }, (_, i) => {
    const digits = hash("sha256", `1 ${i}`);
    const id = [0, 8, 12, 16, 20]
      .map((at, n) => digits.slice(at, [8, 12, 16, 20, 32][n]))
      .join("-");
    const secret = digits.slice(32, 44);
    const extension = i % 3 === 0 ? "jpeg" : "pdf";
    return { id, secret, key: `pub/demo/${id}.${secret}.${extension}` };
  });
  const bySecret = added
    .slice(0, 2000)
    .sort((a, b) => (a.secret < b.secret ? -1 : 1));
  const rounds = [
    { adds: added.slice(0, 2000), deletes: bySecret.slice(0, 1500) },
    { adds: added.slice(2000), deletes: added.slice(2000, 2900) },
  ];
  for (const { adds, deletes } of rounds) {
    await Promise.all(adds.map(({ key }) => record(store, key)));
    await Promise.all(deletes.map(({ id }) => store.files.delete("demo", id)));
  }
  const doomed = rounds.flatMap(({ deletes }) => deletes);
  const before = await filesOf(store, "demo");
  // To close it scrubs what is due.
  await store.close();
  t.strictSame(
    await textsBelow(
      dataDir,
      doomed.map(({ secret }) => secret),
    ),
    [],
  );
  const gone = new Set(doomed);
  const left = added
    .filter((file) => !gone.has(file))
    .map(({ secret }) => secret);
  t.strictSame(await textsBelow(dataDir, left), left, "the others stay");

  const again = openStore(t, dataDir);
  t.strictSame(await filesOf(again, "demo"), before, "in their order");
  const { findings } = await check({ dataDir }, () => {});
  t.strictSame(
    findings.filter(({ subject }) => subject === "database"),
    [],
  );
});

void t.test("a store that stays open erases soon", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  const { id, secret, key } = newKey();
  await record(store, key);
  // A reader keeps the log from being emptied.
  const reader = new Database(join(dataDir, "foyer.db"), { readonly: true });
  t.teardown(() => reader.close());
  reader.exec("BEGIN");
  reader.prepare("SELECT * FROM files").all();
  await store.files.delete("demo", id);

  const crashed = copyAsKilled(dataDir);
  t.strictSame(heldIn(crashed, [secret]), [secret], "in its log");

  t.not(marksIn(dataDir).length, 0);
  reader.close();
  await until(() => marksIn(dataDir).length === 0);
  await store.close();
  t.strictSame(heldIn(dataDir, [secret]), []);

  const next = openStore(t, crashed);
  await until(() => heldIn(crashed, [secret]).length === 0);

  const undisturbed = newKey();
  await record(next, undisturbed.key);
  await next.files.delete("demo", undisturbed.id);
  await expectErased(crashed, [undisturbed.secret]);
});

void t.test("an erased user takes its folded fields along", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  const visitor = { tokenId: "ada", traits: new Set<string>() };
  const profile = { fields: { city: "secret town" } };
  const ada = await store.users.enter("demo", { ...visitor, profile });
  const texts = ["secret town", "SECRET TOWN"];
  t.strictSame(heldIn(dataDir, texts), texts);
  await store.users.erase("demo", { user_id: ada.id });
  await expectErased(dataDir, texts);
});

void t.test("a world takes the keys of its files with it", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  await store.worlds.create(worldOf("other"));
  const keys = Array.from({ length: 600 }, newKey);
  for (const half of [keys.slice(0, 300), keys.slice(300)]) {
    await Promise.all(half.map(({ key }) => record(store, key)));
  }
  t.equal((await store.worlds.delete("demo")).length, keys.length);
  await store.close();
  t.strictSame(
    await textsBelow(
      dataDir,
      keys.map(({ secret }) => secret),
    ),
    [],
  );
});

/** A folder with a file, by the parts of its key. */
async function oneFile(t: Test, dataDir: string) {
  const store = openStore(t, dataDir);
  const files = new LocalFiles(dataDir);
  t.teardown(() => files.close());
  await store.worlds.create(worldOf("demo"));
  const made = newKey();
  await files.put(made.key, pieces(Buffer.from("x")), (stored) =>
    store.files.add("demo", uploader, { key: made.key, ...stored }, 1e9),
  );
  return { ...made, store, files };
}

for (const [moment, isGone] of [
  ["before", false],
  ["after", true],
] as const) {
  void t.test(`a process is killed ${moment} the record goes`, async (t) => {
    const dataDir = testdir(t);
    const { id, key, store, files } = await oneFile(t, dataDir);
    const module = (path: string) =>
      JSON.stringify(new URL(`../../db/${path}`, import.meta.url));
    const child = spawn(
      process.execPath,
      [
        "--input-type=module",
        "-e",
        `import { deleteFile } from ${module("worlds.js")};
         import { LocalFiles } from ${module("blobs/folder/files.js")};
         import { openSqliteStore } from ${module("sqlite/index.js")};
         const dataDir = ${JSON.stringify(dataDir)};
         const store = openSqliteStore(dataDir);
         const remove = store.files.delete;
         store.files.delete = async (...args) => {
           if (${isGone}) await remove(...args);
           process.kill(process.pid, "SIGKILL");
           await new Promise(() => {});
         };
         await deleteFile({ store, files: new LocalFiles(dataDir) }, "demo", ${JSON.stringify(id)});`,
      ],
      { stdio: "inherit" },
    );
    t.teardown(() => child.kill("SIGKILL"));
    const [, signal] = (await once(child, "exit")) as [unknown, string];
    t.equal(signal, "SIGKILL");
    t.equal((await finished(dataDir)).length, 1, "its bytes are there");
    t.equal((await unfinished(dataDir)).length, 1, "and a note of it");
    t.equal(await store.files.has(key), !isGone);
    const { findings } = await check({ dataDir }, () => {});
    t.strictSame(findings, [], "no finding");

    await files.sweep((key) => store.files.has(key));
    t.equal((await finished(dataDir)).length, isGone ? 0 : 1);
    t.strictSame(await unfinished(dataDir), []);
    t.strictSame((await check({ dataDir }, () => {})).findings, []);
  });
}

void t.test("an upload to a world that is being deleted", async (t) => {
  const dataDir = testdir(t);
  const { store, files } = await oneFile(t, dataDir);
  let isLate = false;
  const late: Store = {
    ...store,
    files: {
      ...store.files,
      async keys(world) {
        const found = await store.files.keys(world);
        if (isLate) return found;
        isLate = true;
        const { key } = newKey();
        await files.put(key, pieces(Buffer.from("y")), (stored) =>
          store.files.add("demo", uploader, { key, ...stored }, 1e9),
        );
        return found;
      },
    },
  };
  // As of a crash after the records are gone.
  files.remove = () => Promise.reject(new Error("crashed"));
  await t.rejects(deleteWorld({ store: late, files }, "demo"), /crashed/);
  await files.close();
  t.equal((await finished(dataDir)).length, 2);
  const next = new LocalFiles(dataDir);
  await next.sweep((key) => store.files.has(key));
  t.strictSame(await finished(dataDir), [], "a sweep finds both");
  await next.close();
});

void t.test("what a failed deletion leaves", async (t) => {
  const cases: [name: string, error: Error, notes: number][] = [
    ["busy", new StoreError("busy", "x"), 0],
    ["a fault", new Error("x"), 0],
    // It may be deleted all the same: the next start looks.
    ["doubtful", new StoreError("doubtful", "x"), 1],
  ];
  for (const [name, error, notes] of cases) {
    const dataDir = testdir(t);
    const { id, store, files } = await oneFile(t, dataDir);
    const failing: Store = {
      ...store,
      files: { ...store.files, delete: () => Promise.reject(error) },
    };
    await t.rejects(
      deleteFile({ store: failing, files }, "demo", id),
      error,
      name,
    );
    t.equal((await finished(dataDir)).length, 1, name);
    t.equal((await unfinished(dataDir)).length, notes, name);
    t.strictSame((await check({ dataDir }, () => {})).findings, [], name);
    await deleteFile({ store, files }, "demo", id);
    t.strictSame(await finished(dataDir), [], `${name}: and again`);
    await files.close();
    await store.close();
  }
});
