import { randomUUID } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { ERASED_TABLES, type ErasedTable } from "./scrub.js";

const PREFIX = "foyer.db.erasing-";

/** The subject of marks that are about the write-ahead log alone. */
const LOG = "log";

/** A file that says: erased bytes may still be in the files of the database. */
export interface Mark {
  readonly name: string;
  /** The tables whose pages may hold them. The write-ahead log may hold them in any case. */
  readonly tables: readonly ErasedTable[];
  /** When something was erased first, in milliseconds since 1970. */
  readonly since: number;
}

/**
 * Makes marks that survive a power cut, one for each table and one for the write-ahead log, unless
 * they exist. Call it inside the transaction that erases: a mark is claimed inside another one,
 * so no mark is claimed before the transaction that made it has committed.
 */
export function markErasure(dataDir: string, tables: readonly string[]): void {
  let isNew = false;
  for (const subject of [...tables, LOG]) {
    try {
      closeSync(openSync(join(dataDir, PREFIX + subject), "wx", 0o600));
      isNew = true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
  if (!isNew || process.platform === "win32") return;
  const folder = openSync(dataDir, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** All marks, with those that a killed process had claimed. */
export const marksIn = (dataDir: string): Mark[] =>
  readdirSync(dataDir)
    .filter((name) => name.startsWith(PREFIX))
    .flatMap((name) => {
      const file = statSync(join(dataDir, name), { throwIfNoEntry: false });
      // Another process may just have removed it.
      if (!file) return [];
      return [{ name, tables: tablesOf(name), since: file.mtimeMs }];
    });

/** The marks of earlier versions name no table: then it may be any. */
function tablesOf(name: string): readonly ErasedTable[] {
  const subject = name.slice(PREFIX.length).split(".", 1)[0]!;
  if (subject === LOG) return [];
  const table = ERASED_TABLES.find((one) => one === subject);
  return table ? [table] : ERASED_TABLES;
}

/**
 * Renames a mark, so that the next erasure makes another one. Call it inside a transaction that
 * excludes other writers.
 */
export function claimMark(dataDir: string, mark: Mark): Mark {
  if (mark.name.slice(PREFIX.length).includes(".")) return mark;
  const name = `${mark.name}.${randomUUID()}`;
  try {
    renameSync(join(dataDir, mark.name), join(dataDir, name));
  } catch (error) {
    // Another process has claimed it meanwhile, and finishes the work.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return { ...mark, name };
}

/** Removes a mark, because nothing is left of what was erased. */
export const removeMark = (dataDir: string, { name }: Mark): void =>
  rmSync(join(dataDir, name), { force: true });
