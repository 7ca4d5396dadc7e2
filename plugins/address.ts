import type { FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import { Refusal } from "./errors.js";

declare module "fastify" {
  interface FastifyRequest {
    /** The address of this server as the client reached it, without a slash at its end. */
    readonly base: string;
  }
}

/** A name or an IP address, with an optional port. */
const HOST = /^([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

/** Knows where links have to point. */
export default fp<{ publicUrl: string | undefined }>(
  async (app, { publicUrl }) => {
    app.decorateRequest("base", {
      getter(this: FastifyRequest) {
        if (publicUrl !== undefined) return publicUrl;
        // It goes into links that other people follow: nothing else may get in.
        const { protocol, host } = this;
        const address = `${protocol}://${host}`;
        if (!HOST.test(host) || !URL.canParse(address)) {
          throw new Refusal(400, "The Host header is not a host name.");
        }
        // A proxy that is trusted may pass on what a client said.
        if (protocol !== "http" && protocol !== "https") {
          throw new Refusal(
            400,
            "X-Forwarded-Proto is neither http nor https.",
          );
        }
        return address;
      },
    });
  },
  { name: "address", dependencies: ["errors"] },
);
