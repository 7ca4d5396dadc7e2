import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { createConnection, createServer, type Socket } from "node:net";
import { join, relative } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyBaseLogger } from "fastify";
import { Failure } from "../schemas/plain/failure.js";
import type { Connection } from "./socket/connection.js";
import { reload } from "./socket/endings.js";

// Each process of a server listens on a Unix socket in DATA_DIR for commands from operators on the
// same machine. A client sends one line of JSON and receives lines of JSON; the last line is a
// ControlEnd.

/** A request from an operator to a process. */
export type ControlRequest =
  | { do: "list" }
  /** Connection ids; ids of closed connections are skipped. */
  | { do: "drop" | "reload"; connections: string[] };

/** Every open socket, by the id of its connection. */
type OpenSockets = ReadonlyMap<string, Connection>;

/** A websocket, as an operator sees it. */
export interface ListedConnection {
  id: string;
  /** The world in the request URL; it may not exist. */
  world: string;
  /** The id of the user; null before login. */
  user: string | null;
  /** The time at which the websocket was opened, in ISO 8601. */
  since: string;
  /** The id of the process that serves the websocket. */
  pid: number;
  /** The ids of the rooms that the connection has entered. */
  rooms: string[];
  /** Number of commands waiting for an earlier command to finish. */
  queued: number;
  /** Number of bytes that the client has not read yet. */
  unsent: number;
  /** Whether the websocket is only waiting for the client to confirm the close. */
  closing: boolean;
}

/** The last line of a response: the number of connections listed, dropped or reloaded. */
export interface ControlEnd {
  done: number;
}

/** The folder within DATA_DIR that holds the sockets. */
const FOLDER = "control";

/** The suffix of sockets that accept requests. */
const READY = ".sock";

/**
 * Maximum length of a Unix socket path, in bytes: the limit is 104 on macOS and 108 on Linux,
 * including the final NUL.
 */
const MAX_PATH = 103;

/** Maximum length of a request, in characters. */
const MAX_REQUEST = 64 * 1024;

/** Timeout for an exchange, in milliseconds. */
const EXCHANGE_TIMEOUT_MS = 10_000;

/** Maximum number of concurrent clients per process. */
const MAX_CLIENTS = 16;

/** Number of connections listed before yielding to other work. */
const CONNECTIONS_PER_SLICE = 500;

/**
 * Returns the path of a socket, relative to the working directory if the full path is too long.
 * @throws {Failure} if the relative path is too long as well.
 */
function pathOf(folder: string, name: string): string {
  const path = join(folder, name);
  for (const one of [path, relative("", path)]) {
    if (Buffer.byteLength(one) <= MAX_PATH) return one;
  }
  throw new Failure(`${folder} is too long a path for a socket; start Foyer in DATA_DIR`);
}

/**
 * Lists the sockets of all processes that serve a data directory.
 * @returns the paths of the sockets. Some sockets may belong to processes that were killed.
 * @throws {Failure} or a system error, if the folder cannot be used.
 */
export function controlSockets(dataDir: string): string[] {
  const folder = join(dataDir, FOLDER);
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  return names.filter((name) => name.endsWith(READY)).map((name) => pathOf(folder, name));
}

/**
 * Accepts requests from operators. If the socket cannot be opened, logs a warning instead of
 * failing.
 * @returns a function that stops accepting requests.
 */
export async function openControl(
  sockets: OpenSockets,
  dataDir: string,
  log: FastifyBaseLogger,
): Promise<() => void> {
  try {
    return await listen(sockets, dataDir);
  } catch (error) {
    log.warn(`foyer connections cannot reach this process: ${(error as Error).message}`);
    return () => {};
  }
}

async function listen(sockets: OpenSockets, dataDir: string): Promise<() => void> {
  const folder = join(dataDir, FOLDER);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  await removeDead(dataDir);
  // The process id alone is not unique: a process in another container may have the same id.
  const name = `${process.pid}-${randomBytes(3).toString("hex")}`;
  const ready = pathOf(folder, name + READY);
  const unready = pathOf(folder, `${name}.new`);
  const clients = new Set<Socket>();
  const server = createServer((socket) => {
    clients.add(socket);
    socket.once("close", () => clients.delete(socket));
    serve(sockets, socket);
  });
  server.maxConnections = MAX_CLIENTS;
  await new Promise<void>((resolve, reject) => {
    // Exclusive: otherwise a worker would share the socket of its cluster's primary.
    server.once("error", reject).listen({ path: unready, exclusive: true }, resolve);
  });
  // Renamed only once the server is listening: a socket with the final name that refuses
  // connections belongs to a dead process.
  chmodSync(unready, 0o600);
  renameSync(unready, ready);
  return () => {
    rmSync(ready, { force: true });
    server.close();
    for (const socket of clients) socket.destroy();
  };
}

/** Removes the sockets of processes that were killed. */
async function removeDead(dataDir: string): Promise<void> {
  for (const path of controlSockets(dataDir)) {
    if (await refuses(path)) rmSync(path, { force: true });
  }
}

const refuses = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(path);
    socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "ECONNREFUSED"));
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
  });

/** Responds to a client's first line. */
function serve(sockets: OpenSockets, socket: Socket): void {
  const timeout = setTimeout(() => socket.destroy(), EXCHANGE_TIMEOUT_MS).unref();
  socket.once("close", () => clearTimeout(timeout));
  // Ignored: the client hung up.
  socket.on("error", () => {});
  let text = "";
  socket.setEncoding("utf8").on("data", function read(chunk: string) {
    text += chunk;
    const end = text.indexOf("\n");
    if (end >= 0) {
      socket.off("data", read).resume();
      const request = requestIn(text.slice(0, end));
      if (!request) return void socket.destroy();
      void pipeline(Readable.from(answer(sockets, request)), socket).catch(() => {});
    } else if (text.length > MAX_REQUEST) socket.destroy();
  });
}

function requestIn(line: string): ControlRequest | undefined {
  let request: Partial<Record<"do" | "connections", unknown>> | null;
  try {
    request = JSON.parse(line) as typeof request;
  } catch {
    return undefined;
  }
  const { do: what, connections } = request ?? {};
  if (what === "list") return { do: what };
  if (what !== "drop" && what !== "reload") return undefined;
  return isStrings(connections) ? { do: what, connections } : undefined;
}

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

async function* answer(sockets: OpenSockets, request: ControlRequest): AsyncGenerator<string> {
  const open = [...sockets.values()];
  let done = 0;
  if (request.do === "list") {
    for (; done < open.length; done += CONNECTIONS_PER_SLICE) {
      yield open
        .slice(done, done + CONNECTIONS_PER_SLICE)
        .map((connection) => `${JSON.stringify(listed(connection))}\n`)
        .join("");
      await new Promise((resolve) => setImmediate(resolve));
    }
    done = open.length;
  } else {
    const ids = new Set(request.connections);
    for (const connection of open) {
      if (!ids.has(connection.id)) continue;
      done++;
      if (request.do === "drop") connection.drop();
      else reload(connection);
    }
  }
  yield `${JSON.stringify({ done } satisfies ControlEnd)}\n`;
}

const listed = (connection: Connection): ListedConnection => ({
  id: connection.id,
  world: connection.world,
  user: connection.login?.user ?? null,
  since: new Date(connection.openedAt).toISOString(),
  pid: process.pid,
  rooms: [...connection.rooms],
  queued: connection.incoming.count,
  unsent: connection.unsent,
  closing: connection.ended,
});
