import type { FastifyReply, FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import type { Versioned } from "../db/store.js";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Its answer carries an `ETag`, and it heeds `If-Match` or `If-None-Match`. */
    versioned?: true;
  }
  interface FastifyRequest {
    /**
     * The versions in which the client wants a write to happen, by `If-Match`;
     * undefined when any will do.
     */
    expectedVersions(): string[] | undefined;
  }
  interface FastifyReply {
    /** Sends a record with its `ETag`, or 304 when the client has it already. */
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
      return this.sendJson(record.json);
    });
  },
  { name: "replies" },
);

/** Our tags hold no comma, so a list is split at every one. */
const tagsOf = (header: string) => header.split(",").map((tag) => tag.trim());
