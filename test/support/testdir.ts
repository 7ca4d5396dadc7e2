import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { forget } from "./shared.js";

/** How many folders each test has. */
const counts = new WeakMap<object, number>();

/**
 * Makes a folder for a test, a new one with each call. Everything that is registered
 * with `t.teardown` runs before the folder is removed. If `t.testdir` comes first, tap
 * removes the folder first: a store that is still open then puts files into it, the
 * removal fails, and tap skips the teardowns that would close the store, so that the
 * process never ends.
 * @param content what is in it, as `t.testdir` takes it.
 */
export function testdir(
  t: Pick<Test, "teardown" | "testdir" | "testdirName">,
  content?: Parameters<Test["testdir"]>[0],
): string {
  // tap runs the hooks of a test in the order of their first use, the last one outermost.
  t.teardown(() => forget(folder));
  // tap has one name for each test, and empties the folder when asked again, although a
  // server may use it. The names that it makes of the names of tests have no plus sign.
  const count = (counts.get(t) ?? 0) + 1;
  counts.set(t, count);
  if (count > 1) {
    t.testdirName = t.testdirName.replace(/(\+\d+)?$/, `+${count}`);
  }
  // oxlint-disable-next-line no-restricted-properties -- This is the one place for it.
  const folder = t.testdir(content);
  return folder;
}

/** A data folder with a path that is short enough for sockets. */
export function shortFolder(t: Pick<Test, "teardown">): string {
  const folder = mkdtempSync(join(tmpdir(), "foyer-"));
  t.teardown(async () => {
    await forget(folder);
    // Workers of a process that was killed may still write for a moment.
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  });
  return folder;
}
