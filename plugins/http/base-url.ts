import type { FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import { Refusal } from "./errors.js";
import { isHost } from "./protocol.js";

declare module "fastify" {
  interface FastifyRequest {
    /** This server's base URL for links, without a trailing slash. */
    readonly base: string;
  }
}

/** Provides the base URL for links: PUBLIC_URL, or otherwise the request's host. */
export default fp<{ publicUrl?: string | undefined }>(
  async (app, { publicUrl }) => {
    app.decorateRequest("base", {
      getter(this: FastifyRequest) {
        if (publicUrl !== undefined) return publicUrl;
        // People other than the requester follow these links, so only a valid host is accepted.
        const { protocol, host } = this;
        if (!isHost(host)) {
          throw new Refusal(400, "The Host header must be a valid host name.");
        }
        // A trusted proxy may pass on a header sent by the client.
        if (protocol !== "http" && protocol !== "https") {
          throw new Refusal(400, "X-Forwarded-Proto must be http or https.");
        }
        return `${protocol}://${host}`;
      },
    });
  },
  { name: "base-url", dependencies: ["errors"] },
);
