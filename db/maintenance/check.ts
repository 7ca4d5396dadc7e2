import { createHash } from "node:crypto";
import { openFiles } from "../blobs/folder/local-files.js";
import { compareKeys, type FileStore } from "../contract/file-store.js";
import { type FileDigest, StoreError } from "../contract/store.js";
import { inspectedSqlite } from "../engines/sqlite/copies/sqlite-dump.js";
import { Inspector } from "./inspector.js";
import type { ReportProgress } from "./manifest.js";
import type { StorageLocation } from "./storage-location.js";
import { NO_ROWS, type TableRowCounts } from "./table-rows.js";

/** Number of files without a record that are examined together. */
const SUSPECTS = 1000;

interface Finding {
  /** `database`, or a file key. */
  subject: string;
  problem: string;
}

interface Inspection extends TableRowCounts {
  /** The total size of all files, in bytes. */
  bytes: number;
  findings: Finding[];
}

/** Verifies all data in a storage location; see {@link inspect}. */
export async function check(place: StorageLocation, report: ReportProgress): Promise<Inspection> {
  const database = await openInspector(place);
  try {
    const files = await openFiles(place.dataDir, place.bucket);
    try {
      return await inspect(database, files, report);
    } finally {
      await files.close();
    }
  } finally {
    await database.close();
  }
}

async function openInspector({ dataDir, database }: StorageLocation): Promise<Inspector> {
  if (!database) return new Inspector(inspectedSqlite(dataDir));
  const { inspectedPostgres } = await import("../engines/postgres/copies/postgres-dump.js");
  return new Inspector(await inspectedPostgres(database.url));
}

/**
 * Verifies a database and its files by reading all of their data. A server may write concurrently;
 * an upload or deletion in progress is not a finding.
 * @throws {StoreError} if the files cannot be reached at all.
 */
async function inspect(
  database: Inspector,
  files: FileStore,
  report: ReportProgress,
): Promise<Inspection> {
  const findings: Finding[] = [];
  const found = (problem: string) => {
    if (findings.some((finding) => finding.problem === problem)) return;
    findings.push({ subject: "database", problem });
  };
  report("Reading the database", 0, 1);
  for (const look of ["damage", "contradictions", "overdue"] as const) {
    try {
      for (const problem of await asked(database[look]())) found(problem);
    } catch (error) {
      found(unreadable(error));
    }
  }
  try {
    const counts = await asked(database.counts());
    const bytes = await asked(database.bytes());
    const comparing = compare(database, files, (done) => report("Reading the files", done, bytes));
    for await (const finding of comparing) findings.push(finding);
    return { ...counts, bytes, findings };
  } catch (error) {
    found(unreadable(error));
    return { ...NO_ROWS, bytes: 0, findings };
  }
}

/** Thrown if the database cannot be read. This is a finding, whereas unreachable files are an error. */
class Unreadable extends Error {}

const asked = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    if (error instanceof StoreError) throw new Unreadable(error.message);
    throw error;
  });

function unreadable(error: unknown): string {
  if (error instanceof Unreadable) return `cannot be read: ${error.message}`;
  throw error;
}

/**
 * Compares files with their records. Both are read in key order, so neither has to fit in memory.
 * @param report receives the number of bytes read so far.
 */
async function* compare(
  database: Inspector,
  files: FileStore,
  report: (done: number) => void,
): AsyncGenerator<Finding> {
  const stored = files.keys()[Symbol.asyncIterator]();
  const records = recordsOf(database);
  let file = await stored.next();
  let record = await records.next();
  let suspects: string[] = [];
  let done = 0;
  while (!file.done || !record.done) {
    const order = file.done ? 1 : record.done ? -1 : compareKeys(file.value.key, record.value.key);
    if (!record.done && order >= 0) {
      const { key, size } = record.value;
      const start = done;
      const problem = await differenceFrom(record.value, files, (bytes) => report((done += bytes)));
      done = start + size;
      // A deletion removes the record before the file, so check that the record still exists.
      if (problem !== undefined && (await asked(database.has(key)))) {
        yield { subject: key, problem };
      }
      record = await records.next();
    }
    if (!file.done && order <= 0) {
      if (order < 0) suspects.push(file.value.key);
      file = await stored.next();
    }
    if (suspects.length < SUSPECTS) continue;
    yield* orphansAmong(suspects, database, files);
    suspects = [];
  }
  yield* orphansAmong(suspects, database, files);
}

async function* recordsOf(database: Inspector): AsyncGenerator<FileDigest> {
  for (let after = ""; ;) {
    const records = await asked(database.records(after));
    yield* records;
    const last = records.at(-1);
    if (!last) return;
    after = last.key;
  }
}

/** Describes how a file differs from its record, or returns undefined if the file matches the record. */
async function differenceFrom(
  { key, size, sha256 }: FileDigest,
  files: FileStore,
  report: (bytes: number) => void,
): Promise<string | undefined> {
  const found = createHash("sha256");
  try {
    const file = await files.open(key);
    const bytes = await file?.read();
    if (!file || !bytes) return "is missing";
    if (file.size !== size) {
      bytes.destroy();
      return `has ${file.size} bytes, but its record says ${size}`;
    }
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      found.update(chunk);
      report(chunk.length);
    }
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    return `cannot be read: ${code ?? message}`;
  }
  return found.digest("hex") === sha256 ? undefined : "has the wrong checksum";
}

/** Yields the files that have no record and that no process is about to record or remove. */
async function* orphansAmong(
  suspects: readonly string[],
  database: Inspector,
  files: FileStore,
): AsyncGenerator<Finding> {
  if (suspects.length === 0) return;
  // A note exists from before a file is put in place until the file is recorded, and from before
  // its record is deleted until the file is deleted. Reading the notes both before and after the
  // records ensures that no file being added or deleted looks like an orphan.
  const before = await files.unsettled();
  const unrecorded: string[] = [];
  for (const key of suspects) {
    if (before.has(key) || (await asked(database.has(key)))) continue;
    unrecorded.push(key);
  }
  const after = await files.unsettled();
  for (const key of unrecorded) {
    if (after.has(key) || !(await files.open(key))) continue;
    yield { subject: key, problem: "has no record" };
  }
}
