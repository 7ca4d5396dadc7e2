import { join } from "node:path";
import t from "tap";
import type { DatabaseOptions } from "../../db/choice.js";
import type { Store } from "../../db/contract/store.js";
import { backup } from "../../db/maintenance/backup.js";
import { restore } from "../../db/maintenance/restore.js";
import { openEngines } from "../../db/open.js";
import { fill } from "../db/filled-store.js";
import { exported } from "../exported.js";
import { startPostgres } from "../servers/postgres.js";
import { testdir } from "../testdir.js";

// A world moves through the engines and back, and its document stays the same.

const server = await startPostgres();
t.teardown(() => server.close());

/** Where a world is kept. */
interface Place {
  dataDir: string;
  database?: DatabaseOptions;
}

/** Runs something with the store of a place. */
async function within<T>(
  place: Place,
  run: (store: Store) => Promise<T>,
): Promise<T> {
  const engines = await openEngines({
    ...{ ...place, log: () => {}, serves: false, create: true },
    upgrade: false,
  });
  try {
    return await run(engines.store);
  } finally {
    await engines.close();
  }
}

const documentOf = (place: Place) =>
  within(place, async (store) => {
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
  await within(first, async (store) => {
    const { cy } = await fill(store);
    await store.users.erase("demo", { user_id: cy });
  });
  const document = await documentOf(first);
  const places = [folder("a"), await shared("b"), folder("c"), first];

  await t.test("through exports and imports", async (t) => {
    for (const place of places) {
      await within(place, async (store) => {
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
