import type { ProgramStore } from "../../contract/program.js";
import { sessionOf, speakerOf } from "../../rules/program-rows.js";
import { type Bound, domain, type DomainLog } from "../domain.js";
import type { Sql } from "../sql.js";
import { favoriteWrites } from "./favorites.js";
import { importInSlices, importWrites } from "./import.js";
import { programReads } from "./reads.js";
import { sessionWrites, type StoredSession } from "./sessions.js";
import { speakerWrites } from "./speakers.js";

/** Sessions, speakers and favorites. */
export const program = domain({
  reads: programReads,
  writes: (sql: Sql, log: DomainLog) => ({
    ...sessionWrites(sql, log),
    ...speakerWrites(sql, log),
    ...importWrites(sql, log),
    ...favoriteWrites(sql, log),
  }),
  parameters: {
    createSession: 2,
    updateSession: 4,
    deleteSession: 3,
    createSpeaker: 3,
    updateSpeaker: 5,
    deleteSpeaker: 3,
    import: 4,
    favor: 4,
  },
});

/** The store of programs: rows become frozen records, which cannot come from another thread. */
export function programStore(bound: Bound<typeof program>): ProgramStore {
  const session = (stored: StoredSession) => ({
    session: sessionOf(stored.row),
    warnings: stored.warnings,
  });
  return {
    get: (world) => bound.get(world),
    rooms: (world) => bound.rooms(world),
    references: (...args) => bound.references(...args),
    favorites: (...args) => bound.favorites(...args),
    async createSession(...args) {
      const stored = await bound.createSession(...args);
      return "faults" in stored ? stored : session(stored);
    },
    async updateSession(...args) {
      const stored = await bound.updateSession(...args);
      return "faults" in stored ? stored : session(stored);
    },
    deleteSession: (...args) => bound.deleteSession(...args),
    async createSpeaker(...args) {
      const row = await bound.createSpeaker(...args);
      return "faults" in row ? row : speakerOf(row);
    },
    async updateSpeaker(...args) {
      const row = await bound.updateSpeaker(...args);
      return "faults" in row ? row : speakerOf(row);
    },
    deleteSpeaker: (...args) => bound.deleteSpeaker(...args),
    import: (world, changes, hosts, file, by) =>
      importInSlices(bound.import, world, changes, hosts, file, by),
    favor: (...args) => bound.favor(...args),
  };
}
