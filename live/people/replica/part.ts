import type { Clock } from "../../../db/log/clock.js";
import { type Changes, type Item, MOST_ITEMS, type Slice } from "./messages.js";

/** How many deleted items are remembered. A process that lacks older ones gets everything. */
const MAX_GONE = 10_000;

/** For how long deleted items are remembered, in milliseconds. */
const GONE_AGE = 10_000;

/** The last change of an item. */
interface Change {
  readonly version: number;
  readonly value: unknown;
}

/** The items that one process owns in one scope, and publishes. */
export class Part {
  readonly #next: () => number;
  /** The items in the order of their last changes. */
  readonly #items = new Map<string, Change>();
  /** The versions and times of deletions, in their order. */
  readonly #gone = new Map<string, { version: number; at: number }>();
  /** The unpublished items, in the order of the changes. */
  readonly #pending = new Set<string>();
  #version: number;
  /** The version up to which everything is published. */
  #published: number;
  /** Deletions up to this version may be forgotten. */
  #forgotten: number;
  /** Since when it is empty, as {@link delete} has the time; when it was made at first. */
  emptySince: number;

  /**
   * @param next gives a higher version each time, for all parts of the process together: a
   *   part that is made once more does not repeat the versions of the one before.
   */
  constructor(next: () => number, now: number) {
    this.#next = next;
    this.#version = next();
    this.#published = this.#version;
    this.#forgotten = this.#version;
    this.emptySince = now;
  }

  get version(): number {
    return this.#version;
  }

  get isEmpty(): boolean {
    return this.#items.size === 0;
  }

  has(key: string): boolean {
    return this.#items.has(key);
  }

  put(key: string, value: unknown): void {
    this.#change(key);
    this.#items.set(key, { version: this.#version, value });
  }

