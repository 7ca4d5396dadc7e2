import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { createApp } from "../../app.js";
import { fileForm, finished, GUEST, images, PDF, pngBomb, unfinished } from "../support/files.js";
import { dial, foyerProcess, rawRequest, type RawAnswer, until } from "../support/helper.js";
import { NIGHT } from "../support/night.js";
import { type Server, startServer } from "../support/server.js";
import { shortFolder, testdir } from "../support/testdir.js";
import { pathOf, request, upload } from "./requests.js";

// A server in a separate process that is stopped, killed, backed up, or sent large files.

const MIB = 1024 * 1024;
/** Maximum growth of a server's memory during uploads, in MiB. */
const BOUND = 96;

/** Most clients never log in, and connecting them all may take long. */
const env = { LIVE_AUTH_TIMEOUT: "600" };

/** Starts a server where guests may upload, because the demo is its only world. */
const startDemo = (t: Test, more: { env?: Record<string, string>; dataDir?: string } = {}) =>
  startServer(t, { processes: 1, worlds: [], args: ["--demo"], ...more });

/** Stops a server with SIGTERM, as an operator would. */
async function stop(t: Test, { processes: [main] }: Server): Promise<void> {
  main!.signal("SIGTERM");
  t.match(await main!.finished, { code: 0, stderr: "" });
}

for (const workers of [1, 2]) {
  void t.test(`a stop closes websockets, and finishes requests (${workers})`, async (t) => {
    const server = await startServer(t, { processes: workers, env });
    const [main] = server.processes;
    const ends: number[] = [];
    // However the cluster distributes these clients, at least one process must close them in
    // several steps.
    const clients = await Promise.all(Array.from({ length: 80 }, () => server.connect()));
    for (const { closed } of clients) void closed.then(() => ends.push(performance.now()));
    for (const client of clients.slice(0, 5)) await client.login({ client_id: "guest" });
    const body = JSON.stringify({ name: "Slow" });
    const slow = dial(t, server.port);
    slow.send(
      rawRequest("POST /api/v1/worlds/demo/rooms/", {
        Authorization: `Bearer ${server.tokenOf({ traits: ["admin", "api"] })}`,
        "Content-Type": "application/json",
        "Content-Length": String(body.length),
        Expect: "100-continue",
      }),
    );
    t.equal((await slow.answer()).status, 100);
    main!.signal("SIGTERM");
    for (const { closed } of clients) t.same(await closed, { code: 1012 });
    // The server spreads them over three seconds if another process may accept them, and over 300
    // ms otherwise.
    const spread = ends.at(-1)! - ends[0]!;
    t.ok(spread > (workers === 1 ? 50 : 500), `not all at once, but within ${spread} ms`);
    await t.rejects(server.connect(), /503/, "no more are accepted meanwhile");
    slow.send(body);
    const { status } = await slow.answer();
    t.equal(status, 201, "and the request is finished, so the server waited for no client");
    t.match(await main!.finished, { code: 0, stderr: "" });
  });
}

const upgradeRequest = rawRequest("GET /ws/world/demo/", {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
});

const figure = { skip: !NIGHT && "measures a time, which takes an idle machine" };

void t.test("a stop without connections waits for nothing", figure, async (t) => {
  const server = await startServer(t, { processes: 1 });
  const guest = await server.guest();
  guest.close();
  await guest.closed;
  const started = performance.now();
  await stop(t, server);
  // It would wait two seconds for connections that do not answer.
  t.ok(performance.now() - started < 1500);
});

void t.test("a stop lets a command have its answer", async (t) => {
  const server = await startServer(t, { processes: 1, env });
  const guest = await server.guest();
  const other = await server.connect();
  const db = new Database(join(server.dataDir, "foyer.db"));
  t.teardown(() => db.close());
  db.exec("BEGIN IMMEDIATE");
  const answer = guest.do("user.update", { profile: { greeted: true } });
  guest.sendFrame("ping", "received");
  // Once the server has answered this on another connection, it has received both frames.
  await other.reached();
  server.processes[0]!.signal("SIGTERM");
  t.same(await other.closed, { code: 1012 });
  t.ok(guest.isOpen);
  db.exec("ROLLBACK");
  t.same(await answer, {});
  t.same(await guest.closed, { code: 1012 });
  t.same(guest.rest(), [], "what waited behind may be sent again");
  t.match(await server.processes[0]!.finished, { code: 0, stderr: "" });
});

