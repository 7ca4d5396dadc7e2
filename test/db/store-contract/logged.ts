import type { Test } from "tap";
import type { Change, Entry } from "../../../db/log/entries.js";
import type { Author } from "../../../db/contract/author.js";
import type { Hint } from "../../../db/log/log.js";
import type { Store, StoreProblem } from "../../../db/contract/store.js";
import { asStored, changeOf } from "./log-reader.js";
import type { Open } from "./setup.js";

/** An author whose connection is in hints, but not in the log. */
export const me: Author = { kind: "user", user: "me", connection: "here" };

/** A change, perhaps of another world than `demo` and by another author than {@link me}. */
export type Logged = Change & { world?: string; by?: Author };

/** Compares what writes append with what they should. */
export class Expecting {
  readonly #t: Test;
  readonly #hints: Hint<Entry>[] = [];
  #store!: Store;
  /** What a reader sees the moment that entries come. */
  #look: () => Promise<unknown> = async () => undefined;
  #looked: Promise<unknown> | undefined;

  private constructor(t: Test) {
    this.#t = t;
  }

  /** Opens one more store, whose writes are compared. */
  static async open(
    t: Test,
    open: Open,
  ): Promise<{ store: Store; expecting: Expecting }> {
    const expecting = new Expecting(t);
    const store = await open((hints) => {
      expecting.#hints.push(...hints);
      expecting.#looked = expecting.#look();
      return undefined;
    });
    expecting.#store = store;
    return { store, expecting };
  }

  /**
   * Runs a write, which appends some entries.
   * @param look is called when they come, and must give what is expected then.
   */
  async write<T>(
    name: string,
    write: () => Promise<T>,
    expected: readonly Logged[] | ((result: T) => readonly Logged[]),
    look?: readonly [() => Promise<unknown>, unknown],
  ): Promise<T> {
    const [looking, sees] = look ?? [async () => undefined, undefined];
    this.#begin(looking);
    const result = await write();
    const changes = expected instanceof Function ? expected(result) : expected;
    const entries = this.#hints.map(({ entry }) => entry);
    this.#t.strictSame(
      entries.map(changeOf),
      changes.map((change) => ({ world: "demo", by: me, ...change })),
      name,
    );
    this.#t.strictSame(
      JSON.parse(JSON.stringify(entries)),
      entries,
      `${name}: plain JSON`,
    );
    this.#t.strictSame(await this.#looked, sees, `${name}: it is done`);
    await this.#expectStored(name, entries);
    return result;
  }

  /** Some writes append these entries each. */
  async each(
    writes: Readonly<Record<string, () => Promise<unknown>>>,
    entries: Logged[],
  ): Promise<void> {
    for (const [name, write] of Object.entries(writes)) {
      await this.write(name, write, entries);
    }
  }

  /** Runs writes that change nothing. */
  async nothing(
    writes: Record<string, () => Promise<unknown>>,
    world = "demo",
  ): Promise<void> {
    for (const [name, write] of Object.entries(writes)) {
      const before = await this.#store.log.heads([world, ""]);
      await this.write(name, write, []);
      this.#t.strictSame(
        await this.#store.log.heads([world, ""]),
        before,
        `${name}: nothing is appended`,
      );
    }
  }

  /** Runs writes that fail. */
  async refused(
    writes: readonly [write: () => Promise<unknown>, problem: StoreProblem][],
  ): Promise<void> {
    for (const [write, problem] of writes) {
      await this.nothing({
        [String(write)]: async () => {
          const error: unknown = await write().catch(
            (thrown: unknown) => thrown,
          );
          this.#t.match(error, { name: "StoreError", problem }, String(write));
        },
      });
    }
  }

  #begin(look: () => Promise<unknown>): void {
    this.#hints.length = 0;
    this.#look = look;
    this.#looked = undefined;
  }

  async #expectStored(name: string, entries: readonly Entry[]): Promise<void> {
    for (const world of new Set(entries.map(({ world }) => world))) {
      const own = entries.filter((entry) => entry.world === world);
      const { entries: read } = await this.#store.log.since(
        world,
        own[0]!.seq - 1,
        100,
      );
      this.#t.strictSame(read, own.map(asStored), `${name}: is stored`);
    }
  }
}
