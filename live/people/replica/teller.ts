import type { Clock } from "../../../db/log/clock.js";
import type { Changes, Slice } from "./messages.js";
import { Part } from "./part.js";

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
