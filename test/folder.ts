import { readdirSync } from "node:fs";

/**
 * Runs all tests of a folder beside this file in one process: to start one for
 * each takes as long as most of them take.
 */
export async function runFolder(name: string): Promise<void> {
  const folder = new URL(`${name}/`, import.meta.url);
  const files = readdirSync(folder, { recursive: true }) as string[];
  for (const file of files.sort()) {
    if (file.endsWith(".test.js")) await import(new URL(file, folder).href);
  }
}