void t.test("an embedded application that closes waits for no silent client", async (t) => {
  // Longer than the test may take.
  const drainTimeoutsMs = { stop: 900_000, close: 900_000 };
  const server = await startServer(t, { config: { drainTimeoutsMs }, people: ["ann"] });
  // Neither client confirms that the websocket is closed, so waiting for them would never end.
  const silent = dial(t, server.port);
  silent.send(upgradeRequest);
  t.equal((await silent.answer()).status, 101);
  const deaf = await server.guest();
  (deaf.ws as unknown as { _socket: Socket })._socket.pause();
  const many = await Promise.all(Array.from({ length: 40 }, () => server.connect()));
  const ended = [server.people.ann!, ...many].map(({ closed }) => closed);
  await server.app.close();
  for (const closed of ended) t.same(await closed, { code: 1012 });
  await t.resolves(createApp().close(), "also before it listens");
});

/** Sends the beginning of an upload, and waits until some of it is on disk. */
async function begin(t: Test, { port, dataDir }: Server) {
  const { headers, body } = fileForm("a.pdf", PDF.padEnd(4 * MIB, "x"));
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  t.teardown(() => socket.destroy());
  socket.write(
    rawRequest("POST /storage/upload/", {
      ...headers,
      Authorization: GUEST,
      "Content-Length": String(body.length),
    }),
  );
  socket.write(body.subarray(0, 2 * MIB));
  await until(async () => (await unfinished(dataDir)).length > 0);
  return { socket, rest: body.subarray(2 * MIB) };
}

void t.test("a stop lets an upload finish", async (t) => {
  const server = await startDemo(t);
  const { dataDir, baseUrl } = server;
  const ofDemo = (await finished(dataDir)).length;
  const { socket, rest } = await begin(t, server);
  server.processes[0]!.signal("SIGTERM");
  await until(async () => {
    const answer = await fetch(`${baseUrl}/healthz`).catch(() => null);
    return answer?.status !== 200;
  });
  socket.write(rest);
  const [answer] = (await once(socket, "data")) as [Buffer];
  t.match(answer.toString(), /^HTTP\/1.1 201 /);
  t.equal((await server.processes[0]!.finished).code, 0);
  t.equal((await finished(dataDir)).length, ofDemo + 1);
  t.strictSame(await unfinished(dataDir), []);
});

void t.test(
  "150 MiB of files at once do not fill the memory",
  { skip: process.platform !== "linux" && "reads /proc" },
  async (t) => {
    const server = await startDemo(t);
    const to = { address: server.baseUrl };
    const mib = (name: string) => {
      const status = readFileSync(`/proc/${server.processes[0]!.pid}/status`, "utf8");
      return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
    };
    const body = Buffer.from(PDF.padEnd(10 * MIB, "x"));
    // The first upload of each kind loads modules that all later ones use.
    t.equal((await upload(to)).status, 201);
    t.equal((await upload(to, await images.png(), "a.png")).status, 201);
    const before = mib("VmRSS");
    const answers = await Promise.all(Array.from({ length: 15 }, () => upload(to, body)));
    t.ok(answers.every(({ status }) => status === 201));
    // Each chunk of a body is garbage once it is on disk. V8 collects garbage once it reaches up to
    // twice the size of the young generation: 32 MiB with Node.js 20, 64 with 26.
    t.ok(mib("VmHWM") - before < BOUND, `grown by ${mib("VmHWM") - before} MiB`);
    // Images are decoded in another process; this image decodes to 300 MB.
    const bomb = await upload(to, pngBomb(9000, 9000), "a.png");
    t.equal(bomb.status, 201, "81 million pixels fit");
    t.ok(mib("VmHWM") - before < BOUND, `grown by ${mib("VmHWM") - before} MiB`);
  },
);

/** Clients that change rooms and upload files, with the answers they received. */
class Load {
  /** Number of changes to each room, by id. */
  readonly rooms = new Map<string, number>();
  /** The content of each file, by the path of its link. */
  readonly files = new Map<string, string>();
  #runs = true;
  readonly #clients: Promise<void>[];

