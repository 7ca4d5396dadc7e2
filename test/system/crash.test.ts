import { createHash, randomUUID } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import t, { type Test } from "tap";
import { LocalFiles } from "../../db/blobs/folder/local-files.js";
import { openSqliteStore } from "../../db/engines/sqlite/index.js";
import type { WorldKey } from "../../schemas/worlds.js";
import { Random } from "../protocol/simulation/random.js";
import { finished, images, PDF, textsBelow, unfinished } from "../support/files.js";
import {
  foyerProcess,
  type ServerProcess,
  spawnFoyer,
  startFoyer,
  tokenOf,
  until,
  worldOf,
} from "../support/helper.js";
import { NIGHT } from "../support/night.js";
import { testdir } from "../support/testdir.js";
import { type Answer, pathOf, request, upload } from "./requests.js";

// Kills servers and commands while they write, then checks that everything they acknowledged is
// still there.

const { ROUNDS, SEED } = process.env;
const seed = Number(SEED ?? Math.floor(Math.random() * 2 ** 31));

/** The state of an object as shown by the API, or `gone` if it does not exist. */
type State = Record<string, unknown> | "gone";

/**
 * An object that one client at a time writes to: its state in the last answer, and the state that
 * an unanswered write may have produced.
 */
interface Thing<S = State> {
  sure: S;
  maybe?: S | undefined;
}

/** A user who uploads once, and may then be erased. */
interface UserThing extends Thing<"there" | "gone"> {
  /**
   * Whether the user ever existed. Otherwise, the name may remain in what SQLite had begun to
   * write, since it was never erased.
   */
  was: boolean;
}

/** An upload that received an answer. */
interface Uploaded {
  path: string;
  /** The name of the uploaded file. */
  file: string;
  round: number;
}

/** All requests to a server and their answers, which determine what the server must know after a crash. */
class Model {
  readonly rooms = new Map<string, Thing>();
  /** Rooms whose creation received no answer, by name. */
  readonly creating = new Map<string, Record<string, unknown>>();
  readonly users = new Map<string, UserThing>();
  readonly uploads: Uploaded[] = [];
  /** Most files that uploads without an answer have left. Their links are unknown. */
  lostFiles = 0;
  world: Thing = { sure: "gone" };
  key: Thing<WorldKey> | undefined;
  answered = 0;
  doubtful = 0;

  /**
   * Performs a write. Until it is answered, both outcomes are possible.
   * @param send returns true if the write succeeded, false if it was refused, and throws if there
   * was no answer.
   * @returns whether there was an answer.
   */
  async write<S>(thing: Thing<S>, next: S, send: () => Promise<boolean>): Promise<boolean> {
    thing.maybe = next;
    try {
      if (await send()) thing.sure = next;
      thing.maybe = undefined;
      this.answered++;
      return true;
    } catch (error) {
      if (!isLost(error)) throw error;
      this.doubtful++;
      return false;
    }
  }
}

/** Whether an object is in its last known or its possible state, and not in any other or mixed state. */
function settle<S>(thing: Thing<S>, found: S): boolean {
  const { sure, maybe } = thing;
  const ok =
    isDeepStrictEqual(found, sure) || (maybe !== undefined && isDeepStrictEqual(found, maybe));
  thing.sure = found;
  thing.maybe = undefined;
  return ok;
}

/** Whether there was no answer, or only a part of one. */
function isLost(error: unknown): boolean {
  const { name, message } = error as Error;
  return name === "TypeError" && /fetch failed|terminated|network|closed/i.test(message);
}

/** The world to which all clients write, and a world whose keys change constantly. */
const WORLD = "sample";
const ROTATED = "rotated";

/** The host name of the first world, because uploads are assigned by host name. */
const DOMAIN = "127.0.0.1";

const ALL = { traits: ["admin", "api"] };

const FILES_SENT: Record<string, Buffer> = {
  "small.pdf": Buffer.from(PDF),
  "large.pdf": Buffer.from(PDF.padEnd(1_500_000, "large ")),
  "small.png": await images.png(),
  "large.png": await images.png(1200, 900),
};

