import type { ClientBase } from "pg";
import { LOCK_OF_CHAT } from "./locks.js";

/** How many ids other processes may have given that this one has not seen. */
const MARGIN = 1_000_000;

const SEQUENCE = "pg_get_serial_sequence('chat_events', 'id')::regclass";

/**
 * Sees to it that no id of a chat event is given twice. A standby that lagged when it
 * took over, or a database that was restored, lacks the last events, and would give their
 * ids to others. People may know the first ones, and would never get the second.
 * @param seen the highest id that this process knows.
 */
export async function skipSeenIds(
  client: ClientBase,
  seen: number,
): Promise<void> {
  await client.query("BEGIN");
  await client.query(LOCK_OF_CHAT);
  // A statement of its own: it has to see ids that were given before the lock was free.
  await client.query(
    `SELECT setval(${SEQUENCE}, $1) FROM chat_last
     WHERE id < $2 AND coalesce(pg_sequence_last_value(${SEQUENCE}), 0) < $1`,
    [seen + MARGIN, seen],
  );
  await client.query("COMMIT");
}
