import { createHash } from "node:crypto";
import { access, open } from "node:fs/promises";
import { join } from "node:path";
import { LocalFiles } from "../local/files.js";
import type { Report } from "./progress.js";
import {
  type Connection,
  openForInspection,
  storeErrorOf,
} from "../sqlite/database.js";
import {
  allFiles,
  contradictionsIn,
  countRows,
  type RowCounts,
  damageOf,
  NO_ROWS,
  totalSize,
} from "../sqlite/inspection.js";
import { fileReads } from "../sqlite/file-reads.js";
import type { FileDigest } from "../store.js";

/** Something that is wrong with the data. */
export interface Finding {
  /** `database`, or the key of a file. */
  subject: string;
  problem: string;
}

/** The result of a check. */
export interface Inspection extends RowCounts {
  /** The size of all files, in bytes. */
  bytes: number;
  findings: Finding[];
}

/**
 * Reads all data back. A server may write meanwhile; an upload or a deletion in
 * progress is no finding.
 */
export async function check(
  dataDir: string,
  report: Report,
): Promise<Inspection> {
  const findings: Finding[] = [];
  const db = openForInspection(dataDir);
  try {
    report("Reading the database", 0, 1);
    const read = <T>(what: () => T): T | undefined => {
      try {
        return what();
      } catch (error) {
        if (!storeErrorOf(error)) throw error;
        const problem = `cannot be read: ${(error as Error).message}`;
        if (!findings.some((finding) => finding.problem === problem)) {
          findings.push({ subject: "database", problem });
        }
        return undefined;
      }
    };
    for (const look of [damageOf, contradictionsIn]) {
      // One transaction, so that counts are compared with the rows of the same moment.
      const problems = read(() => db.transaction(look)(db));
      for (const problem of problems ?? []) {
        findings.push({ subject: "database", problem });
      }
    }
    const counts = read(() => countRows(db));
    const records = read(() => allFiles(db));
    if (!counts || !records) {
      return { ...NO_ROWS, bytes: 0, findings };
    }
    const files = new LocalFiles(dataDir);
    findings.push(...(await checkFiles(db, files, records, report)));
    findings.push(...(await findOrphans(db, files, records)));
    return { ...counts, bytes: totalSize(records), findings };
  } finally {
    db.close();
  }
}

async function checkFiles(
  db: Connection,
  files: LocalFiles,
  records: FileDigest[],
  report: Report,
): Promise<Finding[]> {
  const of = totalSize(records);
  const { has } = fileReads(db);
  const findings: Finding[] = [];
  let done = 0;
  for (const { key, size, sha256 } of records) {
    const start = done;
    const problem = await differenceFrom(
      join(files.root, key),
      size,
      sha256,
      (bytes) => report("Reading the files", (done += bytes), of),
    );
    done = start + size;
    // A deletion removes the record first and then the file, so it may have begun meanwhile.
    if (problem && has(key)) findings.push({ subject: key, problem });
  }
  return findings;
}

/** How a file differs from its record; undefined if it does not. */
async function differenceFrom(
  path: string,
  size: number,
  sha256: string,
  report: (bytes: number) => void,
): Promise<string | undefined> {
  const found = createHash("sha256");
  let bytes = 0;
  try {
    const file = await open(path);
    for await (const chunk of file.createReadStream()) {
      found.update(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      report((chunk as Buffer).length);
    }
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    return code === "ENOENT" ? "is missing" : `cannot be read: ${code}`;
  }
  if (bytes !== size) return `has ${bytes} bytes, but its record says ${size}`;
  return found.digest("hex") === sha256 ? undefined : "has the wrong checksum";
}

/** The files that have no record, and that no process is about to record or to remove. */
async function findOrphans(
  db: Connection,
  files: LocalFiles,
  records: FileDigest[],
): Promise<Finding[]> {
  const known = new Set(records.map(({ key }) => key));
  const suspects: string[] = [];
  for await (const key of files.keys()) if (!known.has(key)) suspects.push(key);
  if (suspects.length === 0) return [];

  // A note exists from before a file is in place until it is recorded, and from
  // before its record is deleted until the file is. So in this order, no file that
  // is being added or deleted looks like an orphan.
  const { has } = fileReads(db);
  const before = await files.unsettled();
  const unrecorded = suspects.filter((key) => !before.has(key) && !has(key));
  const after = await files.unsettled();
  const findings: Finding[] = [];
  for (const key of unrecorded.filter((key) => !after.has(key))) {
    const there = await access(join(files.root, key)).then(
      () => true,
      () => false,
    );
    if (there) findings.push({ subject: key, problem: "has no record" });
  }
  return findings;
}
