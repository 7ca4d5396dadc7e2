import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Test } from "tap";
import { Header } from "tar";
import type { LocalFiles } from "../../../db/blobs/folder/local-files.js";
import { worldOf } from "../../support/helper.js";
import { openIn } from "../../support/stack.js";
import { testdir } from "../../support/testdir.js";

export interface Entry {
  path: string;
  body: Buffer;
  type?: "File" | "SymbolicLink";
  linkpath?: string;
}

/** Parses a tar, as far as backup archives need it. */
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
    const header = new Header({ ...rest, size: body.length, mode: 0o600, type });
    header.encode();
    return [header.block!, body, Buffer.alloc((512 - (body.length % 512)) % 512)];
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

/** Returns the path of a table's rows, if they fit in one part. */
export const rowsAt = (table: string): string => `tables/${table}-1.ndjson`;

/** Replaces a table's bytes, and updates the manifest accordingly. */
export function withBytes(
  entries: readonly Entry[],
  table: string,
  change: (bytes: Buffer) => Buffer,
): Entry[] {
  const changed = entries.map((entry) =>
    entry.path === rowsAt(table) ? { ...entry, body: change(entry.body) } : entry,
  );
  const { body } = changed.find(({ path }) => path === rowsAt(table))!;
  return withManifest(changed, ({ tables }) => {
    const named = tables.find(({ name }) => name === table)!;
    named.sha256 = sumOf(body);
    named.rows = body.toString().split("\n").length - 1;
  });
}

/** Changes a table's rows, and updates the manifest accordingly. */
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

const sumOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

export const memberOf = ({ path, body }: Entry) => ({
  path,
  size: body.length,
  modified: 0,
  sha256: sumOf(body),
});

/** Flips a bit in the middle of a buffer. */
export function flipped(bytes: Buffer, at = bytes.length >> 1): Buffer {
  const copy = Buffer.from(bytes);
  copy[at]! ^= 1;
  return copy;
}

/** Creates a folder with a world, two rooms and some files, and keeps its stores open. */
export async function furnished(t: Test, count: number) {
  const dataDir = join(testdir(t), "data");
  const { store, files: opened } = await openIn(t, dataDir);
  // Tests that inspect the folder run on the embedded engines only.
  const files = opened as LocalFiles;
  await store.worlds.create(worldOf("demo"));
  const rooms = [{ name: "a" }, { name: "b" }];
  for (const room of rooms) await store.rooms.create("demo", room);
  t.teardown(() => store.close());
  t.teardown(() => files.close());
  const keys = Array.from({ length: count }, (_, i) => `pub/demo/${i}.pdf`);
  const uploader = { clientId: "x", traits: new Set<string>() };
  for (const key of keys) {
    const bytes = (async function* () {
      yield Buffer.from(`bytes of ${key}`);
    })();
    await files.put(key, bytes, (stored) =>
      store.files.add("demo", uploader, { key, ...stored }, 1e6),
    );
  }
  return { dataDir, store, files, keys };
}
