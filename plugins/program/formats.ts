import { Worker } from "node:worker_threads";
import pLimit, { type LimitFunction } from "p-limit";
import type { ProgramDocument } from "../../schemas/documents/program-document.js";
import { UnreadableDocument } from "../../schemas/documents/unreadable.js";
import { InvalidData } from "../../schemas/validate.js";
import { StoreError } from "../../db/contract/store.js";
import type { ExportedProgram } from "./exports/program.js";
import type { ReadOptions } from "./formats/read.js";
import type { Done, Task } from "./tasks.js";

/** How long a document may keep the thread busy, in milliseconds. Ten megabytes take about one second. */
const LONGEST = 30_000;

/** How many documents may wait for the thread. */
const MOST = 16;

/** The memory of the thread, in MiB. A document that needs more ends the thread, and nothing else. */
const MEMORY = 512;

/**
 * Reads and writes programs in threads of their own, one of each at a time. A document may take
 * seconds, or be made to take forever, and the event loop waits for neither. Each document has a
 * fresh thread, so that ending one loses nothing.
 */
export class Formats {
  /** Documents of organizers. One may take its whole time, and exports do not wait for it. */
  readonly #reading = pLimit(1);
  readonly #writing = pLimit(1);
  readonly #ending = new AbortController();

  /** @param longest how long a document may take, in milliseconds. */
  constructor(readonly longest = LONGEST) {}

  /**
   * Reads a document.
   * @throws {InvalidData} with the line or the path where it breaks.
   * @throws {StoreError} `busy` when too many documents wait.
   */
  async read(
    bytes: Uint8Array,
    options: ReadOptions,
  ): Promise<ProgramDocument> {
    const task = { read: bytes, options };
    return (await this.#run(this.#reading, task)) as ProgramDocument;
  }

  /**
   * Writes a program, in milliseconds since 1970 `at`.
   * @throws {StoreError} `busy` when too many documents wait.
   */
  async write(
    format: "ics" | "schedule.json",
    program: ExportedProgram,
    at: number,
  ): Promise<string> {
    const task = { write: format, program, at };
    return (await this.#run(this.#writing, task)) as string;
  }

  /** Ends the thread; what waits for it fails. */
  close(): void {
    this.#ending.abort();
  }

  async #run(
    turn: LimitFunction,
    task: Task,
  ): Promise<ProgramDocument | string> {
    if (turn.activeCount + turn.pendingCount >= MOST) {
      throw new StoreError("busy", "Too many programs are being read.");
    }
    const done = await turn(() => this.#inThread(task));
    if ("faults" in done) throw new InvalidData(done.faults);
    return done.value;
  }

  #inThread(task: Task): Promise<Done> {
    const { signal } = this.#ending;
    return new Promise((resolve, reject) => {
      if (signal.aborted) throw new StoreError("unusable", "It is closed.");
      const worker = new Worker(
        new URL("./program-thread.js", import.meta.url),
        {
          resourceLimits: { maxOldGenerationSizeMb: MEMORY },
          // Options of the process, such as what to preload, do not apply to this thread.
          execArgv: [],
          env: { ...process.env, NODE_OPTIONS: "" },
        },
      );
      const end = (settle: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", stop);
        settle();
        worker.terminate().catch(() => {});
      };
      const fail = (error: Error) => {
        end(() => {
          reject(error);
        });
      };
      const stop = () => fail(new StoreError("unusable", "It is closed."));
      const timer = setTimeout(
        () => fail(tooMuch("It takes too long to read.")),
        this.longest,
      );
      signal.addEventListener("abort", stop);
      worker.once("message", (done: Done) => end(() => resolve(done)));
      worker.once("error", (error: Error & { code?: string }) =>
        fail(
          error.code === "ERR_WORKER_OUT_OF_MEMORY"
            ? tooMuch("It takes too much memory to read.")
            : error,
        ),
      );
      worker.postMessage(task);
    });
  }
}

const tooMuch = (message: string) => new UnreadableDocument({}, message);
