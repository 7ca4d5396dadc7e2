import type { ImportResult } from "../../schemas/documents/program-document.js";
import { UnreadableDocument } from "../../schemas/documents/unreadable.js";
import { InvalidData } from "../../schemas/validate.js";
import { inThread, TooMuch } from "../long-work/thread.js";
import { Turns } from "../long-work/turns.js";
import type { ExportedProgram } from "./exports/exported-program.js";
import type { Done, ImportPorts, ImportTask, Question, Task } from "./tasks.js";

/** How long a document may keep the thread busy, in milliseconds. Ten megabytes take about one second. */
const THREAD_TIMEOUT_MS = 30_000;

/** The memory of the thread, in MiB. */
const THREAD_MEMORY_MIB = 512;

/** How many exports of a world may wait: one for each group of readers who see something else. */
const MOST_EXPORTS = 16;

/** Reads and writes programs in threads of their own: two documents, of different worlds, and one export at a time. */
export class Formats {
  /** Documents of organizers. One may take its whole time, and exports do not wait for it. */
  readonly #reading = new Turns("imports of programs", { atOnce: 2, ofWorld: 1, waiting: 1 });
  readonly #writing = new Turns("exports of programs", { atOnce: 1, waiting: MOST_EXPORTS });

  /** @param longest how long a document may take, in milliseconds. */
  constructor(readonly longest = THREAD_TIMEOUT_MS) {}

  /**
   * Reads a document for a world, and imports it. It is compared in the thread, so nobody waits for that.
   * @param gone aborts when its sender has left.
   * @throws {InvalidData} with the line or the path where it breaks.
   * @throws {Refusal} see {@link Turns.run}; or an error of the ports.
   */
  async import(
    world: string,
    task: ImportTask,
    ports: ImportPorts,
    gone?: AbortSignal,
  ): Promise<ImportResult> {
    const answer = ({ name, argument }: Question) => ports[name](argument as never);
    return (await this.#run(this.#reading, world, { import: task }, gone, answer)) as ImportResult;
  }

  /**
   * Writes a program, in milliseconds since 1970 `at`.
   * @param gone aborts when nobody waits for it any more.
   * @throws {Refusal} see {@link Turns.run}.
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

  /** Ends the threads; what waits for them fails. */
  close(): void {
    this.#reading.close();
    this.#writing.close();
  }

  async #run(
    turns: Turns,
    world: string,
    task: Task,
    gone: AbortSignal | undefined,
    answer?: (question: Question) => Promise<unknown>,
  ): Promise<ImportResult | string> {
    const bounds = { longest: this.longest, memory: THREAD_MEMORY_MIB };
    const done = await turns
      .run(world, gone, (ended) => inThread<Done>(THREAD, task, ended, bounds, answer))
      .catch((error: unknown) => {
        if (!(error instanceof TooMuch)) throw error;
        const what = error.of === "time" ? "long" : "much memory";
        throw new UnreadableDocument({}, `It takes too ${what} to read.`);
      });
    if ("faults" in done) throw new InvalidData(done.faults);
    return done.value;
  }
}

const THREAD = new URL("./program-thread.js", import.meta.url);
