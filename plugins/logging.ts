import { writeSync } from "node:fs";
import { isIP, Socket } from "node:net";
import Fastify from "fastify";
import type { FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import pino from "pino";
import type { Logger, LoggerOptions } from "pino";
import { StoreError, type StoreProblem } from "../db/contract/store.js";
import { pathWithoutFileSecrets, withoutFileSecrets } from "../schemas/plain/file-types.js";

/** How many bytes may wait for a slow reader of the log. */
const MAX_WAITING = 8 * 1024 * 1024;

/**
 * Writes the log to stdout and never blocks or fails. If the disk is full, or the pipe
 * is closed or not read, lines are lost, and a later line counts them.
 * pino's own destination would block the process for as long as that lasts.
 */
function logOutput(): { write(line: string): void } {
  const { stdout } = process;
  // A pipe takes what it can, and the rest waits in memory. A file takes it at once.
  const isPipe = stdout instanceof Socket;
  let lost = 0;
  // A missing reader is no reason to stop serving.
  stdout.on("error", () => {});

  function write(text: string): boolean {
    if (isPipe) {
      if (!stdout.writable || stdout.writableLength > MAX_WAITING) return false;
      stdout.write(text);
      return true;
    }
    try {
      writeSync(1, text);
      return true;
    } catch {
      return false;
    }
  }

  return {
    write(line) {
      if (lost > 0) {
        const about = { level: 40, time: Date.now(), pid: process.pid };
        const msg = `${lost} lines of the log were lost`;
        if (write(`${JSON.stringify({ ...about, msg })}\n`)) lost = 0;
      }
      if (!write(line)) lost++;
    },
  };
}

/** How long a problem of all requests is not logged again, in milliseconds. */
const REPEAT_INTERVAL_MS = 60_000;

/** Problems of one request, which the next one need not have. */
const SINGLE: ReadonlySet<StoreProblem> = new Set(["doubtful"]);

/**
 * Logs a problem of the store in one line, and not for each request: in an outage, every
 * request fails for the same reason, and a stack adds nothing to it.
 */
export function outageHooks(): NonNullable<LoggerOptions["hooks"]> {
  /** When each problem was logged last, and how often it was not since. */
  const logged = new Map<StoreProblem, { at: number; more: number }>();
  return {
    logMethod(args, method) {
      const fault = faultIn(args[0]);
      if (!fault) return method.apply(this, args);
      const { problem, message } = fault;
      const last = logged.get(problem);
      const at = performance.now();
      if (last && at - last.at < REPEAT_INTERVAL_MS && !SINGLE.has(problem)) {
        last.more++;
        return;
      }
      logged.set(problem, { at, more: 0 });
      const more = last?.more ?? 0;
      this.warn(
        { ...fieldsOf(args[0]), problem, ...(more > 0 && { more }) },
        `the storage refuses: ${message}`,
      );
    },
  };
}

/** The error of the store that a line of the log is about. */
function faultIn(first: unknown): StoreError | undefined {
  const error = first instanceof Error ? first : (first as { err?: unknown } | null)?.err;
  return error instanceof StoreError ? error : undefined;
}

/** The other fields of the line. */
function fieldsOf(first: unknown): object {
  if (first instanceof Error) return {};
  const { err: _, ...fields } = first as Record<string, unknown>;
  return fields;
}

/**
 * The log of the server: JSON on stdout, or lines for people on a terminal.
 * @param level the least severe level that is written, as pino names it.
 */
export async function createLogger(level: string): Promise<Logger> {
  const readable = process.stdout.isTTY && process.env.NODE_ENV !== "production";
  // Errors of the file system name files, and so do lines about missing files.
  const options = { level, hooks: { ...outageHooks(), streamWrite: withoutFileSecrets } };
  if (!readable) return pino(options, logOutput());
  const { default: pretty } = await import("pino-pretty");
  return pino(options, pretty({ ignore: "pid,hostname,reqId", translateTime: "HH:MM:ss" }));
}

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
