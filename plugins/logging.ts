import pino, { type Logger } from "pino";
import { logOutput } from "./log-output.js";
import { outageHooks } from "./outages.js";

/**
 * The log of the server: JSON on stdout, or lines for people on a terminal.
 * @param level the least severe level that is written, as pino names it.
 */
export async function createLogger(level: string): Promise<Logger> {
  const hooks = outageHooks();
  const readable =
    process.stdout.isTTY && process.env.NODE_ENV !== "production";
  if (!readable) return pino({ level, hooks }, logOutput());
  const { default: pretty } = await import("pino-pretty");
  return pino(
    { level, hooks },
    pretty({ ignore: "pid,hostname,reqId", translateTime: "HH:MM:ss" }),
  );
}
