import pg from "pg";
import { addressOf } from "../../../choice.js";
import { StoreError, type StoreProblem } from "../../../contract/store.js";

/** How long a connection of a server may take until it is open. */
const CONNECT_TIMEOUT_MS = 1500;

/** After how many milliseconds of silence the other side has to prove that it is there. */
const KEEPALIVE = 5000;

/** How long the end of a connection may take. */
export const END_TIMEOUT_MS = 1500;

/** How connections of Foyer are made. @param timeout how long one may take, in milliseconds. */
export const configOf = (url: string, timeout = CONNECT_TIMEOUT_MS): pg.ClientConfig => ({
  connectionString: withStrictTls(url),
  application_name: "foyer",
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEPALIVE,
  connectionTimeoutMillis: timeout,
});

/** pg takes these modes for the strictest one, too, and warns that it will not always. */
function withStrictTls(url: string): string {
  const address = new URL(url);
  const { searchParams } = address;
  const mode = searchParams.get("sslmode") ?? "";
  if (!/^(prefer|require|verify-ca)$/.test(mode) || searchParams.has("uselibpqcompat")) {
    return url;
  }
  searchParams.set("sslmode", "verify-full");
  return address.href;
}

/** A connection that is not open yet. An error that nothing waits for does not end the process. */
export function clientOf(config: pg.ClientConfig): pg.Client {
  const client = new pg.Client(config);
  client.on("error", () => {});
  return client;
}

/**
 * A statement on which pg gives up after some milliseconds, by default the timeout of its
 * connection. The types of pg know the option for connections only.
 */
export const limited = (text: string, query_timeout?: number): pg.QueryConfig =>
  ({ text, query_timeout }) as pg.QueryConfig;

/** Opens a connection. @throws {StoreError} for every failure, with one line. */
export async function open(client: pg.Client): Promise<void> {
  try {
    await client.connect();
  } catch (error) {
    throw notConnected(error);
  }
}

/** The error about a connection that did not come to be, as with a certificate that is not trusted. */
export function notConnected(error: unknown): StoreError {
  return new StoreError(storeErrorOf(error)?.problem ?? "unusable", lineOf(error));
}

export function lineOf(error: unknown): string {
  const { message, code } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  return (message || code || "no answer").replace(/\s+/g, " ");
}

/** Ends a connection in order. A database that does not answer does not hold that up. */
export async function end(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => cut(client), END_TIMEOUT_MS);
  await client.end().catch(() => {});
  clearTimeout(timer);
}

/** Ends a connection without waiting for the other side. Pending requests fail. */
export function cut(client: pg.Client): void {
  const { connection } = client as unknown as {
    connection: { stream: { destroy(error?: Error): void } };
  };
  client.on("error", () => {});
  connection.stream.destroy();
}

/** The problems that PostgreSQL reports, by the beginning of their code (its manual, appendix A). */
const problems: readonly (readonly [code: string, problem: StoreProblem])[] = [
  // The connection, its rights, and what it may have.
  ["08", "unusable"],
  ["28", "unusable"],
  ["3D000", "unusable"],
  ["42501", "unusable"],
  ["53100", "full"],
  ["53", "unusable"],
  // It stops, has stopped, or starts.
  ["57014", "busy"],
  ["57P", "unusable"],
  ["25006", "unusable"],
  ["25P03", "unusable"],
  // Locks, and transactions that got in each other's way.
  ["55P03", "busy"],
  ["40", "busy"],
  // Its disk.
  ["58", "unusable"],
  ["XX", "unusable"],
];

/** The errors of pg about a lost connection, or one that the pool cannot give. */
const LOST =
  /connection (terminated|error|ended)|not queryable|client was closed|pool after calling end|server conn|timeout expired|query read timeout/i;

/** The {@link StoreError} for an error of PostgreSQL or of its connection; undefined if the error is a bug of Foyer. */
export function storeErrorOf(error: unknown): StoreError | undefined {
  if (error instanceof StoreError) return error;
  const { code = "", message } = error as Error & { code?: string };
  const found = problems.find(([start]) => code.startsWith(start));
  if (found) return new StoreError(found[1], message);
  if (/^timeout exceeded/i.test(message)) return new StoreError("busy", message);
  const isLost = (error as { syscall?: string }).syscall !== undefined;
  return isLost || LOST.test(message) ? new StoreError("unusable", message) : undefined;
}

export function explain(error: unknown): never {
  throw storeErrorOf(error) ?? error;
}

/** The error about a database that cannot be used, with one line without its password. */
export function refusal(url: string, error: unknown): StoreError {
  const fault = storeErrorOf(error);
  if (!fault) throw error;
  return new StoreError("unusable", `DATABASE_URL: cannot use ${addressOf(url)}: ${fault.message}`);
}
