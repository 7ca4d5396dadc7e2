import { type ChildProcess, fork } from "node:child_process";
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { XmlTextDetector } from "@file-type/xml";
import { FileTypeParser } from "file-type";
import { GIF } from "image-size/types/gif";
import { JPG } from "image-size/types/jpg";
import { PNG } from "image-size/types/png";
import { WEBP } from "image-size/types/webp";
import pLimit from "p-limit";
import type { LimitFunction } from "p-limit";
import { StoreError } from "../../db/contract/store.js";
import type { FileType, ImageFormat } from "../../schemas/plain/file-types.js";
import { FileRefusal, Refusal } from "../http/errors.js";
import { abandoned } from "../long-work/turns.js";
import type { Box } from "./form.js";

/** An image to re-encode. */
interface Image {
  format: ImageFormat;
  /**
   * Number of pixels that the header declares, over all frames. The image is refused if it has more
   * pixels than this number.
   */
  pixels: number;
  /** Maximum size of the clean copy, in bytes. */
  maxBytes: number;
  /** The box that the image is scaled down to fit; undefined if the image keeps its size. */
  box?: Box | undefined;
}

/** A job for the image process, which writes a clean copy of one file, and its preview, to other files. */
export interface ImageJob extends Image {
  from: string;
  to: string;
  preview: string;
}

/** A clean copy, and its preview. An image that is small already has no preview. */
export interface CleanImage {
  bytes: AsyncIterable<Buffer>;
  preview: AsyncIterable<Buffer> | undefined;
}

/** The outcome of a job. `done` has no preview. `full` and `unusable` are disk errors. */
export type ImageOutcome = "done" | "previewed" | "refused" | "large" | "full" | "unusable";

/** Idle time after which the image process exits, in milliseconds. */
const IDLE_TIMEOUT_MS = 10_000;

/** Timeout for processing an image, in milliseconds. */
const IMAGE_TIMEOUT_MS = 60_000;

/** Opens the file lazily, at the first read: an error on a stream that nobody reads would crash the server. */
async function* bytesOf(path: string): AsyncGenerator<Buffer> {
  yield* createReadStream(path) as AsyncIterable<Buffer>;
}

/**
 * Re-encodes images from their pixels in a separate process: a decoded image is many times as large
 * as its file, and a file that crashes the decoder brings down only that process. The process
 * starts with the first image, works on one image at a time, and exits when idle.
 */
export class ImageCleaner {
  readonly #queue = new ImageQueue();
  #process: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;

  /**
   * Re-encodes an image.
   * @param world the world that the image belongs to.
   * @param path the path of a file that claims to be an image.
   * @param gone aborts when the client disconnects. An image in progress is finished and then
   * discarded.
   * @param use receives the clean copy.
   * @throws {FileRefusal} `file.type` if the image cannot be decoded or has too many pixels;
   * `file.size` if the clean copy is too large.
   * @throws {Refusal} 503 if too many images are waiting; 408 if the client is gone.
   */
  async clean<T>(
    world: string,
    path: string,
    image: Image,
    gone: AbortSignal,
    use: (image: CleanImage) => Promise<T>,
  ): Promise<T> {
    if (image.pixels > MAX_PIXELS) throw new FileRefusal("file.type");
    const to = `${path}.clean`;
    const preview = `${path}.preview`;
    try {
      const outcome = await this.#queue.inTurn(world, image.pixels, gone, () =>
        this.#run({ ...image, from: path, to, preview }),
      );
      if (gone.aborted) throw abandoned();
      const small = outcome === "previewed" ? bytesOf(preview) : undefined;
      return await use({ bytes: bytesOf(to), preview: small });
    } finally {
      for (const written of [to, preview]) await rm(written, { force: true });
    }
  }

  /** Kills the image process. */
  close(): void {
    clearTimeout(this.#idle);
    this.#process?.kill("SIGKILL");
    // The killed process takes a moment to exit, and must not receive the next image.
    this.#process = undefined;
  }

  async #run(job: ImageJob): Promise<"done" | "previewed"> {
    clearTimeout(this.#idle);
    try {
      const wasThere = this.#process?.connected;
      let outcome = await this.#settle(job);
      // A process that was already running may have died before it received this image. If a
      // process was started for this image, the image must be the cause.
      if (wasThere && (outcome === "ended" || outcome === "unusable")) {
        this.close();
        outcome = await this.#settle(job);
      }
      if (outcome === "refused" || outcome === "ended") {
        throw new FileRefusal("file.type");
      }
      if (outcome === "large") throw new FileRefusal("file.size");
      if (outcome === "done" || outcome === "previewed") return outcome;
      throw new StoreError(outcome, "image not written");
    } finally {
      this.#idle = setTimeout(() => this.close(), IDLE_TIMEOUT_MS).unref();
    }
  }

  /** Sends a job to the process. Resolves to "ended" if the process dies before it responds. */
  async #settle(job: ImageJob): Promise<ImageOutcome | "ended"> {
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
        // Wait for the exit: until then, the process may still write its copy.
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
        // A process that failed to start, for lack of file descriptors, has no channel.
        if (worker.connected) worker.send(job, (error) => error && onError());
      });
    } finally {
      // Listeners would otherwise accumulate on a busy process.
      stopListening();
    }
  }

  #start(): ChildProcess {
    const child = fork(new URL("./image-process.js", import.meta.url), {
      execArgv: [],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    // An error while no image is in progress must not crash the server.
    child.on("error", () => {});
    return child;
  }
}

// file-type and image-size are imported eagerly, although many servers need neither. A late import
// may fail for lack of file descriptors, and Node.js never retries a module that failed to load.

/** Number of bytes that are read to detect a file's type. An SVG may begin with a long comment. */
export const HEAD = 64 * 1024;

