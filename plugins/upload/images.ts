import { fork, type ChildProcess } from "node:child_process";
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import pLimit from "p-limit";
import { StoreError } from "../../db/store.js";
import { FileRefusal } from "../errors.js";
import type { ImageFormat } from "../../schemas/file-types.js";

/** What the image process is asked for: a clean copy of one file as another. */
export interface ImageJob {
  from: string;
  to: string;
  format: ImageFormat;
}

/** What became of it; the image is refused, or the disk is in no state to take it. */
export type ImageOutcome = "done" | "refused" | "full" | "unusable";

/** After how many milliseconds without work the image process ends. */
const IDLE = 10_000;

/** How long an image may take, in milliseconds. */
const PATIENCE = 60_000;

/** Opened when it is read: an error of a stream that nobody reads ends the server. */
async function* bytesOf(path: string): AsyncGenerator<Buffer> {
  yield* createReadStream(path) as AsyncIterable<Buffer>;
}

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
      return await use(bytesOf(to));
    } finally {
      await rm(to, { force: true });
    }
  }

  /** Ends the process. */
  close(): void {
    clearTimeout(this.#idle);
    this.#process?.kill("SIGKILL");
    // It takes a moment to die, and the next image must not go to it.
    this.#process = undefined;
  }

  async #run(job: ImageJob): Promise<void> {
    clearTimeout(this.#idle);
    try {
      const wasThere = this.#process?.connected;
      let outcome = await this.#give(job);
      // One that was there may have ended before this image came: only one that
      // was started for it was ended by it.
      if (wasThere && (outcome === "ended" || outcome === "unusable")) {
        this.close();
        outcome = await this.#give(job);
      }
      if (outcome === "refused" || outcome === "ended") {
        throw new FileRefusal("file.type");
      }
      if (outcome !== "done")
        throw new StoreError(outcome, "image not written");
    } finally {
      this.#idle = setTimeout(() => this.close(), IDLE).unref();
    }
  }

  /** Has the process do a job; "ended" when it did not live to say what came of it. */
  async #give(job: ImageJob): Promise<ImageOutcome | "ended"> {
    if (!this.#process?.connected) this.#process = this.#start();
    const worker = this.#process;
    let stopListening = () => {};
    try {
      return await new Promise((resolve) => {
        const timer = setTimeout(() => {
          this.close();
          resolve("refused");
        }, PATIENCE);
        const onExit = () => resolve("ended");
        const onError = () => resolve("unusable");
        worker.once("message", resolve);
        worker.once("exit", onExit);
        worker.once("error", onError);
        stopListening = () => {
          clearTimeout(timer);
          worker.off("message", resolve);
          worker.off("exit", onExit);
          worker.off("error", onError);
        };
        // One that could not be started, for want of descriptors, has no channel.
        if (worker.connected) worker.send(job, (error) => error && onError());
      });
    } finally {
      // A process that always has work would gather them, image by image.
      stopListening();
    }
  }

  #start(): ChildProcess {
    const child = fork(new URL("./image-process.js", import.meta.url), {
      execArgv: [],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    // One that comes while nobody waits for an image is no reason to stop serving.
    child.on("error", () => {});
    return child;
  }
}
