import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { forget } from "./shared.js";

/** Number of folders created for each test. */
const counts = new WeakMap<object, number>();

/**
 * Creates a new folder for a test on each call. Everything registered with `t.teardown` runs before
 * the folder is removed. If `t.testdir` were called first, tap would remove the folder first: a
 * store that is still open would then write files into it, the removal would fail, and tap would
 * skip the teardowns that close the store, so the process would never end.
 * @param content its initial content, in the format of `t.testdir`.
 */
export function testdir(
  t: Pick<Test, "teardown" | "testdir" | "testdirName">,
  content?: Parameters<Test["testdir"]>[0],
): string {
  // tap runs a test's hooks in the order of their first use; the last one is outermost.
  t.teardown(() => forget(folder));
  // tap has one folder name per test, and empties the folder on each call, even while a server uses
  // it. Names that tap derives from test names contain no plus sign.
  const count = (counts.get(t) ?? 0) + 1;
  counts.set(t, count);
  if (count > 1) {
    t.testdirName = t.testdirName.replace(/(\+\d+)?$/, `+${count}`);
  }
  // oxlint-disable-next-line no-restricted-properties -- This is the one place for it.
  const folder = t.testdir(content);
  return folder;
}

/** Creates a data folder whose path is short enough for sockets. */
export function shortFolder(t: Pick<Test, "teardown">): string {
  const folder = mkdtempSync(join(tmpdir(), "foyer-"));
  t.teardown(async () => {
    await forget(folder);
    // The workers of a killed process may still write for a moment.
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  });
  return folder;
}
