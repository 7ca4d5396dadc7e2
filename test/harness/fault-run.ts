import { isDeepStrictEqual } from "node:util";
import { type Audience, audienceOf } from "../../conformance/cast.js";
import type { Frame, Json } from "../../conformance/client.js";
import { differences } from "../../conformance/differences.js";
import { commandOf, type Row } from "../../conformance/row.js";
import { Seats } from "../../conformance/seats.js";
import type { Stage } from "../../conformance/stage.js";
import type { Faults, Kind } from "./faulty-store.js";
import type { House } from "./house.js";
import { StoreStage } from "./store-stage.js";

/** The audiences. */
const CAST: readonly Audience[] = [
  ...(["me", "second", "neighbor", "moderator"] as const),
  ...(["elsewhere", "silenced", "outsider"] as const),
];

/** How often a run looks for late pushes; in between, it waits until all is settled. */
const PATIENCE = 8;

/** Pushes of the present state, which any audience may get. */
const RENEWING = [
  ...["world.updated", "world.user_count_change", "chat.channels"],
  ...["chat.unread_pointers", "chat.notification_counts", "user.updated"],
];

const VIEWERS = ["room.viewer.added", "room.viewer.removed"];

/** The answers that say that nothing was done. */
const NOT_DONE = ["server.unavailable"];
/** The server ends the connection instead of an answer. */
const ENDED = "ended";
/** The code that stands for a 500 of REST. */
const FAILED = "failed";
const IN_DOUBT = ["server.doubtful", ENDED];

/** The result of one failing call. */
export interface Outcome {
  /** The calls of the store, up to the one that failed. */
  readonly calls: readonly string[];
  readonly faults: readonly string[];
}

let worlds = 0;

/** Runs a row while the n-th call of the store fails. */
export async function runWithFault(
  house: House,
  faults: Faults,
  [name, row]: readonly [string, Row],
  n: number,
  kind: Kind,
): Promise<Outcome> {
  const { store } = house.servers[0].app;
  const stage = new StoreStage(store, `fault-${++worlds}`, row.as ?? "member");
  const run = new FaultRun(house, stage, name, row);
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
  /** The code of the answer; empty for a success. */
  #answer = "";

  constructor(house: House, stage: Stage, name: string, row: Row) {
    this.#stage = stage;
    this.#name = name;
    this.#row = row;
    const enters = row.before?.enters !== false;
    this.#seats = new Seats(house, stage, enters, (audience, fault) =>
      this.faults.push(`${audience}: ${fault}`),
    );
    this.#ending = audienceOf(row.ends ?? "");
  }

  async prepare(): Promise<void> {
    const stage = this.#stage;
    const row = this.#row;
    await stage.furnish();
    if (row.before?.joined !== false) await stage.join("me");
    if ("act" in row) await row.prepare?.(stage);
    else stage.payload = (await row.payload?.(stage)) ?? null;
    await this.#seats.fill(CAST);
    for (const name of CAST) {
      this.#before.set(name, this.#seats.of(name).mirror!.picture());
    }
  }

  /** Runs the action of the row. */
  async act(): Promise<void> {
    const row = this.#row;
    if ("act" in row) await row.act(this.#stage).catch(this.#noteCode);
    else await this.#command();
  }

  /** Waits for all that follows at once. */
  settled(): Promise<void> {
    return this.#seats.settled();
  }

  readonly #noteCode = (error: unknown): void => {
    this.#answer = (error as { problem?: string }).problem ?? FAILED;
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
    const known = [
      "",
      "busy",
      "doubtful",
      "unusable",
      ...NOT_DONE,
      ...IN_DOUBT,
      FAILED,
    ];
    if (!known.includes(this.#answer)) {
      this.faults.push(`me: the answer is ${this.#answer}`);
    }
    if (this.#answer === ENDED) await this.#seats.of("me").client.closed;
    await Promise.all(CAST.map((name) => this.#receive(name, [])));
    await this.#expectUnchanged();
    await Promise.all(CAST.map((name) => this.#settle(name)));
  }

  /** Takes the frames of an audience, and notes those that it may not get. */
  async #receive(name: Audience, allowed: readonly string[]): Promise<void> {
    const { client, mirror } = this.#seats.of(name);
    // It may end while it is asked.
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

  /** Waits until an audience has the state that a new connection gets, or its connection ends. */
  async #settle(name: Audience): Promise<void> {
    const { client } = this.#seats.of(name);
    const ends = this.#ending.has(name) && this.#answer === "";
    let found: string[] = [];
    for (let i = 0; i < PATIENCE; i++) {
      if (i > 0) await this.settled();
      if (!client.isOpen) {
        const isCause = name === "me" && this.#answer !== "";
        const isInDoubt = ["doubtful", ...IN_DOUBT].includes(this.#answer);
        const mayEnd = ends || (isInDoubt && this.#ending.has(name));
        if (!mayEnd && !isCause) this.#note(name, "is ended");
        return;
      }
      // New connections of others enter the room meanwhile.
      await this.#receive(name, VIEWERS);
      found = ends
        ? ["is not ended"]
        : await this.#differences(name).catch(({ message }: Error) => [
            message,
          ]);
      if (found.length === 0) return;
    }
    for (const each of found.slice(0, 2)) this.#note(name, each);
  }

  #note(name: Audience, fault: string): void {
    const answer = this.#answer === "" ? "done" : this.#answer;
    this.faults.push(`(${answer}) ${name}: ${fault}`);
  }

  async #differences(name: Audience): Promise<string[]> {
    const old = this.#seats.of(name).mirror!;
    const { client, mirror } = await this.#seats.seat(name);
    client.close();
    const expected = mirror!.doubting(old).picture();
    const known = old.doubting(mirror!).picture();
    const gap = this.#row.unaware?.[name]?.of;
    // The caller of a command in doubt has to look for its result.
    const isLost = name === "me" && IN_DOUBT.includes(this.#answer);
    return Object.keys(expected)
      .filter((part) => known[part] !== undefined && part !== gap && !isLost)
      .flatMap((part) => differences(known[part], expected[part], false, part));
  }

  /** A command that says that nothing was done has done nothing. */
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
