import t from "tap";
import { putDatabase } from "../database.js";
import { keyOf, spawnFoyer, startFoyer, worldOf } from "../helper.js";
import { shared } from "../shared.js";
import { testdir } from "../testdir.js";

// All rows of `foyer conformance`, by the command itself: on one server with SQLite, or on two
// nodes with PostgreSQL and Valkey (`npm run test:shared`).

void t.test("Foyer conforms to its protocol", async (t) => {
  const dataDir = testdir(t);
  await putDatabase(dataDir, [worldOf("mine"), worldOf("other")]);
  const nodes = [await startFoyer(t, dataDir)];
  if (shared) nodes.push(await startFoyer(t, dataDir));
  const urls = nodes.map(({ address }) => address);
  const [mine, other] = [keyOf("mine"), keyOf("other")];
  const ended = await spawnFoyer(t, ["conformance", ...urls], {
    CONFORMANCE_WORLD: "mine",
    CONFORMANCE_ISSUER: mine.issuer,
    CONFORMANCE_AUDIENCE: mine.audience,
    CONFORMANCE_SECRET: mine.secret,
    CONFORMANCE_FOREIGN_WORLD: "other",
    CONFORMANCE_FOREIGN_ISSUER: other.issuer,
    CONFORMANCE_FOREIGN_AUDIENCE: other.audience,
    CONFORMANCE_FOREIGN_SECRET: other.secret,
  }).finished;
  const rows = ended.stdout.trimEnd().split("\n");
  t.comment(rows.pop());
  for (const row of rows) t.match(row, /^(passed|skipped) {2}\S/, row);
  const passed = rows.filter((row) => row.startsWith("passed"));
  t.ok(passed.length > 0.9 * rows.length, `${passed.length} rows pass`);
  t.equal(ended.code, 0, ended.stderr);
});
