import type Database from "better-sqlite3";

/**
 * Writes to the world `demo` as another process does: a change, and an entry of the log in the same
 * transaction.
 * @returns a function that takes the type of the entry, the change, if there is one, and its
 *   parameters. A type behind `index ` goes to the log of all worlds.
 */
export function writerIn(db: Database.Database) {
  const head = db.prepare<[string]>(
    `INSERT INTO log_heads (world_id, seq, tag) VALUES (?, 1, abs(random() % 1000000))
     ON CONFLICT DO UPDATE SET seq = seq + 1, tag = excluded.tag`,
  );
  const insert = db.prepare<[string, string]>(
    `INSERT INTO log (world_id, seq, tag, at, type, author, detail)
     SELECT world_id, seq, tag, 0, ?, '{"kind":"command"}', '{}' FROM log_heads WHERE world_id = ?`,
  );
  return (type: string, change: string | null, ...params: unknown[]) =>
    db.transaction(() => {
      if (change !== null) db.prepare(change).run(...params);
      const world = type.startsWith("index ") ? "" : "demo";
      head.run(world);
      insert.run(type.replace("index ", ""), world);
    })();
}