/** Returns how many files the server keeps of one that is sent: a large picture has a preview. */
const keptFiles = (file: string): number => (file === "large.png" ? 2 : 1);

/** Sends a request to a server, with a token signed with a key. */
const ask = (
  address: string,
  key: WorldKey,
  path: string,
  { method, body }: { method?: string; body?: unknown } = {},
): Promise<Answer> => request({ address, token: tokenOf(key, ALL) }, path, method, body);

let serial = 0;

/** A client that writes, one request at a time, until a request is not answered. */
class Writer {
  #over = false;
  readonly #mine: string[] = [];

  constructor(
    readonly model: Model,
    readonly address: string,
    readonly key: WorldKey,
    readonly random: Random,
    readonly round: number,
    readonly kind: "rooms" | "uploads" | "world" | "keys",
  ) {}

  /** Stops it after the request in flight. */
  stop(): void {
    this.#over = true;
  }

  async run(): Promise<void> {
    const { kind, random } = this;
    while (!this.#over) {
      const answered = await {
        rooms: () => [
          () => this.#createRoom(),
          () => this.#changeRoom(),
          () => this.#changeRoom(),
          () => this.#deleteRoom(),
        ],
        uploads: () => [
          () => this.#upload(),
          () => this.#upload(),
          () => this.#upload(),
          () => this.#eraseUser(),
        ],
        world: () => [() => this.#changeWorld()],
        keys: () => [() => this.#rotateKey()],
      }[kind]()[random.below(kind === "world" || kind === "keys" ? 1 : 4)]!();
      if (!answered) return;
    }
  }

  /** @returns whether the write succeeded. A 503 guarantees that it did not. */
  async #send(
    path: string,
    method: string,
    body: unknown,
    done: number,
    key = this.key,
  ): Promise<boolean> {
    const answer = await ask(this.address, key, path, { method, body });
    if (answer.status === done) return true;
    if (answer.status === 503) return false;
    throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  }

  async #createRoom(): Promise<boolean> {
    const { model, random } = this;
    const name = `room ${++serial} of ${this.round}`;
    const room = {
      name,
      description: "words ".repeat(random.below(2000)),
      module_config: [{ type: "chat.native", config: { serial } }],
      permission_config: {},
      sorting_priority: random.below(100),
      domain: DOMAIN,
    };
    model.creating.set(name, room);
    try {
      const { domain: _, ...draft } = room;
      const path = `${WORLD}/rooms/`;
      const { status, body } = await ask(this.address, this.key, path, {
        method: "POST",
        body: draft,
      });
      if (status === 201) {
        const { id } = body as { id: string };
        model.rooms.set(id, { sure: { id, ...room } });
        this.#mine.push(id);
      } else if (status !== 503) throw new Error(`POST: ${status}`);
      model.creating.delete(name);
      model.answered++;
      return true;
    } catch (error) {
      if (!isLost(error)) throw error;
      model.doubtful++;
      return false;
    }
  }

  #room(): [id: string, thing: Thing] | undefined {
    const { model, random } = this;
    if (this.#mine.length === 0) return undefined;
    const id = random.pick(this.#mine);
    const thing = model.rooms.get(id)!;
    return thing.sure === "gone" ? undefined : [id, thing];
  }

  async #changeRoom(): Promise<boolean> {
    const [id, thing] = this.#room() ?? [];
    if (!thing || thing.sure === "gone") return true;
    const changes = {
      name: `changed ${++serial}`,
      description: "other words ".repeat(this.random.below(1000)),
      sorting_priority: serial,
    };
    return this.model.write(thing, { ...thing.sure, ...changes }, () =>
      this.#send(`${WORLD}/rooms/${id}/`, "PATCH", changes, 200),
    );
  }

