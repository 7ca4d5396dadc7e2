import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { BucketOptions, DatabaseOptions } from "../../db/choice.js";
import type { Engines } from "../../db/contract/engines.js";
import { backup } from "../../db/maintenance/backup.js";
import { restore } from "../../db/maintenance/restore.js";
import {
  exportArchive,
  importArchive,
} from "../../db/maintenance/world-archive.js";
import { openEngines } from "../../db/open.js";
import { fill } from "../db/filled-store.js";
import { entriesOf } from "../cli/tar.js";
import { exported } from "../exported.js";
import { startPostgres } from "../servers/postgres.js";
import { startS3 } from "../servers/s3.js";
import { testdir } from "../testdir.js";

// A world moves through the engines and back, and its document stays the same.

const server = await startPostgres();
t.teardown(() => server.close());

/** Where a world is kept. */
interface Place {
  dataDir: string;
  database?: DatabaseOptions;
  bucket?: BucketOptions;
}

/** Runs something with the engines of a place. */
async function within<T>(
  place: Place,
  run: (engines: Engines) => Promise<T>,
): Promise<T> {
  const engines = await openEngines({
    ...{ ...place, log: () => {}, serves: false, create: true },
    upgrade: false,
  });
  try {
    return await run(engines);
  } finally {
    await engines.close();
  }
}

const documentOf = (place: Place) =>
  within(place, async ({ store }) => {
    const { lines } = await exported(store, "demo", { history: true });
    return lines.join("\n");
  });

void t.test("a world is the same on all engines", async (t) => {
  const dir = testdir(t);
  const folder = (name: string): Place => ({ dataDir: join(dir, name) });
  const shared = async (name: string): Promise<Place> => ({
    ...folder(name),
    database: { url: await server.createDatabase(), pool: 2 },
  });
  const first = folder("first");
  await within(first, async ({ store }) => {
    const { cy } = await fill(store);
    await store.users.erase("demo", { user_id: cy });
  });
  const document = await documentOf(first);
  const places = [folder("a"), await shared("b"), folder("c"), first];

  await t.test("through exports and imports", async (t) => {
    for (const place of places) {
      await within(place, async ({ store }) => {
        if (place === first) await store.worlds.delete("demo");
        const lines = document.split("\n");
        await store.worlds.import({ lines }, { dryRun: true });
        t.equal(await store.worlds.get("demo"), undefined, "a trial");
        await store.worlds.import({ lines });
      });
      t.equal(await documentOf(place), document, place.dataDir);
    }
  });

  await t.test("through backups", async (t) => {
    let from = first;
    const quiet = () => {};
    for (const [i, to] of [await shared("d"), folder("e")].entries()) {
      const archive = join(dir, `${i}.tar`);
      await backup(from, archive, quiet);
      await restore(archive, to, quiet);
      t.equal(await documentOf(to), document, to.dataDir);
      from = to;
    }
  });
});

void t.test("an archive brings a world and its files", async (t) => {
  const s3 = await startS3(t);
  Object.assign(process.env, s3.variables);
  const dir = testdir(t);
  const first: Place = { dataDir: join(dir, "first") };
  await within(first, async ({ store, files }) => {
    await fill(store);
    const uploader = { tokenId: "ada", traits: new Set<string>() };
    for (const size of [1, 100_000]) {
      const key = `pub/demo/${size}.secret-00010.pdf`;
      async function* content() {
        yield Buffer.alloc(size, key);
      }
      await files.put(key, content(), (stored) =>
        store.files.add("demo", uploader, { key, ...stored }, 1e6),
      );
    }
  });

  /** The paths and the bytes of an archive, which ends with the document. */
  const archived = async (place: Place, archive: string) => {
    await within(place, (engines) =>
      exportArchive(engines, "demo", archive, true),
    );
    return entriesOf(readFileSync(archive)).map(({ path, body }) => [
      path,
      body.toString("base64"),
    ]);
  };
  let archive = join(dir, "first.tar");
  const entries = await archived(first, archive);
  t.equal(entries.length, 3, "two files and the document");
  const places: Place[] = [
    {
      dataDir: join(dir, "shared"),
      database: { url: await server.createDatabase(), pool: 2 },
      bucket: await s3.newBucket(),
    },
    { dataDir: join(dir, "bucket"), bucket: await s3.newBucket() },
    { dataDir: join(dir, "last") },
  ];
  for (const place of places) {
    const fd = openSync(archive, "r");
    await within(place, (engines) => importArchive(engines, fd, false));
    closeSync(fd);
    archive = `${place.dataDir}.tar`;
    t.strictSame(await archived(place, archive), entries, place.dataDir);
  }
});