  constructor(readonly to: { address: string; token: string }) {
    const repeat = async (work: (i: number) => Promise<void>) => {
      for (let i = 0; this.#runs; i++) await work(i);
    };
    const works = [this.#changeRoom, this.#changeRoom, this.#upload, this.#upload];
    this.#clients = works.map((work) => repeat(work));
  }

  async stop(): Promise<void> {
    this.#runs = false;
    await Promise.all(this.#clients);
  }

  readonly #changeRoom = async (i: number): Promise<void> => {
    const { body } = await request(this.to, "sample/rooms/", "POST", { name: `0 of ${i}` });
    const { id } = body as { id: string };
    this.rooms.set(id, 0);
    await request(this.to, `sample/rooms/${id}/`, "PATCH", { name: `1 of ${i}` });
    this.rooms.set(id, 1);
  };

  readonly #upload = async (i: number): Promise<void> => {
    const bytes = `%PDF-1.4 ${i} `.padEnd(1 + ((i * 7919) % 50_000), "x");
    this.files.set(pathOf(await upload(this.to, bytes)), bytes);
  };
}

/** Requests paths, and returns the answers without the headers that differ between any two. */
async function get(t: Test, port: number, token: string, paths: string[]): Promise<RawAnswer[]> {
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

void t.test("a backup under load", async (t) => {
  const server = await startDemo(t, { env: { UPLOADS_PER_MINUTE: "1000000" } });
  const { dataDir, port, baseUrl: address } = server;
  const { token } = server.processes[0]!;
  const dir = testdir(t);
  const run = (folder: string, ...args: string[]) => foyerProcess(t, folder, args);
  /** Restores an archive, checks the data, and serves it. */
  const restored = async (archive: string) => {
    const to = shortFolder(t);
    t.match(await run(to, "restore", archive), { code: 0, stderr: "" });
    t.match(await run(to, "check"), { code: 0 });
    return startServer(t, { processes: 1, dataDir: to });
  };
  const load = new Load({ address, token });
  await until(() => load.rooms.size > 20 && load.files.size > 20);

  const [rooms, files] = [new Map(load.rooms), new Map(load.files)];
  const archive = join(dir, "under-load.tar");
  const made = await run(dataDir, "backup", archive, "--json");
  t.same([made.code, made.stderr], [0, ""]);
  t.ok(load.rooms.size > rooms.size, "rooms were made meanwhile");
  t.ok(load.files.size > files.size, "files were uploaded meanwhile");
  t.match(await run(dataDir, "check"), { code: 0 });
  await load.stop();

  await t.test("has all that was answered before it", async (t) => {
    const copy = await restored(archive);
    const paths = [...rooms.keys()].map((id) => `/api/v1/worlds/sample/rooms/${id}/`);
    for (const { text } of await get(t, copy.port, token, paths)) {
      const { id, name } = JSON.parse(text) as { id: string; name: string };
      t.ok(parseInt(name) >= rooms.get(id)!, name);
    }
    const answers = await get(t, copy.port, token, [...files.keys()]);
    const bytes = answers.map(({ text }) => text);
    t.strictSame(bytes, [...files.values()]);
    t.ok((JSON.parse(made.stdout) as { files: number }).files >= files.size);
  });

  await t.test("and a restored server answers to the byte", async (t) => {
    const quiet = join(dir, "quiet.tar");
    t.match(await run(dataDir, "backup", quiet), { code: 0 });
    const copy = await restored(quiet);
    const world = "/api/v1/worlds/sample/";
    const paths = [
      world,
      `${world}rooms/?page_size=1000`,
      `${world}rooms/?page_size=7&page=2&ordering=-name`,
      ...[...load.rooms.keys()].map((id) => `${world}rooms/${id}/`),
      ...load.files.keys(),
    ];
    const before = await get(t, port, token, paths);
    t.strictSame(await get(t, copy.port, token, paths), before);
    t.same([...new Set(before.map(({ status }) => status))], [200]);
    t.ok(before.every(({ headers }, i) => headers.etag || paths[i]!.includes("?")));
    const to = { address: copy.baseUrl, token };
    const post = await request(to, "sample/rooms/", "POST", { name: "new" });
    t.equal(post.status, 201, "and goes on");
  });
  t.same(
    readdirSync(dir).filter((name) => name.includes(".part")),
    [],
  );
});
