import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { relative } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import { startTestServer, type TestServer } from "../testing.js";

// `node dist/scripts/walk.js` counts the files that a chat message, a vote and a PATCH of a room
// run through, from the sender's frame or request to the frames of others, in one process with
// SQLite. A file counts if V8 saw its code run in every one of several walks, in the event loop or
// in a writer thread. So the code of startup, logins and timers does not count. Files of which only
// a few lines run, such as a getter or a type check, are listed separately: a reader knows them by
// their names. `--lines` prints the lines that ran.

/** Number of walks that must all run a file. Timers run in only some of them. */
const WALKS = 12;

/** Time for a walk to finish after its last frame, in milliseconds. */
const REST = 40;

/** Maximum number of executed lines of a file that a reader knows by its name. */
const GLANCE = 6;

const root = fileURLToPath(new URL("..", import.meta.url));

/** A range of a script, which may contain other ranges, and its execution count. */
interface Range {
  startOffset: number;
  endOffset: number;
  count: number;
}

/** The used part of V8's coverage report. */
interface Coverage {
  result: {
    url: string;
    functions: { ranges: Range[] }[];
  }[];
}

/** Makes the script fail, because figures without the code of a thread would be too low. */
function failed(error: unknown): void {
  console.error(error);
  process.exitCode = 1;
}

/** Records which lines run in this thread and in the threads that it starts. */
class Counter {
  readonly #session = new Session();
  readonly #workers = new Map<string, (method: string) => Promise<Coverage>>();

