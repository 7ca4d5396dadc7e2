import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { LocalFiles } from "../../db/blobs/folder/local-files.js";
import { TABLES } from "../../db/copies/tables.js";
import { entriesOf } from "../../db/maintenance/archive.js";
import { fill } from "../contract/db/filled-store.js";
import { text } from "../contract/db/store-contract/chat-setup.js";
import { openStore } from "../support/database.js";
import { foyerProcess, keyOf, startFoyer, tokenOf } from "../support/helper.js";
import { NIGHT } from "../support/night.js";
import { NO_SERVERS, servers } from "../support/shared.js";
import { testdir } from "../support/testdir.js";

// Moves an event from engine to engine: a full-size event in the nightly run, otherwise a tenth of
// it.

const part = NIGHT ? 1 : 0.1;
const size = { events: 1_000_000 * part, files: 1000 * part };

/** Maximum memory of a backup or restore, in MiB. Node.js alone takes 60. */
const MOST = 400;

/** Prints the peak memory of a process on exit, in KiB. */
const MEASURE = `data:text/javascript,process.on('exit',()=>console.error('rss',process.resourceUsage().maxRSS))`;

/**
 * Runs a command, which must stay within the memory limit.
 * @returns its output.
 */
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

/** Reads an archive's files, and the counts and checksums of all tables. */
async function dumpIn(archive: string) {
  for await (const entry of entriesOf(archive, () => {})) {
    if (entry.path !== "manifest.json") {
      entry.resume();
      continue;
    }
    const json = await textOf(entry as AsyncIterable<Buffer>);
    const { tables, members } = JSON.parse(json) as {
      tables: Rows[];
      members: unknown[];
    };
    return { tables, members };
  }
  throw new Error(`${archive} has no manifest`);
}

const fileKey = (i: number) => `pub/demo/${String(i).padStart(36, "0")}.${"k".repeat(12)}.pdf`;

/** Fills a data folder with a world that contains a bit of everything, and much chat and many files. */
async function largeWorld(t: Test, dataDir: string) {
  const store = openStore(t, dataDir);
  const { room, ada, cy } = await fill(store);
  await store.users.erase("demo", { user_id: cy });
  const files = new LocalFiles(dataDir);
  const uploader = { tokenId: "ada", traits: new Set<string>() };
  for (let i = 0; i < size.files; i++) {
    const key = fileKey(i);
    const content = Readable.from([Buffer.alloc(100 + ((i * 7919) % 20_000), key)]);
    await files.put(key, content, (stored) =>
      store.files.add("demo", uploader, { key, ...stored }, 1e9),
    );
  }
  const body = 'NUL \0 \u0001 🎈 ς Σ K a\nb\t"c\\';
  const { event } = await store.chat.send("demo", room, { sender: ada, content: text(body) });
  await files.close();
  await store.close();
  const db = new Database(join(dataDir, "foyer.db"));
  const last = event.id + size.events;
  db.exec(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${size.events})
     INSERT INTO chat_events (world_id, id, tag, channel, type, sender, timestamp, content)
     SELECT world_id, id + i, tag + i, channel, type, sender, timestamp + i, content
     FROM chat_events, n WHERE id = ${event.id};
     UPDATE chat_channels SET last_event = ${last}, last_message = ${last} WHERE id = '${room}';
     UPDATE log_heads SET seq = ${last} WHERE world_id = 'demo';
     -- These have no bytes.
     DELETE FROM files WHERE key IN ('pub/demo/a', 'pub/demo/b');
     UPDATE worlds SET file_bytes = file_bytes - 6 WHERE id = 'demo';
     UPDATE webhooks SET enabled = 0`,
  );
  db.close();
  return { room, ada };
}

const digestOf = (body: string) => createHash("sha256").update(body).digest("hex");

/** Collects the responses of a server on this data. */
async function answers(t: Test, dataDir: string, env: Record<string, string> = {}) {
  const paths = [
    "/api/v1/worlds/demo/",
    "/api/v1/worlds/demo/rooms/?page_size=50",
    ...[0, 3, size.files - 1].map((i) => `/media/${fileKey(i)}`),
  ];
  const server = await startFoyer(t, dataDir, [], env);
  const token = tokenOf(keyOf("demo"), { traits: ["admin", "api"] });
  const got = [];
  for (const path of paths) {
    const answer = await fetch(`${server.address}${path}`, {
      headers: {
        authorization: `Bearer ${token}`,
        host: "demo.example.org",
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
  const { room, ada } = await largeWorld(t, at("first"));
  const check = await lean(t, at("first"), ["check"]);
  t.match(check, /^No findings/);
  const before = await answers(t, at("first"));
  t.same([...new Set(before.map(({ status }) => status))], [200]);

  await lean(t, at("first"), ["backup", at("first.tar")]);
  const dump = await dumpIn(at("first.tar"));
  t.same(
    dump.tables.map(({ name }) => name),
    TABLES.map(({ name }) => name),
  );
  const counts = Object.fromEntries(dump.tables.map(({ name, rows }) => [name, rows]));
  t.equal(counts.files, size.files);
  t.ok(counts.chat_events! > size.events);

  await t.test("into a folder", async (t) => {
    await lean(t, at("second"), ["restore", at("first.tar")]);
    t.match(await lean(t, at("second"), ["check"]), /^No findings/);
    t.strictSame(await answers(t, at("second")), before);
    await lean(t, at("second"), ["backup", at("second.tar")]);
    t.strictSame(await dumpIn(at("second.tar")), dump);

    const [head] = await openStore(t, at("first")).log.heads(["demo"]);
    const store = openStore(t, at("second"));
    const { event } = await store.chat.send("demo", room, {
      sender: ada,
      content: text("next"),
    });
    t.equal(event.id, head!.seq + 1, "no id is given again");
  });

  await t.test("into PostgreSQL and a bucket, and back", { skip: NO_SERVERS }, async (t) => {
    const shared = await servers();
    const env = await shared.variablesOf(at("third"));
    await lean(t, at("third"), ["restore", at("first.tar")], env);
    await lean(t, at("third"), ["backup", at("third.tar")], env);
    t.strictSame(await dumpIn(at("third.tar")), dump);
    t.notOk(existsSync(at("third")), "nothing is in the folder");
    t.match(await lean(t, at("third"), ["check"], env), /^No findings/);
    t.strictSame(await answers(t, at("third"), env), before);
    await lean(t, at("fourth"), ["restore", at("third.tar")]);
    t.match(await lean(t, at("fourth"), ["check"]), /^No findings/);
    t.strictSame(await answers(t, at("fourth")), before);
    await lean(t, at("fourth"), ["backup", at("fourth.tar")]);
    t.strictSame(await dumpIn(at("fourth.tar")), dump);
  });
});
