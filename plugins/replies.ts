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
    /** Responses carry an `ETag`, and the route honors `If-Match` or `If-None-Match`. */
    versioned?: true;
    /** The route honors `If-Match`, but responses carry no `ETag`. */
    conditional?: true;
  }
  interface FastifyRequest {
    /**
     * Returns the versions in `If-Match`. A write proceeds only if the record has one of these
     * versions; undefined allows any version.
     */
    expectedVersions(): string[] | undefined;
  }
  interface FastifyReply {
    /** Sends a record with its `ETag`, or 304 if the client already has this version. */
    sendVersioned(record: Versioned<unknown>): FastifyReply;
    /** Sends a string that is already JSON. */
    sendJson(json: string): FastifyReply;
  }
}

/** Adds replies with versioned records, and supports conditional requests (RFC 9110, section 13). */
export default fp(
  async (app) => {
    app.decorateReply("sendJson", function (this: FastifyReply, json) {
      this.header("content-type", "application/json; charset=utf-8");
      return this.send(json);
    });

    app.decorateRequest("expectedVersions", function (this: FastifyRequest) {
      const header = this.headers["if-match"];
      if (header === undefined || header === "*") return undefined;
      // `If-Match` requires a strong comparison, so weak tags never match.
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
 * Rejects `If-Match` on a route that has no version to compare, because no tag from a client can be
 * current (RFC 9110, section 13.1.1).
 */
export const unversioned: preHandlerHookHandler = (request, _reply, done) => {
  done(request.expectedVersions() === undefined ? undefined : changed());
};

/** Whether a route compares the versions in `If-Match`. */
export const isConditional = ({
  method,
  config,
}: Pick<RouteOptions, "method" | "config">): boolean =>
  config?.conditional === true || (config?.versioned === true && method !== "POST");

/** Whether a reading client already has the version with this `ETag`, which must not begin with `W/`. */
export function hasVersion({ method, headers }: FastifyRequest, tag: string): boolean {
  const known = headers["if-none-match"];
  if (known === undefined || (method !== "GET" && method !== "HEAD")) {
    return false;
  }
  return known === "*" || tagsOf(known).some((other) => other.replace(/^W\//, "") === tag);
}

/** This server's tags contain no commas, so every comma is a separator. */
const tagsOf = (header: string) => header.split(",").map((tag) => tag.trim());

/** Supported content codings, most compact first. */
const CODINGS = ["br", "gzip"] as const;
type Coding = (typeof CODINGS)[number];

/** Content to send, with the codings it is available in. */
export interface EncodedContent {
  type: string;
  /** Empty if the content is only available uncoded. */
  codings: readonly Coding[];
  /** The `ETag` of the content, the same for every coding. */
  tag: string;
  /** @param coding undefined for the uncoded content. */
  read: (coding: Coding | undefined) => Promise<Buffer>;
}

/**
 * Sends content in the coding that the client prefers, or 304 if the client already has the
 * content.
 * @param caching the value of `Cache-Control`.
 */
export async function sendCoded(
  reply: FastifyReply,
  { type, codings, tag, read }: EncodedContent,
  caching = "no-cache",
): Promise<FastifyReply> {
  const { request } = reply;
  // The CORS plugin sets this header if only some origins are allowed.
  const vary = reply.getHeader("vary") as string | undefined;
  reply.headers({
    // The tag is weak, because all codings share it.
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

/** Content types of the files that the build precompresses. */
const CODED_TYPES: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": JSON_TYPE,
  ".svg": "image/svg+xml",
};

const OTHER_TYPES: Record<string, string> = {
  ".m4s": "video/mp4",
  ".webp": "image/webp",
  ".md": "text/markdown; charset=utf-8",
  ".mp4": "video/mp4",
  ".woff2": "font/woff2",
};

const EXTENSIONS = { br: ".br", gzip: ".gz" };

/**
 * The files in a package folder, with the coded forms that `npm run build` put next to them. Each
 * file stays in memory once it has been sent; all files together take less than 10 MiB. Slow
 * clients share the bytes, and an upgrade that replaces the files on disk cannot mix versions.
 */
export class BuiltFiles {
  readonly #folder: string;
  readonly #files = new Map<string, EncodedContent>();
  readonly #contents = new Map<string, Promise<Buffer>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Finds a file.
   * @param name a path in the folder, which the caller has checked.
   * @returns undefined if the file does not exist.
   */
  async find(name: string): Promise<EncodedContent | undefined> {
    const known = this.#files.get(name);
    if (known) return known;
    const content = await readIfThere(join(this.#folder, name));
    if (!content) return undefined;
    const coded = CODED_TYPES[extname(name)];
    const file: EncodedContent = {
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
    // Let the next request retry.
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
  // The highest quality would take a hundred times as long.
  br: (content) =>
    promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: promisify(gzip),
};

/** Wraps JSON that is not in a file. Each coding is computed on first use. */
export function codedJson(value: unknown): EncodedContent {
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