  async #deleteRoom(): Promise<boolean> {
    const [id, thing] = this.#room() ?? [];
    if (!thing) return true;
    return this.model.write(thing, "gone", () =>
      this.#send(`${WORLD}/rooms/${id}/`, "DELETE", undefined, 204),
    );
  }

  async #changeWorld(): Promise<boolean> {
    const { world } = this.model;
    if (world.sure === "gone") throw new Error("There is no world.");
    const title = `Title ${++serial}`;
    return this.model.write(world, { ...world.sure, title }, () =>
      this.#send(`${WORLD}/`, "PATCH", { title }, 200),
    );
  }

  async #rotateKey(): Promise<boolean> {
    const thing = this.model.key!;
    const secret = `secret ${++serial} of ${this.round} `.padEnd(40, "x");
    const next = { ...thing.sure, secret };
    const config = { JWT_secrets: [next] };
    return this.model.write(thing, next, () =>
      this.#send(`${ROTATED}/`, "PATCH", { config }, 200, thing.sure),
    );
  }

  async #upload(): Promise<boolean> {
    const { model, random } = this;
    const file = random.pick(Object.keys(FILES_SENT));
    const uid = `uploader-${this.round}-${++serial}-with-a-name`;
    const user: UserThing = { sure: "gone", was: false };
    model.users.set(uid, user);
    const answered = await model.write(user, "there", async () => {
      const authorization = `Bearer ${tokenOf(this.key, { uid, traits: [] })}`;
      const answer = await upload(this, FILES_SENT[file], file, { authorization });
      if (answer.status === 503) return false;
      if (answer.status !== 201) {
        throw new Error(`upload: ${JSON.stringify(answer)}`);
      }
      const { round } = this;
      model.uploads.push({ path: pathOf(answer), file, round });
      this.#mine.push(uid);
      user.was = true;
      return true;
    });
    if (!answered) model.lostFiles += keptFiles(file);
    return answered;
  }

  async #eraseUser(): Promise<boolean> {
    if (this.#mine.length === 0) return true;
    const uid = this.random.pick(this.#mine);
    const user = this.model.users.get(uid)!;
    if (user.sure === "gone") return true;
    const body = { token_id: uid };
    return this.model.write(user, "gone", () =>
      this.#send(`${WORLD}/delete_user`, "POST", body, 204),
    );
  }
}

type Found = Record<string, unknown> & { id: string; name: string };

async function allRooms(address: string, key: WorldKey): Promise<Found[]> {
  const rooms: Found[] = [];
  for (let page = 1; ; page++) {
    const path = `${WORLD}/rooms/?page_size=1000&page=${page}`;
    const { body } = await ask(address, key, path);
    const { results, next } = body as { results: Found[]; next: unknown };
    rooms.push(...results);
    if (next === null) return rooms;
  }
}

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Digests by file name. Images are re-encoded, so the first answer determines the digest of all later ones. */
const known = new Map(
  Object.entries(FILES_SENT)
    .filter(([name]) => name.endsWith(".pdf"))
    .map(([name, bytes]) => [name, digest(bytes)]),
);

/** Checks that a server knows everything it acknowledged, and nothing partial. */
class Verifier {
  constructor(
    readonly t: Test,
    readonly model: Model,
    readonly dataDir: string,
    readonly key: WorldKey,
    /** Number of files in the demo. */
    readonly demoFiles: number,
  ) {}

