import { writeFile } from "node:fs/promises";
import sharp from "sharp";
import type { ImageJob, ImageOutcome } from "./images.js";

// The process of images.ts: it receives jobs, and answers each with its outcome.

// Each upload is decoded once, so a cache gains nothing.
sharp.cache(false);

process.on("message", (job: ImageJob) => {
  run(job)
    .then((outcome) => process.send!(outcome))
    .catch(() => process.exit(1));
});
// Signals are for the server, which may still need an image while it stops.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});
// The server is gone. An exit would wait for the image in progress.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));

async function run(job: ImageJob): Promise<ImageOutcome> {
  let clean: Buffer;
  try {
    clean = await reencode(job);
  } catch {
    return "refused";
  }
  if (clean.length > job.maxBytes) return "large";
  try {
    await writeFile(job.to, clean);
    return "done";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOSPC" ? "full" : "unusable";
  }
}

/**
 * Keeps the pixels, the frames and the orientation, and drops everything else. An image
 * that does not fit into its box is scaled down, each frame of an animation as well.
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
