import type { Dirent } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import sharp, { type Sharp } from "sharp";
import { type Answer, rawRequest } from "./helper.js";
import type { Server } from "./server.js";
import { loadConfig } from "../../config.js";
import { shared } from "./shared.js";

// Files to upload, forms to upload them with, and checks of the result.

/** A part of a form, with arbitrary headers. */
export interface Part {
  headers?: Record<string, string>;
  body: string | Uint8Array;
}

export interface Form {
  headers: Record<string, string>;
  body: Buffer;
}

const BOUNDARY = "----a-boundary-of-tests";

/** Builds a form from these parts, byte for byte. */
export function formOf(...parts: Part[]): Form {
  const pieces = parts.flatMap(({ headers = {}, body }) => [
    Buffer.from(
      [
        `--${BOUNDARY}`,
        ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
        "\r\n",
      ].join("\r\n"),
    ),
    Buffer.from(body as Uint8Array),
    Buffer.from("\r\n"),
  ]);
  return {
    headers: { "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
    body: Buffer.concat([...pieces, Buffer.from(`--${BOUNDARY}--\r\n`)]),
  };
}

/** Returns a file part, in a field of the given name. */
export const filePart = (filename: string, body: Part["body"], field = "file"): Part => ({
  headers: {
    "Content-Disposition": `form-data; name="${field}"; filename="${filename}"`,
    "Content-Type": "application/octet-stream",
  },
  body,
});

export const textPart = (name: string, body: string): Part => ({
  headers: { "Content-Disposition": `form-data; name="${name}"` },
  body,
});

/** Returns a form as the interface expects it. */
export const fileForm = (filename: string, body: Part["body"]): Form =>
  formOf(filePart(filename, body));

export const GUEST = "Client guest-1";

/** Returns the head of a guest's request that sends a form over a socket. */
export const headOf = ({ headers, body }: Form, more: Record<string, string> = {}): string =>
  rawRequest("POST /storage/upload/", {
    ...headers,
    Authorization: GUEST,
    "Content-Length": String(body.length),
    ...more,
  });

/** Sends a form, as a guest by default. */
export const upload = (
  { call }: Pick<Server, "call">,
  form: Form,
  { as = GUEST, headers = {} }: { as?: string | undefined; headers?: Record<string, string> } = {},
): Promise<Answer> =>
  call({
    method: "POST",
    url: "/storage/upload/",
    as,
    headers: { ...form.headers, ...headers },
    body: form.body,
  });

/** Returns the URL of an accepted upload. */
export const urlOf = ({ body }: Answer): string => (body as { url?: string }).url ?? "";

/** The response to a request for a link. */
export interface Served {
  status: number;
  headers: Record<string, string | undefined>;
  bytes: Buffer;
}

/** Requests a link to a file. */
export async function follow(
  { app }: Pick<Server, "app">,
  url: string,
  headers: Record<string, string> = {},
  method: "GET" | "HEAD" = "GET",
): Promise<Served> {
  const { pathname, search } = new URL(url, "http://localhost");
  const answer = await app.inject({ method, url: pathname + search, headers });
  return {
    status: answer.statusCode,
    headers: answer.headers as Served["headers"],
    bytes: answer.rawPayload,
  };
}

/** Lists the paths of all files below a folder, and of other entries that count; none if the folder is missing. */
export async function filesBelow(
  folder: string,
  alsoCounts: (entry: Dirent) => boolean = () => false,
): Promise<string[]> {
  const entries = await unlessGone(readdir(folder, { withFileTypes: true }));
  const paths = await Promise.all(
    (entries ?? []).map(async (entry) => {
      const path = join(folder, entry.name);
      const counts = entry.isFile() || alsoCounts(entry);
      const below = entry.isDirectory() ? filesBelow(path, alsoCounts) : [];
      return [...(counts ? [path] : []), ...(await below)];
    }),
  );
  return paths.flat();
}

/**
 * Returns the result of reading a listed file or folder; undefined if it has since disappeared,
 * because a server may be working in the folder.
 */
async function unlessGone<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Lists a server's files that are incomplete or not yet public, and their notes. On S3, some are
 * objects, and some are uploads that are not yet objects.
 */
export async function unfinished(dataDir: string): Promise<string[]> {
  const paths = await filesBelow(join(dataDir, "work"), isNote);
  const local = paths.filter((path) => !path.endsWith(".lock"));
  return [...local, ...((await shared?.unfinishedOf(dataDir)) ?? [])];
}

const isNote = ({ name }: Dirent) => name.endsWith(".note");

/** Lists the files that a server has accepted, as paths below the folder `media`. */
export async function finished(dataDir: string): Promise<string[]> {
  const media = join(dataDir, "media");
  if (!shared) return filesBelow(media);
  return (await shared.objectsOf(dataDir)).map((key) => join(media, key));
}

/**
 * Returns those of the texts that occur in files below a folder. Not for a folder whose database
 * this process has open: closing a file drops SQLite's locks on it.
 */
export async function textsBelow(folder: string, texts: readonly string[]): Promise<string[]> {
  const files = await Promise.all(
    (await filesBelow(folder)).map((path) => unlessGone(readFile(path))),
  );
  return texts.filter((text) => files.some((bytes) => bytes?.includes(text)));
}

const plain = (width: number, height: number, background = "#673ab7") =>
  sharp({ create: { width, height, channels: 3, background } });

/** Noise, which no format can compress, so that its files are long enough to truncate. */
function noise(width: number, height: number): Sharp {
  let state = 1;
  const bytes = Buffer.alloc(width * height * 3);
  for (let i = 0; i < bytes.length; i++) {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    bytes[i] = state >> 16;
  }
  return sharp(bytes, { raw: { width, height, channels: 3 } });
}

const frames = async () =>
  sharp(
    await Promise.all(
      ["red", "lime", "blue"].map((color) => plain(20, 10, color).png().toBuffer()),
    ),
    { join: { animated: true } },
  );

export const images = {
  png: (width = 20, height = 10) => plain(width, height).png().toBuffer(),
  jpg: (width = 20, height = 10) => plain(width, height).jpeg().toBuffer(),
  gif: () => plain(20, 10).gif().toBuffer(),
  webp: () => plain(20, 10).webp().toBuffer(),
  animatedGif: async () => (await frames()).gif({ delay: [100, 200, 300], loop: 2 }).toBuffer(),
  animatedWebp: async () => (await frames()).webp({ delay: [100, 200, 300], loop: 2 }).toBuffer(),
  cut: async (format: "png" | "jpeg" | "gif" | "webp") => {
    const whole = await noise(200, 200).toFormat(format).toBuffer();
    return whole.subarray(0, whole.length / 2);
  },
};

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** Returns a PNG of a few kilobytes that decodes to any number of pixels. */
export function pngBomb(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // One bit per pixel, in grayscale.
  header[8] = 1;
  const rows = Buffer.alloc((Math.ceil(width / 8) + 1) * height);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Returns a GIF with frames of one pixel each, on a canvas of many pixels. */
export function gifBomb(width: number, height: number, pages: number): Buffer {
  const screen = Buffer.alloc(7);
  screen.writeUInt16LE(width, 0);
  screen.writeUInt16LE(height, 2);
  screen[4] = 0x80;
  const frame = Buffer.from("21f90400050000002c0000000001000100000202440100", "hex");
  return Buffer.concat([
    Buffer.from("GIF89a"),
    screen,
    Buffer.from("000000ffffff", "hex"),
    ...Array.from({ length: pages }, () => frame),
    Buffer.from(";"),
  ]);
}

export const PDF = "%PDF-1.7\n1 0 obj\n<< >>\nendobj\ntrailer << >>\n%%EOF\n";
export const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';
export const HTML = "<!DOCTYPE html><html><body><script>alert(1)</script></body></html>";

/** The signatures by which players recognize these files, followed by some bytes. */
export const MP4 = Buffer.concat([
  Buffer.from("00000018667479706d703432000000006d70343269736f6d", "hex"),
  Buffer.from("00000010", "hex"),
  Buffer.from("mdat\x01\x02\x03\x04\x05\x06\x07\x08"),
]);
export const WEBM = Buffer.concat([
  Buffer.from(
    "1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581021853806701ffffffffffffff",
    "hex",
  ),
  Buffer.alloc(100),
]);
export const MP3 = Buffer.concat([
  Buffer.from("fffb9064", "hex"),
  Buffer.alloc(413),
  Buffer.from("fffb9064", "hex"),
  Buffer.alloc(413),
]);
/** Preceded by a tag that holds a picture larger than the bytes that are inspected. */
export const TAGGED_MP3 = Buffer.concat([
  Buffer.from("494433030000000c0000", "hex"),
  Buffer.alloc(200 * 1024, 7),
  MP3,
]);

/** Returns a configuration with these upload variables, and defaults for all others. */
export const uploads = (env: Record<string, string>) => ({ uploads: loadConfig(env).uploads });
