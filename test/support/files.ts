import type { Dirent } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import sharp, { type Sharp } from "sharp";
import { type Answer, rawRequest } from "./helper.js";
import type { Server } from "./server.js";
import { loadConfig } from "../../config.js";
import { shared } from "./shared.js";

// Files to upload, forms to upload them in, and a look at what became of them.

/** A part of a form; its headers can be anything. */
export interface Part {
  headers?: Record<string, string>;
  body: string | Uint8Array;
}

export interface Form {
  headers: Record<string, string>;
  body: Buffer;
}

const BOUNDARY = "----a-boundary-of-tests";

/** A form of these parts, byte for byte as it stands here. */
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

/** A part that is a file, in a field of this name. */
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

/** The form that the interface asks for. */
export const fileForm = (filename: string, body: Part["body"]): Form =>
  formOf(filePart(filename, body));

export const GUEST = "Client guest-1";

/** The head of a request by a guest that sends a form over a socket. */
export const headOf = ({ headers, body }: Form, more: Record<string, string> = {}): string =>
  rawRequest("POST /storage/upload/", {
    ...headers,
    Authorization: GUEST,
    "Content-Length": String(body.length),
    ...more,
  });

/** Sends a form, as a guest unless it is said otherwise. */
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

/** The url of an upload that was taken. */
export const urlOf = ({ body }: Answer): string => (body as { url?: string }).url ?? "";

/** What a link gives. */
export interface Served {
  status: number;
  headers: Record<string, string | undefined>;
  bytes: Buffer;
}

/** Follows a link to a file. */
export async function follow(
  { app }: Pick<Server, "app">,
  url: string,
  headers: Record<string, string> = {},
  method: "GET" | "HEAD" = "GET",
): Promise<Served> {
  const { pathname } = new URL(url, "http://localhost");
  const answer = await app.inject({ method, url: pathname, headers });
  return {
    status: answer.statusCode,
    headers: answer.headers as Served["headers"],
    bytes: answer.rawPayload,
  };
}

/** The paths of all files below a folder, and of what else counts; of none if it is not there. */
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
 * What is read of a file or folder that was listed; undefined if it has gone since, as a
 * server may be at work in the folder.
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
 * The files of a server that are not whole, or not known to anybody yet, and the notes of
 * them. On S3 some are objects, and uploads that are no object yet.
 */
export async function unfinished(dataDir: string): Promise<string[]> {
  const paths = await filesBelow(join(dataDir, "work"), isNote);
  const local = paths.filter((path) => !path.endsWith(".lock"));
  return [...local, ...((await shared?.unfinishedOf(dataDir)) ?? [])];
}

const isNote = ({ name }: Dirent) => name.endsWith(".note");

/** The files that a server has taken, as paths below the folder `media`. */
export async function finished(dataDir: string): Promise<string[]> {
  const media = join(dataDir, "media");
  if (!shared) return filesBelow(media);
  return (await shared.objectsOf(dataDir)).map((key) => join(media, key));
}

/**
 * Which of the texts are in the bytes of the files below a folder. Not for a
 * folder that this process has a database open in: to close a file drops the
 * locks that SQLite holds on it.
 */
export async function textsBelow(folder: string, texts: readonly string[]): Promise<string[]> {
  const files = await Promise.all(
    (await filesBelow(folder)).map((path) => unlessGone(readFile(path))),
  );
  return texts.filter((text) => files.some((bytes) => bytes?.includes(text)));
}

const plain = (width: number, height: number, background = "#673ab7") =>
  sharp({ create: { width, height, channels: 3, background } });

/** Noise that no format makes smaller, so that its files can be cut. */
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

/** A PNG of a few kilobytes that unfolds to as many pixels as it likes. */
export function pngBomb(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // One bit a pixel, in shades of gray.
  header[8] = 1;
  const rows = Buffer.alloc((Math.ceil(width / 8) + 1) * height);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** A GIF whose frames have one pixel each, on a canvas that has many. */
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

/** The beginnings that players know their files by, and something after them. */
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
/** With a tag in front that holds a picture larger than what is looked at. */
export const TAGGED_MP3 = Buffer.concat([
  Buffer.from("494433030000000c0000", "hex"),
  Buffer.alloc(200 * 1024, 7),
  MP3,
]);

/** The variables of uploads as a configuration, all others as they are by default. */
export const uploads = (env: Record<string, string>) => ({ uploads: loadConfig(env).uploads });
