import { ownerIn } from "../../test/servers/owner.js";
import { startPostgres } from "../../test/servers/postgres.js";
import { startValkey } from "../../test/servers/valkey.js";
import { timeOf } from "../crowd/halls.js";
import { newFolder } from "../servers.js";

/** A PostgreSQL and a Valkey that nodes share. */
export interface SharedEngines {
  /** Makes an empty database. @returns its address. */
  newDatabase(): Promise<string>;
  /** Does the work at once that PostgreSQL would do in the background after a database was filled. */
  settle(database: string): Promise<void>;
  /** The variables of nodes that use a database together. */
  variables(database: string): Record<string, string>;
  /** The processor time that both have used, in seconds. */
  times(): { database: number; events: number };
  stop(): Promise<void>;
}

/** Starts them. PostgreSQL waits for the disk, as it has to. */
export async function startEngines(): Promise<SharedEngines> {
  const ends: (() => unknown)[] = [];
  const owner = ownerIn(newFolder(), (end) => void ends.push(end));
  const postgres = await startPostgres({ fsync: true });
  ends.push(() => postgres.close());
  const valkey = await startValkey(owner);
  // This process may end without `stop`.
  process.once("exit", () => void valkey.stop());
  return {
    newDatabase: () => postgres.createDatabase(),
    async settle(database) {
      const name = new URL(database).pathname.slice(1);
      for (const work of ["VACUUM (ANALYZE)", "CHECKPOINT"]) {
        await postgres.run(work, name);
      }
    },
    variables: (DATABASE_URL) => ({ DATABASE_URL, VALKEY_URL: valkey.url }),
    times: () => ({ database: timeOf(postgres), events: timeOf(valkey) }),
    async stop() {
      await Promise.all(ends.map((end) => end()));
    },
  };
}
