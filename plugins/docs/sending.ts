import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import negotiate from "@fastify/accept-negotiator";
import type { FastifyReply } from "fastify";
import { hasVersion } from "../replies.js";

/** The codings that a client may take, the shorter one first. */
const CODINGS = ["br", "gzip"] as const;
type Coding = (typeof CODINGS)[number];

/** Something to send, in each coding. */
export interface Coded {
  type: string;
  /** Names the content, whatever its coding. */
  tag: string;
  /** @param coding undefined for the content as it is. */
  read: (coding: Coding | undefined) => Promise<Buffer>;
}

/** Sends it in the coding that the client prefers, or a 304 if the client has it. */
export async function sendCoded(
  reply: FastifyReply,
  { type, tag, read }: Coded,
): Promise<FastifyReply> {
  const { request } = reply;
  // Of CORS, where some origins may call.
  const vary = reply.getHeader("vary") as string | undefined;
  reply.headers({
    // Weak, as it is that of every coding.
    etag: `W/${tag}`,
    "cache-control": "no-cache",
    vary: vary === undefined ? "accept-encoding" : `${vary}, accept-encoding`,
  });
  if (hasVersion(request, tag)) return reply.code(304).send();
  const taken = request.headers["accept-encoding"];
  const coding = negotiate(taken ?? "", [...CODINGS]) ?? undefined;
  if (coding) reply.header("content-encoding", coding);
  return reply.type(type).send(await read(coding));
}

const tagOf = (content: Buffer): string =>
  `"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"`;

const TYPES: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
};

const EXTENSIONS = { br: ".br", gzip: ".gz" };

/** The files of a folder that `npm run build` made, each with its coded forms beside it. */
export class BuiltFiles {
  readonly #folder: string;
  /** By name. They do not change while a server runs. */
  readonly #tags = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Finds a file.
   * @param name a path in the folder, which the caller has checked.
   * @returns undefined if there is none.
   */
  async find(name: string): Promise<Coded | undefined> {
    const path = join(this.#folder, name);
    let tag = this.#tags.get(name);
    if (tag === undefined) {
      const content = await readIfThere(path);
      if (!content) return undefined;
      this.#tags.set(name, (tag = tagOf(content)));
    }
    return {
      type: TYPES[extname(name)]!,
      tag,
      read: (coding) => readFile(coding ? path + EXTENSIONS[coding] : path),
    };
  }
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

const coders: Record<Coding, (content: Buffer) => Promise<Buffer>> = {
  // The best quality takes a hundred times as long.
  br: (content) =>
    promisify(brotliCompress)(content, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 9 },
    }),
  gzip: promisify(gzip),
};

/** JSON that no file has. It is coded when it is first asked for. */
export function codedJson(value: unknown): Coded {
  const content = Buffer.from(JSON.stringify(value));
  const coded = new Map<Coding, Promise<Buffer>>();
  return {
    type: TYPES[".json"]!,
    tag: tagOf(content),
    async read(coding) {
      if (!coding) return content;
      const made = coded.get(coding) ?? coders[coding](content);
      coded.set(coding, made);
      return made;
    },
  };
}
