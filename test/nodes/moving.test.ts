import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import t, { type Test } from "tap";
import { openStore } from "../database.js";
import { LocalFiles } from "../../db/blobs/folder/files.js";
import { entriesOf } from "../../db/maintenance/archive.js";
import { sqliteTarget } from "../../db/sqlite/copies/dump.js";
import { TABLES } from "../../db/copies/tables.js";
import { foyerProcess, keyOf, startFoyer, tokenOf } from "../helper.js";
import { startPostgres } from "../servers/postgres.js";
import { startS3 } from "../servers/s3.js";
import { testdir } from "../testdir.js";
import { SHORT } from "./kit.js";
import { fileKey, LARGE, largeWorld, roomId, userId } from "./large-world.js";

// How an event moves from engine to engine: the whole of it by night, a tenth for `SHORT=1`, a
// hundredth for `MOVING=1`.

const part = Number(process.env.MOVING ?? (SHORT ? 10 : 100)) / 100;
const size = {
  rooms: 100_000 * part,
  users: 10_000 * part,
  events: 1_000_000 * part,
  files: 1000 * part,
};

/** How much memory a backup or a restore may take, in MiB. Node.js alone takes 60. */
const MOST = 400;

/** Prints the most memory that a process had, in KiB. */
const MEASURE = `data:text/javascript,process.on('exit',()=>console.error('rss',process.resourceUsage().maxRSS))`;

/** Runs a command, which needs little memory. @returns what it printed. */
async function lean(
  t: Test,
  dataDir: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<string> {
  const started = performance.now();
  const { code, stdout, stderr } = await foyerProcess(t, dataDir, args, {
    NODE_OPTIONS: `--import=${MEASURE}`,
    ...env,
  });
  t.equal(code, 0, stderr);
  const [, kib] = /^rss (\d+)$/m.exec(stderr) ?? [];
  const mib = Math.round(Number(kib) / 1024);
  const seconds = (performance.now() - started) / 1000;
  t.comment(`${args[0]}: ${seconds.toFixed(1)} s, ${mib} MiB`);
  t.ok(mib < MOST, `${args[0]} took ${mib} MiB`);
  return stdout;
}

interface Rows {
  name: string;
  rows: number;
  sha256: string;
}

/** The counts and checksums of all tables in an archive, and the files. */
async function dumpIn(archive: string) {
  for await (const entry of entriesOf(archive, () => {})) {
    if (entry.path !== "manifest.json") {
      entry.resume();
      continue;
    }
    const json = await text(entry as AsyncIterable<Buffer>);
    const { tables, members } = JSON.parse(json) as {
      tables: Rows[];
      members: unknown[];
    };
    return { tables, members };
  }
  throw new Error(`${archive} has no manifest`);
}

const paths = [
  `/api/v1/worlds/${LARGE}/`,
  ...[1, 7, size.rooms].map(
    (i) => `/api/v1/worlds/${LARGE}/rooms/${roomId(i)}/`,
  ),
  `/api/v1/worlds/${LARGE}/rooms/?page_size=50`,
  ...[0, 3, size.files - 1].map((i) => `/media/${fileKey(i)}`),
];

const digestOf = (body: string) =>
  createHash("sha256").update(body).digest("hex");

/** What a server of these data answers. */
async function answers(
  t: Test,
  dataDir: string,
  env: Record<string, string> = {},
) {
  const server = await startFoyer(t, dataDir, [], env);
  const token = tokenOf(keyOf(LARGE), { traits: ["admin", "api"] });
  const got = [];
  for (const path of paths) {
    const answer = await fetch(`${server.address}${path}`, {
      headers: {
        authorization: `Bearer ${token}`,
        host: `${LARGE}.example.org`,
      },
    });
    got.push({
      path,
      status: answer.status,
      etag: answer.headers.get("etag"),
      modified: answer.headers.get("last-modified"),
      body: digestOf((await answer.text()).replaceAll(server.address, "")),
    });
  }
  server.signal("SIGTERM");
  await server.finished;
  return got;
}

void t.test("an event moves", async (t) => {
  t.setTimeout(900_000);
  const dir = testdir(t);
  const at = (name: string) => join(dir, name);
  const files = new LocalFiles(at("first"));
  const target = sqliteTarget(at("first/foyer.db"));
  await largeWorld(target, files, size);
  await target.close();
  await files.close();
  const check = await lean(t, at("first"), ["check"]);
  t.match(check, /^All is well/);
  const before = await answers(t, at("first"));
  t.same([...new Set(before.map(({ status }) => status))], [200]);

  await lean(t, at("first"), ["backup", at("first.tar")]);
  const dump = await dumpIn(at("first.tar"));
  t.same(
    dump.tables.map(({ name }) => name),
    TABLES.map(({ name }) => name),
  );
  const counts = Object.fromEntries(
    dump.tables.map(({ name, rows }) => [name, rows]),
  );
  t.match(counts, {
    rooms: size.rooms,
    users: size.users,
    files: size.files,
    chat_events: size.events,
  });

  await t.test("into a folder", async (t) => {
    await lean(t, at("second"), ["restore", at("first.tar")]);
    t.match(await lean(t, at("second"), ["check"]), /^All is well/);
    t.strictSame(await answers(t, at("second")), before);
    await lean(t, at("second"), ["backup", at("second.tar")]);
    t.strictSame(await dumpIn(at("second.tar")), dump);

    const [head] = await openStore(t, at("first")).log.heads([LARGE]);
    const store = openStore(t, at("second"));
    const { event } = await store.chat.send(LARGE, roomId(1), {
      sender: userId(1),
      content: { type: "text", body: "next" },
    });
    t.equal(event.id, head!.seq + 1, "no id is given again");
  });

  await t.test("into PostgreSQL and a bucket, and back", async (t) => {
    const postgres = await startPostgres();
    t.teardown(() => postgres.close());
    const s3 = await startS3(t);
    const env = {
      DATABASE_URL: await postgres.createDatabase(),
      ...s3.variables,
    };
    await lean(t, at("third"), ["restore", at("first.tar")], env);
    await lean(t, at("third"), ["backup", at("third.tar")], env);
    t.strictSame(await dumpIn(at("third.tar")), dump);
    t.notOk(existsSync(at("third")), "nothing is in the folder");
    t.match(await lean(t, at("third"), ["check"], env), /^All is well/);
    t.strictSame(await answers(t, at("third"), env), before);
    await lean(t, at("fourth"), ["restore", at("third.tar")]);
    t.match(await lean(t, at("fourth"), ["check"]), /^All is well/);
    t.strictSame(await answers(t, at("fourth")), before);
    await lean(t, at("fourth"), ["backup", at("fourth.tar")]);
    t.strictSame(await dumpIn(at("fourth.tar")), dump);
  });
});
