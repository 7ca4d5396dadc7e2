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
const IDLE_TIMEOUT_MS = 10_000;

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
      this.#idle = setTimeout(() => this.close(), IDLE_TIMEOUT_MS).unref();
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

// Imported at the start, although many servers need neither. A late import may fail for lack
// of file descriptors, and Node.js never retries a module that failed to open.

/** How much of a file is read to detect its type, in bytes: an SVG may begin with a long comment. */
export const HEAD = 64 * 1024;

/**
 * Whether the content of a file has the type of its extension.
 * @param head its first {@link HEAD} bytes.
 */
export async function isOfType(type: FileType, head: Buffer): Promise<boolean> {
  if (type.found.includes("svg")) return isSvg(head);
  const parser = new FileTypeParser();
  const found = await parser.fromBuffer(head).catch(() => undefined);
  // The tag of an MP3 may be larger than the head, or padded.
  const ext = found?.ext ?? (head.toString("latin1", 0, 3) === "ID3" && "mp3");
  return ext !== false && type.found.includes(ext);
}

/** Looks for the root element, which may follow comments, white space and a document type. */
async function isSvg(head: Buffer): Promise<boolean> {
  const mark = head.toString("latin1", 0, 2);
  const encoding = mark === "\xff\xfe" ? "utf-16le" : mark === "\xfe\xff" ? "utf-16be" : "utf-8";
  const text = new TextDecoder(encoding).decode(head);
  const detector = new XmlTextDetector();
  // In pieces, to stop at the root.
  for (let at = 0; at < text.length && !detector.onEnd; at += 512) {
    detector.write(text.slice(at, at + 512));
  }
  return detector.fileType?.ext === "svg";
}

/**
 * The largest image, in pixels over all its frames. While it is processed each
 * pixel takes up to four bytes. Most phone cameras produce half as many.
 */
export const MAX_PIXELS = 100_000_000;

/**
 * An image counts as at least this many pixels, as its header may understate them: the
 * screen of a GIF may be smaller than its frames, or empty.
 */
const MIN_COUNTED_PIXELS = 1_000_000;

const headers = { gif: GIF, jpeg: JPG, png: PNG, webp: WEBP };

/**
 * How many pixels an image declares, over all frames. No decoder runs here; the
 * image process refuses an image that has more.
 * @param head its first {@link HEAD} bytes.
 * @returns at least {@link MIN_COUNTED_PIXELS}, and {@link MAX_PIXELS} if the head is not enough.
 */
export function pixelsOf(format: ImageFormat, head: Buffer): number {
  try {
    const { width, height } = headers[format].calculate(head);
    return Math.max(MIN_COUNTED_PIXELS, width * height * framesOf(format, head));
  } catch {
    return MAX_PIXELS;
  }
}

/** The largest possible number of frames; throws if the head is not enough. */
function framesOf(format: ImageFormat, head: Buffer): number {
  const isAnimated = format === "gif" || (format === "webp" && isAnimatedWebp(head));
  if (!isAnimated) return 1;
  if (head.length >= HEAD) throw new Error("the rest may hold more");
  const text = head.toString("latin1");
  // A frame of a GIF begins with a comma. Except for the first, it follows a zero
  // that ends the previous block.
  return format === "gif" ? text.split("\0,").length : Math.max(1, text.split("ANMF").length - 1);
}

/** Reads the animation bit of the extended header. */
const isAnimatedWebp = (head: Buffer) =>
  head.toString("latin1", 12, 16) === "VP8X" && (head[20]! & 2) !== 0;

/** How many pixels may wait if all are of one world: a few of the largest images, or dozens of photos. */
const MAX_WAITING = 5 * MAX_PIXELS;

const tooMany = () =>
  new Refusal(503, "Too many images are waiting. Try again soon.", { "retry-after": "10" });

/** The images of one world. */
interface Line {
  readonly inOrder: LimitFunction;
  /** How many pixels wait, without the image in progress. */
  waiting: number;
  /** How many images wait, are in progress, or have left and not had their turn yet. */
  images: number;
}

/**
 * Lets one image be worked on at a time. Worlds take turns, so one that uploads many images delays
 * another by one image each time. Pixels bound what waits: worlds share the room equally, and each
 * may have one image in any case. An image leaves when its client disconnects.
 */
class ImageQueue {
  /** At most one image of each world stands here. */
  readonly #turns = pLimit(1);
  readonly #lines = new Map<string, Line>();

  /**
   * Works on an image when its turn comes, unless its client is gone by then.
   * @param world whose image it is.
   * @throws {Refusal} 503 if too many wait; 408 if the client is gone.
   */
  async inTurn(
    world: string,
    pixels: number,
    gone: AbortSignal,
    work: () => Promise<void>,
  ): Promise<void> {
    if (gone.aborted) throw abandoned();
    const line = this.#lines.get(world) ?? { inOrder: pLimit(1), waiting: 0, images: 0 };
    if (line.waiting > 0 && line.waiting + pixels > this.#shareOf(line)) {
      throw tooMany();
    }
    this.#lines.set(world, line);
    line.waiting += pixels;
    line.images++;
    await new Promise<void>((resolve, reject) => {
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
          // It takes no turn from others.
          if (!gone.aborted) await this.#turns(run);
        })
        .catch(reject)
        .finally(() => {
          if (--line.images === 0) this.#lines.delete(world);
        });
    });
  }

  /** How many pixels of a world may wait, beside those of others. */
  #shareOf(own: Line): number {
    let worlds = 1;
    for (const line of this.#lines.values()) {
      if (line !== own && line.waiting > 0) worlds++;
    }
    return MAX_WAITING / worlds;
  }
}
