import { isDeepStrictEqual } from "node:util";
import pLimit from "p-limit";
import t from "tap";
import type { Test } from "tap";
import { type Audience, audienceOf } from "../../../conformance/cast.js";
import type { Client, Frame, Json } from "../../../conformance/client.js";
import { differences } from "../../../conformance/mirror.js";
import { commandOf, type Row } from "../../../conformance/row.js";
import { rows } from "../../../conformance/rows/all-rows.js";
import { Seats } from "../../../conformance/seats.js";
import type { Stage } from "../../../conformance/stage.js";
import { openSqliteStore } from "../../../db/engines/sqlite/index.js";
import { until } from "../../support/helper.js";
import { embedded, shared } from "../../support/shared.js";
import { Faults, type Kind, kinds } from "./faulty-store.js";
import { LocalServer } from "./local-server.js";

// Each store call fails once: the calls that a row causes in its command and in all listeners to
// its writes, and the calls that no command waits for, at logins, in timers, and in periodic reads.
// Then
// - no audience receives a push that is not meant for it, and no other connection ends,
// - a command answered with `server.unavailable` has changed nothing,
// - late pushes arrive: eventually, every audience has the state of a new login.

const options = embedded("wraps SQLite");
const faults = new Faults();
const server = shared ? undefined! : await LocalServer.open(t, faults);

const AT_ONCE = 8;
const wanted = process.env.ROW ?? "";
/**
 * By default, each call fails in one manner only, for one row of a module and for every row that
 * ends connections.
 */
const inAllWays = process.env.FAULTS === "all";

/**
 * Returns whether a fault is by design. A listener that throws anything but a store error has a
 * bug, which a retry would only repeat: its push is lost, and the error is logged. Changes of
 * rights are always retried.
 */
const isByDesign = (kind: Kind, fault: string): boolean =>
  kind === "throw" && fault.startsWith("(done)") && !fault.endsWith(" is not ended");

const CAST: readonly Audience[] = [
  "me",
  "second",
  "neighbor",
  "moderator",
  "elsewhere",
  "silenced",
  "outsider",
];

/** How often a run checks for late pushes; in between, it waits until everything has settled. */
const MAX_CHECKS = 8;

/** Pushes of the current state, which any audience may receive. */
const RENEWING = [
  "world.updated",
  "world.user_count_change",
  "chat.channels",
  "chat.unread_pointers",
  "chat.notification_counts",
  "user.updated",
];

const VIEWERS = ["room.viewer.added", "room.viewer.removed"];

/** Responses which mean that nothing has changed. */
const NOT_DONE = ["server.unavailable"];
/** The server closed the connection instead of responding. */
const ENDED = "ended";
/** Stands for status 500 of the REST API. */
const FAILED = "failed";
const IN_DOUBT = ["server.doubtful", ENDED];

/**
 * Runs a row while the n-th store call fails.
 * @returns the calls, up to the failed one.
 */
async function runWithFault(
  [name, row]: readonly [string, Row],
  n: number,
  kind: Kind,
): Promise<{ calls: readonly string[]; faults: readonly string[] }> {
  const stage = await server.stage(row.as);
  const run = new FaultRun(stage, name, row);
  try {
    await run.prepare();
    faults.arm(stage.world, n, kind);
    await run.act();
    await faults.exempt(() => run.settled());
    const { failed, calls } = faults.disarm(stage.world);
    if (failed !== undefined) await run.check();
    return { calls, faults: run.faults };
  } catch (error) {
    const { calls } = faults.disarm(stage.world);
    return { calls, faults: [...run.faults, String((error as Error).stack)] };
  } finally {
    run.clear();
  }
}

class FaultRun {
  readonly faults: string[] = [];
  readonly #stage: Stage;
  readonly #seats: Seats;
  readonly #name: string;
  readonly #row: Row;
  readonly #ending: ReadonlySet<Audience>;
  /** The state of each connection before the row. */
  readonly #before = new Map<Audience, unknown>();
  /** The response's error code; empty on success. */
  #answer = "";

