import type { FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import { Refusal } from "./errors.js";
import { isHost } from "./protocol.js";

declare module "fastify" {
  interface FastifyRequest {
    /** The URL of this server as the client reached it, without a trailing slash. */
    readonly base: string;
  }
}

/** Gives the base of links: PUBLIC_URL, or else the host of the request. */
export default fp<{ publicUrl?: string | undefined }>(
  async (app, { publicUrl }) => {
    app.decorateRequest("base", {
      getter(this: FastifyRequest) {
        if (publicUrl !== undefined) return publicUrl;
        // Other people follow these links, so nothing but a host may get in.
        const { protocol, host } = this;
        if (!isHost(host)) {
          throw new Refusal(400, "The Host header is not a host name.");
        }
        // A trusted proxy may forward a client's own header.
        if (protocol !== "http" && protocol !== "https") {
          throw new Refusal(400, "X-Forwarded-Proto is neither http nor https.");
        }
        return `${protocol}://${host}`;
      },
    });
  },
  { name: "base-url", dependencies: ["errors"] },
);
