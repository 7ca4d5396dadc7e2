import { isIP } from "node:net";
import Fastify, { type FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import pino, { type Logger } from "pino";
import { logOutput } from "./log-output.js";

/**
 * The log of the server: JSON on stdout, or lines for people on a terminal.
 * @param level the least important that is written, in pino's words.
 */
export async function createLogger(level: string): Promise<Logger> {
  const readable =
    process.stdout.isTTY && process.env.NODE_ENV !== "production";
  if (!readable) return pino({ level }, logOutput());
  const { default: pretty } = await import("pino-pretty");
  return pino(
    { level },
    pretty({ ignore: "pid,hostname,reqId", translateTime: "HH:MM:ss" }),
  );
}

/**
 * Of what Fastify says of requests by itself, in which headers are, only that an
 * answer broke off: nothing else tells that.
 */
export class QuietRequests extends Fastify.LogController {
  constructor() {
    super({ disableRequestLogging: true });
  }

  override streamError(
    error: Error & { code?: string },
    { id, log }: FastifyRequest,
  ): void {
    // A client may go away whenever it likes.
    if (error.code === "ERR_STREAM_PREMATURE_CLOSE") return;
    log.warn({ reqId: id, err: error }, "the answer broke off");
  }
}

/**
 * One line for each request at level debug. Not at info: it would cost more
 * than the request. A fault of the server is always written. No header, query
 * or body gets into either: they may hold a token.
 */
export default fp(
  async (app) => {
    if (!["debug", "trace"].includes(app.log.level)) return;
    app.addHook("onResponse", async (request, reply) => {
      request.log.debug(
        {
          reqId: request.id,
          method: request.method,
          path: request.url.split("?", 1)[0],
          // A proxy may pass on whatever a client says it is.
          from: isIP(request.ip) ? request.ip : undefined,
          status: reply.statusCode,
          ms: Math.round(reply.elapsedTime),
        },
        "request",
      );
    });
  },
  { name: "logging" },
);
