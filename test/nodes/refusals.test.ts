import { join } from "node:path";
import t, { type Test } from "tap";
import { foyerProcess, spawnFoyer } from "../helper.js";
import { startValkey } from "../servers/valkey.js";
import {
  type Node,
  SECONDS,
  type Site,
  startNode,
  startSite,
  within,
} from "./kit.js";

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
      t.ok(performance.now() - started < 30 * SECONDS, `${name}: soon`);
    }),
  );

/** Without the bucket: files are in a folder. */
const NO_BUCKET = { S3_BUCKET: undefined, S3_ENDPOINT: undefined };

/** Ends a node, and waits until it has left. */
async function stop(node: Node): Promise<void> {
  node.signal("SIGTERM");
  await node.finished;
}

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

void t.test("a node alone", async (t) => {
  const site = await startSite(t);
  const { VALKEY_URL: _, ...alone } = site.env;
  const lonely = { ...site, env: alone };
  const env = { VALKEY_URL: "" };
  const node = await startNode(t, site, env);
  t.equal((await node.api("GET", "rooms/")).status, 200);
  const another = await refusal(t, lonely, {});
  t.match(another, { code: 1, stderr: /VALKEY_URL/ }, "a second one alone");
  const shared = await refusal(t, site, {});
  t.match(shared, { code: 1, stderr: /VALKEY_URL/ }, "one with Valkey");

  await stop(node);
  const next = await startNode(t, site);
  t.equal((await next.api("GET", "rooms/")).status, 200, "it has left");
  next.signal("SIGKILL");
  await next.finished;
  const last = await startNode(t, site, env);
  t.equal(
    (await last.api("GET", "rooms/")).status,
    200,
    "one that was killed has left, too",
  );
});

void t.test("folders of files", async (t) => {
  const site = await startSite(t);
  const { S3_BUCKET: _, S3_ENDPOINT: __, ...rest } = site.env;
  const withFolders = { ...site, env: rest };
  const folder = join(site.folder, "shared");
  const off = { S3_BUCKET: "", S3_ENDPOINT: "", DATA_DIR: folder };
  const node = await startNode(t, site, off);
  const other = await refusal(t, withFolders, NO_BUCKET, "own");
  t.match(other, { code: 1, stderr: /DATA_DIR|S3_BUCKET/ }, "another folder");
  const bucket = await refusal(t, site, {});
  t.match(bucket, { code: 1, stderr: /S3_BUCKET/ }, "a bucket");
  const second = await startNode(t, site, off);
  for (const each of [node, second]) {
    t.equal((await each.api("GET", "rooms/")).status, 200, "the same folder");
  }
});

void t.test("a database of a newer Foyer", async (t) => {
  const site = await startSite(t);
  const { postgres } = site;
  const node = await startNode(t, site);
  const change = (by: number) =>
    postgres.run(
      `UPDATE cluster SET value = value::int + ${by} WHERE name = 'version'`,
      "foyer",
    );
  await change(1);
  const { code, stderr } = await refusal(t, site, {});
  t.equal(code, 1);
  t.match(stderr, /^foyer: [^\n]*newer Foyer[^\n]*\n$/);
  const command = await foyerProcess(
    t,
    join(site.folder, "first"),
    ["world", "list"],
    site.env,
  );
  t.match(command, { code: 1, stderr: /newer Foyer/ }, "commands, too");
  t.equal((await node.api("GET", "rooms/")).status, 200, "who runs goes on");
  await change(-1);
  const second = await startNode(t, site);
  t.equal((await second.api("GET", "rooms/")).status, 200);
});

void t.test("servers that are not there", async (t) => {
  const site = await startSite(t);
  const nobody = await startValkey(t);
  await nobody.stop();
  const missing = new URL(site.env.DATABASE_URL!);
  missing.pathname = "/missing";
  missing.password = "very-secret";
  const away = new URL(missing);
  away.port = String(nobody.port);
  const cases: Case[] = [
    ["no such database", { DATABASE_URL: missing.href }, /missing/],
    ["no PostgreSQL", { DATABASE_URL: away.href }, /127\.0\.0\.1/],
    ["no Valkey", { VALKEY_URL: nobody.url }, /127\.0\.0\.1|VALKEY_URL/],
    [
      "no S3",
      { S3_ENDPOINT: `http://127.0.0.1:${nobody.port}` },
      /127\.0\.0\.1|S3/,
    ],
    ["no such bucket", { S3_BUCKET: "nowhere-at-all" }, /nowhere-at-all/],
  ];
  await refuses(t, site, cases);
});

void t.test("a server is there later than the node", async (t) => {
  // As machines that start together: who is refused is started again by its manager.
  const site = await startSite(t);
  await site.postgres.stop();
  t.match(await refusal(t, site, {}), { code: 1 });
  await site.postgres.start();
  await within(30 * SECONDS, "it starts", async () => {
    const node = await startNode(t, site).catch(() => undefined);
    return node !== undefined;
  });
});
