import { join } from "node:path";
import t, { type Test } from "tap";
import { spawnFoyer } from "../helper.js";
import { PATIENCE } from "../patience.js";
import { startValkey } from "../servers/valkey.js";
import { SECONDS, type Site, startNode, startSite } from "./kit.js";

// What would lose or split data is refused at the start, with one line.

/** Starts a server that must not start. @returns what it says. */
async function refusal(
  t: Test,
  site: Site,
  env: Record<string, string | undefined>,
  folder = "refused",
): Promise<{ code: number | null; stderr: string }> {
  const all = { ...site.env, DATA_DIR: join(site.folder, folder), ...env };
  const set = Object.entries(all).filter(([, value]) => value !== undefined);
  const { finished } = spawnFoyer(t, ["serve"], {
    ...(Object.fromEntries(set) as Record<string, string>),
    PORT: "0",
    LOG_LEVEL: "silent",
  });
  return finished;
}

type Case = readonly [
  name: string,
  env: Record<string, string | undefined>,
  says: RegExp,
];

/** Starts servers at the same time, each of which soon ends with one line. */
const refuses = (t: Test, site: Site, cases: readonly Case[]) =>
  Promise.all(
    cases.map(async ([name, env, says], i) => {
      const started = performance.now();
      const { code, stderr } = await refusal(t, site, env, `refused-${i}`);
      t.equal(code, 1, name);
      t.match(stderr, says, name);
      t.match(stderr, /^foyer: [^\n]+\n$/, `${name}: one line`);
      t.notMatch(
        stderr,
        /at .*\.js|very-secret/,
        `${name}: no stack or password`,
      );
      t.ok(
        performance.now() - started < 30 * SECONDS * PATIENCE,
        `${name}: soon`,
      );
    }),
  );

/** Without the bucket: files are in a folder. */
const NO_BUCKET = { S3_BUCKET: undefined, S3_ENDPOINT: undefined };

void t.test("nodes that do not fit", async (t) => {
  const site = await startSite(t);
  const node = await startNode(t, site);
  const otherValkey = await startValkey(t);
  await site.createBucket("elsewhere");
  const cases: Case[] = [
    ["no Valkey", { VALKEY_URL: undefined }, /VALKEY_URL/],
    ["another Valkey", { VALKEY_URL: otherValkey.url }, /Valkey/],
    ["another bucket", { S3_BUCKET: "elsewhere" }, /S3_BUCKET/],
    ["a folder in place of the bucket", NO_BUCKET, /S3_BUCKET|DATA_DIR/],
  ];
  await refuses(t, site, cases);
  t.equal((await node.api("GET", "rooms/")).status, 200, "the other goes on");
  const second = await startNode(t, site);
  t.equal((await second.api("GET", "rooms/")).status, 200, "one that fits");
});
