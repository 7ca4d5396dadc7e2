import t from "tap";
import { check } from "../../db/maintenance/check.js";
import { Database } from "../../db/postgres/engine/database.js";
import { postgresStore } from "../../db/postgres/index.js";
import { contradictions, furnish } from "../db/contradictions.js";
import { startPostgres } from "../servers/postgres.js";
import { testdir } from "../testdir.js";

// `foyer check` of a PostgreSQL database. Each case breaks the database by hand.

const server = await startPostgres();
t.setTimeout(300_000);
t.teardown(() => server.close());

const url = await server.createDatabase("whole");
const store = postgresStore(
  await Database.open({ url, pool: 2 }, { create: true }),
);
const event = await furnish(store);
await store.close();

/** What breaks it, and what is found. */
const CASES = [
  ...contradictions(event, "NULL"),
  ["DROP INDEX rooms_by_name", "the index rooms_by_name is missing"],
  [
    "UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = 'rooms_by_name'::regclass",
    "the index rooms_by_name is invalid",
  ],
] as const;

void t.test("what is whole has no findings", async (t) => {
  const dataDir = testdir(t);
  const place = { dataDir, database: { url, pool: 1 } };
  const { findings, ...counts } = await check(place, () => {});
  t.strictSame(findings, []);
  t.match(counts, { worlds: 1, rooms: 1, files: 0, questions: 1, polls: 2 });
  t.ok(counts.chat_events > 0);
});

void t.test("each contradiction has its words", async (t) => {
  const dataDir = testdir(t);
  for (const [i, [breaking, finding]] of CASES.entries()) {
    // They go with the server: to drop one takes a second.
    const broken = await server.createDatabase(`broken_${i}`, "whole");
    await server.run(breaking, `broken_${i}`);
    const place = { dataDir, database: { url: broken, pool: 1 } };
    const { findings } = await check(place, () => {});
    t.strictSame(
      findings.map(({ problem }) => problem),
      [finding],
      breaking,
    );
  }
});
