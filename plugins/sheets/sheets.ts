import { open } from "node:fs/promises";
import type { Readable } from "node:stream";
import fp from "fastify-plugin";
import type { FileStore } from "../../db/contract/file-store.js";
import type { Cell } from "../../schemas/plain/sheets/csv.js";
import { InvalidData } from "../../schemas/validate.js";
import { runInThread, TaskLimitExceeded } from "../long-work/thread.js";
import { WorkQueue } from "../long-work/turns.js";
import type { SheetTask } from "./sheet-thread.js";

/** Maximum table size, in cells and in characters. */
const MAX_CELLS = 500_000;
const MAX_TEXT = 16 * 1024 * 1024;

/**
 * Limits for a thread, in milliseconds and in MiB. The largest table takes about five seconds and a
 * third of the memory.
 */
const BOUNDS = { longest: 60_000, memory: 1024 };

const tooLarge = () =>
  new InvalidData({ format: ["There is too much for one table. Choose csv, or a single room."] });

/** Generates spreadsheets in worker threads, at most two at a time. */
class Sheets {
  readonly turns = new WorkQueue("spreadsheets", { atOnce: 2, waiting: 1 });

  /** @param files stores each spreadsheet until it is sent. */
  constructor(private readonly files: Pick<FileStore, "withScratch">) {}

  /**
   * Generates a spreadsheet. The turn ends before the response is sent, so a slow client ties up
   * nothing but a file.
   * @param rows read only once the turn begins.
   * @param gone aborts when the client disconnects.
   * @param look of a table for people: its name, widths and times.
   * @param sheetAt the place of the column whose values name the sheets; one sheet by default.
   * @throws {InvalidData} if the table is too large.
   * @throws {Refusal} see {@link WorkQueue.run}.
   */
  make(
    world: string,
    columns: readonly string[],
    rows: AsyncIterable<readonly Cell[]>,
    gone: AbortSignal,
    { look, sheetAt }: Pick<SheetTask, "look" | "sheetAt"> = {},
  ): Promise<Readable> {
    return this.turns.run(world, gone, (ended) =>
      this.files.withScratch(linesOf(rows, ended), async (path) => {
        const task: SheetTask = { path, columns, look, sheetAt };
        try {
          await runInThread(THREAD, task, ended, BOUNDS);
        } catch (error) {
          throw error instanceof TaskLimitExceeded ? tooLarge() : error;
        }
        // The open file stays readable after it is unlinked.
        return (await open(path)).createReadStream();
      }),
    );
  }
}

const THREAD = new URL("./sheet-thread.js", import.meta.url);

/** Yields the rows in chunks, as one line of JSON each. */
async function* linesOf(
  rows: AsyncIterable<readonly Cell[]>,
  ended: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let cells = 0;
  let characters = 0;
  let lines = "";
  for await (const row of rows) {
    ended.throwIfAborted();
    cells += row.length;
    for (const cell of row) {
      if (typeof cell === "string") characters += cell.length;
    }
    if (cells > MAX_CELLS || characters > MAX_TEXT) throw tooLarge();
    lines += `${JSON.stringify(row)}\n`;
    if (lines.length < 64 * 1024) continue;
    yield Buffer.from(lines);
    lines = "";
  }
  yield Buffer.from(lines);
}

declare module "fastify" {
  interface FastifyInstance {
    /** Generates spreadsheets of results. */
    readonly sheets: Sheets;
  }
}

/** Provides `app.sheets`, which generates spreadsheets. */
export default fp(
  async (app) => {
    const sheets = new Sheets(app.files);
    app.decorate("sheets", sheets);
    app.addHook("onClose", async () => sheets.turns.close());
  },
  { name: "sheets", dependencies: ["engines"] },
);
