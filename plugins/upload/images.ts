import { fork, type ChildProcess } from "node:child_process";
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import pLimit from "p-limit";
import { FileRefusal } from "../errors.js";
import type { ImageFormat } from "../../schemas/files.js";

/** What the image process is asked for: a clean copy of one file as another. */
export interface ImageJob {
  from: string;
  to: string;
  format: ImageFormat;
}

/** After how many milliseconds without work the image process ends. */
const IDLE = 10_000;

/** How long an image may take, in milliseconds. */
const PATIENCE = 60_000;

/**
 * Makes images anew from their pixels, in a process of its own: a decoded image
 * is many times as large as its file, and a decoder that a file can crash takes
 * nothing with it. One at a time; the process starts with the first, and ends
 * when there is nothing to do.
 */
export class ImageCleaner {
  readonly #queue = pLimit(1);
  #process: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;

  /**
   * @param path of a file that says it is an image.
   * @param use gets the bytes of the clean one.
   * @throws {FileRefusal} `file.type` when it does not decode, or would not fit in memory.
   */
  async clean<T>(
    path: string,
    format: ImageFormat,
    use: (bytes: AsyncIterable<Buffer>) => Promise<T>,
  ): Promise<T> {
    const to = `${path}.clean`;
    try {
      await this.#queue(() => this.#run({ from: path, to, format }));
      return await use(createReadStream(to));
    } finally {
      await rm(to, { force: true });
    }
  }

  /** Ends the process. */
  close(): void {
    clearTimeout(this.#idle);
    this.#process?.kill("SIGKILL");
  }

  async #run(job: ImageJob): Promise<void> {
    clearTimeout(this.#idle);
    const worker = (this.#process ??= this.#start());
    const timer = setTimeout(() => worker.kill("SIGKILL"), PATIENCE);
    try {
      const done = await new Promise<boolean>((resolve) => {
        worker.once("message", (message) => resolve(message === true));
        worker.once("exit", () => resolve(false));
        worker.send(job);
      });
      if (!done) throw new FileRefusal("file.type");
    } finally {
      clearTimeout(timer);
      worker.removeAllListeners("message");
      this.#idle = setTimeout(() => this.close(), IDLE).unref();
    }
  }

  #start(): ChildProcess {
    const worker = fork(new URL("./image-process.js", import.meta.url), {
      execArgv: [],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    worker.once("exit", () => {
      if (this.#process === worker) this.#process = undefined;
    });
    return worker;
  }
}
