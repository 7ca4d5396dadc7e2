import { once } from "node:events";
import { createConnection } from "node:net";
import { basename } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Command, InvalidArgumentError } from "commander";
import type { ControlEnd, ControlRequest, ListedConnection } from "../live/control.js";
import { Failure } from "../schemas/plain/failure.js";
import {
  isCount,
  isFlag,
  isListOf,
  isNullOr,
  isRecord,
  isText,
  type Shape,
} from "../schemas/plain/shapes.js";
import { command, settings } from "./command.js";
import { type JsonOption, print, printList } from "./output.js";

/** Timeout for a response from a process, in milliseconds. */
const CONTROL_TIMEOUT_MS = 5_000;

/** Maximum number of connections that one request can end. */
const LOT = 500;

/** Maximum value of `--interval`, in milliseconds. */
const MAX_INTERVAL = 60_000;

/** Whether a string matches a pattern, in which each `*` matches any sequence of characters. */
function matches(pattern: string, text: string): boolean {
  const [start = "", ...parts] = pattern.split("*");
  const end = parts.pop();
  if (end === undefined) return text === start;
  const last = text.length - end.length;
  if (!text.startsWith(start) || !text.endsWith(end)) return false;
  let at = start.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= last;
}

/**
 * Sends a request to one process of a server.
 * @param path the path of the process's socket.
 * @returns the response's lines, and the count in the response's last line, or undefined if the
 * process is dead.
 * @throws {Failure} if the process refuses access, does not respond completely, or runs another
 * version of Foyer.
 */
async function ask(
  path: string,
  request: ControlRequest,
): Promise<{ lines: ListedConnection[]; done: number } | undefined> {
  let text = "";
  const socket = createConnection(path).setEncoding("utf8");
  try {
    await once(socket, "connect");
    socket.setTimeout(CONTROL_TIMEOUT_MS, () => socket.destroy());
    socket.write(`${JSON.stringify(request)}\n`);
    for await (const chunk of socket) text += chunk as string;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ECONNREFUSED" || code === "ENOENT") return undefined;
    if (code === "EACCES" || code === "EPERM") {
      throw new Failure(
        `cannot connect to ${path}: ${code}; run this command as the server's user`,
      );
    }
  } finally {
    socket.destroy();
  }
  const lines = text.split("\n");
  // A complete response ends with a newline, so the last part is empty.
  if (lines.pop() !== "" || !lines.at(-1)?.startsWith('{"done":')) {
    throw new Failure(`process ${basename(path, ".sock")} did not respond`);
  }
  try {
    const { done } = answered(lines.pop()!, isEnd) as ControlEnd;
    const listed = lines.map((line) => answered(line, isListed));
    return { lines: listed as ListedConnection[], done };
  } catch {
    throw new Failure(`process ${basename(path, ".sock")} runs another version of Foyer`);
  }
}

const isEnd = isRecord({ done: isCount });
const isListed = isRecord({
  id: isText,
  world: isText,
  user: isNullOr(isText),
  since: isText,
  pid: isCount,
  rooms: isListOf(isText),
  queued: isCount,
  unsent: isCount,
  closing: isFlag,
});

/**
 * Parses a line of a response.
 * @throws {Error} if the line has an unexpected shape.
 */
function answered(line: string, isShape: Shape): unknown {
  const value: unknown = JSON.parse(line);
  if (!isShape(value)) throw new Error("It has an unexpected shape.");
  return value;
}

/** A connection, with the socket of the process that serves it. */
interface Found extends ListedConnection {
  path: string;
}

/**
 * Finds the connections of all processes that serve DATA_DIR.
 * @param world a pattern for world ids.
 * @returns the connections, and an error to throw at the end if a process did not respond.
 * @throws {Failure} if DATA_DIR has no database, no server runs on it, or no process responds.
 */
