import type { Author } from "../../../contract/author.js";
import { StoreError } from "../../../contract/store.js";
import type { DomainWrite } from "../../../domains/index.js";
import type { OnAppended } from "../../../log/entries.js";
import { frozen } from "../../../rules/versions.js";
import type { Clock } from "../../../runtime.js";
import { fromSent } from "../log/log-writes.js";
import {
  toFault,
  type WriteAnswer,
  type WriteCall,
  type WriteName,
  type WriterThreadOptions,
  type Writes,
} from "./write-calls.js";
import { ownRunner, type Runner, type StartRunner, threadRunner } from "./write-runner.js";

/** Minimum interval between deliveries of patient items while there is a crowd. */
const GATHER_WINDOW_MS = 8;

/** Maximum number of patient items to collect for one delivery. */
const MAX_GATHERED = 500;

/** Number of collected items at which an urgent item is delivered before the turn ends. */
const MAX_URGENT = 8;

/**
 * Collects items and delivers them together, in order of arrival.
 *
 * An urgent item is delivered at the end of the current turn of the event loop, along with all
 * items that arrived before it. A patient item is delivered at that time as well, unless there is a
 * crowd: then the item waits until {@link GATHER_WINDOW_MS} has passed since the last delivery, so
 * that more items can join the delivery. There is a crowd when an item arrives before the previous
 * item has been handled. A caller that waits for each result before adding the next item is not a
 * crowd, and is never delayed.
 */
class Batcher<T> {
  readonly #clock: Clock;
  readonly #deliver: (items: T[]) => void;
  #items: T[] = [];
  /** Whether the items will be delivered at the end of this turn. */
  #leaving = false;
  #stopWaiting = () => {};
  #deliveries = 0;
  #deliveredAt = -Infinity;
  #crowded = false;

  /** @param deliver receives the items, of which there is at least one. */
  constructor(clock: Clock, deliver: (items: T[]) => void) {
    this.#clock = clock;
    this.#deliver = deliver;
  }

  /** @param busy whether earlier items have not been handled yet. */
  add(item: T, { patient, busy }: { patient: boolean; busy: boolean }): void {
    const count = this.#items.push(item);
    if (!patient) {
      // A long turn delivers several times, so that the receiver does not idle until the turn ends.
      if (this.#leaving && count >= MAX_URGENT) this.flush();
      else if (!this.#leaving) this.#leave();
      return;
    }
    if (busy || count > 1) this.#crowded = true;
    if (count === MAX_GATHERED) this.flush();
    if (count > 1) return;
    const wait = this.#crowded ? this.#deliveredAt + GATHER_WINDOW_MS - this.#clock.now() : 0;
    if (wait > 0) this.#stopWaiting = this.#clock.after(wait, this.flush, true);
    else this.#leave();
  }

  #leave(): void {
    this.#leaving = true;
    const deliveries = this.#deliveries;
    this.#clock.soon(() => {
      if (deliveries === this.#deliveries) this.flush();
    });
  }

  readonly flush = (): void => {
    this.#stopWaiting();
    this.#leaving = false;
    if (this.#items.length === 0) return;
    const items = this.#items;
    this.#items = [];
    this.#crowded = items.length > 1;
    this.#deliveries++;
    this.#deliveredAt = this.#clock.now();
    this.#deliver(items);
  };
}

/** Time without writes after which the thread ends. An idle thread uses a few MiB of memory. */
const IDLE_TIMEOUT_MS = 20_000;

interface WriterOptions extends WriterThreadOptions {
  clock: Clock;
  /** Starts the runner; by default, in a separate thread, or in this thread if {@link startsHere}. */
  runner?: StartRunner;
  /** Called after each transaction, before the promises for its writes resolve. */
  onWritten: () => void;
  /**
   * Receives each transaction's entries, after {@link onWritten}. The promises for the writes wait
   * for the returned promise.
   */
  onAppended: OnAppended;
  /** Called after transactions that left erased bytes in the database files. */
  onErased: () => void;
  /** Whether writes run in this thread until {@link Writer.serve} is called; false by default. */
  startsHere?: boolean;
  /** Time without writes after which the thread ends, in milliseconds. */
  idle?: number;
}

interface PendingWrite {
  resolve: (result: never) => void;
  reject: (error: Error) => void;
}

type Unsent = PendingWrite & { call: WriteCall };

/**
 * The writes that crowds make simultaneously. They are collected, because each transaction has a
 * fixed cost. Read marks are not included, because they already arrive in batches.
 */
const OF_CROWDS: ReadonlySet<WriteName> = new Set([
  "users.enter",
  "users.update",
  "chat.send",
  "chat.join",
  "chat.leave",
  "chat.react",
  "questions.vote",
  "polls.vote",
]);

/** Sends writes to the writer thread and receives their results. */
export class Writer {
  readonly #options: WriterOptions;
  readonly #waiting = new Map<number, PendingWrite>();
  /**
   * The number of pending writes, in memory shared between threads. Long-running work on the
   * database files stops while writes are pending.
   */
  readonly waiting = new Int32Array(new SharedArrayBuffer(4));
  /**
   * The writes that have not been sent yet. They are sent in batches, because a message to the
   * thread costs as much as a small write.
   */
  readonly #unsent: Batcher<Unsent>;
  #runner: Runner | undefined;
  /** Whether {@link #runner} has reported anything. */
  #hasBegun = false;
  /** The writes that wait until {@link #runner} has ended; undefined unless the runner has been asked to end. */
  #held: Unsent[] | undefined;
  #idle: NodeJS.Timeout | undefined;
  #isServing: boolean;
  #lastId = 0;
  #closed = false;
  #onClosed = () => {};
  #onHandedOver = () => {};

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#isServing = !options.startsHere;
    this.#unsent = new Batcher(options.clock, (writes) => this.#send(writes));
  }

