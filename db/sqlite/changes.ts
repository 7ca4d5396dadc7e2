import type { Connection } from "./database.js";
import type { Call } from "./writer.js";

// Processes that share their events tell each other what they write. A command
// beside a server shares none. So each transaction notes which worlds it changed,
// and for which group of processes (its origin): a server then finds the worlds
// that somebody else changed, at the cost of one row for each world in a batch.

const prepareLast = (db: Connection) =>
  db
    .prepare<[], number>("SELECT coalesce(max(change), 0) FROM world_changes")
    .pluck();

/** The number of the last change that is noted. */
export const lastChange = (db: Connection): number => prepareLast(db).get()!;

/**
 * Notes the worlds that a transaction changes.
 * @param known the last change when the store was opened: what was hidden before
 *   it concerns nobody who has this store.
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
   * Notes the worlds of some calls.
   * @returns the worlds where this hides the note of another origin.
   */
  return (calls: readonly Call[]): string[] => {
    const worlds = new Set(calls.flatMap(worldOf));
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

/** The world that a write changes; none for a trial. */
function worldOf({ write, args: [first, second] }: Call): string[] {
  switch (write) {
    case "createWorld":
      return [(first as { id: string }).id];
    case "importWorld":
      return second ? [] : [(first as { world: { id: string } }).world.id];
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
