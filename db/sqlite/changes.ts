import type { Connection } from "./database.js";
import type { WriteCall } from "./writer.js";

// Processes that share events announce their writes to each other. A command
// beside a server has no events. So each transaction records which worlds it
// changed, and its origin, which names a group of processes that share events. A
// server then finds the worlds that other origins changed. It costs one row for
// each world in a batch.

const prepareLast = (db: Connection) =>
  db
    .prepare<[], number>("SELECT coalesce(max(change), 0) FROM world_changes")
    .pluck();

/** The number of the last recorded change. */
export const lastChange = (db: Connection): number => prepareLast(db).get()!;

/**
 * Records the worlds that a transaction changes.
 * @param known the last change when the store was opened. Nobody who has this store
 *   needs to know of earlier ones.
 */
export function changeWrites(db: Connection, origin: string, known: number) {
  const last = prepareLast(db);
  const select = db.prepare<[string], { change: number; origin: string }>(
    "SELECT change, origin FROM world_changes WHERE world_id = ?",
  );
  const note = db.prepare<[string, number, string]>(
    `INSERT INTO world_changes (world_id, change, origin) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET change = excluded.change, origin = excluded.origin`,
  );
  /**
   * Records the worlds of some calls. Each world has one row. If it still names
   * another origin, this overwrites it, and the poll of {@link changeReads} can no
   * longer find that change.
   * @returns the worlds whose change would be missed so. The caller reports them.
   */
  return (calls: readonly WriteCall[]): string[] => {
    const worlds = new Set(calls.flatMap(changedWorlds));
    if (worlds.size === 0) return [];
    const change = last.get()! + 1;
    const hidden: string[] = [];
    for (const world of worlds) {
      const before = select.get(world);
      if (before && before.origin !== origin && before.change > known) {
        hidden.push(world);
      }
      note.run(world, change, origin);
    }
    return hidden;
  };
}

/** The world that a write changes; none for a dry run, and for what nobody looks at again. */
function changedWorlds({ write, args: [first, second] }: WriteCall): string[] {
  switch (write) {
    case "createWorld":
      return [(first as { id: string }).id];
    case "importWorld":
      return second ? [] : [(first as { world: { id: string } }).world.id];
    case "mark":
      return [];
    default:
      return [first as string];
  }
}

/**
 * Finds the worlds that other origins have changed.
 * @param known the last change that is not looked for.
 * @returns a function that gives those that changed since it was last called.
 */
export function changeReads(
  db: Connection,
  origin: string,
  known: number,
): () => string[] {
  const last = prepareLast(db);
  const select = db
    .prepare<[number, string], string>(
      "SELECT world_id FROM world_changes WHERE change > ? AND origin != ?",
    )
    .pluck();
  let seen = known;
  return () => {
    const worlds = select.all(seen, origin);
    seen = last.get()!;
    return worlds;
  };
}
