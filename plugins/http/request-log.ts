import { isIP } from "node:net";
import Fastify, { type FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import { pathWithoutFileSecrets } from "../../schemas/plain/file-secrets.js";

/**
 * Turns off Fastify's own lines about requests, which hold headers, except the
 * one about an answer that broke off: nothing else reports that.
 */
export class QuietRequests extends Fastify.LogController {
  constructor() {
    super({ disableRequestLogging: true });
  }

  override streamError(error: Error & { code?: string }, { id, server }: FastifyRequest): void {
    // A client that disconnects is no fault.
    if (error.code === "ERR_STREAM_PREMATURE_CLOSE") return;
    server.log.warn({ reqId: id, err: error }, "the answer broke off");
  }
}

/**
 * Logs one line per request at level debug. At info it would cost more than the
 * request. Faults of the server are always logged, by error-handler.ts. No header, query
 * or body is logged, as they may hold a token, and no secret of a file.
 */
export default fp(
  async (app) => {
    if (!["debug", "trace"].includes(app.log.level)) return;
    app.addHook("onResponse", async function logRequest(request, reply) {
      // The log of a request may have the id already.
      app.log.debug(
        {
          reqId: request.id,
          method: request.method,
          path: pathWithoutFileSecrets(request.url.split("?", 1)[0]!),
          // A trusted proxy may pass on any text that a client sent.
          from: isIP(request.ip) ? request.ip : undefined,
          status: reply.statusCode,
          ms: Math.round(reply.elapsedTime),
        },
        "request",
      );
    });
  },
  { name: "request-log" },
);
