import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { deserialize, serialize } from "node:v8";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";
import t from "tap";
import { bundled, startFoyer, until } from "../helper.js";
import { testdir } from "../testdir.js";

// The command keeps the compiled code of its modules in DATA_DIR/code. What can be wrong with
// it must neither stop a server nor run.

type Test = Parameters<typeof startFoyer>[0];

interface Place {
  dataDir: string;
  folder: string;
  path: string;
}

type Modules = Record<string, { source: number; code: Buffer }>;

/** A folder of data with a cache, as a first start leaves it. */
async function cached(t: Test): Promise<Place> {
  const dataDir = testdir(t);
  const folder = join(dataDir, "code");
  const place = { dataDir, folder, path: join(folder, "cache") };
  await served(t, place, () => until(() => versionOf(place) !== undefined));
  return place;
}

/** Starts a server on the data, and stops it. @returns what it printed on stderr. */
async function served(
  t: Test,
  { dataDir }: Place,
  meanwhile = () => Promise.resolve(),
): Promise<string> {
  const server = await startFoyer(t, dataDir, [], {}, bundled);
  const answer = await fetch(`${server.address}/healthz`);
  t.equal(answer.status, 200);
  await meanwhile();
  server.signal("SIGTERM");
  const { code, stderr } = await server.finished;
  t.equal(code, 0);
  return stderr;
}

/** Identifies the file of a cache; undefined without one. Each write makes another file. */
function versionOf({ path }: Place): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && `${stats.ino} ${stats.mtimeMs}`;
}

/** Makes a cache whose code of a module prints a word, and whose checksums are right. */
function plant({ path }: Place): void {
  const modules = deserialize(readFileSync(path).subarray(4)) as Modules;
  const name = Object.keys(modules).find((key) => /^logging-/.test(key))!;
  const text = readFileSync(join(bundled, "..", name), "utf8");
  const head = "(function (exports, require, module, __filename, __dirname) { ";
  const length = `${head}${text}\n})`.length;
  // V8 compares the length of the source only.
  const evil = 'process.stderr.write("planted");'.padEnd(length, " ");
  modules[name]!.code = new Script(evil).createCachedData();
  const body = serialize(modules);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  writeFileSync(path, Buffer.concat([checksum, body]));
}

void t.test(
  "the next start takes its code from the folder of data",
  async (t) => {
    const place = await cached(t);
    t.equal(statSync(place.folder).mode & 0o777, 0o700);
    t.equal(statSync(place.path).mode & 0o777, 0o600);
    const before = versionOf(place);
    await served(t, place);
    t.equal(versionOf(place), before, "nothing was missing");
  },
);

void t.test("a cache of no use is replaced", async (t) => {
  const place = await cached(t);
  const whole = readFileSync(place.path);
  const damaged = Buffer.from(whole);
  damaged.fill(0xa5, whole.length / 2, whole.length / 2 + 100);
  for (const [name, bytes] of Object.entries({
    empty: Buffer.alloc(0),
    cut: whole.subarray(0, whole.length / 3),
    damaged,
    other: Buffer.from("This is no cache."),
  })) {
    writeFileSync(place.path, bytes);
    const before = versionOf(place);
    await served(t, place, () => until(() => versionOf(place) !== before));
    t.equal(readFileSync(place.path).length > 1_000_000, true, name);
  }
});

void t.test("code in a folder that others may write is not run", async (t) => {
  const place = await cached(t);
  const { dataDir, folder } = place;
  plant(place);
  t.match(
    await served(t, place).catch(String),
    /planted|not a function/,
    "the planted code works in a private folder",
  );
  const closed = () => chmodSync(folder, 0o700);
  for (const [name, open, close] of [
    ["the folder", () => chmodSync(folder, 0o777), closed],
    ["its group", () => chmodSync(folder, 0o770), closed],
    [
      "DATA_DIR",
      () => chmodSync(dataDir, 0o777),
      () => chmodSync(dataDir, 0o700),
    ],
    [
      "a link",
      () => {
        renameSync(folder, join(dataDir, "media-of-others"));
        symlinkSync("media-of-others", folder);
      },
      () => {},
    ],
  ] as const) {
    open();
    t.notMatch(await served(t, place), /planted/, name);
    close();
  }
});

void t.test("a folder that takes no cache stops nothing", async (t) => {
  const dataDir = testdir(t);
  const folder = join(dataDir, "code");
  writeFileSync(folder, "");
  const place = { dataDir, folder, path: join(folder, "cache") };
  await served(t, place);
  const taken = testdir(t, {});
  mkdirSync(join(taken, "code/cache.new"), { recursive: true, mode: 0o700 });
  await served(t, { ...place, dataDir: taken });
  t.pass();
});