  /** @param since the first round whose uploads are checked one by one. */
  async verify(address: string, since: number, name: string): Promise<void> {
    const faults = [
      ...(await this.#rooms(address)),
      ...(await this.#worlds(address)),
      ...(await this.#uploads(address, since)),
      ...(await this.#users()),
      ...(await this.#checked()),
    ];
    this.t.strictSame(faults, [], name);
  }

  async #rooms(address: string): Promise<string[]> {
    const { model } = this;
    const faults: string[] = [];
    const found = new Map<string, Found>();
    for (const room of await allRooms(address, this.key)) {
      found.set(room.id, room);
    }
    for (const [id, thing] of model.rooms) {
      const { sure, maybe } = thing;
      const state: State = found.get(id) ?? "gone";
      if (!settle(thing, state)) {
        const was = JSON.stringify({ sure, maybe, state });
        faults.push(`the room ${id}: ${was}`);
      }
      // Deleted objects stay deleted, so they are not checked again.
      if (state === "gone") model.rooms.delete(id);
      found.delete(id);
    }
    for (const [id, room] of found) {
      const expected = model.creating.get(room.name);
      const thing = { sure: { id, ...expected } };
      if (!expected || !settle(thing, room)) {
        faults.push(`an unknown room: ${JSON.stringify(room)}`);
      }
      model.rooms.set(id, { sure: room });
    }
    model.creating.clear();
    return faults;
  }

  async #worlds(address: string): Promise<string[]> {
    const { model } = this;
    const faults: string[] = [];
    const { body } = await ask(address, this.key, `${WORLD}/`);
    if (!settle(model.world, body as State)) faults.push("the world");
    const { sure, maybe } = model.key!;
    const statusOf = async (key: WorldKey) => (await ask(address, key, `${ROTATED}/`)).status;
    const works = (await statusOf(sure)) === 200;
    if (maybe === undefined) {
      if (!works) faults.push("the last key that was answered");
      return faults;
    }
    if (works === ((await statusOf(maybe)) === 200)) {
      faults.push("not just one of two keys");
    }
    model.key = { sure: works ? sure : maybe };
    return faults;
  }

  async #uploads(address: string, since: number): Promise<string[]> {
    const faults: string[] = [];
    for (const { path, file, round } of this.model.uploads) {
      if (round < since) continue;
      const answer = await fetch(address + path);
      const sum = digest(new Uint8Array(await answer.arrayBuffer()));
      if (!known.has(file)) known.set(file, sum);
      if (answer.status !== 200 || known.get(file) !== sum) {
        faults.push(`${file} of round ${round}: ${answer.status}`);
      }
    }
    for (const path of await unfinished(this.dataDir)) {
      faults.push(`${path} was not swept`);
      const { status } = await fetch(`${address}/media/pub/${WORLD}/${basename(path)}`);
      if (status !== 404) faults.push(`${path} can be had`);
    }
    return faults;
  }

  async #users(): Promise<string[]> {
    const { users } = this.model;
    const faults: string[] = [];
    const args = ["user", "list", WORLD, "--json"];
    const { stdout } = await foyerProcess(this.t, this.dataDir, args);
    const list = JSON.parse(stdout) as { token_id: string }[];
    const there = new Set(list.map(({ token_id }) => token_id));
    for (const [uid, thing] of users) {
      if (!settle(thing, there.delete(uid) ? "there" : "gone")) {
        faults.push(`the user ${uid}`);
      }
      thing.was ||= thing.sure === "there";
    }
    for (const uid of there) {
      // The demo's users already existed.
      if (!uid.startsWith("demo-")) faults.push(`an unknown user: ${uid}`);
    }
    const gone = [...users].filter(([, { sure }]) => sure === "gone");
    const names = gone.filter(([, { was }]) => was).map(([uid]) => uid);
    // After a start, the server erases pending data in the background.
    const deadline = performance.now() + 60_000;
    let left = names;
    await until(async () => {
      left = await textsBelow(this.dataDir, left);
      return left.length === 0 || performance.now() > deadline;
    });
    for (const uid of left) {
      faults.push(`${uid} is erased, and in the bytes`);
    }
    for (const [uid] of gone) users.delete(uid);
    return faults;
  }

  async #checked(): Promise<string[]> {
    const { model } = this;
    const args = ["check", "--json"];
    const { code, stdout } = await foyerProcess(this.t, this.dataDir, args);
    const found = JSON.parse(stdout) as { files: number; findings: unknown[] };
    const answered = model.uploads.map(({ file }) => keptFiles(file));
    const least = answered.reduce((sum, count) => sum + count, this.demoFiles);
    const most = least + model.lostFiles;
    return [
      ...(code === 0 ? [] : [JSON.stringify(found.findings)]),
      ...(found.files >= least && found.files <= most
        ? []
        : [`${found.files} files, and not ${least} to ${most}`]),
    ];
  }
}

// Kills servers while they write, then checks everything that they acknowledged. `ROUNDS` and
// `SEED` override the defaults.

