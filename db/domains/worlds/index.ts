import { StoreError, type WorldStore } from "../../contract/store.js";
import { readWorld } from "../../rules/rows.js";
import { type Bound, domain } from "../domain.js";
import { SlicedWork } from "../slices.js";
import { worldReads } from "./reads.js";
import { worldWrites } from "./writes.js";

/** Worlds. */
export const worlds = domain({
  reads: worldReads,
  writes: worldWrites,
  parameters: { create: 2, update: 3, configure: 3, delete: 2, remove: 2 },
  // Only one world at a time may claim an id or a domain.
  exclusive: {
    create: () => true,
    update: (_id, changes) => changes.domain !== undefined,
    delete: () => true,
  },
});

/** The store of worlds: rows become frozen records, which cannot come from another thread. */
export const worldStore = ({
  remove,
  ...bound
}: Bound<typeof worlds>): Omit<WorldStore, "export" | "clone" | "import"> => ({
  ...bound,
  create: async (world, by) => readWorld(await bound.create(world.id, world, by)),
  update: async (...args) => readWorld(await bound.update(...args)),
  configure: async (...args) => readWorld(await bound.configure(...args)),
  async delete(id, noted, by) {
    const keys = await bound.delete(id, noted, by);
    try {
      await new SlicedWork().run((rows) => remove(id, rows));
    } catch (error) {
      // The world is gone. The maintenance job removes the rest, and logs why it cannot.
      if (!(error instanceof StoreError)) throw error;
    }
    return keys;
  },
});
