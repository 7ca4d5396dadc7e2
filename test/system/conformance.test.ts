import t from "tap";
import { putDatabase } from "../database.js";
import { keyOf, spawnFoyer, startFoyer, worldOf } from "../helper.js";
import { shared } from "../shared.js";
import { testdir } from "../testdir.js";

// All rows of `foyer conformance`, by the command itself: on one server with SQLite, or on two
// nodes with PostgreSQL and Valkey (`npm run test:shared`).

interface Report {
  rows: { name: string; status: string; faults?: string[] }[];
  connections: number;
  requests: number;
}

void t.test("Foyer conforms to its protocol", async (t) => {
  const dataDir = testdir(t);
  await putDatabase(dataDir, [worldOf("mine"), worldOf("other")]);
  const nodes = [await startFoyer(t, dataDir)];
  if (shared) nodes.push(await startFoyer(t, dataDir));
  const urls = nodes.map(({ address }) => address);
  const [mine, other] = [keyOf("mine"), keyOf("other")];
  const ended = await spawnFoyer(t, ["conformance", ...urls, "--json"], {
    CONFORMANCE_WORLD: "mine",
    CONFORMANCE_ISSUER: mine.issuer,
    CONFORMANCE_AUDIENCE: mine.audience,
    CONFORMANCE_SECRET: mine.secret,
    CONFORMANCE_FOREIGN_WORLD: "other",
    CONFORMANCE_FOREIGN_ISSUER: other.issuer,
    CONFORMANCE_FOREIGN_AUDIENCE: other.audience,
    CONFORMANCE_FOREIGN_SECRET: other.secret,
  }).finished;
  t.equal(ended.code, 0, ended.stderr);
  const { rows, connections, requests } = JSON.parse(ended.stdout) as Report;
  t.comment(`${connections} connections, ${requests} requests`);
  for (const { name, status, faults = [] } of rows) {
    t.not(status, "failed", [name, ...faults].join("\n"));
  }
  const passed = rows.filter(({ status }) => status === "passed");
  t.ok(passed.length > 0.9 * rows.length, `${passed.length} rows pass`);
});
