import type { Store } from "../../contract/store.js";
import { worldCopies } from "../../copies/world-copies.js";
import { chatStore } from "../../domains/chat/chat.js";
import { programStore } from "../../domains/program/program.js";
import { roomStore } from "../../domains/rooms/rooms.js";
import { userStore } from "../../domains/users/users.js";
import { worldStore } from "../../domains/worlds/worlds.js";
import { countsIn, ErasureJob } from "../../erasure/erasure-job.js";
import { postgresSource } from "./copies/postgres-dump.js";
import { boundDomains } from "./engine/domains.js";
import type { Database } from "./engine/postgres-database.js";
import { PostgresEraser } from "./erasure/postgres-eraser.js";
import { logStore } from "./log/log-store.js";

const DATABASE_BYTES = "SELECT pg_database_size(current_database()) AS bytes";

/**
 * Creates the store for a PostgreSQL database. Worlds, rooms and users are cached while the store
 * is certain to receive changes. Everything else is read from the database every time.
 */
export function postgresStore(db: Database): Store {
  const erasing = new ErasureJob(new PostgresEraser(db), { log: db.maintenanceLog });
  db.onErased = () => erasing.soon();
  const { copies, ...domains } = boundDomains(db);
  return {
    ...domains,
    worlds: {
      ...worldStore(domains.worlds),
      ...worldCopies({ source: () => postgresSource(db.url), store: copies }),
    },
    rooms: roomStore(domains.rooms),
    users: userStore(domains.users),
    program: programStore(domains.program),
    chat: chatStore(domains.chat),
    log: logStore(db),
    counts: () => countsIn(db.sql, async () => (await db.sql.value<number>(DATABASE_BYTES))!),
    async close() {
      // Writes in flight may still erase data, which schedules the job.
      await db.settled();
      await erasing.close();
      await db.close();
    },
  };
}
