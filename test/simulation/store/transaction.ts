import { Draft, type Given } from "../../../db/log/draft.js";
import { chatEntry, type Entry } from "../../../db/log/entries.js";
import { type Author, SERVER } from "../../../db/contract/author.js";
import type { Delivery } from "../../../db/contract/chat.js";
import type { Hint } from "../../../db/log/log.js";
import type { Random } from "../random.js";
import type { Tables } from "./tables.js";

/**
 * What one method of the store sees and changes. A method that may fail does so before it
 * changes anything.
 */
export class Transaction {
  readonly #draft: Draft;
  readonly #random: Random;
  /** The worlds whose entries lose what they hold beside ids. */
  readonly #erased = new Set<string>();

  constructor(
    readonly tables: Tables,
    /** In milliseconds since 1970. */
    readonly now: number,
    random: Random,
  ) {
    this.#random = random;
    this.#draft = new Draft(
      (world) => tables.heads.get(world) ?? { seq: 0, tag: 0 },
      { tag: () => 1 + random.below(2 ** 32), date: () => now },
    );
  }

  /** A new id. */
  uuid(): string {
    return this.#random.uuid();
  }

  append(world: string, given: Given, by: Author = SERVER): void {
    this.#draft.append(world, given, by);
  }

  /** The number of the next entry of a world. */
  next(world: string): number {
    return this.#draft.next(world);
  }

  deliver(world: string, delivery: Delivery, by?: Author): void {
    this.#draft.put(chatEntry(world, this.#draft.newTag(), delivery, by));
  }

  /** Leaves out numbers. */
  skip(world: string, count: number): void {
    this.#draft.skip(world, count);
  }

  /** Erases what the entries of a world hold beside ids. */
  erase(world: string): void {
    this.#erased.add(world);
  }

  /** Stores the entries. @returns them in their order. */
  finish(): readonly Hint<Entry>[] {
    const { log, heads } = this.tables;
    const hints = this.#draft.finish();
    for (const { entry } of hints) {
      log.set(entry.world, [...(log.get(entry.world) ?? []), stored(entry)]);
    }
    for (const { world, ...head } of this.#draft.heads())
      heads.set(world, head);
    for (const world of this.#erased) {
      log.set(world, (log.get(world) ?? []).map(withoutData));
    }
    return hints;
  }
}

/** The log keeps neither votes nor connections. */
function stored(entry: Entry): Entry {
  const { connection: _, ...by } = entry.by;
  return "votes" in entry ? { ...entry, by, votes: [] } : { ...entry, by };
}

function withoutData(entry: Entry): Entry {
  if (!("hidden" in entry)) return entry;
  const { hidden: _, ...rest } = entry;
  return rest;
}
