import type { Author } from "../../../../db/contract/author.js";
import type { Delivery } from "../../../../db/contract/chat-store.js";
import type { Store } from "../../../../db/contract/store.js";
import type { Entry, Position } from "../../../../db/log/entries.js";

/** How many entries a {@link LogReader} reads at a time. */
const STRETCH = 7;

/** Follows the logs of some worlds by what the store says alone. */
export class LogReader {
  readonly #store: Store;
  readonly #worlds: readonly string[];
  readonly #cursors = new Map<string, Position>();
  readonly #entries = new Map<string, Entry[]>();
  /** What was wrong. */
  readonly faults: string[] = [];
  #over = false;

  constructor(store: Store, worlds: readonly string[]) {
    this.#store = store;
    this.#worlds = worlds;
  }

  /** The entries of a world that were read. */
  of(world: string): readonly Entry[] {
    return this.#entries.get(world) ?? [];
  }

  /** Begins with what comes from now on. */
  async begin(): Promise<void> {
    const heads = await this.#store.log.heads(this.#worlds);
    for (const [i, world] of this.#worlds.entries()) {
      this.#cursors.set(world, heads[i]!);
      this.#entries.set(world, []);
    }
  }

  /** Reads until {@link end}, and then once more. */
  async follow(): Promise<void> {
    while (!this.#over) {
      await this.look();
      await new Promise(setImmediate);
    }
    await this.look();
  }

  end(): void {
    this.#over = true;
  }

  /** Reads what is there now. */
  async look(): Promise<void> {
    const heads = await this.#store.log.heads(this.#worlds);
    for (const [i, world] of this.#worlds.entries()) {
      await this.#readUpTo(world, heads[i]!);
    }
  }

  async #readUpTo(world: string, head: Position): Promise<void> {
    const { seq } = this.#cursors.get(world)!;
    if (head.seq < seq) this.faults.push(`${world}: ${head.seq} is back`);
    while (this.#cursors.get(world)!.seq < head.seq) {
      const cursor = this.#cursors.get(world)!;
      const { tag, entries } = await this.#store.log.since(world, cursor.seq, STRETCH);
      if (tag !== cursor.tag) {
        this.faults.push(`${world}: ${cursor.seq} has the tag ${tag}`);
      }
      if (entries.length === 0) {
        this.faults.push(`${world}: nothing after ${cursor.seq}`);
        return;
      }
      for (const entry of entries) this.#take(world, entry, head);
    }
  }

  #take(world: string, entry: Entry, head: Position): void {
    const { seq } = this.#cursors.get(world)!;
    if (entry.world !== world || entry.seq !== seq + 1) {
      this.faults.push(`${world}: ${entry.seq} follows ${seq}`);
    }
    if (entry.seq === head.seq && entry.tag !== head.tag) {
      this.faults.push(`${world}: the head ${seq} has another tag`);
    }
    this.#cursors.set(world, { seq: entry.seq, tag: entry.tag });
    this.#entries.get(world)!.push(entry);
  }
}

/** The delivery of an entry, if it is an event of chat. */
export const deliveryOf = (entry: Entry): Delivery[] =>
  entry.type === "chat.event" ? [entry.delivery] : [];

/** An entry as it is stored: without connections, votes, marks and who sees a channel again. */
export function asStored(entry: Entry): Entry {
  const { connection: _, ...by } = entry.by;
  if (entry.type === "chat.event") {
    return { ...entry, delivery: { ...entry.delivery, appeared: [] }, by };
  }
  return {
    ...entry,
    by,
    ...("votes" in entry && { votes: [] }),
    ...("marks" in entry && { marks: [] }),
  };
}

/** An author whose connection is in hints, but not in the log. */
export const me: Author = { kind: "user", user: "me", connection: "here" };