async function find(world: string): Promise<{ found: Found[]; fault: Failure | undefined }> {
  const { dataDir, engines } = settings();
  const [{ hasStore }, { controlSockets }] = await Promise.all([
    import("../db/open.js"),
    import("../live/control.js"),
  ]);
  if (!(await hasStore({ dataDir, ...engines }))) {
    throw new Failure(`there is no database in ${dataDir}`);
  }
  let fault: Failure | undefined;
  const answers = await Promise.all(
    controlSockets(dataDir).map(async (path) => {
      try {
        const answer = await ask(path, { do: "list" });
        return answer?.lines.map((line) => ({ ...line, path }));
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        fault = error;
        return undefined;
      }
    }),
  );
  const answered = answers.filter((answer) => answer !== undefined);
  if (answered.length === 0) {
    throw fault ?? new Failure(`no server runs on ${dataDir}`);
  }
  const found = answered.flat().filter((one) => matches(world, one.world));
  return { found, fault };
}

const listConnections = command(
  "list [world]",
  "list the open websockets of a world, or of all worlds",
  "connections list 'summit*'",
).action(async (world: string = "*", { json }: JsonOption) => {
  const { found, fault } = await find(world);
  const items = (async function* () {
    for (const { path: _, ...connection } of found) yield connection;
  })();
  await printList(
    json,
    items,
    ({ id, world, user, since, pid, rooms, queued, unsent, closing }) => [
      id,
      world,
      user ?? "not logged in",
      `${closing ? "closing, " : ""}since ${since}`,
      `process ${pid}`,
      `rooms: ${rooms.length}`,
      `queued: ${queued}`,
      `unsent bytes: ${unsent}`,
    ],
    "There are no connections.",
  );
  if (fault) throw fault;
});

interface PaceOption extends JsonOption {
  interval: number;
}

/** Creates a command that ends connections. */
const ending = (what: "drop" | "reload", done: string, description: string, example: string) =>
  command(`${what} [world]`, description, example)
    .option(
      "--interval <ms>",
      "the delay between two connections, in milliseconds",
      milliseconds,
      0,
    )
    .action(async (world: string = "*", { json, interval }: PaceOption) => {
      const { found, fault } = await find(world);
      const count = await end(what, found, interval);
      print(json, { [done]: count }, [`${count} connection${count === 1 ? "" : "s"} ${done}.`]);
      if (fault) throw fault;
    });

/**
 * Drops connections, or makes their clients reload the page.
 * @returns the number of connections that were still open.
 */
async function end(what: "drop" | "reload", found: Found[], interval: number): Promise<number> {
  let count = 0;
  const size = interval > 0 ? 1 : LOT;
  for (const [path, ids] of byPath(found)) {
    for (let i = 0; i < ids.length; i += size) {
      const connections = ids.slice(i, i + size);
      const answer = await ask(path, { do: what, connections });
      count += answer?.done ?? 0;
      if (interval > 0) await setTimeout(interval);
    }
  }
  return count;
}

/** Groups the ids of connections by the path of the socket of the process that serves the connection. */
function byPath(found: Found[]): Map<string, string[]> {
  const ids = new Map<string, string[]>();
  for (const { path, id } of found) {
    const others = ids.get(path);
    if (others) others.push(id);
    else ids.set(path, [id]);
  }
  return ids;
}

function milliseconds(text: string): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (value <= MAX_INTERVAL) return value;
  throw new InvalidArgumentError(`Must be a whole number from 0 to ${MAX_INTERVAL}.`);
}

/** `foyer connections …` */
export const connectionsCommand = new Command("connections")
  .description("list and end the websockets of a running server")
  .addCommand(listConnections)
  .addCommand(
    ending(
      "drop",
      "dropped",
      "end connections immediately, without a close frame; clients reconnect",
      "connections drop summit",
    ),
  )
  .addCommand(
    ending(
      "reload",
      "reloaded",
      "make clients reload their page; connections end 2 seconds later",
      "connections reload summit --interval 20",
    ),
  );
