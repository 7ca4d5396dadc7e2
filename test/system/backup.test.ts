import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { backup } from "../../db/maintenance/backup.js";
import {
  dial,
  foyerProcess,
  rawRequest,
  type RawAnswer,
  type ServerProcess,
  startFoyer,
  until,
} from "../helper.js";
import { furnished } from "../cli/furnished.js";
import { testdir } from "../testdir.js";
import { pathOf, request, upload } from "./requests.js";

const API = "/api/v1/worlds/sample";

/** People at work: what was answered is in the maps, with what it has to be at least. */
class Load {
  /** How often a room was changed, by its id. */
  readonly rooms = new Map<string, number>();
  /** Bytes, by the path of their link. */
  readonly files = new Map<string, string>();
  #going = true;
  readonly #workers: Promise<void>[];

  constructor(readonly server: ServerProcess) {
    this.#workers = [
      this.#repeat((i) => this.#changeRoom(i)),
      this.#repeat((i) => this.#changeRoom(i)),
      this.#repeat((i) => this.#upload(i)),
      this.#repeat((i) => this.#upload(i)),
    ];
  }

  async stop(): Promise<void> {
    this.#going = false;
    await Promise.all(this.#workers);
  }

  async #repeat(work: (i: number) => Promise<void>): Promise<void> {
    for (let i = 0; this.#going; i++) await work(i);
  }

  async #changeRoom(i: number): Promise<void> {
    const room = (method: string, path: string, name: string) =>
      request(this.server, `sample/rooms/${path}`, method, { name });
    const { body } = await room("POST", "", `0 of ${i}`);
    const { id } = body as { id: string };
    this.rooms.set(id, 0);
    await room("PATCH", `${id}/`, `1 of ${i}`);
    this.rooms.set(id, 1);
  }

  async #upload(i: number): Promise<void> {
    const bytes = `%PDF-1.4 ${i} `.padEnd(1 + ((i * 7919) % 50_000), "x");
    this.files.set(pathOf(await upload(this.server, bytes)), bytes);
  }
}

/** Restores an archive, checks what is there, and serves it. */
async function restored(t: Test, archive: string, to: string) {
  const { code, stderr } = await foyerProcess(t, to, ["restore", archive]);
  t.same([code, stderr], [0, ""]);
  const check = await foyerProcess(t, to, ["check"]);
  t.equal(check.code, 0, check.stdout);
  return startFoyer(t, to);
}

/** A whole answer but for what differs between any two. */
async function get(
  t: Test,
  port: number,
  token: string,
  paths: string[],
): Promise<RawAnswer[]> {
  const wire = dial(t, port);
  const answers: RawAnswer[] = [];
  for (const path of paths) {
    wire.send(rawRequest(`GET ${path}`, { Authorization: `Bearer ${token}` }));
    const answer = await wire.answer();
    delete answer.headers.date;
    delete answer.headers["x-request-id"];
    answers.push(answer);
  }
  return answers;
}

void t.test("a backup while people are at work", async (t) => {
  const dir = testdir(t);
  const dataDir = join(dir, "data");
  const server = await startFoyer(t, dataDir, ["--demo"], {
    UPLOADS_PER_MINUTE: "1000000",
  });
  const { port, token } = server;
  const load = new Load(server);
  await until(() => load.rooms.size > 20 && load.files.size > 20);

  const [rooms, files] = [new Map(load.rooms), new Map(load.files)];
  const archive = join(dir, "under-load.tar");
  const made = await foyerProcess(t, dataDir, ["backup", archive, "--json"]);
  t.same([made.code, made.stderr], [0, ""]);
  t.ok(load.rooms.size > rooms.size, "rooms were made meanwhile");
  t.ok(load.files.size > files.size, "files were uploaded meanwhile");
  const check = await foyerProcess(t, dataDir, ["check"]);
  t.equal(check.code, 0, check.stdout);
  await load.stop();

  await t.test("has all that was answered before it", async (t) => {
    const copy = await restored(t, archive, join(dir, "copy"));
    const paths = [...rooms.keys()].map((id) => `${API}/rooms/${id}/`);
    const found = (await get(t, copy.port, token, paths)).map(({ text }) => {
      const { id, name } = JSON.parse(text) as { id: string; name: string };
      return [id, parseInt(name)] as const;
    });
    t.same(
      found.filter(([id, changes]) => !(changes >= rooms.get(id)!)),
      [],
    );
    const answers = await get(t, copy.port, token, [...files.keys()]);
    const bytes = answers.map(({ text }) => text);
    t.strictSame(bytes, [...files.values()]);
    const { files: held } = JSON.parse(made.stdout) as { files: number };
    t.ok(held >= files.size);
  });

  await t.test("and a restored server answers to the byte", async (t) => {
    const quiet = join(dir, "quiet.tar");
    t.equal((await foyerProcess(t, dataDir, ["backup", quiet])).code, 0);
    const copy = await restored(t, quiet, join(dir, "again"));
    const paths = [
      `${API}/`,
      `${API}/rooms/?page_size=1000`,
      `${API}/rooms/?page_size=7&page=2&ordering=-name`,
      ...[...load.rooms.keys()].map((id) => `${API}/rooms/${id}/`),
      ...load.files.keys(),
    ];
    const before = await get(t, port, token, paths);
    t.strictSame(await get(t, copy.port, token, paths), before);
    t.same([...new Set(before.map(({ status }) => status))], [200]);
    t.ok(
      before.every(({ headers }, i) => headers.etag || paths[i]!.includes("?")),
    );
    const to = { address: copy.address, token };
    const post = await request(to, "sample/rooms/", "POST", { name: "new" });
    t.equal(post.status, 201, "and goes on");
  });
  t.same(
    readdirSync(dir).filter((name) => name.includes(".part")),
    [],
  );
});

