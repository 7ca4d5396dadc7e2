import { GIF } from "image-size/types/gif";
import { JPG } from "image-size/types/jpg";
import { PNG } from "image-size/types/png";
import { WEBP } from "image-size/types/webp";
import type { ImageFormat } from "../../schemas/plain/file-types.js";
import { HEAD } from "./types.js";

/**
 * The largest image, in pixels over all its frames. While it is processed each
 * pixel takes up to four bytes. Most phone cameras produce half as many.
 */
export const MAX_PIXELS = 100_000_000;

/**
 * An image counts as at least this many pixels, as its header may understate them: the
 * screen of a GIF may be smaller than its frames, or empty.
 */
const SMALL = 1_000_000;

const headers = { gif: GIF, jpeg: JPG, png: PNG, webp: WEBP };

/**
 * How many pixels an image declares, over all frames. No decoder runs here; the
 * image process refuses an image that has more.
 * @param head its first {@link HEAD} bytes.
 * @returns at least {@link SMALL}, and {@link MAX_PIXELS} if the head is not enough.
 */
export function pixelsOf(format: ImageFormat, head: Buffer): number {
  try {
    const { width, height } = headers[format].calculate(head);
    return Math.max(SMALL, width * height * framesOf(format, head));
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