  /** Runs all subsequent writes in a separate thread. Resolves once this thread no longer runs writes. */
  async serve(): Promise<void> {
    if (this.#isServing) return;
    this.#isServing = true;
    this.#unsent.flush();
    if (!this.#runner) return;
    const over = new Promise<void>((resolve) => (this.#onHandedOver = resolve));
    this.#end();
    await over;
  }

  /**
   * Runs one write. The write is durable when the promise resolves.
   * @param by the author.
   * @throws {StoreError} any error that the write throws, or a problem with the store.
   */
  run<W extends keyof Writes>(
    write: W,
    by: Author | undefined,
    ...args: Parameters<Writes[W]>
  ): Promise<Awaited<ReturnType<Writes[W]>>> {
    return this.#run(write, by, args);
  }

  /** Runs one of a domain's writes, like {@link run}. */
  runOfDomain(
    write: DomainWrite,
    by: Author | undefined,
    args: readonly unknown[],
  ): Promise<unknown> {
    return this.#run(write, by, args);
  }

  #run<T>(write: WriteName, by: Author | undefined, args: readonly unknown[]): Promise<T> {
    if (this.#closed) {
      const closed = new StoreError("unusable", "The store is closed.");
      return Promise.reject(closed);
    }
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const call = [id, write, args, by] as const;
      this.#unsent.add(
        { call, resolve, reject },
        { patient: this.#isServing && OF_CROWDS.has(write), busy: this.#waiting.size > 0 },
      );
    });
  }

  #send(unsent: Unsent[]): void {
    if (this.#held) return void this.#held.push(...unsent);
    try {
      // Restart a thread that has died, because a temporary disk error must not end the service.
      this.#runner ??= this.#start();
    } catch (error) {
      const { message } = error as Error;
      for (const { reject } of unsent) {
        reject(new StoreError("unusable", message));
      }
      return;
    }
    for (const { call, resolve, reject } of unsent) {
      this.#waiting.set(call[0], { resolve, reject });
    }
    Atomics.store(this.waiting, 0, this.#waiting.size);
    const calls = unsent.map(({ call }) => call);
    try {
      this.#runner.post(calls);
    } catch {
      // A write whose arguments cannot be cloned must not fail the rest of the batch.
      for (const call of calls) {
        try {
          this.#runner.post([call]);
        } catch (error) {
          this.#settle([call[0], undefined, toFault(error)]);
        }
      }
    }
  }

  /** Finishes the pending writes and ends the runner. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#unsent.flush();
    if (!this.#runner) return;
    const closed = new Promise<void>((resolve) => (this.#onClosed = resolve));
    this.#end();
    await closed;
  }

  /** Asks the runner to end. New writes wait until it has ended. */
  #end(): void {
    if (!this.#runner || this.#held) return;
    this.#held = [];
    this.#runner.post("close");
  }

  /** Sends the writes that waited for the runner to end. */
  #resume(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    if (held.length > 0) this.#send(held);
    if (!this.#closed) return;
    if (this.#runner) this.#end();
    else this.#onClosed();
  }

  readonly #rest = (): void => {
    if (this.#waiting.size > 0) this.#idle?.refresh();
    else this.#end();
  };

  #start(): Runner {
    const {
      onWritten,
      onAppended,
      onErased,
      runner,
      idle = IDLE_TIMEOUT_MS,
      ...rest
    } = this.#options;
    const { clock: _clock, startsHere: _startsHere, ...options } = rest;
    const start = runner ?? (this.#isServing ? threadRunner : ownRunner);
    this.#hasBegun = false;
    if (start === threadRunner) this.#idle = setTimeout(this.#rest, idle).unref();
    return start(options, {
      onReport: ({ answers, hints: sent, erased }) => {
        this.#hasBegun = true;
        onWritten();
        if (erased) onErased();
        const settle = () => answers.forEach(this.#settle);
        const hints = sent.map(fromSent);
        for (const { entry } of hints) {
          if (entry.type === "chat.event") frozen(entry.delivery);
        }
        const taken = hints.length > 0 && onAppended(hints);
        if (taken) void taken.then(settle, settle);
        else settle();
        this.#idle?.refresh();
      },
      onEnd: (reason = "The store is closed.") => {
        clearTimeout(this.#idle);
        this.#runner = undefined;
        onWritten();
        // The runner may have died between a commit and its report.
        const problem = this.#hasBegun ? "doubtful" : "unusable";
        for (const { reject } of this.#waiting.values()) {
          reject(new StoreError(problem, reason));
        }
        this.#waiting.clear();
        Atomics.store(this.waiting, 0, 0);
        this.#resume();
        this.#onHandedOver();
      },
    });
  }

  readonly #settle = ([id, result, failure]: WriteAnswer): void => {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    Atomics.store(this.waiting, 0, this.#waiting.size);
    if (!failure) return waiting?.resolve(result as never);
    const { problem, message, field } = failure;
    waiting?.reject(
      problem === "fault" ? new Error(message) : new StoreError(problem, message, field),
    );
  };
}
