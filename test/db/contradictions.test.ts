import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import t from "tap";
import { check } from "../../db/maintenance/check.js";
import { openStore } from "../database.js";
import { testdir } from "../testdir.js";
import { contradictions, furnish } from "./contradictions.js";

// PostgreSQL is checked in nodes/check.test.ts.

void t.test("each contradiction has its words", async (t) => {
  const dir = testdir(t);
  const whole = join(dir, "whole");
  const store = openStore(t, whole);
  const event = await furnish(store);
  await store.close();
  t.match(await check({ dataDir: whole }, () => {}), {
    ...{ findings: [], worlds: 1, rooms: 1, questions: 1, polls: 2 },
  });
  const bytes = readFileSync(join(whole, "foyer.db"));
  const cases = contradictions(event, "zeroblob(2)");
  for (const [i, [breaking, finding]] of cases.entries()) {
    const dataDir = join(dir, `broken ${i}`);
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, "foyer.db"), bytes);
    const db = new Database(join(dataDir, "foyer.db"));
    db.pragma("foreign_keys = OFF");
    db.exec(breaking);
    db.close();
    const { findings } = await check({ dataDir }, () => {});
    t.strictSame(
      findings
        .map(({ problem }) => problem)
        .filter((problem) => !problem.startsWith("a row of ")),
      [finding],
      breaking,
    );
  }
});