void t.test("a world that goes during a backup", async (t) => {
  const { dataDir, files, keys } = await furnished(t, 3);
  const target = join(dataDir, "../backup.tar");
  let deleted = false;
  const made = await backup({ dataDir }, target, (step) => {
    if (!step.startsWith("Writing") || deleted) return;
    deleted = true;
    // At once, as the backup goes on with the files when this returns.
    const db = new Database(join(dataDir, "foyer.db"));
    db.pragma("foreign_keys = ON");
    db.exec("DELETE FROM worlds");
    db.close();
    for (const key of keys) rmSync(join(files.root, key));
  });
  t.same(made, {
    ...{ worlds: 0, rooms: 0, files: 0 },
    ...{ chat_events: 0, questions: 0, polls: 0 },
    ...{ bytes: 0, damaged: [] },
  });
  const to = join(dataDir, "../restored");
  t.equal((await foyerProcess(t, to, ["restore", target])).code, 0);
  const check = await foyerProcess(t, to, ["check"]);
  t.equal(check.code, 0, check.stdout);
});

void t.test("files that are deleted during a backup", async (t) => {
  const { dataDir, store, files, keys } = await furnished(t, 4);
  const target = join(dataDir, "../backup.tar");
  const bytes = readFileSync(join(files.root, keys[0]!)).length;
  let begun = 0;
  const made = await backup({ dataDir }, target, (step, done) => {
    if (step.startsWith("Copying") && done === 0) begun++;
    if (!step.startsWith("Writing") || !existsSync(join(files.root, keys[3]!)))
      return;
    // At once, as the backup goes on with the files when this returns.
    const db = new Database(join(dataDir, "foyer.db"));
    db.prepare("DELETE FROM files WHERE key IN (?, ?)").run(keys[2], keys[3]);
    db.prepare("UPDATE worlds SET file_bytes = ?").run(2 * bytes);
    db.close();
    for (const key of keys.slice(2)) rmSync(join(files.root, key));
  });
  t.ok(begun <= 1, "it did not begin again");
  t.same(made, {
    worlds: 1,
    rooms: 2,
    files: 2,
    chat_events: 0,
    questions: 0,
    polls: 0,
    bytes: 2 * bytes,
    damaged: [],
  });
  await store.close();
  const to = join(dataDir, "../restored");
  t.equal((await foyerProcess(t, to, ["restore", target])).code, 0);
  const check = await foyerProcess(t, to, ["check"]);
  t.equal(check.code, 0, check.stdout);
  t.match(check.stdout, /1 world, 2 rooms, 2 files/);
  t.notOk(readFileSync(target).includes(keys[3]!), "no byte of its key");
});

void t.test("a file that is lost already does not stop a backup", async (t) => {
  const { dataDir, files, keys } = await furnished(t, 3);
  await files.remove(keys[0]!);
  await writeFile(join(files.root, keys[2]!), "other bytes");
  const target = join(dataDir, "../backup.tar");
  const { code, stderr } = await foyerProcess(t, dataDir, ["backup", target]);
  t.equal(code, 0);
  t.equal(
    stderr,
    [keys[0], keys[2]]
      .map((key) => `foyer: warning: ${key} was already missing or damaged.\n`)
      .join(""),
  );
  const to = join(dataDir, "../restored");
  t.equal((await foyerProcess(t, to, ["restore", target])).code, 0);
  const [before, after] = await Promise.all(
    [dataDir, to].map((dir) => foyerProcess(t, dir, ["check"])),
  );
  t.equal(before!.code, 1);
  t.same(after, before, "as it was, faults included");
});

void t.test("what a backup refuses", async (t) => {
  const { dataDir } = await furnished(t, 1);
  const dir = join(dataDir, "..");
  const target = join(dir, "backup.tar");
  await writeFile(target, "precious");
  const cases: [args: string[], code: number, stderr: RegExp, from?: string][] =
    [
      [[target], 1, /^foyer: .*backup\.tar exists already\.\n$/],
      [[dir], 1, /^foyer: .* exists already\.\n$/],
      [[join(dir, "none/x.tar")], 1, /^foyer: ENOENT.*\n$/],
      [
        [join(dir, "x.tar")],
        1,
        /^foyer: there is no database in .*none\n$/,
        join(dir, "none"),
      ],
      [[], 2, /missing required argument/],
    ];
  for (const [args, code, stderr, from = dataDir] of cases) {
    const refused = await foyerProcess(t, from, ["backup", ...args]);
    t.match(refused, { code, stdout: "", stderr });
  }
  t.equal(await readFile(target, "utf8"), "precious");
  t.notOk(existsSync(join(dir, "none")));
  t.same(readdirSync(dir).sort(), ["backup.tar", "data"]);
});
