import pino, { type Logger } from "pino";
import { withoutFileSecrets } from "../schemas/plain/file-secrets.js";
import { logOutput } from "./log-output.js";
import { outageHooks } from "./outages.js";

/**
 * The log of the server: JSON on stdout, or lines for people on a terminal.
 * @param level the least severe level that is written, as pino names it.
 */
export async function createLogger(level: string): Promise<Logger> {
  const readable =
    process.stdout.isTTY && process.env.NODE_ENV !== "production";
  // Errors of the file system name files, and so do lines about missing files.
  const options = {
    level,
    hooks: { ...outageHooks(), streamWrite: withoutFileSecrets },
  };
  if (!readable) return pino(options, logOutput());
  const { default: pretty } = await import("pino-pretty");
  return pino(
    options,
    pretty({ ignore: "pid,hostname,reqId", translateTime: "HH:MM:ss" }),
  );
}
