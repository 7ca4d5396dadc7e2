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
  type WriteOptions,
  type Writes,
} from "./write-calls.js";
import { ownRunner, type Runner, type StartRunner, threadRunner } from "./write-runner.js";

/** How long patient items gather. */
const GATHER_WINDOW_MS = 8;

/** The most items that are delivered at once while none is urgent. */
const MAX_GATHERED = 500;

/** The most urgent items of one turn of the event loop that are delivered at once. */
const MAX_URGENT = 8;

/**
 * Collects items and delivers them together, in the order of their arrival.
 *
 * An urgent item leaves at the end of this turn of the event loop, with everything
 * that came before it. So does a patient item, unless there is a crowd: then it waits
 * until {@link GATHER_WINDOW_MS} has passed since the last delivery, and others join it. Items
 * are a crowd when one comes before the last one is dealt with. A caller that waits for
 * each result before the next item is no crowd, and is never held up.
 */
class Gathering<T> {
  readonly #clock: Clock;
  readonly #deliver: (items: T[]) => void;
  #items: T[] = [];
  /** Whether the items are delivered at the end of this turn. */
  #leaving = false;
  #stopWaiting = () => {};
  #deliveries = 0;
  #deliveredAt = -Infinity;
  #crowded = false;

  /** @param deliver gets the items, at least one. */
  constructor(clock: Clock, deliver: (items: T[]) => void) {
    this.#clock = clock;
    this.#deliver = deliver;
  }

  /** @param busy whether earlier items are not dealt with yet. */
  add(item: T, { patient, busy }: { patient: boolean; busy: boolean }): void {
    const count = this.#items.push(item);
    if (!patient) {
      // A long turn delivers several times, so that the receiver is not idle meanwhile.
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

/** After how long without a write the thread ends. An idle one takes some MiB. */
const IDLE_TIMEOUT_MS = 20_000;

interface WriterOptions extends WriteOptions {
  clock: Clock;
  /** Starts what runs the writes: by default a thread, or this one if {@link startsHere}. */
  runner?: StartRunner;
  /** Called after each transaction, before the promises of its writes resolve. */
  onWritten: () => void;
  /** Gets the entries of transactions, after {@link onWritten}. Answers wait for its promise. */
  onAppended: OnAppended;
  /** Called after transactions that left erased bytes in the files of the database. */
  onErased: () => void;
  /** Whether writes run in this thread until {@link Writer.serve}; false by default. */
  startsHere?: boolean;
  /** After how long without a write the thread ends, in milliseconds. */
  idle?: number;
}

interface PendingWrite {
  resolve: (result: never) => void;
  reject: (error: Error) => void;
}

type Unsent = PendingWrite & { call: WriteCall };

/**
 * The writes that crowds make in the same moment. They gather, because each transaction
 * has a cost of its own. Marks are not among them: they come in batches.
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

/** Sends writes to the writer thread and receives their answers. */
export class Writer {
  readonly #options: WriterOptions;
  readonly #waiting = new Map<number, PendingWrite>();
  /** How many writes wait, in memory that threads share: long work on the files stops for them. */
  readonly waiting = new Int32Array(new SharedArrayBuffer(4));
  /** The writes that are not sent yet. A message to the thread costs as much as a small write. */
  readonly #unsent: Gathering<Unsent>;
  #runner: Runner | undefined;
  /** Whether {@link #runner} has reported anything. */
  #hasBegun = false;
  /** The writes that wait until {@link #runner} has ended, once it was asked to. */
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
    this.#unsent = new Gathering(options.clock, (writes) => this.#send(writes));
  }

  /** From now on, writes run in a thread. @returns when this one runs none any more. */
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
   * Runs one write. It is durable when the promise resolves.
   * @param by the author.
   * @throws {StoreError} the error of the write, or a problem of the store.
   */
  run<W extends keyof Writes>(
    write: W,
    by: Author | undefined,
    ...args: Parameters<Writes[W]>
  ): Promise<Awaited<ReturnType<Writes[W]>>> {
    return this.#run(write, by, args);
  }

  /** Runs one write of a domain, as {@link run} does. */
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
      // The next write replaces a thread that died, because a temporary fault of the
      // disk must not end the service.
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
      // A write whose arguments cannot be copied to the thread must fail alone.
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

  /** Asks the runner to end. Later writes wait. */
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
        // It may have died between a commit and its answer.
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
