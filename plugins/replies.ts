import type { FastifyReply, FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import { Cache } from "../db/cache.js";
import type { Versioned } from "../db/store.js";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Its answer carries an `ETag`, and it honors `If-Match` or `If-None-Match`. */
    versioned?: true;
  }
  interface FastifyRequest {
    /**
     * The versions that `If-Match` names, in one of which the record must be for the
     * write to happen; undefined if any will do.
     */
    expectedVersions(): string[] | undefined;
  }
  interface FastifyReply {
    /** Sends a record with its `ETag`, or 304 if the client has this version. */
    sendVersioned(record: Versioned<unknown>): FastifyReply;
    /**
     * Sends JSON, serialized once per version.
     * @param record what the answer is made of.
     * @param variant tells the answers apart that are made of one record.
     * @param make makes what is sent.
     */
    sendCached<T>(
      record: Versioned<T>,
      variant: string,
      make: (value: T) => unknown,
    ): FastifyReply;
  }
}

/** The bound for serialized answers, in characters. */
const MAX_ANSWERS = 32 * 1024 * 1024;

/** What an entry takes beside its text, in characters. */
const ENTRY = 200;

/**
 * Sends versioned records: answers conditional requests (RFC 9110, section 13), and
 * caches serialized answers.
 */
export default fp(
  async (app) => {
    const answers = new Cache<string>(MAX_ANSWERS);

    app.decorateReply(
      "sendCached",
      function (this: FastifyReply, { value, version }, variant, make) {
        const key = version + variant;
        let json = answers.get(key);
        if (json === undefined) {
          json = this.serialize(make(value)) as string;
          answers.set(key, json, ENTRY + key.length + json.length);
        }
        this.header("content-type", "application/json; charset=utf-8");
        return this.send(json);
      },
    );

    app.decorateRequest("expectedVersions", function (this: FastifyRequest) {
      const header = this.headers["if-match"];
      if (header === undefined || header === "*") return undefined;
      // A write needs an exact match, which a weak tag never is.
      return tagsOf(header).flatMap((tag) => /^"(.*)"$/.exec(tag)?.[1] ?? []);
    });

    app.decorateReply("sendVersioned", function (this: FastifyReply, record) {
      const tag = `"${record.version}"`;
      this.header("etag", tag);
      const { method, headers } = this.request;
      const known = headers["if-none-match"];
      if (
        known !== undefined &&
        (method === "GET" || method === "HEAD") &&
        (known === "*" ||
          tagsOf(known).some((other) => other.replace(/^W\//, "") === tag))
      ) {
        return this.code(304).send();
      }
      return this.sendCached(record, "", (value) => value);
    });
  },
  { name: "replies" },
);

/** The tags of this server hold no comma, so every comma splits a list. */
const tagsOf = (header: string) => header.split(",").map((tag) => tag.trim());
