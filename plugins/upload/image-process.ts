import { writeFile } from "node:fs/promises";
import sharp from "sharp";
import { PREVIEW_SIDE } from "../../schemas/plain/file-types.js";
import type { ImageJob, ImageOutcome } from "./images.js";

// The child process that images.ts starts. It receives jobs, and responds to each job with its
// outcome.

// Each upload is decoded only once, so a cache is useless.
sharp.cache(false);

process.on("message", (job: ImageJob) => {
  run(job)
    .then((outcome) => process.send!(outcome))
    .catch(() => process.exit(1));
});
// Signals are meant for the server, which may still need an image during shutdown.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});
// The server is gone. process.exit() would wait for the image in progress.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));

/** Pictures that are as small as this, in bytes, and no larger than a preview, have no preview. */
const SMALL_BYTES = 64 * 1024;

/** The size that previews are meant to have, in bytes: 300 people load less than 30 MB. */
const PREVIEW_BYTES = 95_000;

/** Qualities to try until a preview is small enough. Only pictures full of noise need the lower ones. */
const QUALITIES = [78, 60, 40];

async function run(job: ImageJob): Promise<ImageOutcome> {
  let clean: Buffer;
  let preview: Buffer | undefined;
  try {
    clean = await reencode(job);
    if (clean.length > job.maxBytes) return "large";
    preview = await previewOf(clean);
  } catch {
    return "refused";
  }
  try {
    await writeFile(job.to, clean);
    if (preview) await writeFile(job.preview, preview);
    return preview ? "previewed" : "done";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOSPC" ? "full" : "unusable";
  }
}

/**
 * Keeps the pixels, the frames and the orientation, and strips everything else. An image that does
 * not fit into its box is scaled down, including each frame of an animation.
 */
async function reencode(job: ImageJob): Promise<Buffer> {
  const { from, format, pixels, box } = job;
  const safely = { limitInputPixels: pixels, failOn: "error" } as const;
  const {
    pages = 1,
    width,
    height,
    chromaSubsampling,
    isProgressive = false,
  } = await sharp(from, safely).metadata();
  if (width * height * pages > pixels) throw new Error("too many pixels");
  const image =
    pages > 1 ? sharp(from, { ...safely, animated: true }) : sharp(from, safely).autoOrient();
  if (box) image.resize({ ...box, fit: "inside", withoutEnlargement: true });
  const progressive = isProgressive;
  switch (format) {
    case "jpeg":
      image.jpeg({
        quality: 90,
        progressive,
        ...(chromaSubsampling === "4:4:4" && { chromaSubsampling }),
      });
      break;
    case "png":
      image.png({ progressive });
      break;
    case "gif":
      image.gif({ effort: 3 });
      break;
    case "webp":
      image.webp({ quality: 90 });
      break;
  }
  return image.toBuffer();
}

/**
 * Scales a clean copy down; of an animation, its first frame.
 * @returns undefined if the copy is small already.
 */
async function previewOf(clean: Buffer): Promise<Buffer | undefined> {
  // The copy comes from this process, and has no more pixels than the image itself.
  const image = sharp(clean, { limitInputPixels: false });
  const { width, height } = await image.metadata();
  const isSmall = Math.max(width, height) <= PREVIEW_SIDE && clean.length <= SMALL_BYTES;
  if (isSmall) return undefined;
  const { data, info: raw } = await image
    .resize({ width: PREVIEW_SIDE, height: PREVIEW_SIDE, fit: "inside", withoutEnlargement: true })
    .raw()
    .toBuffer({ resolveWithObject: true });
  for (const quality of QUALITIES) {
    const preview = await sharp(data, { raw }).webp({ quality }).toBuffer();
    const isLight = preview.length <= PREVIEW_BYTES || quality === QUALITIES.at(-1);
    if (isLight) return preview.length < clean.length ? preview : undefined;
  }
  return undefined;
}