/** The process that is killed in a round. */
const VICTIMS = [
  "the only server",
  "the first of two servers",
  "one of two workers",
  "the first process of two workers",
  "the only server, and again while it starts",
] as const;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The kinds of writers. As in practice, most write rooms and files. */
const MOST = ["rooms", "uploads", "rooms", "uploads", "rooms", "uploads"] as const;
const KINDS = [...MOST, "world", "keys"] as const;

/** Returns the workers that the log reports as listening. */
const workersOf = ({ said }: ServerProcess): number[] =>
  said.stdout
    .split("\n")
    .filter((line) => line.includes('"msg":"Server listening'))
    .map((line) => (JSON.parse(line) as { pid: number }).pid);

void t.test(`servers are killed, SEED=${seed}`, async (t) => {
  const rounds = Number(ROUNDS ?? 4);
  const random = new Random(seed);
  const dataDir = testdir(t);
  const model = new Model();
  let server = await startFoyer(t, dataDir, ["--demo"]);
  const show = async (world: string) => {
    const { stdout } = await foyerProcess(t, dataDir, ["world", "show", world, "--json"]);
    return JSON.parse(stdout) as { config: { JWT_secrets: [WorldKey] } };
  };
  const create = ["world", "create", ROTATED, "--title", "Keys", "--domain", "k.test"];
  await foyerProcess(t, dataDir, create);
  const [key] = (await show(WORLD)).config.JWT_secrets;
  model.key = { sure: (await show(ROTATED)).config.JWT_secrets[0] };
  const placed = await ask(server.address, key, `${WORLD}/`, {
    method: "PATCH",
    body: { domain: DOMAIN },
  });
  model.world.sure = placed.body as State;
  for (const room of await allRooms(server.address, key)) {
    model.rooms.set(room.id, { sure: room });
  }
  server.signal("SIGTERM");
  await server.finished;
  const { stdout } = await foyerProcess(t, dataDir, ["check", "--json"]);
  const { files } = JSON.parse(stdout) as { files: number };
  const verifier = new Verifier(t, model, dataDir, key, files);

  const offset = random.below(VICTIMS.length);
  for (let round = 1; round <= rounds; round++) {
    const victim = VICTIMS[(offset + round) % VICTIMS.length]!;
    const survives = victim === "one of two workers";
    server = await startFoyer(t, dataDir, [], {
      UPLOADS_PER_MINUTE: "1000000",
      ...(victim.includes("workers") && { WORKERS: "2", LOG_LEVEL: "info" }),
    });
    const second = victim === "the first of two servers" ? await startFoyer(t, dataDir) : undefined;
    if (victim.includes("workers")) await until(() => workersOf(server).length === 2);

    const clients = KINDS.map((kind, i) => {
      const { address } = i % 2 === 1 && second ? second : server;
      const choices = new Random(seed + 1000 * round + i);
      return new Writer(model, address, key, choices, round, kind);
    });
    const over = Promise.all(clients.map((client) => client.run()));
    const before = model.answered;
    await Promise.race([over, until(() => model.answered > before + 5)]);
    await pause(random.below(500));
    const pid = survives ? random.pick(workersOf(server)) : server.pid;
    process.kill(pid, "SIGKILL");
    // Clients of a surviving process keep writing for a while.
    if (second || survives) await pause(100);
    for (const client of clients) client.stop();
    await over;

    if (victim.endsWith("while it starts")) {
      const starting = spawnFoyer(t, ["serve"], { DATA_DIR: dataDir, PORT: "0" });
      await pause(random.below(600));
      starting.signal("SIGKILL");
      await starting.finished;
    }
    if (survives) await until(() => workersOf(server).length === 3);
    else {
      await server.finished;
      server = await startFoyer(t, dataDir);
    }
    const name = `${round}: ${victim}`;
    // A surviving process also knows what the killed one acknowledged.
    const { address } = second ?? server;
    await verifier.verify(address, round - 1, name);
    for (const one of [server, second]) {
      one?.signal("SIGTERM");
      if (one) t.equal((await one.finished).code, 0, `${name}: it stops`);
    }
  }
  t.comment(
    `${model.answered} writes were answered, ${model.doubtful} were not; ` +
      `${model.uploads.length} files`,
  );
});

