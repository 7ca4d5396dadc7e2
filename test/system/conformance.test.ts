import t from "tap";
import { rows } from "../../conformance/rows/index.js";
import { putDatabase } from "../database.js";
import { keyOf, spawnFoyer, startFoyer, worldOf } from "../helper.js";
import { shared } from "../shared.js";
import { SHORT } from "../suites.js";
import { testdir } from "../testdir.js";

// All rows of `foyer conformance`, by the command itself: on two processes with SQLite, or on two
// nodes with PostgreSQL and Valkey (`npm run test:shared`).

interface Report {
  rows: { name: string; status: string; faults?: string[] }[];
  connections: number;
  requests: number;
}

/** In how many worlds the rows run at the same time: most wait for most of the time. */
const WORLDS = 3;

/**
 * The parts that are tried. A landing tries all on two nodes, and with SQLite one that the seed
 * chooses: the harness has all rows on SQLite in one process.
 */
const parts = Array.from({ length: WORLDS }, (_, i) => i).filter(
  (i) => !SHORT || shared || i === Number(process.env.SEED ?? 0) % WORLDS,
);

/** A part of the rows, by the modules of their commands. */
const partOf = (number: number): string[] =>
  [...new Set(Object.keys(rows).map((name) => name.replace(/[.:].*/, "")))]
    .filter((_, i) => i % WORLDS === number)
    .flatMap((module) => ["--only", module]);

void t.test("Foyer conforms to its protocol", async (t) => {
  const dataDir = testdir(t);
  const worlds = Array.from({ length: WORLDS }, (_, i) => `mine-${i}`);
  const others = worlds.map((id) => `beside-${id}`);
  await putDatabase(
    dataDir,
    [...worlds, ...others].map((id) => worldOf(id)),
  );
  const env: Record<string, string> = shared ? {} : { WORKERS: "2" };
  const nodes = [await startFoyer(t, dataDir, [], env)];
  if (shared) nodes.push(await startFoyer(t, dataDir));
  const urls = nodes.map(({ address }) => address);
  const names = new Set<string>();
  let tried = 0;
  const run = async (i: number) => {
    const world = worlds[i]!;
    const [mine, other] = [keyOf(world), keyOf(others[i]!)];
    const args = ["conformance", ...urls, "--json", ...partOf(i)];
    const ended = await spawnFoyer(t, args, {
      CONFORMANCE_WORLD: world,
      CONFORMANCE_ISSUER: mine.issuer,
      CONFORMANCE_AUDIENCE: mine.audience,
      CONFORMANCE_SECRET: mine.secret,
      CONFORMANCE_FOREIGN_WORLD: others[i]!,
      CONFORMANCE_FOREIGN_ISSUER: other.issuer,
      CONFORMANCE_FOREIGN_AUDIENCE: other.audience,
      CONFORMANCE_FOREIGN_SECRET: other.secret,
    }).finished;
    t.equal(ended.code, 0, ended.stderr);
    const report = JSON.parse(ended.stdout) as Report;
    t.comment(`${report.connections} connections, ${report.requests} requests`);
    tried += report.rows.length;
    for (const { name, status, faults = [] } of report.rows) {
      t.not(status, "failed", [name, ...faults].join("\n"));
      if (status === "passed") names.add(name);
    }
  };
  await Promise.all(parts.map(run));
  const all = Object.keys(rows).length;
  if (parts.length === WORLDS) t.ok(tried >= all, "all rows are tried");
  t.ok(names.size > 0.9 * tried, `${names.size} of ${tried} rows pass`);
});
