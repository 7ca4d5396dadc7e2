import { createHash } from "node:crypto";
import type { Membership } from "../../db/chat.js";
import type { Live } from "../live.js";
import type { Marks } from "./marks.js";
import type { Reader } from "./reader.js";

/** A short text that is another one when somebody sees other channels. */
export function digestOf(memberships: readonly Membership[]): string {
  const channels = memberships.filter(({ hidden }) => !hidden);
  const ids = channels.map(({ id }) => id).sort();
  return createHash("sha1").update(ids.join()).digest("base64");
}

export interface ReaderRepairParts {
  readonly live: Live;
  readonly marks: Marks;
  readonly readers: ReadonlyMap<string, Reader>;
  /** Sends somebody their channels. */
  readonly onChannels: (reader: Reader) => Promise<void>;
  /** Somebody has read further than this process knew. */
  readonly onMarked: (reader: Reader) => Promise<void>;
}

/** Compares what people know of their channels with the store, after events were missed. */
export class ReaderRepair {
  readonly #parts: ReaderRepairParts;
  #isDue = false;
  #isRunning = false;

  constructor(parts: ReaderRepairParts) {
    this.#parts = parts;
  }

  /** Compares one reader after the other: a whole crowd would keep the store busy. */
  async run(isClosed: () => boolean): Promise<void> {
    const { live, readers } = this.#parts;
    this.#isDue = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#isDue) {
      this.#isDue = false;
      for (const reader of [...readers.values()]) {
        if (isClosed()) return;
        const isOver = () => readers.get(reader.user) !== reader;
        await live.effects.persist(() => this.#compare(reader), { isOver });
      }
    }
    this.#isRunning = false;
  }

  async #compare(reader: Reader): Promise<void> {
    const { live, marks, readers, onChannels, onMarked } = this.#parts;
    const { world, user } = reader;
    if (readers.get(user) !== reader) return;
    await reader.loaded;
    // A mark that is made from now on is newer than what the store has.
    const at = performance.timeOrigin + performance.now();
    const unwritten = marks.of(user);
    const [memberships, unread] = await Promise.all([
      live.store.chat.memberships(world, user),
      live.store.chat.unread(world, user),
    ]);
    if (readers.get(user) !== reader) return;
    if (reader.channels !== digestOf(memberships)) await onChannels(reader);
    let isMarked = false;
    const known = reader.pointers();
    for (const { channel, pointer, listed } of unread.marks) {
      if (pointer === null || pointer === known[channel]) continue;
      if (unwritten.has(channel)) continue;
      const cleared = pointer;
      const mark = { world, user, channel, pointer, listed, cleared, at };
      if (reader.mark(mark)) isMarked = true;
    }
    if (isMarked) await onMarked(reader);
  }
}
