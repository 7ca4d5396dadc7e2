import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { BucketOptions, DatabaseOptions } from "../../../db/choice.js";
import type { Engines } from "../../../db/contract/engines.js";
import { exportArchive, importArchive } from "../../../db/maintenance/world-archive.js";
import { openEngines } from "../../../db/open.js";
import { entriesOf } from "../../protocol/commands/archives.js";
import { sharedDatabases } from "../../support/servers/postgres.js";
import { NO_SERVERS, servers } from "../../support/shared.js";
import { testdir } from "../../support/testdir.js";
import { fill } from "../db/filled-store.js";

const server = sharedDatabases();
const options = { skip: NO_SERVERS };

/** The storage of a world. */
interface Place {
  dataDir: string;
  database?: DatabaseOptions;
  bucket?: BucketOptions;
}

/** Opens the engines of a place, and closes them once `run` is done. */
async function within<T>(place: Place, run: (engines: Engines) => Promise<T>): Promise<T> {
  const how = { log: () => {}, serves: false, create: true, upgrade: false };
  const engines = await openEngines({ ...place, ...how });
  try {
    return await run(engines);
  } finally {
    await engines.close();
  }
}

void t.test("a world and its files are the same on all engines", options, async (t) => {
  const { newBucket } = await servers();
  const dir = testdir(t);
  const first: Place = { dataDir: join(dir, "first") };
  await within(first, async ({ store, files }) => {
    const { cy } = await fill(store);
    await store.users.erase("demo", { user_id: cy });
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

  /** Exports an archive and returns its paths and contents; the document comes last. */
  const archived = async (place: Place, archive: string) => {
    await within(place, (engines) => exportArchive(engines, "demo", archive, true));
    const found = entriesOf(readFileSync(archive));
    return found.map(({ path, body }) => [path, body.toString("base64")]);
  };
  let archive = join(dir, "first.tar");
  const entries = await archived(first, archive);
  t.equal(entries.length, 3, "two files and the document");
  const database = { url: await server.createDatabase(), pool: 2 };
  const places: Place[] = [
    { dataDir: join(dir, "shared"), database, bucket: await newBucket() },
    { dataDir: join(dir, "bucket"), bucket: await newBucket() },
    { dataDir: join(dir, "last") },
  ];
  for (const place of places) {
    await within(place, async (engines) => {
      for (const isTrial of [true, false]) {
        const fd = openSync(archive, "r");
        await importArchive(engines, fd, isTrial);
        closeSync(fd);
        t.equal((await engines.store.worlds.get("demo")) === undefined, isTrial);
      }
    });
    archive = `${place.dataDir}-again.tar`;
    t.strictSame(await archived(place, archive), entries, place.dataDir);
  }
});
