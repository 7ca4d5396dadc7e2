import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { type Frame, type Json, soon } from "./client.js";
import { type Audience, audienceOf, audiences, holds, type Other, otherNames } from "./cast.js";
import { differences, isObject, type Mirror } from "./mirror.js";
import { commandOf, type CommandRow, type Like, type Push, refusalOf, type Row } from "./row.js";
import { citizens, Seats, takeAll, type Watcher } from "./seats.js";
import { SECRET, type Stage } from "./stage.js";

/** Maximum number of differences shown per part of a state. */
const SHOWN = 3;

/**
 * Maximum delay of pushes that supply missing data after a login, in milliseconds. The responses of
 * a node may lack updates from other nodes.
 */
const MAX_PUSH_LAG_MS = 4000;

type Made = Extract<Like, (...args: never) => unknown>;

/** Observes the world right before a row's action and after its pushes. */
export interface Observer {
  before(): Promise<void>;
  after(): Promise<void>;
}

/**
 * Runs a row.
 * @param stage created for this row.
 * @returns all faults.
 */
export async function verify(
  stage: Stage,
  name: string,
  row: Row,
  observer?: Observer,
): Promise<string[]> {
  const verification = new Verification(stage, name, row, observer);
  try {
    await verification.run();
  } catch (error) {
    const { message, stack } = error as Error;
    // For a remote server, a stack would not help: it cannot show whether the server or this
    // program is at fault.
    verification.faults.push((stage.server.isCertain && stack) || message);
  }
  return verification.faults;
}

class Verification {
  readonly faults: string[] = [];
  readonly #name: string;
  readonly #row: Row;
  readonly #stage: Stage;
  readonly #seats: Seats;
  readonly #observer: Observer | undefined;
  readonly #isCertain: boolean;
  /** The audiences available on this stage. */
  readonly #present: readonly Audience[];
  /** The audiences whose connections the server closes. */
  readonly #ending: ReadonlySet<Audience>;

