import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { Failure } from "../../schemas/plain/failure.js";
import { BACKUP_VERSION, OLDEST_BACKUP, type Table, TABLES, tablesOf } from "../copies/tables.js";

// A backup is a tar archive that any tar can unpack: the files, then the rows of
// all tables, and at the end a manifest with their checksums. An incomplete one
// lacks the manifest.

const ARCHIVE_FORMAT = "foyer.backup";

export const MANIFEST = "manifest.json";
const MEDIA = "media/";

/** The paths that an archive may have. No other is ever written anywhere. */
const FILE = /^media(?:\/[\w-][\w.-]{0,254})+$/;
const ROWS = /^tables\/([a-z_]+)-([1-9]\d{0,6})\.ndjson$/;

/** The last moment that a `Date` can hold, in milliseconds since 1970 (ECMA-262, 21.4.1.1). */
const LATEST_TIME = 8.64e15;

/** The archive is not valid, or cannot be made. The message is one line for the operator. */
export class ArchiveError extends Failure {}

type Entry =
  | { kind: "manifest" }
  | { kind: "file"; key: string }
  | { kind: "rows"; table: Table; part: number };

/** @returns undefined for a path that no archive has. */
export function entryAt(path: string): Entry | undefined {
  if (path === MANIFEST) return { kind: "manifest" };
  if (FILE.test(path)) return { kind: "file", key: path.slice(MEDIA.length) };
  const [, name, part] = ROWS.exec(path) ?? [];
  const table = TABLES.find((one) => one.name === name);
  return table && { kind: "rows", table, part: Number(part) };
}

export const pathOfFile = (key: string): string => MEDIA + key;

/** The path of a part of the rows of a table. Parts count from 1. */
export const pathOfRows = (table: Table, part: number): string =>
  `tables/${table.name}-${part}.ndjson`;

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Sha256 = Type.RegExp(/^[0-9a-f]{64}$/);

const Member = Type.Object({
  path: Type.RegExp(FILE),
  size: Count,
  /** In milliseconds since 1970. It is part of the `ETag` of a file. */
  modified: Type.Integer({ minimum: 0, maximum: LATEST_TIME }),
  sha256: Sha256,
});
export type Member = Static<typeof Member>;

const TableRows = Type.Object({
  name: Type.String(),
  columns: Type.Array(Type.String()),
  rows: Count,
  /** Of all its parts, one after the other. */
  sha256: Sha256,
});
export type TableRows = Static<typeof TableRows>;

const Head = Type.Object({
  format: Type.Literal(ARCHIVE_FORMAT),
  version: Type.Integer({ minimum: 1 }),
});

const Manifest = Type.Object({
  ...Head.properties,
  /** When the backup was made, as `Date.prototype.toISOString` writes it. */
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

/** The time of a file in milliseconds; 0 if it is before 1970 or beyond the range of `Date`. */
export function timeOf(modified: Date): number {
  const time = Math.trunc(modified.getTime());
  return time > 0 ? time : 0;
}

/** Reads a manifest. @throws {ArchiveError} if this Foyer cannot use it. */
export function readManifest(json: string): Contents {
  let manifest: unknown;
  try {
    manifest = JSON.parse(json);
  } catch {
    throw new ArchiveError("its manifest is not JSON");
  }
  // The version comes first, because a newer manifest may have other fields.
  refuseFault(Head, manifest);
  const { version } = manifest as Static<typeof Head>;
  if (version > BACKUP_VERSION) {
    throw new ArchiveError("it was made by a newer Foyer");
  }
  if (version < OLDEST_BACKUP) {
    throw new ArchiveError(
      `it has version ${version}, of a build before release 0.1.0; restore it with that build, export each world (foyer world export), and import it with this one (foyer world import)`,
    );
  }
  refuseFault(Manifest, manifest);
  const { created, members, tables } = manifest as Static<typeof Manifest>;
  if (Number.isNaN(Date.parse(created))) {
    throw new ArchiveError("its manifest is wrong at /created: not a date");
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
  throw new ArchiveError(`its manifest is wrong${at}: ${fault.message}`);
}

/**
 * Reports the progress of long work: the finished part of a step, and the whole. If it
 * throws, the work stops and leaves nothing behind.
 */
export type Report = (step: string, done: number, of: number) => void;
