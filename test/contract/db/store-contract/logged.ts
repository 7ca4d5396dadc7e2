import type { Author } from "../../../../db/contract/author.js";
import type { ChatDelivery } from "../../../../db/contract/chat-store.js";
import type { Store } from "../../../../db/contract/store.js";
import type { Entry, LogPosition } from "../../../../db/log/entries.js";

/** The number of entries that a {@link LogReader} reads at a time. */
const PAGE_SIZE = 7;

/** Follows the logs of some worlds by reading from the store only. */
export class LogReader {
  readonly #store: Store;
  readonly #worlds: readonly string[];
  readonly #cursors = new Map<string, LogPosition>();
  readonly #entries = new Map<string, Entry[]>();
  /** Inconsistencies found so far. */
  readonly faults: string[] = [];
  #over = false;

  constructor(store: Store, worlds: readonly string[]) {
    this.#store = store;
    this.#worlds = worlds;
  }

  /** Returns the entries of a world read so far. */
  of(world: string): readonly Entry[] {
    return this.#entries.get(world) ?? [];
  }

  /** Starts at the current heads. */
  async begin(): Promise<void> {
    const heads = await this.#store.log.heads(this.#worlds);
    for (const [i, world] of this.#worlds.entries()) {
      this.#cursors.set(world, heads[i]!);
      this.#entries.set(world, []);
    }
  }

  /** Reads until {@link end} is called, and then one last time. */
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

  /** Reads all entries up to the current heads. */
  async look(): Promise<void> {
    const heads = await this.#store.log.heads(this.#worlds);
    for (const [i, world] of this.#worlds.entries()) {
      await this.#readUpTo(world, heads[i]!);
    }
  }

  async #readUpTo(world: string, head: LogPosition): Promise<void> {
    const { seq } = this.#cursors.get(world)!;
    if (head.seq < seq) this.faults.push(`${world}: ${head.seq} is back`);
    while (this.#cursors.get(world)!.seq < head.seq) {
      const cursor = this.#cursors.get(world)!;
      const { tag, entries } = await this.#store.log.since(world, cursor.seq, PAGE_SIZE);
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

  #take(world: string, entry: Entry, head: LogPosition): void {
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

/** Returns the delivery of a chat event; empty for other entries. */
export const deliveryOf = (entry: Entry): ChatDelivery[] =>
  entry.type === "chat.event" ? [entry.delivery] : [];

/** Returns an entry as stored: without connections, votes, read marks, and the users for whom a channel reappears. */
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

/** An author whose connection is part of hints, but not of the log. */
export const me: Author = { kind: "user", user: "me", connection: "here" };