// Kills commands while they run. Each must take effect completely or not at all, and must succeed
// when repeated.

const ROOMS = 2000;
const FILES = 40;

/** The folders of a round. Each round has its own copy of everything it changes. */
interface Place {
  /** The folder that the command works on. */
  dataDir: string;
  /** A folder for other output. */
  out: string;
}

interface Case {
  /** The template that the folder is copied from. */
  template: "full" | "none";
  args: (place: Place) => string[];
  /** Returns whether the command took effect despite being killed. Checks that it did not take effect partially. */
  judge: (t: Test, place: Place) => Promise<boolean>;
}

const side = testdir(t, { full: {} });
const template = (name: string) => join(side, name);
const archive = template("full.tar");
const document = template("full.json");

const cases: Record<string, Case> = {
  backup: {
    template: "full",
    args: ({ out }) => ["backup", join(out, "a.tar")],
    async judge(t, { dataDir, out }) {
      const done = existsSync(join(out, "a.tar"));
      const next = await foyerProcess(t, dataDir, ["backup", join(out, "b.tar")]);
      t.equal(next.code, 0, next.stderr);
      const names = done ? ["a.tar", "b.tar"] : ["b.tar"];
      t.strictSame(
        readdirSync(out).filter((name) => /tar$|lock/.test(name)),
        names,
      );
      for (const name of done ? names : []) {
        const to = join(out, `from-${name}`);
        t.match(await foyerProcess(t, to, ["restore", join(out, name)]), { code: 0 });
      }
      return done;
    },
  },
  restore: {
    template: "none",
    args: () => ["restore", archive],
    async judge(t, { dataDir }) {
      const first = await foyerProcess(t, dataDir, ["world", "list"]);
      const done = existsSync(join(dataDir, "foyer.db")) && first.code === 0;
      if (done && first.stdout.startsWith("full")) {
        await whole(t, dataDir);
        return true;
      }
      // It was killed before or during the restore.
      t.match(first.stderr, /^foyer: .*(there is no database in|a restore into it) .*\n$/);
      const again = await foyerProcess(t, dataDir, ["restore", archive]);
      t.equal(again.code, 0, again.stderr);
      await whole(t, dataDir);
      return false;
    },
  },
  import: {
    template: "none",
    args: () => ["world", "import", document],
    async judge(t, { dataDir }) {
      const list = await foyerProcess(t, dataDir, ["world", "list"]);
      const done = list.stdout.startsWith("full");
      const again = await foyerProcess(t, dataDir, ["world", "import", document]);
      t.equal(again.code, done ? 1 : 0, again.stderr);
      t.match(await check(t, dataDir), { worlds: 1, rooms: ROOMS });
      return done;
    },
  },
  clone: {
    template: "full",
    args: () => ["world", "clone", "full", "copy", "--title", "Copy", "--domain", "copy.test"],
    async judge(t, { dataDir }) {
      const show = await foyerProcess(t, dataDir, ["world", "show", "copy"]);
      const done = show.code === 0;
      const worlds = done ? 2 : 1;
      t.match(await check(t, dataDir), { worlds, rooms: worlds * ROOMS });
      return done;
    },
  },
  "file delete": {
    template: "full",
    args: ({ dataDir }) => ["file", "delete", "full", oneOf(dataDir), "--yes"],
    async judge(t, { dataDir }) {
      const { files } = await check(t, dataDir);
      const server = await startFoyer(t, dataDir);
      t.strictSame(await unfinished(dataDir), [], "swept");
      const left = await finished(dataDir);
      t.equal(left.length, files, "the record and the bytes, or neither");
      server.signal("SIGTERM");
      await server.finished;
      t.match(await check(t, dataDir), { worlds: 1, files });
      return files === FILES - 1;
    },
  },
  "world delete": {
    template: "full",
    args: () => ["world", "delete", "full", "--yes"],
    async judge(t, { dataDir }) {
      const { worlds } = await check(t, dataDir);
      const server = await startFoyer(t, dataDir);
      t.strictSame(await unfinished(dataDir), [], "swept");
      const left = await finished(dataDir);
      t.equal(left.length, worlds * FILES, "with its files, or without both");
      server.signal("SIGTERM");
      await server.finished;
      t.match(await check(t, dataDir), { worlds });
      return worlds === 0;
    },
  },
};

