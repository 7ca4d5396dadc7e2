import { fork, type ChildProcess } from "node:child_process";
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { StoreError } from "../../db/contract/store.js";
import { FileRefusal } from "../http/errors.js";
import type { ImageFormat } from "../../schemas/plain/file-types.js";
import type { Box } from "./form.js";
import { abandoned } from "../long-work/turns.js";
import { ImageQueue } from "./image-queue.js";
import { MAX_PIXELS } from "./pixels.js";

/** An image to re-encode. */
export interface Image {
  format: ImageFormat;
  /** How many pixels its header declares over all frames; it may have no more. */
  pixels: number;
  /** The largest size of the clean copy, in bytes. */
  maxBytes: number;
  /** The box into which it is scaled down; undefined keeps its size. */
  box?: Box | undefined;
}

/** A job of the image process: write a clean copy of one file to another. */
export interface ImageJob extends Image {
  from: string;
  to: string;
}

/** The result of a job. `full` and `unusable` are faults of the disk. */
export type ImageOutcome = "done" | "refused" | "large" | "full" | "unusable";

/** After how many milliseconds without work the image process ends. */
const IDLE = 10_000;

/** How long an image may take, in milliseconds. */
const IMAGE_TIMEOUT_MS = 60_000;

/** Opens the file at the first read: an error of an unread stream would end the server. */
async function* bytesOf(path: string): AsyncGenerator<Buffer> {
  yield* createReadStream(path) as AsyncIterable<Buffer>;
}

/**
 * Re-encodes images from their pixels in a separate process: a decoded image is
 * many times as large as its file, and a file that crashes the decoder ends only
 * that process. It works on one image at a time, starts with the first, and ends
 * when idle.
 */
export class ImageCleaner {
  readonly #queue = new ImageQueue();
  #process: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;

  /**
   * @param world whose image it is.
   * @param path of a file that claims to be an image.
   * @param gone aborts when the client no longer waits. An image in progress is
   *   finished, and then dropped.
   * @param use receives the bytes of the clean copy.
   * @throws {FileRefusal} `file.type` if it does not decode or has too many
   *   pixels; `file.size` if the clean copy is too large.
   * @throws {Refusal} 503 if too many wait.
   */
  async clean<T>(
    world: string,
    path: string,
    image: Image,
    gone: AbortSignal,
    use: (bytes: AsyncIterable<Buffer>) => Promise<T>,
  ): Promise<T> {
    if (image.pixels > MAX_PIXELS) throw new FileRefusal("file.type");
    const to = `${path}.clean`;
    try {
      await this.#queue.inTurn(world, image.pixels, gone, () =>
        this.#run({ ...image, from: path, to }),
      );
      if (gone.aborted) throw abandoned();
      return await use(bytesOf(to));
    } finally {
      await rm(to, { force: true });
    }
  }

  /** Ends the process. */
  close(): void {
    clearTimeout(this.#idle);
    this.#process?.kill("SIGKILL");
    // It takes a moment to end, and must not get the next image.
    this.#process = undefined;
  }

  async #run(job: ImageJob): Promise<void> {
    clearTimeout(this.#idle);
    try {
      const wasThere = this.#process?.connected;
      let outcome = await this.#give(job);
      // A process that was running already may have died before this image came.
      // Only a process that was started for the image can have died of it.
      if (wasThere && (outcome === "ended" || outcome === "unusable")) {
        this.close();
        outcome = await this.#give(job);
      }
      if (outcome === "refused" || outcome === "ended") {
        throw new FileRefusal("file.type");
      }
      if (outcome === "large") throw new FileRefusal("file.size");
      if (outcome !== "done") throw new StoreError(outcome, "image not written");
    } finally {
      this.#idle = setTimeout(() => this.close(), IDLE).unref();
    }
  }

  /** Gives a job to the process; "ended" if the process died before it answered. */
  async #give(job: ImageJob): Promise<ImageOutcome | "ended"> {
    if (!this.#process?.connected) this.#process = this.#start();
    const worker = this.#process;
    let stopListening = () => {};
    try {
      return await new Promise((resolve) => {
        let late = false;
        const timer = setTimeout(() => {
          late = true;
          this.close();
        }, IMAGE_TIMEOUT_MS);
        // The process may write its copy until it exits.
        const onExit = () => resolve(late ? "refused" : "ended");
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
        // A process that could not start, for lack of descriptors, has no channel.
        if (worker.connected) worker.send(job, (error) => error && onError());
      });
    } finally {
      // Otherwise listeners would accumulate on a busy process.
      stopListening();
    }
  }

  #start(): ChildProcess {
    const child = fork(new URL("./image-process.js", import.meta.url), {
      execArgv: [],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    // An error of an image whose client is gone must not end the server.
    child.on("error", () => {});
    return child;
  }
}