  async start(): Promise<void> {
    this.#session.connect();
    const session = this.#session;
    session.on("NodeWorker.attachedToWorker", ({ params }) => {
      const { sessionId } = params;
      let id = 0;
      const waiting = new Map<number, (result: Coverage) => void>();
      const post = (method: string, parameters = {}) =>
        new Promise<Coverage>((resolve, reject) => {
          const message = { id: ++id, method, params: parameters };
          waiting.set(id, resolve);
          session
            .post("NodeWorker.sendMessageToWorker", { sessionId, message: JSON.stringify(message) })
            .catch(reject);
        });
      session.on("NodeWorker.receivedMessageFromWorker", ({ params }) => {
        if (params.sessionId !== sessionId) return;
        const answer = JSON.parse(params.message) as {
          id: number;
          result: Coverage;
        };
        waiting.get(answer.id)?.(answer.result);
      });
      post("Profiler.enable").catch(failed);
      post("Profiler.startPreciseCoverage", { callCount: true, detailed: true }).catch(failed);
      this.#workers.set(sessionId, post);
    });
    session.on("NodeWorker.detachedFromWorker", ({ params }) => {
      this.#workers.delete(params.sessionId);
    });
    await session.post("NodeWorker.enable", { waitForDebuggerOnStart: false });
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  /** Returns the lines that ran since the last call, as `file:line`. */
  async take(): Promise<Set<string>> {
    const method = "Profiler.takePreciseCoverage";
    const all = await Promise.all([
      this.#session.post(method),
      ...[...this.#workers.values()].map((post) => post(method)),
    ]);
    const ran = new Set<string>();
    for (const { url, functions } of all.flatMap(({ result }) => result)) {
      if (!url.startsWith("file:")) continue;
      const path = fileURLToPath(url);
      const file = relative(root, path);
      if (/^(\.\.|node_modules|scripts)/.test(file)) continue;
      const ranges = functions.flatMap(({ ranges }) => ranges);
      if (!ranges.some(({ count }) => count > 0)) continue;
      for (const line of linesIn(sourceOf(path), ranges)) {
        ran.add(`${file.replace(/\.js$/, ".ts")}:${line}`);
      }
    }
    return ran;
  }
}

const sources = new Map<string, string>();

function sourceOf(path: string): string {
  const source = sources.get(path) ?? readFileSync(path, "utf8");
  sources.set(path, source);
  return source;
}

/** Returns the numbers of the lines that ran, except those that contain only punctuation. */
function linesIn(source: string, ranges: readonly Range[]): Set<number> {
  // Inner ranges come after the outer ones, and override them.
  const inward = [...ranges].sort(
    (a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset,
  );
  const ran = new Uint8Array(source.length);
  for (const { startOffset, endOffset, count } of inward) {
    ran.fill(Number(count > 0), startOffset, endOffset);
  }
  const lines = new Set<number>();
  let line = 1;
  for (let at = 0; at < source.length; at++) {
    if (source[at] === "\n") line++;
    else if (ran[at] && /\w/.test(source[at]!)) lines.add(line);
  }
  return lines;
}

/** A user with a websocket. */
class User {
  readonly #frames: unknown[][] = [];
  readonly #waiting = new Set<() => void>();

  private constructor(readonly ws: WebSocket) {
    ws.on("message", (data: Buffer) => {
      this.#frames.push(JSON.parse(data.toString()) as unknown[]);
      for (const wake of this.#waiting) wake();
      this.#waiting.clear();
    });
  }

  static async login(server: TestServer, uid: string): Promise<User> {
    const ws = new WebSocket(`${server.baseUrl.replace("http", "ws")}/ws/world/walk/`);
    const user = new User(ws);
    await once(ws, "open");
    const traits = uid === "host" ? ["admin"] : [];
    const token = await server.token("walk", { uid, traits });
    ws.send(JSON.stringify(["authenticate", { token }]));
    await user.next(([name]) => name === "authenticated");
    return user;
  }

  /** Waits for a matching frame, and removes it from the queue. */
  async next(matches: (frame: unknown[]) => boolean): Promise<unknown[]> {
    for (;;) {
      const found = this.#frames.findIndex(matches);
      if (found >= 0) return this.#frames.splice(found, 1)[0]!;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #count = 0;

  /**
   * Sends a command.
   * @returns its result.
   */
  async do<T>(name: string, payload: object): Promise<T> {
    const id = ++this.#count;
    this.ws.send(JSON.stringify([name, id, payload]));
    const answer = await this.next(
      ([kind, to]) => (kind === "success" || kind === "error") && to === id,
    );
    if (answer[0] === "error") throw new Error(JSON.stringify(answer));
    return answer[2] as T;
  }
}

/** Returns the lines that ran in every walk. */
async function countOf(
  counter: Counter,
  walk: (turn: number) => Promise<() => Promise<unknown>>,
): Promise<Set<string>> {
  let all: Set<string> | undefined;
  // The first walk only fills caches.
  for (let turn = 0; turn <= WALKS; turn++) {
    const go = await walk(turn);
    await delay(REST * 3);
    await counter.take();
    await go();
    await delay(REST);
    const ran = await counter.take();
    if (turn === 0) continue;
    all = new Set([...ran].filter((it) => all?.has(it) ?? true));
  }
  return all!;
}

function report(name: string, ran: ReadonlySet<string>): void {
  const files = new Map<string, number[]>();
  for (const it of ran) {
    const [file = "", line] = it.split(":");
    files.set(file, [...(files.get(file) ?? []), Number(line)]);
  }
  const all = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  const read = all.filter(([, lines]) => lines.length > GLANCE);
  const known = all.filter(([, lines]) => lines.length <= GLANCE);
  const isLong = process.argv.includes("--lines");
  const print = ([file, lines]: [string, number[]]) => {
    const numbers = lines.sort((a, b) => a - b).join(" ");
    console.log(`  ${file}: ${isLong ? numbers : lines.length}`);
  };
  console.log(`${name}: ${all.length} files, with the lines that ran`);
  read.forEach(print);
  console.log(`  ... and ${known.length} with ${GLANCE} lines at most`);
  known.forEach(print);
}

const counter = new Counter();
await counter.start();
const server = await startTestServer();
await server.createWorld({
  id: "walk",
  permission_config: {
    "world.view": [],
    "room.view": [],
    "room.chat.read": [],
    "room.chat.join": [],
    "room.chat.send": [],
    "poll.read": [],
    "poll.vote": [],
    "poll.manage": [["admin"]],
    "room.update": [["admin"]],
    "world.api": [["admin"]],
  },
});
const { value: room } = await server.app.store.rooms.create("walk", {
  name: "Stage",
  module_config: [
    { type: "chat.native", config: {} },
    { type: "poll", config: { active: true } },
  ],
});
const channel = room.id;
const users = await Promise.all(["host", "sender", "other"].map((uid) => User.login(server, uid)));
const [host, sender, other] = users as [User, User, User];
for (const user of users) {
  await user.do("user.update", { profile: { display_name: "A. User" } });
  await user.do("room.enter", { room: room.id });
  await user.do("chat.join", { channel });
}

const message = await countOf(counter, async (turn) => {
  await sender.do("chat.mark_read", { channel, id: 1 }).catch(() => {});
  return async () => {
    const body = `Hello ${turn}`;
    const isIt = (frame: unknown[]) =>
      frame[0] === "chat.event" && JSON.stringify(frame).includes(body);
    await Promise.all([
      sender.do("chat.send", {
        channel,
        event_type: "channel.message",
        content: { type: "text", body },
      }),
      ...[host, other].map((user) => user.next(isIt)),
    ]);
  };
});
report("A chat message", message);

const vote = await countOf(counter, async () => {
  const { poll } = await host.do<{
    poll: { id: string; options: { id: string }[] };
  }>("poll.create", {
    room: room.id,
    content: "Tea or coffee?",
    options: [{ content: "Tea" }, { content: "Coffee" }],
    state: "open",
  });
  const isIt = (frame: unknown[]) =>
    frame[0] === "poll.created_or_updated" && JSON.stringify(frame).includes(poll.id);
  for (const user of users) await user.next(isIt);
  await delay(300);
  return () =>
    Promise.all([
      sender.do("poll.vote", { room: room.id, id: poll.id, options: [poll.options[0]!.id] }),
      // Only hosts see the results of an open poll.
      host.next(isIt),
    ]);
});
report("A vote", vote);

const token = await server.token("walk", { uid: "host", traits: ["admin"] });
const patch = await countOf(counter, (turn) => {
  const description = `Description ${turn}`;
  const isIt = (frame: unknown[]) => JSON.stringify(frame).includes(description);
  return Promise.resolve(() =>
    Promise.all([
      fetch(`${server.baseUrl}/api/v1/worlds/walk/rooms/${room.id}/`, {
        method: "PATCH",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ description }),
      }).then((answer) => {
        if (!answer.ok) throw new Error(`PATCH was answered with ${answer.status}`);
        return answer.text();
      }),
      ...users.map((user) => user.next(isIt)),
    ]),
  );
});
report("A PATCH of a room", patch);

for (const { ws } of users) ws.terminate();
await server.close();
process.exit();
