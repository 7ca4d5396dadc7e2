import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const script = join(import.meta.dirname, "../../bench/load.lua");

/** A request of a client. */
export interface Sent {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** The load on a server. */
export interface Load {
  /** Sent in turn. */
  requests: Sent[];
  /** The number of requests in flight. */
  connections: number;
  seconds: number;
}

/** The result of a load. */
export interface Outcome {
  /** Answers a second. */
  rate: number;
  /** The 99th percentile of the latency, in milliseconds. */
  p99: number;
}

/**
 * Loads a server on this machine with wrk, which needs a fraction of the processor
 * time of a client in JavaScript.
 * @throws {Error} if an answer is not as expected, or wrk is not installed.
 */
export async function load(
  port: number,
  { requests, connections, seconds }: Load,
): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "foyer-load-"));
  const file = join(folder, "requests");
  writeFileSync(file, Buffer.concat(requests.map((sent) => written(sent))));
  try {
    const { stdout } = await run("wrk", [
      ...["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "10s"],
      ...["-s", script, `http://127.0.0.1:${port}`, "--", file],
    ]);
    const result = JSON.parse(
      /^RESULT (.*)$/m.exec(stdout)?.[1] ?? "null",
    ) as Record<
      "requests" | "microseconds" | "refused" | "broken" | "p99",
      number
    >;
    if (result.refused || result.broken || !result.requests) {
      throw new Error(
        `${requests[0]!.path}: of ${result.requests} answers, ${result.refused} were errors, and ${result.broken} broke off`,
      );
    }
    return {
      rate: (result.requests / result.microseconds) * 1e6,
      p99: result.p99 / 1000,
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new Error(
      "wrk is not installed; most systems have a package of that name.",
      { cause: error },
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A request as it is sent, with its length in front. */
function written({ method = "GET", path, headers = {}, body }: Sent): Buffer {
  const bytes = Buffer.from(body ?? "");
  const lines = Object.entries({
    host: "127.0.0.1",
    ...headers,
    ...(body !== undefined && { "content-length": bytes.length }),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`),
    bytes,
  ]);
  return Buffer.concat([Buffer.from(`${request.length}\n`), request]);
}
