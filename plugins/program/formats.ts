import type { ImportResult } from "../../schemas/documents/program-document.js";
import { UnreadableDocument } from "../../schemas/documents/unreadable.js";
import { InvalidData } from "../../schemas/validate.js";
import { runInThread, TaskLimitExceeded } from "../long-work/thread.js";
import { WorkQueue } from "../long-work/turns.js";
import type { ExportedProgram } from "./exports/exported-program.js";
import type { TaskResult, ImportPorts, ImportTask, PortCall, Task } from "./tasks.js";

/** Maximum time the thread spends on a document, in milliseconds. Ten megabytes take about one second. */
const THREAD_TIMEOUT_MS = 30_000;

const THREAD_MEMORY_MIB = 512;

/**
 * Maximum number of exports queued per world. Each group of readers with a different view needs a
 * separate export.
 */
const MAX_EXPORTS = 16;

/**
 * Reads and writes programs in worker threads: at most two documents, from different worlds, and
 * one export at a time.
 */
export class Formats {
  /** Imports of organizers' documents. Separate from exports, because a document may use its whole time limit. */
  readonly #reading = new WorkQueue("imports of programs", { atOnce: 2, ofWorld: 1, waiting: 1 });
  readonly #writing = new WorkQueue("exports of programs", { atOnce: 1, waiting: MAX_EXPORTS });

  /** @param longest the time limit for a document, in milliseconds. */
  constructor(readonly longest = THREAD_TIMEOUT_MS) {}

  /**
   * Reads a document and imports it into a world. The comparison also runs in the thread, so it
   * does not block the event loop. Errors from the ports are rethrown.
   * @param gone aborts when the sender has disconnected.
   * @throws {InvalidData} with the line or the path of the fault.
   * @throws {Refusal} see {@link WorkQueue.run}.
   */
  async import(
    world: string,
    task: ImportTask,
    ports: ImportPorts,
    gone?: AbortSignal,
  ): Promise<ImportResult> {
    const answer = ({ name, argument }: PortCall) => ports[name](argument as never);
    return (await this.#run(this.#reading, world, { import: task }, gone, answer)) as ImportResult;
  }

  /**
   * Serializes a program.
   * @param at the time of the export, in milliseconds since 1970.
   * @param gone aborts when nobody is waiting for the export anymore.
   * @throws {Refusal} see {@link WorkQueue.run}.
   */
  async write(
    format: "ics" | "schedule.json",
    program: ExportedProgram,
    at: number,
    gone?: AbortSignal,
  ): Promise<string> {
    const task = { write: format, program, at };
    const { id } = program.world;
    return (await this.#run(this.#writing, id, task, gone)) as string;
  }

  /** Ends the threads; pending work fails. */
  close(): void {
    this.#reading.close();
    this.#writing.close();
  }

  async #run(
    turns: WorkQueue,
    world: string,
    task: Task,
    gone: AbortSignal | undefined,
    answer?: (question: PortCall) => Promise<unknown>,
  ): Promise<ImportResult | string> {
    const bounds = { longest: this.longest, memory: THREAD_MEMORY_MIB };
    const done = await turns
      .run(world, gone, (ended) => runInThread<TaskResult>(THREAD, task, ended, bounds, answer))
      .catch((error: unknown) => {
        if (!(error instanceof TaskLimitExceeded)) throw error;
        const what = error.of === "time" ? "long" : "much memory";
        throw new UnreadableDocument({}, `It takes too ${what} to read.`);
      });
    if ("faults" in done) throw new InvalidData(done.faults);
    return done.value;
  }
}

const THREAD = new URL("./program-thread.js", import.meta.url);
