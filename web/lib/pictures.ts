// Pictures are downscaled before upload: a phone photo has 9 MB, and a chat shows a tenth of its
// pixels.

/** The longest side of a picture in a chat, in pixels. */
export const LONGEST_SIDE = 2048;

const QUALITY = 0.85;

/**
 * Types of pictures that lose only size when they are scaled. Pictures of other types may be
 * animated or vector graphics.
 */
const SCALED = new Set(["image/jpeg", "image/png", "image/webp"]);

const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/webp": "webp",
};

/** Number of leading bytes that reveal whether a picture is animated. */
const HEAD = 4096;

/**
 * Whether a picture is animated: a PNG with an `acTL` chunk before its pixels, or a WebP with an
 * `ANIM` chunk after its header.
 */
async function moves(file: Blob): Promise<boolean> {
  const bytes = new Uint8Array(await file.slice(0, HEAD).arrayBuffer());
  const head = String.fromCharCode(...bytes);
  return head.includes("acTL") || head.includes("ANIM");
}

/**
 * Returns the file to upload: a picture scaled to at most {@link LONGEST_SIDE} pixels per side. A
 * file that is not a picture, or is animated, small or unreadable, is returned unchanged.
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
    // Browsers that cannot encode WebP produce PNG, which may be larger.
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
