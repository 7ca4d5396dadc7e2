import pg from "pg";
import { StoreError } from "../../../contract/store.js";
import { storeErrorOf } from "./errors.js";

/** How long a connection of a server may take until it is open, in milliseconds. */
const CONNECT_TIMEOUT = 1500;

/** After how many milliseconds of silence the other side has to prove that it is there. */
const KEEPALIVE = 5000;

/** How long the end of a connection may take, in milliseconds. */
export const END_TIMEOUT = 1500;

/** How connections of Foyer are made. @param timeout how long one may take, in milliseconds. */
export const configOf = (url: string, timeout = CONNECT_TIMEOUT): pg.ClientConfig => ({
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

/** Why a connection failed, in one line. */
export function lineOf(error: unknown): string {
  const { message, code } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  return (message || code || "no answer").replace(/\s+/g, " ");
}

/** Ends a connection in order. A database that does not answer does not hold that up. */
export async function end(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => cut(client), END_TIMEOUT);
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