  /** Deletes an item. @returns whether there was one. */
  delete(key: string, now: number): boolean {
    if (!this.#items.has(key)) return false;
    this.#change(key);
    this.#gone.set(key, { version: this.#version, at: now });
    if (this.isEmpty) this.emptySince = now;
    return true;
  }

  /** Forgets old deletions. */
  prune(now: number): void {
    for (const [key, { version, at }] of this.#gone) {
      if (now - at < GONE_AGE && this.#gone.size <= MAX_GONE) return;
      // Others have not heard of it yet, nor of any later one.
      if (this.#pending.has(key)) return;
      this.#gone.delete(key);
      this.#forgotten = version;
    }
  }

  /** Takes the unpublished changes. From here on they count as published. */
  takePending(): Changes[] {
    const changes = this.#slices(this.#published, [...this.#pending]);
    this.#pending.clear();
    this.#published = this.#version;
    return changes;
  }

  /** The changes after a version; undefined if they are no longer known. */
  since(version: number): Changes[] | undefined {
    if (version < this.#forgotten) return undefined;
    const changed = [...this.#items, ...this.#gone]
      .filter(([, change]) => change.version > version)
      .sort(([, a], [, b]) => a.version - b.version);
    return this.#slices(
      version,
      changed.map(([key]) => key),
    );
  }

  /** All that there is. */
  whole(): Slice[] {
    const all = [...this.#items].map(([key, { version, value }]): Item => [
      key,
      version,
      value,
    ]);
    const of = Math.max(1, Math.ceil(all.length / MOST_ITEMS));
    return Array.from({ length: of }, (_, slice) => ({
      version: this.#version,
      slice,
      of,
      put: all.slice(slice * MOST_ITEMS, (slice + 1) * MOST_ITEMS),
    }));
  }

  #change(key: string): void {
    this.#version = this.#next();
    this.#items.delete(key);
    this.#gone.delete(key);
    this.#pending.delete(key);
    this.#pending.add(key);
  }

  /** @param keys of all items that changed after a version, in the order of their last changes. */
  #slices(since: number, keys: readonly string[]): Changes[] {
    const slices: Changes[] = [];
    for (let i = 0; i < keys.length; i += MOST_ITEMS) {
      const some = keys.slice(i, i + MOST_ITEMS);
      const put: Item[] = [];
      const gone: string[] = [];
      for (const key of some) {
        const item = this.#items.get(key);
        if (item) put.push([key, item.version, item.value]);
        else gone.push(key);
      }
      const isLast = i + MOST_ITEMS >= keys.length;
      const last = some.at(-1)!;
      const version = isLast
        ? this.#version
        : (this.#items.get(last) ?? this.#gone.get(last)!).version;
      slices.push({ since, version, put, gone });
      since = version;
    }
    return slices;
  }
}

/** For how long the questions of other processes are collected, in milliseconds. */
const ANSWER_DELAY = 20;

/** The messages of a {@link Teller}. */
export type Told =
  | { kind: "beat"; version: number }
  | ({ kind: "changes" } & Changes)
  | ({ kind: "whole" } & Slice);

interface TellerParts {
  readonly clock: Clock;
  /** Sends a message to the scope, or to one process alone. */
  readonly say: (told: Told, to?: string) => void;
  /** Whether no other process follows the scope. */
  readonly isAlone: () => boolean;
}

/** Publishes the items of this process in one scope. */
export class Teller {
  readonly part: Part;
  readonly #parts: TellerParts;
  /** When the pending changes will be published; undefined without any. */
  #dueAt: number | undefined;
  #stop = () => {};
  /** The processes that have asked, and after which versions they lack changes. */
  readonly #asked = new Map<string, number>();
  #closed = false;

  constructor(part: Part, parts: TellerParts) {
    this.part = part;
    this.#parts = parts;
    // Others drop their copies of an earlier part, and may take the changes after this.
    this.#tell(part.whole().map((slice) => ({ kind: "whole", ...slice })));
  }

  /** Publishes the changes, after so many milliseconds at the latest. */
  publishWithin(delay: number): void {
    const { clock } = this.#parts;
    const dueAt = clock.now() + delay;
    if (this.#dueAt !== undefined && this.#dueAt <= dueAt) return;
    this.#stop();
    this.#dueAt = dueAt;
    this.#stop = clock.after(delay, () => this.publish());
  }

  /** Publishes the changes now. @returns whether there were any. */
  publish(): boolean {
    this.#stop();
    this.#dueAt = undefined;
    const slices = this.part.takePending();
    // A process that comes later asks for everything.
    if (this.#parts.isAlone()) return false;
    for (const slice of slices) this.#parts.say({ kind: "changes", ...slice });
    return slices.length > 0;
  }

  /** Publishes the present version of this process. */
  beat(): void {
    if (this.publish()) return;
    this.#parts.say({ kind: "beat", version: this.part.version });
  }

  /** Another process lacks the changes after a version. */
  answer(process: string, since: number): void {
    const before = this.#asked.get(process) ?? Infinity;
    this.#asked.set(process, Math.min(before, since));
    if (this.#asked.size > 1 || before !== Infinity) return;
    this.#parts.clock.after(ANSWER_DELAY, () => this.#answerAll());
  }

  close(): void {
    this.#closed = true;
    this.#stop();
  }

  #answerAll(): void {
    if (this.#closed) return;
    const since = Math.min(...this.#asked.values());
    const [first, ...others] = this.#asked.keys();
    this.#asked.clear();
    const to = others.length > 0 ? undefined : first;
    const changes = this.part.since(since);
    const told = changes
      ? changes.map((slice): Told => ({ kind: "changes", ...slice }))
      : this.part.whole().map((slice): Told => ({ kind: "whole", ...slice }));
    this.#tell(told, to);
  }

  /** Other things happen between two messages. */
  #tell([first, ...rest]: readonly Told[], to?: string): void {
    if (!first || this.#closed) return;
    this.#parts.say(first, to);
    if (rest.length > 0) this.#parts.clock.after(1, () => this.#tell(rest, to));
  }
}
