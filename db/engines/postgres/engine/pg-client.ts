import pg from "pg";
import { addressOf } from "../../../choice.js";
import { StoreError, type StoreProblem } from "../../../contract/store.js";

/** Timeout for opening a server process's connection to the database. */
const CONNECT_TIMEOUT_MS = 1500;

/** Idle time before the first TCP keepalive probe, in milliseconds. */
const KEEPALIVE = 5000;

/** Timeout for closing a connection gracefully. */
export const END_TIMEOUT_MS = 1500;

/** Returns the configuration for Foyer's connections. @param timeout for opening a connection, in milliseconds. */
export const configOf = (url: string, timeout = CONNECT_TIMEOUT_MS): pg.ClientConfig => ({
  connectionString: withStrictTls(url),
  application_name: "foyer",
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEPALIVE,
  connectionTimeoutMillis: timeout,
});

/**
 * Replaces the TLS modes that pg currently treats as `verify-full` with `verify-full`, because pg
 * warns that the meaning of these modes will change.
 */
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

/** Creates a connection without opening it. An `error` event on the connection does not end the process. */
export function clientOf(config: pg.ClientConfig): pg.Client {
  const client = new pg.Client(config);
  client.on("error", () => {});
  return client;
}

/**
 * Creates a statement with a timeout in milliseconds, which defaults to the connection's timeout.
 * pg's types declare this option only for connections.
 */
export const withQueryTimeout = (text: string, query_timeout?: number): pg.QueryConfig =>
  ({ text, query_timeout }) as pg.QueryConfig;

/** Opens a connection. @throws {StoreError} for every failure, with a one-line message. */
export async function open(client: pg.Client): Promise<void> {
  try {
    await client.connect();
  } catch (error) {
    throw notConnected(error);
  }
}

/**
 * Returns the error for a connection that could not be established, for example because the
 * server's certificate is not trusted.
 */
export function notConnected(error: unknown): StoreError {
  return new StoreError(storeErrorOf(error)?.problem ?? "unusable", lineOf(error));
}

export function lineOf(error: unknown): string {
  const { message, code } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  return (message || code || "no answer").replace(/\s+/g, " ");
}

/** Ends a connection gracefully, or forcibly if the database does not respond in time. */
export async function end(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => cut(client), END_TIMEOUT_MS);
  await client.end().catch(() => {});
  clearTimeout(timer);
}

/** Ends a connection without waiting for the database. Pending requests fail. */
export function cut(client: pg.Client): void {
  const { connection } = client as unknown as {
    connection: { stream: { destroy(error?: Error): void } };
  };
  client.on("error", () => {});
  connection.stream.destroy();
}

/** Maps PostgreSQL error codes, by prefix, to problems (see appendix A of the PostgreSQL manual). */
const problems: readonly (readonly [code: string, problem: StoreProblem])[] = [
  // Connections, permissions and resource limits.
  ["08", "unusable"],
  ["28", "unusable"],
  ["3D000", "unusable"],
  ["42501", "unusable"],
  ["53100", "full"],
  ["53", "unusable"],
  // Canceled statements, and servers that are stopping, starting or read-only.
  ["57014", "busy"],
  ["57P", "unusable"],
  ["25006", "unusable"],
  ["25P03", "unusable"],
  // Lock timeouts, deadlocks and other transaction conflicts.
  ["55P03", "busy"],
  ["40", "busy"],
  // System and internal errors, such as a failing disk.
  ["58", "unusable"],
  ["XX", "unusable"],
];

/** Matches pg errors about a lost connection, or about a connection that the pool cannot provide. */
const LOST =
  /connection (terminated|error|ended)|not queryable|client was closed|pool after calling end|server conn|timeout expired|query read timeout/i;

/**
 * Converts an error from PostgreSQL or from the connection to a {@link StoreError}. Returns
 * undefined if the error is a bug in Foyer.
 */
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

/** Returns a one-line error for an unusable database. The message omits the password in the URL. */
export function refusal(url: string, error: unknown): StoreError {
  const fault = storeErrorOf(error);
  if (!fault) throw error;
  return new StoreError("unusable", `DATABASE_URL: cannot use ${addressOf(url)}: ${fault.message}`);
}
