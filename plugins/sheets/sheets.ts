import { open } from "node:fs/promises";
import type { Readable } from "node:stream";
import fp from "fastify-plugin";
import type { FileStore } from "../../db/contract/file-store.js";
import type { Cell } from "../../schemas/plain/csv.js";
import { InvalidData } from "../../schemas/validate.js";
import { inThread, TooMuch } from "../long-work/thread.js";
import { Turns } from "../long-work/turns.js";
import type { SheetTask } from "./sheet-thread.js";

/** How large a table may be: in cells, and in characters. */
const MAX_CELLS = 500_000;
const MAX_TEXT = 16 * 1024 * 1024;

/** The largest table takes about five seconds and a third of this memory, in MiB. */
const BOUNDS = { longest: 60_000, memory: 1024 };

const tooLarge = () =>
  new InvalidData({ format: ["There is too much for one table. Ask for csv, or for a room."] });

/** Makes spreadsheets in threads of their own, two at a time. */
class Sheets {
  readonly turns = new Turns("spreadsheets", { atOnce: 2, waiting: 1 });

  /** @param files keeps a spreadsheet until it is sent. */
  constructor(private readonly files: Pick<FileStore, "withScratch">) {}

  /**
   * Makes a spreadsheet. Its place is free before it is sent: a client that reads slowly keeps
   * nothing but a file.
   * @param rows are read when its turn comes.
   * @param gone aborts when the client has left.
   * @throws {InvalidData} if it is too large.
   * @throws {Refusal} see {@link Turns.run}.
   */
  make(
    world: string,
    columns: readonly string[],
    rows: AsyncIterable<readonly Cell[]>,
    gone: AbortSignal,
  ): Promise<Readable> {
    return this.turns.run(world, gone, (ended) =>
      this.files.withScratch(linesOf(rows, ended), async (path) => {
        const task: SheetTask = { path, columns };
        try {
          await inThread(THREAD, task, ended, BOUNDS);
        } catch (error) {
          throw error instanceof TooMuch ? tooLarge() : error;
        }
        // It stays readable when its name is removed.
        return (await open(path)).createReadStream();
      }),
    );
  }
}

const THREAD = new URL("./sheet-thread.js", import.meta.url);

/** Rows as lines of JSON, in pieces. */
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
    /** Makes spreadsheets. */
    readonly sheets: Sheets;
  }
}

/** Spreadsheets of results. */
export default fp(
  async (app) => {
    const sheets = new Sheets(app.files);
    app.decorate("sheets", sheets);
    app.addHook("onClose", async () => sheets.turns.close());
  },
  { name: "sheets", dependencies: ["engines"] },
);
