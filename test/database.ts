import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../db/sqlite/index.js";
import type { World } from "../schemas/worlds.js";

/** The bytes of databases that this process has made, by the worlds in them. */
const made = new Map<string, Promise<Buffer>>();

/**
 * Puts a database with some worlds into a folder, which is made if missing. The
 * first with these worlds is made by a store, all others are copies of it: to
 * start a writer takes longer than most tests do.
 */
export async function putDatabase(
  dataDir: string,
  worlds: readonly World[],
): Promise<void> {
  const key = JSON.stringify(worlds);
  let bytes = made.get(key);
  if (!bytes) made.set(key, (bytes = make(worlds)));
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(join(dataDir, "foyer.db"), await bytes, {
    flag: "wx",
    mode: 0o600,
  });
}

async function make(worlds: readonly World[]): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), "foyer-test-"));
  try {
    const store = openSqliteStore(folder);
    for (const world of worlds) await store.worlds.create(world);
    await store.close();
    // Nobody has it open: closing a file drops all locks of this process on it.
    return readFileSync(join(folder, "foyer.db"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