/**
 * Whether a file's content matches the type of its extension.
 * @param head the file's first {@link HEAD} bytes.
 */
export async function isOfType(type: FileType, head: Buffer): Promise<boolean> {
  if (type.found.includes("svg")) return isSvg(head);
  const parser = new FileTypeParser();
  const found = await parser.fromBuffer(head).catch(() => undefined);
  // The ID3 tag of an MP3 may be larger than the head, or padded.
  const ext = found?.ext ?? (head.toString("latin1", 0, 3) === "ID3" && "mp3");
  return ext !== false && type.found.includes(ext);
}

/** Looks for the root element, which may follow comments, white space and a doctype. */
async function isSvg(head: Buffer): Promise<boolean> {
  const mark = head.toString("latin1", 0, 2);
  const encoding = mark === "\xff\xfe" ? "utf-16le" : mark === "\xfe\xff" ? "utf-16be" : "utf-8";
  const text = new TextDecoder(encoding).decode(head);
  const detector = new XmlTextDetector();
  // Parse the text in chunks, to stop at the root element.
  for (let at = 0; at < text.length && !detector.onEnd; at += 512) {
    detector.write(text.slice(at, at + 512));
  }
  return detector.fileType?.ext === "svg";
}

/**
 * Maximum size of an image, in pixels over all its frames. During processing, each pixel takes up
 * to four bytes. Most phone cameras produce half as many pixels.
 */
export const MAX_PIXELS = 100_000_000;

/**
 * Minimum number of pixels that is counted for an image, because the image's header may understate
 * the number: a GIF's screen may be smaller than its frames, or empty.
 */
const MIN_COUNTED_PIXELS = 1_000_000;

const headers = { gif: GIF, jpeg: JPG, png: PNG, webp: WEBP };

/**
 * Returns how many pixels an image declares, over all frames, without running a decoder. The image
 * process refuses an image that has more pixels than the returned number.
 * @param head the image's first {@link HEAD} bytes.
 * @returns at least {@link MIN_COUNTED_PIXELS}, and {@link MAX_PIXELS} if the head is too short to
 * determine the number.
 */
export function pixelsOf(format: ImageFormat, head: Buffer): number {
  try {
    const { width, height } = headers[format].calculate(head);
    return Math.max(MIN_COUNTED_PIXELS, width * height * framesOf(format, head));
  } catch {
    return MAX_PIXELS;
  }
}

/** Returns the maximum possible number of frames. Throws if the head is too short to determine the number. */
function framesOf(format: ImageFormat, head: Buffer): number {
  const isAnimated = format === "gif" || (format === "webp" && isAnimatedWebp(head));
  if (!isAnimated) return 1;
  if (head.length >= HEAD) throw new Error("the rest may hold more");
  const text = head.toString("latin1");
  // A GIF frame begins with a comma. In every frame except the first, the comma follows the zero
  // that ends the previous block.
  return format === "gif" ? text.split("\0,").length : Math.max(1, text.split("ANMF").length - 1);
}

/** Whether the animation bit is set in a WebP file's extended header. */
const isAnimatedWebp = (head: Buffer) =>
  head.toString("latin1", 12, 16) === "VP8X" && (head[20]! & 2) !== 0;

/**
 * Maximum number of pixels in the queue while only one world has images waiting: a few of the
 * largest images, or dozens of photos.
 */
const MAX_WAITING = 5 * MAX_PIXELS;

const tooMany = () =>
  new Refusal(503, "Too many images are waiting. Try again soon.", { "retry-after": "10" });

/** The image queue of one world. */
interface WorldQueue {
  readonly inOrder: LimitFunction;
  /** Number of waiting pixels, excluding the image in progress. */
  waiting: number;
  /** Number of images that are waiting, in progress, or abandoned but not yet dequeued. */
  images: number;
}

/**
 * Processes one image at a time. Worlds take turns, so a world that uploads many images delays
 * another world by only one image per turn. The queue is bounded in pixels: worlds share the queue
 * equally, and each world may always have one image. An image leaves the queue when its client
 * disconnects.
 */
class ImageQueue {
  /** Holds at most one image per world. */
  readonly #turns = pLimit(1);
  readonly #lines = new Map<string, WorldQueue>();

  /**
   * Processes an image on its turn, unless the client is gone by then.
   * @param world the world that the image belongs to.
   * @throws {Refusal} 503 if too many images are waiting; 408 if the client is gone.
   */
  async inTurn<T>(
    world: string,
    pixels: number,
    gone: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    if (gone.aborted) throw abandoned();
    const line = this.#lines.get(world) ?? { inOrder: pLimit(1), waiting: 0, images: 0 };
    if (line.waiting > 0 && line.waiting + pixels > this.#shareOf(line)) {
      throw tooMany();
    }
    this.#lines.set(world, line);
    line.waiting += pixels;
    line.images++;
    return new Promise<T>((resolve, reject) => {
      const leave = () => {
        line.waiting -= pixels;
        reject(abandoned());
      };
      gone.addEventListener("abort", leave, { once: true });
      const run = async () => {
        if (gone.aborted) return;
        gone.removeEventListener("abort", leave);
        line.waiting -= pixels;
        await work().then(resolve);
      };
      line
        .inOrder(async () => {
          // An abandoned image must not use up a turn.
          if (!gone.aborted) await this.#turns(run);
        })
        .catch(reject)
        .finally(() => {
          if (--line.images === 0) this.#lines.delete(world);
        });
    });
  }

  /** Returns a world's share of the queue, in pixels. */
  #shareOf(own: WorldQueue): number {
    let worlds = 1;
    for (const line of this.#lines.values()) {
      if (line !== own && line.waiting > 0) worlds++;
    }
    return MAX_WAITING / worlds;
  }
}
