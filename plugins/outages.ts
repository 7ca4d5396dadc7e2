import type { LoggerOptions } from "pino";
import { StoreError, type StoreProblem } from "../db/contract/store.js";

/** How long a problem of all requests is not logged again, in milliseconds. */
const PAUSE = 60_000;

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
      if (last && at - last.at < PAUSE && !SINGLE.has(problem)) {
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
  const error =
    first instanceof Error ? first : (first as { err?: unknown } | null)?.err;
  return error instanceof StoreError ? error : undefined;
}

/** The other fields of the line. */
function fieldsOf(first: unknown): object {
  if (first instanceof Error) return {};
  const { err: _, ...fields } = first as Record<string, unknown>;
  return fields;
}
