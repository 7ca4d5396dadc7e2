import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";

/**
 * Stands for a test where a server asks for one: `testdir` of a test empties its folder each
 * time, so servers of one test cannot share it, and a runner is no test.
 * @param folder gets a folder for each server.
 * @param teardown gets what ends each.
 */
export const ownerIn = (folder: string, teardown: Test["teardown"]): Test =>
  ({
    teardown,
    testdirName: "server",
    testdir: () => mkdtempSync(join(folder, "server-")),
  }) as unknown as Test;
