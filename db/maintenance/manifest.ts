import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { Failure } from "../../schemas/plain/failure.js";
import { BACKUP_VERSION, OLDEST_BACKUP, type Table, TABLES, tablesOf } from "../copies/tables.js";

// A backup is a standard tar archive: the files, then the rows of all tables, and finally a
// manifest with their checksums. An incomplete archive lacks the manifest.

const ARCHIVE_FORMAT = "foyer.backup";

export const MANIFEST = "manifest.json";
const MEDIA = "media/";

/** The only paths that an archive may contain. Nothing else is ever written to disk. */
const FILE = /^media(?:\/[\w-][\w.-]{0,254})+$/;
const ROWS = /^tables\/([a-z_]+)-([1-9]\d{0,6})\.ndjson$/;

/** The latest time a `Date` can represent, in milliseconds since 1970 (ECMA-262, 21.4.1.1). */
const LATEST_TIME = 8.64e15;

/** Thrown if an archive is invalid or cannot be created, with a one-line message for the operator. */
export class ArchiveError extends Failure {}

type Entry =
  | { kind: "manifest" }
  | { kind: "file"; key: string }
  | { kind: "rows"; table: Table; part: number };

/**
 * Classifies the path of an archive entry.
 * @returns undefined if an archive must not contain the path.
 */
export function entryAt(path: string): Entry | undefined {
  if (path === MANIFEST) return { kind: "manifest" };
  if (FILE.test(path)) return { kind: "file", key: path.slice(MEDIA.length) };
  const [, name, part] = ROWS.exec(path) ?? [];
  const table = TABLES.find((one) => one.name === name);
  return table && { kind: "rows", table, part: Number(part) };
}

export const pathOfFile = (key: string): string => MEDIA + key;

/** Returns the path of one part of a table's rows. Parts count from 1. */
export const pathOfRows = (table: Table, part: number): string =>
  `tables/${table.name}-${part}.ndjson`;

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Sha256 = Type.RegExp(/^[0-9a-f]{64}$/);

const Member = Type.Object({
  path: Type.RegExp(FILE),
  size: Count,
  /** In milliseconds since 1970. Part of the file's `ETag`. */
  modified: Type.Integer({ minimum: 0, maximum: LATEST_TIME }),
  sha256: Sha256,
});
export type Member = Static<typeof Member>;

const TableRows = Type.Object({
  name: Type.String(),
  columns: Type.Array(Type.String()),
  rows: Count,
  /** The checksum of all of the table's parts, concatenated. */
  sha256: Sha256,
});
export type TableRows = Static<typeof TableRows>;

const Head = Type.Object({
  format: Type.Literal(ARCHIVE_FORMAT),
  version: Type.Integer({ minimum: 1 }),
});

const Manifest = Type.Object({
  ...Head.properties,
  /** The time of the backup, in the format of `Date.prototype.toISOString`. */
  created: Type.RegExp(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  members: Type.Array(Member),
  foyer: Type.String(),
  tables: Type.Array(TableRows),
});

export interface Contents {
  members: Member[];
  tables: TableRows[];
}

export function manifestOf(
  foyer: string,
  created: Date,
  members: Member[],
  tables: TableRows[],
): Buffer {
  const manifest: Static<typeof Manifest> = {
    format: ARCHIVE_FORMAT,
    version: BACKUP_VERSION,
    foyer,
    created: created.toISOString(),
    tables,
    members,
  };
  return Buffer.from(JSON.stringify(manifest));
}

/** Returns a file's modification time in milliseconds, or 0 if the time is before 1970 or out of range for `Date`. */
export function timeOf(modified: Date): number {
  const time = Math.trunc(modified.getTime());
  return time > 0 ? time : 0;
}

/** Parses a manifest. @throws {ArchiveError} if this version of Foyer cannot use it. */
export function readManifest(json: string): Contents {
  let manifest: unknown;
  try {
    manifest = JSON.parse(json);
  } catch {
    throw new ArchiveError("its manifest is not JSON");
  }
  // Check the version first, because a newer manifest may have different fields.
  refuseFault(Head, manifest);
  const { version } = manifest as Static<typeof Head>;
  if (version > BACKUP_VERSION) {
    throw new ArchiveError("it is from a newer version of Foyer");
  }
  if (version < OLDEST_BACKUP) {
    throw new ArchiveError(
      `it has version ${version}, of a build before release 0.1.0; restore it with that build, export each world (foyer world export), and import it with this one (foyer world import)`,
    );
  }
  refuseFault(Manifest, manifest);
  const { created, members, tables } = manifest as Static<typeof Manifest>;
  if (Number.isNaN(Date.parse(created))) {
    throw new ArchiveError("its manifest is invalid at /created: not a date");
  }
  const paths = new Set<string>();
  for (const { path } of members) {
    if (paths.has(path)) {
      throw new ArchiveError(`its manifest names ${path} twice`);
    }
    paths.add(path);
  }
  refuseOtherTables(tables, tablesOf(version));
  return { members, tables };
}

function refuseOtherTables(found: readonly TableRows[], expected: readonly Table[]): void {
  for (const { name, columns } of expected) {
    const same = found.filter((table) => table.name === name);
    if (same.length !== 1) {
      const fault = same.length === 0 ? "lacks the table" : "repeats the table";
      throw new ArchiveError(`its manifest ${fault} ${name}`);
    }
    if (same[0]!.columns.join() !== columns.map((one) => one.name).join()) {
      throw new ArchiveError(`its table ${name} has other columns`);
    }
  }
  const odd = found.find(({ name }) => !expected.some((one) => one.name === name));
  if (odd) throw new ArchiveError(`it has an unknown table: ${odd.name}`);
}

function refuseFault(schema: TSchema, manifest: unknown): void {
  const fault = Value.Errors(schema, manifest).First();
  if (!fault) return;
  const at = fault.path && ` at ${fault.path}`;
  throw new ArchiveError(`its manifest is invalid${at}: ${fault.message}`);
}

/**
 * Reports the progress of a long operation: how much of a step is done, out of its total. If the
 * callback throws, the operation stops and leaves nothing behind.
 */
export type ReportProgress = (step: string, done: number, of: number) => void;
