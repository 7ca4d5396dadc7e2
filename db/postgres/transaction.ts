import type pg from "pg";
import { StoreError } from "../store.js";
import { limited } from "./client.js";
import { storeErrorOf } from "./errors.js";
import { LOCK_OF_CHAT, LOCK_OF_WORLDS, lockOfWorld } from "./locks.js";
import { Noted, type Notes } from "./notes.js";
import { DEADLINES } from "./pool.js";
import { type Sql, sqlOn } from "./sql.js";

/** A write that waits for its transaction. */
export interface Job {
  readonly run: (sql: Sql, notes: Notes) => Promise<unknown>;
  /** Whether writes of all worlds have to wait for it. Then it runs alone. */
  readonly all: boolean;
  /** Whether nobody has to look again because of it. */
  readonly quiet: boolean;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Makes the statement that notifies others of what was noted; undefined for nothing. */
export type Announce = (noted: Noted, quiet: boolean) => string | undefined;

/**
 * Runs some writes of a world in one transaction, each of which succeeds or fails alone.
 * @param noted gets the notes of the jobs, also if the commit is doubtful.
 * @returns a function that gives each job its answer.
 * @throws {StoreError} `doubtful` if the connection was lost during the commit, and what
 *   pg throws: then none of the jobs has an answer.
 */
export async function transact(
  client: pg.ClientBase,
  world: string,
  jobs: readonly Job[],
  announce: Announce,
  noted: Noted,
): Promise<() => void> {
  const sql = sqlOn((query) => client.query(query));
  const answers: (() => void)[] = [];
  let isQuiet = true;
  const locks = jobs[0]!.all ? [LOCK_OF_WORLDS] : [];
  // Each statement sees what was committed before it, also after the wait for the lock.
  const begin = "BEGIN ISOLATION LEVEL READ COMMITTED";
  await client.query(
    limited(
      [begin, ...locks, lockOfWorld(world)].join("; "),
      DEADLINES.locks(locks.length + 1),
    ),
  );
  for (const job of jobs) {
    const { resolve, reject } = job;
    // A failed statement ends the whole transaction, unless there is a savepoint.
    if (jobs.length > 1) await client.query("SAVEPOINT job");
    const own = new Noted();
    try {
      const result = await job.run(sql, notesOn(client, own));
      noted.add(own);
      isQuiet &&= job.quiet;
      answers.push(() => resolve(result));
    } catch (error) {
      const fault = storeErrorOf(error);
      // With the connection, all is lost.
      if (fault?.problem === "unusable") throw error;
      if (jobs.length === 1) {
        await client.query("ROLLBACK");
        return () => reject(fault ?? error);
      }
      await client.query("ROLLBACK TO SAVEPOINT job");
      answers.push(() => reject(fault ?? error));
    }
  }
  await commit(client, {
    announcement: announce(noted, isQuiet),
    deadline: DEADLINES.commit,
  });
  return () => answers.forEach((answer) => answer());
}

/**
 * Commits.
 * @param options.announcement a statement that runs just before.
 * @param options.deadline how long the answer may take, in milliseconds.
 * @throws {StoreError} `doubtful` if nobody knows whether it is committed.
 */
export async function commit(
  client: pg.ClientBase,
  {
    announcement,
    deadline,
  }: { announcement?: string | undefined; deadline?: number } = {},
): Promise<void> {
  try {
    const text = announcement ? `${announcement}; COMMIT` : "COMMIT";
    await client.query(limited(text, deadline));
  } catch (error) {
    // PostgreSQL refuses a commit with a code. Without one, its answer is unknown.
    const { code = "", message } = error as Error & { code?: string };
    const isRefused = /^(?!57P|08)[0-9A-Z]{5}$/.test(code);
    throw isRefused ? error : new StoreError("doubtful", message);
  }
}

function notesOn(client: pg.ClientBase, noted: Noted): Notes {
  return {
    stale: () => void (noted.isStale = true),
    staleRooms: () => void (noted.areRoomsStale = true),
    staleIndex: () => void (noted.isIndexStale = true),
    rights: () => void (noted.areRightsChanged = true),
    chat: async () => void (await client.query(LOCK_OF_CHAT)),
    erased: (...tables) => tables.forEach((table) => noted.erased.add(table)),
  };
}
