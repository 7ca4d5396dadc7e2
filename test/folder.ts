import { readdirSync } from "node:fs";
import t from "tap";
import { embeddedFiles, shared } from "./shared.js";
import { lengthy, nightly, SHORT } from "./suites.js";
import { endAfterTests, nameWhatHangs } from "./watchdog.js";
import "./threads.js";

/** The file of `db/` that `npm test` runs in a process of its own. */
export const STORE = "store.test.js";

/** Chooses the files of a folder that `npm test` runs. */
export const isBrief =
  (folder: string) =>
  (file: string): boolean =>
    !lengthy[folder]?.includes(file);

/** Chooses the files of a folder that `npm run test:more` runs. */
export const isLengthy =
  (folder: string) =>
  (file: string): boolean =>
    !isBrief(folder)(file);

/**
 * Runs all tests of a folder beside this file in one process: to start one for
 * each takes as long as most of them take. A folder without tests passes.
 * @param chosen by their paths in the folder; all files by default.
 */
export async function runFolder(
  name: string,
  chosen: (file: string) => boolean = () => true,
): Promise<void> {
  nameWhatHangs();
  const folder = new URL(`${name}/`, import.meta.url);
  const files = readdirSync(folder, { recursive: true }) as string[];
  const tests = files
    .filter((file) => file.endsWith(".test.js") && chosen(file))
    .sort();
  if (tests.length === 0) process.stdout.write("1..0\n");
  for (const file of tests) {
    const path = `${name}/${file}`;
    const reason =
      (shared && embeddedFiles[path]) ?? (SHORT ? nightly[path] : undefined);
    if (reason === undefined) await import(new URL(file, folder).href);
    else void t.test(file, { skip: reason }, () => {});
  }
  endAfterTests();
}
