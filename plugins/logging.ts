import { writeSync } from "node:fs";
import { isIP, Socket } from "node:net";
import Fastify from "fastify";
import type { FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import pino from "pino";
import type { Logger, LoggerOptions } from "pino";
import { StoreError, type StoreProblem } from "../db/contract/store.js";
import { pathWithoutFileSecrets, withoutFileSecrets } from "../schemas/plain/file-types.js";

/** Maximum number of bytes buffered for a slow log reader. */
const MAX_WAITING = 8 * 1024 * 1024;

/**
 * Writes the log to stdout without ever blocking or failing. If the disk is full, or the pipe is
 * closed or not being read, lines are dropped, and a later line reports their number. pino's own
 * destination would block the process until the problem is resolved.
 */
function logOutput(): { write(line: string): void } {
  const { stdout } = process;
  // Writes to a pipe are buffered in memory if necessary. Writes to a file are synchronous.
  const isPipe = stdout instanceof Socket;
  let lost = 0;
  // The server keeps running without a log reader.
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

/** Time for which repetitions of a problem are suppressed, in milliseconds. */
const REPEAT_INTERVAL_MS = 60_000;

/** Problems specific to a single request, which are never suppressed. */
const SINGLE: ReadonlySet<StoreProblem> = new Set(["doubtful"]);

/**
 * Logs one line when a storage problem occurs repeatedly, rather than one line per request, because
 * in an outage, every request fails for the same reason. Omits the stack trace, which adds nothing.
 */
export function outageHooks(): NonNullable<LoggerOptions["hooks"]> {
  /** For each problem, the time it was last logged, and the number of repetitions suppressed since. */
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

/** Returns the storage error that a log line is about, if any. */
function faultIn(first: unknown): StoreError | undefined {
  const error = first instanceof Error ? first : (first as { err?: unknown } | null)?.err;
  return error instanceof StoreError ? error : undefined;
}

/** Returns the log line's fields other than the error. */
function fieldsOf(first: unknown): object {
  if (first instanceof Error) return {};
  const { err: _, ...fields } = first as Record<string, unknown>;
  return fields;
}

/**
 * Creates the server's logger: JSON on stdout, or human-readable lines on a terminal.
 * @param level the minimum severity, as a pino level.
 */
export async function createLogger(level: string): Promise<Logger> {
  const readable = process.stdout.isTTY && process.env.NODE_ENV !== "production";
  // File system errors and lines about missing files contain file names, which are secret.
  const options = { level, hooks: { ...outageHooks(), streamWrite: withoutFileSecrets } };
  if (!readable) return pino(options, logOutput());
  const { default: pretty } = await import("pino-pretty");
  return pino(options, pretty({ ignore: "pid,hostname,reqId", translateTime: "HH:MM:ss" }));
}

/**
 * Disables Fastify's own request logging, which includes headers. Still logs aborted responses,
 * because nothing else reports them.
 */
export class QuietRequests extends Fastify.LogController {
  constructor() {
    super({ disableRequestLogging: true });
  }

  override streamError(error: Error & { code?: string }, { id, server }: FastifyRequest): void {
    // A disconnected client is not a fault.
    if (error.code === "ERR_STREAM_PREMATURE_CLOSE") return;
    server.log.warn({ reqId: id, err: error }, "the answer broke off");
  }
}

/** Matches what precedes the secret of a path: a token, a code, a sealed report, or a mail. */
const BEFORE_SECRET = /^(?:\/(?:login|j)|\/api\/v1\/worlds\/[^/]+\/reports|\/w\/[^/]+\/mails)\//;

/** Returns a request's path as the log shows it. */
function pathOf({ url }: FastifyRequest): string {
  const path = url.split("?", 1)[0]!;
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // A path that cannot be decoded belongs to no route.
    decoded = path;
  }
  const [start] = BEFORE_SECRET.exec(decoded) ?? [];
  return start === undefined ? pathWithoutFileSecrets(path) : `${start}…`;
}

/**
 * Logs one line per request at level debug. At level info, logging would cost more than the request
 * itself. Server faults are always logged, by error-handler.ts. Headers, queries and bodies are
 * never logged, because they may contain tokens. Secrets are removed from paths.
 */
export default fp(
  async (app) => {
    if (!["debug", "trace"].includes(app.log.level)) return;
    app.addHook("onResponse", async function logRequest(request, reply) {
      // The request's own logger may already include the id.
      app.log.debug(
        {
          reqId: request.id,
          method: request.method,
          path: pathOf(request),
          // A trusted proxy may pass on arbitrary text from the client.
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
