import { constants } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import type { ReadEntry } from "tar";
import { type Table, TABLES } from "../copies/tables.js";
import { entriesOf } from "./archive.js";
import {
  ArchiveError,
  type Contents,
  entryAt,
  MANIFEST,
  readManifest,
  type ReportProgress,
  type TableRows,
} from "./manifest.js";
import { rowsIn } from "./table-rows.js";

/**
 * Verifies an archive by reading it completely, without keeping any of its data. The archive must
 * contain exactly the entries in its manifest, with the right checksums, and each row must fit its
 * table.
 * @throws {ArchiveError} if the archive does not meet these conditions.
 */
export async function verifyArchive(archive: string, report: ReportProgress): Promise<Contents> {
  if ((await stat(archive)).isDirectory()) {
    throw new ArchiveError(`${archive} is a folder.`);
  }
  const seen = new Seen();
  let manifest: string | undefined;
  try {
    for await (const entry of entriesOf(archive, (done, of) =>
      report("Checking the archive", done, of),
    )) {
      const { path } = entry;
      if (manifest !== undefined || entry.type !== "File") {
        throw new ArchiveError(`it has an unexpected entry: ${path}`);
      }
      if (path === MANIFEST) manifest = await manifestText(entry);
      else await seen.take(entry);
    }
    if (manifest === undefined) throw new ArchiveError("it lacks its manifest");
    const contents = readManifest(manifest);
    seen.compare(contents);
    return contents;
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw new ArchiveError(`${archive} is not a complete backup: ${error.message}`);
  }
}

function manifestText(entry: ReadEntry): Promise<string> {
  if (entry.size > constants.MAX_STRING_LENGTH) {
    throw new ArchiveError("its manifest is too large");
  }
  return text(entry as AsyncIterable<Buffer>);
}

class Seen {
  readonly #files = new Map<string, { size: number; sha256: string }>();
  readonly #tables = new Map<string, { rows: number; hash: Hash }>();
  #last: { table: Table; part: number } | undefined;

  async take(entry: ReadEntry): Promise<void> {
    const { path } = entry;
    const what = entryAt(path);
    if (what?.kind === "rows") {
      this.#refuseDisorder(path, what.table, what.part);
      await this.#takeRows(entry, what.table);
    } else if (what && !this.#last && !this.#files.has(path)) {
      const hash = createHash("sha256");
      let size = 0;
      for await (const chunk of entry as AsyncIterable<Buffer>) {
        hash.update(chunk);
        size += chunk.length;
      }
      this.#files.set(path, { size, sha256: hash.digest("hex") });
    } else throw new ArchiveError(`it has an unexpected entry: ${path}`);
  }

  /** Throws unless the rows arrive in loading order. */
  #refuseDisorder(path: string, table: Table, part: number): void {
    const isNext =
      this.#last?.table === table
        ? part === this.#last.part + 1
        : part === 1 &&
          TABLES.indexOf(table) > (this.#last ? TABLES.indexOf(this.#last.table) : -1);
    if (!isNext) throw new ArchiveError(`it has an unexpected entry: ${path}`);
    this.#last = { table, part };
  }

  async #takeRows(entry: ReadEntry, table: Table): Promise<void> {
    const seen = this.#tables.get(table.name) ?? { rows: 0, hash: createHash("sha256") };
    this.#tables.set(table.name, seen);
    const chunks = async function* () {
      for await (const chunk of entry as AsyncIterable<Buffer>) {
        seen.hash.update(chunk);
        yield chunk;
      }
    };
    for await (const rows of rowsIn(table, chunks())) seen.rows += rows.length;
  }

  /** @throws {ArchiveError} unless the entries match the manifest. */
  compare({ members, tables }: Contents): void {
    for (const { path, size, sha256 } of members) {
      const file = this.#files.get(path);
      if (!file) throw new ArchiveError(`it lacks ${path}`);
      if (file.size !== size || file.sha256 !== sha256) {
        throw new ArchiveError(`${path} has the wrong checksum`);
      }
      this.#files.delete(path);
    }
    const [extra] = this.#files.keys();
    if (extra !== undefined) {
      throw new ArchiveError(`its manifest does not list ${extra}`);
    }
    refuseFolders(members.map(({ path }) => path));
    for (const table of tables) this.#compareRows(table);
    const [odd] = this.#tables.keys();
    if (odd !== undefined) {
      throw new ArchiveError(`its manifest lacks the table ${odd}`);
    }
  }

  #compareRows({ name, rows, sha256 }: TableRows): void {
    const seen = this.#tables.get(name) ?? { rows: 0, hash: createHash("sha256") };
    if (seen.rows !== rows) {
      throw new ArchiveError(`the table ${name} has ${seen.rows} rows instead of ${rows}`);
    }
    if (seen.hash.digest("hex") !== sha256) {
      throw new ArchiveError(`the table ${name} has the wrong checksum`);
    }
    this.#tables.delete(name);
  }
}

/** Throws if a path is both a file and a folder. */
function refuseFolders(paths: readonly string[]): void {
  const files = new Set(paths);
  for (const path of paths) {
    for (let up = dirname(path); up !== "."; up = dirname(up)) {
      if (files.has(up)) {
        throw new ArchiveError(`${up} is a file and a folder`);
      }
    }
  }
}
