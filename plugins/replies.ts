import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import negotiate from "@fastify/accept-negotiator";
import type { FastifyReply, FastifyRequest, preHandlerHookHandler, RouteOptions } from "fastify";
import fp from "fastify-plugin";
import type { Versioned } from "../db/contract/store.js";
import { changed } from "../db/rules/preconditions.js";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Its answer carries an `ETag`, and it honors `If-Match` or `If-None-Match`. */
    versioned?: true;
    /** It honors `If-Match`, with an answer that carries no `ETag`. */
    conditional?: true;
  }
  interface FastifyRequest {
    /**
     * The versions that `If-Match` names. The write happens only if the record has one of
     * them; undefined admits any.
     */
    expectedVersions(): string[] | undefined;
  }
  interface FastifyReply {
    /** Sends a record with its `ETag`, or 304 if the client has this version. */
    sendVersioned(record: Versioned<unknown>): FastifyReply;
    /** Sends a text that is JSON already. */
    sendJson(json: string): FastifyReply;
  }
}

/** Answers made of versioned records, and conditional requests (RFC 9110, section 13). */
export default fp(
  async (app) => {
    app.decorateReply("sendJson", function (this: FastifyReply, json) {
      this.header("content-type", "application/json; charset=utf-8");
      return this.send(json);
    });

    app.decorateRequest("expectedVersions", function (this: FastifyRequest) {
      const header = this.headers["if-match"];
      if (header === undefined || header === "*") return undefined;
      // A write needs an exact match, which a weak tag never is.
      return tagsOf(header).flatMap((tag) => /^"(.*)"$/.exec(tag)?.[1] ?? []);
    });

    app.decorateReply("sendVersioned", function (this: FastifyReply, record) {
      const tag = `"${record.version}"`;
      this.header("etag", tag);
      if (hasVersion(this.request, tag)) return this.code(304).send();
      return this.sendJson(record.json);
    });
  },
  { name: "replies" },
);

/**
 * The hook that refuses `If-Match` on a route that has no version to compare: what a client
 * names cannot be the present one (RFC 9110, section 13.1.1).
 */
export const unversioned: preHandlerHookHandler = (request, _reply, done) => {
  done(request.expectedVersions() === undefined ? undefined : changed());
};

/** Whether a write compares the versions that `If-Match` names. */
export const isConditional = ({
  method,
  config,
}: Pick<RouteOptions, "method" | "config">): boolean =>
  config?.conditional === true || (config?.versioned === true && method !== "POST");

/** Whether a client that reads has the version with this `ETag`, which has no `W/`. */
export function hasVersion({ method, headers }: FastifyRequest, tag: string): boolean {
  const known = headers["if-none-match"];
  if (known === undefined || (method !== "GET" && method !== "HEAD")) {
    return false;
  }
  return known === "*" || tagsOf(known).some((other) => other.replace(/^W\//, "") === tag);
}

/** The tags of this server hold no comma, so every comma splits a list. */
const tagsOf = (header: string) => header.split(",").map((tag) => tag.trim());

/** The codings that a client may take, the shorter one first. */
const CODINGS = ["br", "gzip"] as const;
type Coding = (typeof CODINGS)[number];

/** Something to send, in each coding that it has. */
export interface Coded {
  type: string;
  /** Undefined for the uncoded content. */
  codings: readonly Coding[];
  /** The version of the content, the same for every coding. */
  tag: string;
  /** @param coding undefined for the content as it is. */
  read: (coding: Coding | undefined) => Promise<Buffer>;
}

/**
 * Sends it in the coding that the client prefers, or a 304 if the client has it.
 * @param caching the value of `Cache-Control`.
 */
export async function sendCoded(
  reply: FastifyReply,
  { type, codings, tag, read }: Coded,
  caching = "no-cache",
): Promise<FastifyReply> {
  const { request } = reply;
  // Of CORS, where some origins may call.
  const vary = reply.getHeader("vary") as string | undefined;
  reply.headers({
    // Weak, as every coding shares it.
    etag: `W/${tag}`,
    "cache-control": caching,
    vary: vary === undefined ? "accept-encoding" : `${vary}, accept-encoding`,
  });
  if (hasVersion(request, tag)) return reply.code(304).send();
  const taken = request.headers["accept-encoding"];
  const coding = negotiate(taken ?? "", [...codings]) ?? undefined;
  if (coding) reply.header("content-encoding", coding);
  return reply.type(type).send(await read(coding));
}

const tagOf = (content: Buffer): string =>
  `"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"`;

const JSON_TYPE = "application/json; charset=utf-8";

/** The types of files that the build codes. */
const CODED_TYPES: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": JSON_TYPE,
  ".svg": "image/svg+xml",
};

const OTHER_TYPES: Record<string, string> = {
  ".m4s": "video/mp4",
  ".md": "text/markdown; charset=utf-8",
  ".mp4": "video/mp4",
  ".woff2": "font/woff2",
};

const EXTENSIONS = { br: ".br", gzip: ".gz" };

/**
 * The files of a folder of the package, with the coded forms that `npm run build` put beside
 * them. A file stays in memory once it was sent; all files together take less than 10 MiB.
 * Clients on slow lines share the bytes, and an upgrade that replaces the files cannot mix them.
 */
export class BuiltFiles {
  readonly #folder: string;
  readonly #files = new Map<string, Coded>();
  readonly #contents = new Map<string, Promise<Buffer>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Finds a file.
   * @param name a path in the folder, which the caller has checked.
   * @returns undefined if there is none.
   */
  async find(name: string): Promise<Coded | undefined> {
    const known = this.#files.get(name);
    if (known) return known;
    const content = await readIfThere(join(this.#folder, name));
    if (!content) return undefined;
    const coded = CODED_TYPES[extname(name)];
    const file: Coded = {
      type: coded ?? OTHER_TYPES[extname(name)] ?? "application/octet-stream",
      codings: coded === undefined ? [] : CODINGS,
      tag: tagOf(content),
      read: (coding) => this.#read(coding ? name + EXTENSIONS[coding] : name),
    };
    this.#files.set(name, file);
    return file;
  }

  async #read(name: string): Promise<Buffer> {
    const known = this.#contents.get(name);
    if (known) return known;
    const reading = readFile(join(this.#folder, name));
    this.#contents.set(name, reading);
    // The next request tries again.
    reading.catch(() => this.#contents.delete(name));
    return reading;
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
    promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: promisify(gzip),
};

/** JSON that no file has. It is coded when it is first asked for. */
export function codedJson(value: unknown): Coded {
  const content = Buffer.from(JSON.stringify(value));
  const coded = new Map<Coding, Promise<Buffer>>();
  return {
    type: JSON_TYPE,
    codings: CODINGS,
    tag: tagOf(content),
    async read(coding) {
      if (!coding) return content;
      const made = coded.get(coding) ?? coders[coding](content);
      coded.set(coding, made);
      return made;
    },
  };
}
