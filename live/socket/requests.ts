import type { Faults } from "../../schemas/errors.js";
import { elementIn, findLosses } from "../../schemas/validate.js";
import { jsonOf, SharedJson } from "../rules/encoding.js";
import {
  doubtful,
  invalidPayload,
  LiveError,
  liveErrorOf,
  problemOf,
  rateLimited,
} from "../rules/problems.js";
import type { Connection, ReceivedFrame } from "./connection.js";
import { Close, frameAround, textFrame } from "./frame.js";
import type { Login } from "./login-state.js";

/** A command as received. */
export interface Order {
  readonly action: unknown;
  readonly payload: unknown;
  /** Returns a fault for each value in the payload that parsing has changed, or undefined if there are none. */
  readonly losses: () => Faults | undefined;
}

/** Runs a command. Throws synchronously if the command does not exist; all other errors are rejections. */
export type Dispatch = (connection: Connection, login: Login, order: Order) => Promise<unknown>;

/** Ports of the message handler. */
export interface MessagePorts {
  /**
   * Logs a connection in.
   * @returns the frame of the response, in pieces.
   */
  readonly logIn: (connection: Connection, payload: unknown) => Promise<readonly Buffer[]>;
  readonly dispatch: Dispatch;
  readonly metrics:
    | {
        succeeded(command: string): void;
        refused(request: { action: unknown } | undefined, code: string): void;
      }
    | undefined;
}

/** The error for a message that is not a JSON array, or that is nested too deeply to be answered. */
const invalidMessage = () => new LiveError("protocol.invalid_message");

/** A request as received. */
interface Request {
  readonly text: string;
  readonly action: unknown;
  /** The id as JSON, as it is sent back; undefined if the request has no id. */
  readonly id: string | undefined;
  readonly payload: unknown;
  readonly elements: readonly unknown[];
}

/**
 * Parses a message: `[action, id, payload]`, or `[action, payload]`.
 * @throws {LiveError}
 */
function readRequest(text: string | undefined): Request {
  let elements: unknown;
  let id: string | undefined;
  try {
    if (text === undefined) throw invalidMessage();
    elements = JSON.parse(text);
    if (Array.isArray(elements) && elements.length === 3) {
      id = echoOf(text, elements);
    }
  } catch {
    throw invalidMessage();
  }
  if (!Array.isArray(elements) || elements.length === 0) throw invalidMessage();
  return { text, action: elements[0], id, payload: elements.at(-1), elements };
}

/**
 * Returns the second element of a message as JSON, to be sent back. Numbers, and values that may
 * contain numbers, are sent back as originally written, because a double may not represent them
 * exactly.
 * @throws {Error} if the element is nested too deeply.
 */
function echoOf(text: string, elements: readonly unknown[]): string {
  const [, id] = elements;
  if (typeof id !== "number") {
    const json = JSON.stringify(id);
    if (!/^[[{]/.test(json)) return json;
  }
  return elementIn(text, 1, elements.length);
}

/** Builds the text of an error frame. */
function errorText(error: LiveError, id: string | undefined): string {
  const problem = JSON.stringify(problemOf(error));
  return id === undefined ? `["error",${problem}]` : `["error",${id},${problem}]`;
}

/**
 * Creates the function that handles messages.
 * @returns a function that returns the frame of the response, in pieces, and rejects with
 * unexpected errors.
 */
export function messageHandler({ logIn, dispatch, metrics }: MessagePorts) {
  return async (
    connection: Connection,
    { text, allowed }: ReceivedFrame,
  ): Promise<readonly Buffer[]> => {
    let request: Request | undefined;
    try {
      request = readRequest(text);
      if (!allowed) throw rateLimited();
      return await answer(connection, request);
    } catch (error) {
      const refusal = liveErrorOf(error, request?.action);
      if (!refusal) throw error;
      // A read failed after the write, so the command may have taken effect.
      const isDone = refusal.code === "server.unavailable" && connection.loop.hasWritten;
      const known = isDone ? doubtful() : refusal;
      // Clients reconnect when a connection ends. If they received only an error, they would wait.
      if (!connection.login && known.code === "server.unavailable") {
        connection.closeAfterAnswer(Close.tryAgainLater);
      }
      metrics?.refused(request, known.code);
      return [textFrame(errorText(known, request?.id))];
    }
  };

  async function answer(connection: Connection, request: Request): Promise<readonly Buffer[]> {
    const { action, id, payload, elements } = request;
    if (action === "ping") return [textFrame(pong(request))];
    if (!connection.login) {
      if (action !== "authenticate") {
        throw new LiveError("protocol.unauthenticated");
      }
      const losses = lossesIn(request);
      if (losses) throw invalidPayload(losses);
      const answer = await logIn(connection, payload);
      metrics?.succeeded(action);
      return answer;
    }
    if (elements.length > 3) throw invalidMessage();
    const { login } = connection;
    const result = await dispatch(connection, login, {
      action,
      payload: elements.length === 1 ? null : payload,
      losses: () => lossesIn(request),
    });
    metrics?.succeeded(action as string);
    const start = `["success",${id === undefined ? "" : `${id},`}`;
    if (!(result instanceof SharedJson)) {
      return [textFrame(`${start}${jsonOf(result)}]`)];
    }
    const { before, shared, after } = result;
    return frameAround(start + before, shared, `${after}]`);
  }
}

/**
 * Maximum length of a message that is compared with its re-encoded JSON, in characters. The
 * comparison usually avoids scanning the message, which takes five times as long.
 */
const MAX_COMPARED_CHARACTERS = 4000;

/** Returns a fault for each value in the payload that parsing has changed, or undefined if there are none. */
function lossesIn({ text, elements }: Request): Faults | undefined {
  const { length } = elements;
  if (length === 1) return undefined;
  // Most clients use JSON.stringify(), whose output is parsed without losses.
  if (text.length <= MAX_COMPARED_CHARACTERS && JSON.stringify(elements) === text) return undefined;
  return findLosses(elementIn(text, length - 1, length))?.faults;
}

function pong({ text, elements }: Request): string {
  try {
    return `["pong",${elements.length > 1 ? echoOf(text, elements) : "null"}]`;
  } catch {
    throw invalidMessage();
  }
}
