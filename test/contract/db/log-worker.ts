import type { Bus } from "../../../db/bus/bus.js";
import type { Engines } from "../../../db/contract/engines.js";
import type { Entry } from "../../../db/log/entries.js";
import { openWith } from "../../support/stack.js";
import { serveOrders, openBus, type Through } from "./bus-fork.js";

// A child process of the log tests, which shares a store and a bus with others.

/** An entry as received by a process. */
export interface Seen {
  seq: number;
  /** The id of its announcement. */
  subject: string;
  /** Its delay, in milliseconds. */
  late: number;
}

/** The commands of the process. */
class LogNode {
  #engines: Engines | undefined;
  readonly #seen: Seen[] = [];
  #reads = 0;

  async begin(dataDir: string, through?: Through): Promise<void> {
    const onFault = (fault: unknown) => {
      throw fault;
    };
    const bus: Bus = await openBus(onFault, through);
    const { store, events } = (this.#engines = await openWith(bus, dataDir));
    const since = store.log.since.bind(store.log);
    store.log.since = (...args) => {
      this.#reads++;
      return since(...args);
    };
    events.subscribe((event) => {
      if (event.type === "announcement.created") this.#see(event);
      if (event.type === "world.reset") throw new Error("a reset");
    });
  }

  async follow(world: string): Promise<void> {
    await this.#engines!.events.follow(world);
  }

  unfollow(world: string): void {
    this.#engines!.events.unfollow(world);
  }

  /**
   * Writes to a world's log, concurrently or one after another.
   * @returns how many of its own entries it had not received by the time their writes resolved.
   */
  async write(world: string, texts: string[], inTurn = false): Promise<number> {
    let missing = 0;
    const writeOne = async (text: string) => {
      const { announcements } = this.#engines!.store;
      const { id } = await announcements.create(world, { text });
      if (!this.#seen.some(({ subject }) => subject === id)) missing++;
    };
    if (inTurn) for (const text of texts) await writeOne(text);
    else await Promise.all(texts.map(writeOne));
    return missing;
  }

  seen(): Seen[] {
    return this.#seen;
  }

  /** Returns how often entries were read from the store. */
  reads(): number {
    return this.#reads;
  }

  #see({ seq, at, announcement }: Entry & { announcement: string }): void {
    this.#seen.push({ seq, subject: announcement, late: Date.now() - at });
  }
}

/** A {@link LogNode} in another process. */
export type RemoteLog = {
  [N in keyof LogNode]: (
    ...args: Parameters<LogNode[N]>
  ) => Promise<Awaited<ReturnType<LogNode[N]>>>;
};

const node = new LogNode();

serveOrders((method, args) =>
  (node[method as keyof LogNode] as (...args: unknown[]) => unknown)(...args),
);
