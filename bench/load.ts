import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const script = join(import.meta.dirname, "../../bench/load.lua");

/** A request as a client sends it. */
export interface Sent {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** How a server is asked. */
export interface Load {
  /** Sent in turn. */
  requests: Sent[];
  /** How many wait for their answers at a time. */
  connections: number;
  seconds: number;
  /** Whether every answer is to be an error; otherwise none may be. */
  refused?: boolean;
}

/** What came of it. */
export interface Outcome {
  /** Answers in a second. */
  rate: number;
  /** The latency that 99 of 100 answers keep to, in milliseconds. */
  p99: number;
}

/**
 * Asks a server on this machine for a while, with wrk, which takes a fraction of
 * the processor that a client in JavaScript would take from the server.
 * @throws {Error} when an answer is not of the expected kind, or wrk is not installed.
 */
export async function load(
  port: number,
  { requests, connections, seconds, refused = false }: Load,
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
    const wrong = refused ? result.requests - result.refused : result.refused;
    if (wrong || result.broken || !result.requests) {
      throw new Error(
        `${requests[0]!.path}: of ${result.requests} answers, ${wrong} were not as expected, and ${result.broken} broke off`,
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

/** As it goes over the wire, with its length in front. */
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