  constructor(stage: Stage, name: string, row: Row) {
    this.#stage = stage;
    this.#name = name;
    this.#row = row;
    this.#seats = new Seats(stage, (audience, fault) => this.faults.push(`${audience}: ${fault}`));
    this.#ending = audienceOf(row.ends ?? "");
  }

  async prepare(): Promise<void> {
    await this.#seats.prepare(this.#row, CAST);
    for (const name of CAST) {
      this.#before.set(name, this.#seats.of(name).mirror!.picture());
    }
  }

  async act(): Promise<void> {
    const row = this.#row;
    if ("act" in row) await row.act(this.#stage).catch(this.#noteCode);
    else await this.#command();
  }

  /** Waits for all immediate effects. */
  settled(): Promise<void> {
    return this.#seats.settled();
  }

  readonly #noteCode = (error: unknown): void => {
    const { problem, code, message } = error as Error & { problem?: string; code?: string };
    const isInDoubt = message.includes("It is unknown whether");
    const unavailable = isInDoubt ? "server.doubtful" : "server.unavailable";
    this.#answer = problem ?? (code === "unavailable" ? unavailable : FAILED);
  };

  async #command(): Promise<void> {
    const { client, mirror } = this.#seats.of("me");
    const action = commandOf(this.#name);
    const { payload } = this.#stage;
    client.sendFrame(action, "fault", payload);
    let frame: Frame;
    do {
      frame = await client.frame();
      if (frame.length === 2) mirror!.pushed(frame);
    } while (frame[1] !== "fault" && frame[0] !== "error");
    if (frame[0] === "success") mirror!.answered(action, payload, frame[2]);
    else if (frame.length === 3) {
      this.#answer = (frame[2] as { code: string }).code;
    } else this.#answer = ENDED;
  }

