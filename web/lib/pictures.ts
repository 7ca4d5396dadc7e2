// Pictures are made smaller before they are sent: a photo of a phone has 9 MB, and a chat shows a
// tenth of its pixels.

/** The longest side of a picture in a chat, in pixels. */
export const LONGEST_SIDE = 2048;

const QUALITY = 0.85;

/** The types that lose nothing but size. Others may move, or have no pixels. */
const SCALED = new Set(["image/jpeg", "image/png", "image/webp"]);

const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/webp": "webp",
};

/** How much of a file says whether it moves, in bytes. */
const HEAD = 4096;

/**
 * Whether a picture moves: an `acTL` chunk of a PNG, before its pixels, or an `ANIM` chunk of a
 * WebP, behind its header.
 */
async function moves(file: Blob): Promise<boolean> {
  const bytes = new Uint8Array(await file.slice(0, HEAD).arrayBuffer());
  const head = String.fromCharCode(...bytes);
  return head.includes("acTL") || head.includes("ANIM");
}

/**
 * The file to send for one that a user chose: a picture with at most {@link LONGEST_SIDE} pixels
 * on a side. What is no picture, moves, is small, or cannot be read stays as it is.
 */
export async function scaled(file: File): Promise<File> {
  if (!SCALED.has(file.type) || (await moves(file))) return file;
  let picture: ImageBitmap | undefined;
  try {
    picture = await createImageBitmap(file);
    const scale = LONGEST_SIDE / Math.max(picture.width, picture.height);
    if (scale >= 1) return file;
    const canvas = new OffscreenCanvas(
      Math.max(1, Math.round(picture.width * scale)),
      Math.max(1, Math.round(picture.height * scale)),
    );
    const context = canvas.getContext("2d")!;
    context.imageSmoothingQuality = "high";
    context.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const type = file.type;
    const blob = await canvas.convertToBlob({ type, quality: QUALITY });
    // A browser that cannot write WebP writes PNG, which may be larger.
    if (blob.size >= file.size) return file;
    const name =
      blob.type === type
        ? file.name
        : `${file.name.replace(/\.\w+$/, "")}.${EXTENSIONS[blob.type]}`;
    return new File([blob], name, { type: blob.type });
  } catch {
    return file;
  } finally {
    picture?.close();
  }
}
