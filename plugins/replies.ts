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