  async check(): Promise<void> {
    const known = ["", "busy", "doubtful", "unusable", ...NOT_DONE, ...IN_DOUBT, FAILED];
    if (!known.includes(this.#answer)) {
      this.faults.push(`me: the answer is ${this.#answer}`);
    }
    if (this.#answer === ENDED) await this.#seats.of("me").client.closed;
    // A user whose entry failed midway was briefly visible in the room.
    const allowed = this.#answer === "" ? [] : VIEWERS;
    await Promise.all(CAST.map((name) => this.#receive(name, allowed)));
    await this.#expectUnchanged();
    await Promise.all(CAST.map((name) => this.#settle(name)));
  }

  /** Reads an audience's frames, and records those that it may not receive. */
  async #receive(name: Audience, allowed: readonly string[]): Promise<void> {
    const { client, mirror } = this.#seats.of(name);
    // The connection may close during the call.
    const frames = await client.all().catch(() => client.rest());
    const expected = (this.#row.pushes ?? [])
      .filter(([, to]) => audienceOf(to).has(name))
      .map(([push]) => push);
    for (const frame of frames) {
      const [push, data] = frame;
      mirror!.pushed(frame);
      if ([...expected, ...RENEWING, ...allowed].includes(push)) continue;
      this.#note(name, `gets ${push} ${JSON.stringify(data).slice(0, 200)}`);
    }
  }

  /** Waits until an audience has the state of a new connection, or its connection ends. */
  async #settle(name: Audience): Promise<void> {
    const { client } = this.#seats.of(name);
    const ends = this.#ending.has(name) && this.#answer === "";
    let found: string[] = [];
    for (let i = 0; i < MAX_CHECKS; i++) {
      if (i > 0) await this.settled();
      if (!client.isOpen) {
        const isCause = name === "me" && this.#answer !== "";
        const isInDoubt = ["doubtful", ...IN_DOUBT].includes(this.#answer);
        const mayEnd = ends || (isInDoubt && this.#ending.has(name));
        if (!mayEnd && !isCause) this.#note(name, "is ended");
        return;
      }
      // In the meantime, new connections of other audiences enter the room.
      await this.#receive(name, VIEWERS);
      found = ends
        ? ["is not ended"]
        : await this.#differences(name).catch(({ message }: Error) => [message]);
      if (found.length === 0) return;
    }
    for (const each of found.slice(0, 2)) this.#note(name, each);
  }

  #note(name: Audience, fault: string): void {
    const answer = this.#answer === "" ? "done" : this.#answer;
    this.faults.push(`(${answer}) ${name}: ${fault}`);
  }

  async #differences(name: Audience): Promise<string[]> {
    const { client, mirror } = await this.#seats.seat(name);
    client.close();
    const gap = this.#row.unaware?.[name]?.of;
    // After a doubtful command, the caller has to check for its result.
    if (name === "me" && IN_DOUBT.includes(this.#answer)) return [];
    return this.#seats
      .behind(name, mirror!)
      .flatMap(([part, found]) => (part === gap ? [] : found));
  }

  /** Checks that a command reported as not done has changed nothing. */
  async #expectUnchanged(): Promise<void> {
    if (!NOT_DONE.includes(this.#answer)) return;
    for (const name of ["neighbor", "moderator"] as const) {
      const { client, mirror } = await this.#seats.seat(name);
      client.close();
      const before = this.#before.get(name);
      const now: Json = mirror!.picture();
      if (isDeepStrictEqual(now, before)) continue;
      const [first] = differences(now, before, false);
      this.#note(name, `it was done all the same: ${first}`);
    }
  }

  clear(): void {
    this.#seats.clear();
  }
}

void t.test("each call of the store fails once", options, async (t) => {
  const limit = pLimit(AT_ONCE);
  const all = Object.entries(rows).filter(([name]) => name.startsWith(wanted));
  let runs = 0;
  /** The calls that have already failed for a row of each module. */
  const done = new Set<string>();
  await Promise.all(
    all.map(([name, row]) =>
      limit(async () => {
        const run = async (n: number, kind: Kind) => {
          runs++;
          const entry = [name, row] as const;
          const outcome = await runWithFault(entry, n, kind);
          for (const fault of outcome.faults) {
            if (isByDesign(kind, fault)) continue;
            t.fail(`${name}: ${outcome.calls[n]} ${kind}: ${fault}`);
          }
          return outcome.calls;
        };
        const [module] = name.split(/[. ]/, 1);
        const calls = await run(Infinity, "busy");
        for (const [n, call] of calls.entries()) {
          const isFirst = calls.indexOf(call) === n;
          const key = `${module} ${call} ${isFirst}`;
          const way = kinds[(done.size + n) % kinds.length]!;
          const ways = inAllWays ? kinds : [way];
          // Rows that end connections always run: a read that merely fetches a response elsewhere
          // may revoke a right here.
          const isOther = row.ends === undefined && done.has(key);
          if (isOther && !inAllWays) continue;
          done.add(key);
          for (const kind of ways) await run(n, kind);
        }
        t.pass(name);
      }),
    ),
  );
  t.comment(`${runs} runs`);
});

/** An upper bound for the number of calls that a login makes. */
const MOST = 40;

/** Creates a world with its users, none of whom is connected yet. */
async function furnished(): Promise<Stage> {
  const stage = await server.stage();
  await stage.furnish();
  await stage.join("me");
  return stage;
}

const nobody = (audience: string, fault: string): void => {
  throw new Error(`${audience}: ${fault}`);
};

void t.test("a mark that cannot be written is written later", options, async (t) => {
  const write = async (kind: Kind) => {
    const stage = await furnished();
    const { world, room: channel, ids } = stage;
    const id = await stage.message("neighbor");
    await stage.ready();
    const seats = new Seats(stage, nobody);
    const { client } = await seats.seat("me");
    faults.arm(world, 0, kind, "chat.mark");
    await client.do("chat.mark_read", { channel, id });
    await until(() => faults.hasFailed(world));
    await until(async () => {
      const { marks } = await server.node.store.chat.unread(world, ids.me);
      return marks.some((mark) => mark.pointer === id);
    });
    faults.disarm(world);
    t.ok(client.isOpen, kind);
    seats.clear();
  };
  await Promise.all(kinds.map(write));
});

void t.test("an announcement ends in spite of a failed read", options, async (t) => {
  // A listener that throws anything but a store error has a bug, so it is not retried.
  const repeated = kinds.filter((kind) => kind !== "throw");
  await Promise.all(
    repeated.map(async (kind) => {
      const stage = await furnished();
      const seats = new Seats(stage, nobody);
      const { client } = await seats.seat("neighbor");
      await stage.announcement({ show_until: Date.now() + 3000 });
      const name = "announcement.created_or_updated";
      await client.next(name);
      faults.arm(stage.world, 0, kind, "announcements.list");
      t.equal((await client.next(name)).is_visible, false, kind);
      t.ok(faults.hasFailed(stage.world));
      await stage.ready();
      seats.clear();
    }),
  );
});

void t.test("messages that another process wrote come late", options, async (t) => {
  for (const kind of kinds) {
    const stage = await furnished();
    await stage.ready();
    const seats = new Seats(stage, nobody);
    const { client } = await seats.seat("neighbor");
    for (const call of ["log.heads", "log.since"]) {
      const place = call === "log.since" ? stage.world : "*";
      faults.arm(place, 0, kind, call);
      const body = `by ${call}`;
      await written(stage, server.node.dataDir, body);
      const isOf = ({ content }: Json) => content.body === body;
      t.match(await client.next("chat.event", isOf), { content: { body } });
      t.ok(faults.hasFailed(place), `${call} ${kind}`);
      faults.disarm(place);
    }
    seats.clear();
  }
});

void t.test("a login whose n-th call fails", options, async (t) => {
  for (let n = 0; n < MOST; n++) {
    const kind = kinds[n % kinds.length]!;
    const stage = await furnished();
    const { world, room } = stage;
    await server.node.store.rooms.update(world, room, { extras: { force_join: true } });
    await stage.ready();
    const seats = new Seats(stage, nobody);
    const other = await seats.seat("moderator");
    faults.arm(world, n, kind);
    const { client, code } = await attempt(stage);
    const { failed } = faults.disarm(world);
    const allowed = ["", "server.unavailable", "server.doubtful"];
    if (kind === "throw" || kind === "unusable") allowed.push("server.fatal");
    t.ok(allowed.includes(code), `${failed} ${kind}: ${code}`);
    if (code === "") await hears(t, stage, client, `${failed}`);
    else await client.closed;
    t.ok(other.client.isOpen, "others stay");
    const again = await attempt(stage);
    t.equal(again.code, "", `${failed}: another login`);
    await hears(t, stage, again.client, `${failed}, again`);
    for (const each of [client, again.client]) each.close();
    seats.clear();
    if (failed === undefined) break;
  }
});

/** Writes a message without an event in this process. */
async function written({ world, room, ids }: Stage, dataDir: string, body: string): Promise<void> {
  const store = openSqliteStore(dataDir);
  await store.chat.send(world, room, { sender: ids.moderator, content: { type: "text", body } });
  await store.close();
}

/**
 * Logs in.
 * @returns the client and the error code, which is empty on success.
 */
async function attempt(stage: Stage) {
  const client = await stage.server.connect(stage.world, 0);
  const token = stage.tokenOf("outsider");
  const answer = await client.login({ token });
  const { code = "" } = answer[1] as { code?: string };
  return { client, code };
}

/** Checks that a logged-in client receives the next change. */
async function hears(t: Test, { world }: Stage, client: Client, what: string): Promise<void> {
  const title = `After ${what}`;
  await server.node.store.worlds.update(world, { title });
  const updated = await client.next("world.updated", (data) => data.world.title === title);
  t.equal(updated.world.title, title);
}
