import { createHash } from "node:crypto";
import { Header } from "tar";
import { EVER, TABLES, tablesOf } from "../../db/copies/tables.js";

export interface Entry {
  path: string;
  body: Buffer;
  type?: "File" | "SymbolicLink";
  linkpath?: string;
}

/** Takes a tar apart, as far as the archives of a backup need it. */
export function entriesOf(tar: Buffer): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; tar[at] !== 0;) {
    const { path, size = 0 } = new Header(tar, at);
    const start = at + 512;
    entries.push({ path: path!, body: tar.subarray(start, start + size) });
    at = start + 512 * Math.ceil(size / 512);
  }
  return entries;
}

export function tarOf(entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap(({ body, type = "File", ...rest }) => {
    const header = new Header({
      ...rest,
      size: body.length,
      mode: 0o600,
      type,
    });
    header.encode();
    return [
      header.block!,
      body,
      Buffer.alloc((512 - (body.length % 512)) % 512),
    ];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

interface TestManifest {
  version: number;
  members: Entry[];
  tables: { name: string; rows: number; sha256: string; columns: string[] }[];
}

/** Changes the manifest, which is the last entry. */
export function withManifest(
  entries: readonly Entry[],
  change: (manifest: TestManifest) => void,
): Entry[] {
  const last = entries.at(-1)!;
  const manifest = JSON.parse(last.body.toString()) as never;
  change(manifest);
  const body = Buffer.from(JSON.stringify(manifest));
  return [...entries.slice(0, -1), { ...last, body }];
}

/** The path of the rows of a table, if it has few. */
export const rowsAt = (table: string): string => `tables/${table}-1.ndjson`;

/** Gives a table other bytes, which the manifest names. */
export function withBytes(
  entries: readonly Entry[],
  table: string,
  change: (bytes: Buffer) => Buffer,
): Entry[] {
  const changed = entries.map((entry) =>
    entry.path === rowsAt(table)
      ? { ...entry, body: change(entry.body) }
      : entry,
  );
  const { body } = changed.find(({ path }) => path === rowsAt(table))!;
  return withManifest(changed, ({ tables }) => {
    const named = tables.find(({ name }) => name === table)!;
    named.sha256 = sumOf(body);
    named.rows = body.toString().split("\n").length - 1;
  });
}

/** Changes the rows of a table, and what the manifest says of them. */
export const withRows = (
  entries: readonly Entry[],
  table: string,
  change: (rows: unknown[][]) => unknown[],
): Entry[] =>
  withBytes(entries, table, (bytes) => {
    const lines = bytes.toString().trimEnd().split("\n");
    const rows = change(lines.map((line) => JSON.parse(line) as unknown[]));
    return Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  });

/** An archive as the first Foyers made it: with a database instead of rows. */
export function oldArchive(
  database: Buffer,
  files: readonly Entry[],
): [...Entry[], Entry, Entry] {
  const held = [...files, { path: "foyer.db", body: database }];
  const manifest = {
    format: "foyer.backup",
    version: 1,
    created: "2026-11-22T18:00:00.000Z",
    members: held.map(memberOf),
  };
  const body = Buffer.from(JSON.stringify(manifest));
  return [...held, { path: "manifest.json", body }] as never;
}

/** An archive as Foyers made it with an older version of backups: without newer tables and columns. */
function versionOf(entries: readonly Entry[], version: number): Entry[] {
  const tables = new Map(
    tablesOf(version).map(({ name, columns }) => [name, columns.length]),
  );
  const newer = TABLES.filter(({ name }) => !tables.has(name));
  const left = entries.filter(({ path }) =>
    newer.every(({ name }) => path !== rowsAt(name)),
  );
  const filled = [...tables].filter(([name]) =>
    left.some(({ path }) => path === rowsAt(name)),
  );
  const short = filled.reduce(
    (entries, [name, kept]) =>
      withRows(entries, name, (rows) => rows.map((row) => row.slice(0, kept))),
    left,
  );
  return withManifest(short, (manifest) => {
    manifest.version = version;
    manifest.tables = manifest.tables
      .filter(({ name }) => tables.has(name))
      .map((one) => ({
        ...one,
        columns: one.columns.slice(0, tables.get(one.name)),
      }));
  });
}

/**
 * An archive as Foyers made it before there was a log: without its tables, tags and authors.
 * @param last the last id of an event of any world.
 */
export const formerArchive = (
  entries: readonly Entry[],
  last: number,
): Entry[] =>
  withRows(versionOf(entries, 2), "sequences", ([channels, ...rest]) => [
    channels,
    ["chat_events", last],
    ...rest,
  ]);

/** An archive as Foyers made it while the audit was a table. @param rows of that table. */
export function auditedArchive(
  entries: readonly Entry[],
  rows: readonly unknown[],
): Entry[] {
  const short = versionOf(entries, 4);
  const at = short.findIndex(({ path }) => path === rowsAt("log_heads"));
  const body = Buffer.from(
    rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
  );
  const former = short.toSpliced(at, 0, { path: rowsAt("audit"), body });
  return withManifest(former, ({ tables }) => {
    const audit = EVER.find(({ name }) => name === "audit")!;
    const columns = audit.columns.map(({ name }) => name);
    const sha256 = sumOf(body);
    tables.push({ name: "audit", rows: rows.length, sha256, columns });
  });
}

const sumOf = (bytes: Buffer) =>
  createHash("sha256").update(bytes).digest("hex");

export const memberOf = ({ path, body }: Entry) => ({
  path,
  size: body.length,
  modified: 0,
  sha256: sumOf(body),
});

/** Another byte in the middle of a buffer. */
export function flipped(bytes: Buffer, at = bytes.length >> 1): Buffer {
  const copy = Buffer.from(bytes);
  copy[at]! ^= 1;
  return copy;
}