  constructor(stage: Stage, name: string, row: Row, observer: Observer | undefined) {
    this.#name = name;
    this.#row = row;
    this.#stage = stage;
    this.#observer = observer;
    this.#isCertain = stage.server.isCertain;
    this.#present = audiences.filter(
      (name) => name !== "foreigner" || stage.foreignWorld !== undefined,
    );
    this.#seats = new Seats(stage, (audience, fault) => this.#note(audience, fault));
    this.#ending = audienceOf(row.ends ?? "");
  }

  async run(): Promise<void> {
    const stage = this.#stage;
    const row = this.#row;
    const isCommand = !("act" in row);
    try {
      await this.#seats.prepare(row, this.#present);
      if (isCommand) await Promise.all(this.#others.map((name) => this.#refusal(row, name)));
      await this.#observer?.before();
      if (isCommand) await this.#command(row);
      else await row.act(stage);
      await this.#pushes();
      await this.#observer?.after();
      await this.#logins();
      if (isCommand) await this.#holders(row);
    } finally {
      this.#seats.clear();
    }
  }

  #note(audience: Audience, fault: string): void {
    this.faults.push(`${audience}: ${fault}`);
  }

  get #others(): readonly Other[] {
    return otherNames.filter((name) => this.#present.includes(name));
  }

  /** Checks that an audience without the right receives the expected error code, whether or not the object exists. */
  async #refusal(row: CommandRow, name: Other): Promise<void> {
    const expected = this.#refusalOf(row, name);
    if (expected === undefined) return;
    const { client } = this.#seats.of(name);
    const { payload } = this.#stage;
    const action = commandOf(this.#name);
    const [, , problem] = await client.call(action, payload);
    const text = JSON.stringify(problem);
    if ((problem as { code?: string }).code !== expected) {
      this.#note(name, `is answered ${text}, not ${expected}`);
    }
    if (text.includes(SECRET)) this.#note(name, `is shown ${text}`);
    // An audience that is refused for a reason other than a missing right may know that the object
    // exists.
    if (row.refused?.[name] !== undefined) return;
    const absent = withoutThings(payload);
    const [, , other] = await client.call(action, absent);
    if (isDeepStrictEqual(problem, other)) return;
    const instead = JSON.stringify(other);
    this.#note(name, `gets ${text}, but ${instead} if there is no such thing`);
  }

  #refusalOf(row: CommandRow, name: Other): string | undefined {
    if (audienceOf(row.allowed ?? "").has(name)) return undefined;
    return refusalOf(row, name, (where, key) => holds(name, where, key));
  }

  async #command({ answer }: CommandRow): Promise<void> {
    const { client, mirror } = this.#seats.of("me");
    const action = commandOf(this.#name);
    const { payload } = this.#stage;
    client.sendFrame(action, this.#name, payload);
    // The command's pushes follow its response.
    const frame = await client.frame();
    const [name, , result] = frame;
    if (name !== "success") throw new Error(`me: ${JSON.stringify(frame)}`);
    this.#like("me", "the answer", result, answer);
    mirror!.answered(action, payload, result);
  }

  #like(name: Audience, what: string, actual: Json, like?: Like): void {
    if (like === undefined) return;
    const expected = typeof like === "function" ? (like as Made)(this.#stage) : like;
    for (const found of differences(actual, expected, true)) {
      this.#note(name, `${what}: ${found}`);
    }
  }

  /** Checks that each audience receives exactly the pushes that the row names, in this order. */
  async #pushes(): Promise<void> {
    const { pushes = [], late } = this.#row;
    const expected = new Map(
      this.#present.map((name) => [name, pushes.filter(([, to]) => audienceOf(to).has(name))]),
    );
    if (late || !this.#isCertain) await this.#came(expected);
    await this.#seats.settled();
    await Promise.all(
      this.#present.map(async (name) => {
        const all = await this.#received(name);
        const named = expected.get(name)!;
        this.#compare(name, all, named);
        for (const frame of all) this.#seats.of(name).mirror?.pushed(frame);
      }),
    );
  }

  /**
   * Waits until every audience has the expected number of pushes and every connection that should
   * close has closed. Waits no longer than the clients' timeout.
   */
  async #came(expected: ReadonlyMap<Audience, readonly Push[]>): Promise<void> {
    await Promise.all(
      Array.from(expected, async ([name, { length }]) => {
        const { client } = this.#seats.of(name);
        if (!this.#ending.has(name)) return client.gathers(length);
        await soon(client.closed, client.timeout).catch(() => {});
      }),
    );
  }

  async #received(name: Audience): Promise<Frame[]> {
    const { client } = this.#seats.of(name);
    if (!this.#ending.has(name)) {
      return client.all().catch((error: unknown) => {
        // Servers close connections that do not log in.
        const rest = client.rest();
        const last = rest.pop()?.[1] as { code?: string } | undefined;
        if (last?.code === "auth.timeout") return rest;
        throw error;
      });
    }
    await soon(client.closed, client.timeout).catch(() => this.#note(name, "is not ended"));
    return client.rest();
  }

  #compare(name: Audience, got: readonly Frame[], expected: readonly Push[]): void {
    for (const module of new Set([...got, ...expected].map(moduleOf))) {
      const those = expected.filter((push) => moduleOf(push) === module);
      const came = got.filter((frame) => moduleOf(frame) === module);
      const names = those.map(([push]) => push).join(", ");
      if (came.map(([push]) => push).join(", ") === names) {
        for (const [i, [push, , like]] of those.entries()) {
          this.#like(name, push, came[i]![1], like);
        }
      } else {
        const all = came.map((frame) => JSON.stringify(frame).slice(0, 300));
        this.#note(name, `gets [${all.join(", ")}], not [${names}]`);
      }
    }
  }

  /**
   * Checks that a user's new connection receives the same state that pushes produced on the user's
   * old connection.
   */
  async #logins(): Promise<void> {
    const names = citizens.filter((name) => !this.#ending.has(name));
    const seated = await Promise.all(
      names.map(async (name): Promise<[Audience, Watcher]> => [name, await this.#seats.seat(name)]),
    );
    const ends = performance.now() + (this.#isCertain ? 0 : MAX_PUSH_LAG_MS);
    const found = () =>
      seated.flatMap(([name, { mirror }]) =>
        this.#differences(name, mirror!).map((fault) => [name, fault] as const),
      );
    let faults = found();
    // A node that has waited too long for another node responds without that node's data, and
    // pushes the data later.
    while (faults.length > 0 && performance.now() < ends) {
      await this.#seats.settled();
      for (const [name, fresh] of seated) {
        await takeAll(this.#seats.of(name));
        await takeAll(fresh);
      }
      faults = found();
    }
    for (const [name, fault] of faults) this.#note(name, fault);
  }

  /** Compares the pushed state with the state of a new connection. */
  #differences(name: Audience, fresh: Mirror): string[] {
    const { of: gap } = this.#row.unaware?.[name] ?? {};
    return this.#seats.behind(name, fresh).flatMap(([part, found]) => {
      if (part === gap) return found.length === 0 ? [`knows all of ${part}`] : [];
      return found.slice(0, SHOWN).map((each) => `by its pushes, ${each}`);
    });
  }

  /** Checks that audiences with the right are not refused, even if the command then changes nothing. */
  async #holders(row: CommandRow): Promise<void> {
    const action = commandOf(this.#name);
    for (const name of this.#others) {
      if (this.#ending.has(name) || this.#refusalOf(row, name) !== undefined) {
        continue;
      }
      const { client } = this.#seats.of(name);
      const code = await client.code(action, this.#stage.payload);
      if (/denied|unauthenticated/.test(code)) this.#note(name, `gets ${code}`);
    }
  }
}

/**
 * Returns a push's group. Order is guaranteed only within a group. Lists of channels are a separate
 * group, because they are paced separately.
 */
const moduleOf = ([name]: readonly [string, ...unknown[]]): string =>
  name === "chat.channels" ? name : name.split(".", 1)[0]!;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The keys that refer to an event by number. */
const EVENTS = ["event", "replaces"];
/** The keys that refer to a room or its channel. */
const PLACES = ["room", "channel"];

/** Returns a payload that refers to nonexistent objects in the same room. */
function withoutThings(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutThings);
  if (typeof value === "string") {
    return UUID.test(value) ? randomUUID() : value;
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (PLACES.includes(key)) return [key, inner];
      return [key, EVENTS.includes(key) ? 2 ** 40 : withoutThings(inner)];
    }),
  );
}
