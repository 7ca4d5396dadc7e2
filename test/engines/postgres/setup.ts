import type { Test } from "tap";
import { Database } from "../../../db/postgres/database.js";
import { roomStore } from "../../../db/postgres/rooms.js";
import { worldStore } from "../../../db/postgres/worlds.js";
import { StoreError } from "../../../db/store.js";
import type { PostgresServer } from "../../servers/postgres.js";

/** What is special about PostgreSQL, as tests on a server. */
export type Part = (t: Test, server: PostgresServer) => Promise<void>;

/** A node: its database, and what it caches. */
export interface Node {
  db: Database;
  worlds: ReturnType<typeof worldStore>;
  rooms: ReturnType<typeof roomStore>;
}

/** Opens a database as a node does. */
export async function openNode(t: Test, url: string, pool = 4): Promise<Node> {
  const db = await Database.open({ url, pool }, { create: true });
  t.teardown(() => db.close());
  return { db, worlds: worldStore(db), rooms: roomStore(db) };
}

/** The problem with which something fails; undefined if it succeeds. */
export const problemOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof StoreError) return error.problem;
      throw error;
    },
  );