async function check(t: Test, dataDir: string) {
  const { code, stdout } = await foyerProcess(t, dataDir, ["check", "--json"]);
  t.equal(code, 0, stdout);
  return JSON.parse(stdout) as { worlds: number; files: number };
}

/** Returns the id of one of the files in a folder. */
const oneOf = (dataDir: string) => readdirSync(join(dataDir, "media/pub/full"))[0]!.split(".")[0]!;

const whole = async (t: Test, dataDir: string) =>
  t.match(await check(t, dataDir), { worlds: 1, rooms: ROOMS, files: FILES });

/** Creates a world with many rooms and files. */
async function furnish(dataDir: string): Promise<void> {
  const store = openSqliteStore(dataDir);
  const files = new LocalFiles(dataDir);
  const rooms = Array.from({ length: ROOMS }, (_, i) => ({
    id: randomUUID(),
    name: `Room ${i}`,
    description: "words ".repeat(100),
    module_config: [{ type: "chat.native" }],
    permission_config: {},
    sorting_priority: i % 7,
    revision: 1,
  }));
  await store.worlds.import({ world: { ...worldOf("full"), revision: 1 }, rooms });
  const uploader = { tokenId: "u", traits: new Set<string>() };
  for (let i = 0; i < FILES; i++) {
    const key = `pub/full/${randomUUID()}.secretsecret.pdf`;
    const bytes = (async function* () {
      yield Buffer.alloc(200_000, `file ${i} `);
    })();
    await files.put(key, bytes, (stored) =>
      store.files.add("full", uploader, { key, ...stored }, 1e12),
    );
  }
  await files.close();
  await store.close();
}

const commands = { skip: !NIGHT && "SQLite alone; other faults of disk and process are tried" };

void t.test(`commands are killed, SEED=${seed}`, commands, async (t) => {
  const rounds = Number(ROUNDS ?? 7);
  await furnish(template("full"));
  for (const [args, file] of [
    [["backup", archive]],
    [["world", "export", "full"], document],
  ] as const) {
    const { code, stdout, stderr } = await foyerProcess(t, template("full"), args);
    t.equal(code, 0, stderr);
    if (file !== undefined) writeFileSync(file, stdout);
  }

  const random = new Random(seed);
  const names = Object.keys(cases);
  /** Duration of each command when it is not interrupted, in milliseconds. */
  const durations = new Map<string, number>();
  const done: Record<string, string> = {};
  const place = (name: string): Place => {
    const root = join(side, "round");
    rmSync(root, { recursive: true, force: true });
    const dataDir = join(root, "data");
    const out = join(root, "out");
    mkdirSync(out, { recursive: true });
    const from = cases[name]!.template;
    if (from !== "none") cpSync(template(from), dataDir, { recursive: true });
    return { dataDir, out };
  };
  for (let round = 0; round < rounds; round++) {
    const name = names[round % names.length]!;
    const { args, judge } = cases[name]!;
    if (!durations.has(name)) {
      const { dataDir, out } = place(name);
      const started = performance.now();
      const { code, stderr } = await foyerProcess(t, dataDir, args({ dataDir, out }));
      durations.set(name, performance.now() - started);
      t.equal(code, 0, stderr);
    }
    const here = place(name);
    // The first third is the startup of the process.
    const moment = durations.get(name)! * (0.3 + 0.8 * random.next());
    const running = spawnFoyer(t, args(here), { DATA_DIR: here.dataDir });
    await new Promise((resolve) => setTimeout(resolve, moment));
    running.signal("SIGKILL");
    await running.finished;
    await t.test(`${round + 1}: ${name} after ${Math.round(moment)} ms`, (t) =>
      judge(t, here).then((was) => {
        done[name] = `${done[name] ?? ""}${was ? "1" : "0"}`;
      }),
    );
  }
  t.comment(`what was done when it was killed: ${JSON.stringify(done)}`);
});
