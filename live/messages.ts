import type { dispatcher } from "./commands.js";
import { liveErrorOf } from "./commands.js";
import type { Connection, Message } from "./connection.js";
import type { Live } from "./live.js";
import { logIn } from "./login.js";
import { LiveError, problemOf, rateLimited } from "./problems.js";

/** A message that is no JSON array, or that is nested too deep to be answered. */
const invalidMessage = () => new LiveError("protocol.invalid_message");

/** A request as it came. */
interface Request {
  readonly action: unknown;
  /** As JSON; undefined if it has none. */
  readonly id: string | undefined;
  readonly payload: unknown;
  readonly elements: readonly unknown[];
}

/**
 * Reads a message: `[action, id, payload]`, or `[action, payload]`.
 * @throws {LiveError}
 */
function readRequest(text: string | undefined): Request {
  let elements: unknown;
  let id: string | undefined;
  try {
    elements = text === undefined ? undefined : JSON.parse(text);
    // It throws on what is nested too deep.
    if (Array.isArray(elements) && elements.length === 3) {
      id = JSON.stringify(elements[1]);
    }
  } catch {
    throw invalidMessage();
  }
  if (!Array.isArray(elements) || elements.length === 0) throw invalidMessage();
  return { action: elements[0], id, payload: elements.at(-1), elements };
}

/** The text of an error frame. */
function errorText(error: LiveError, id: string | undefined): string {
  const problem = JSON.stringify(problemOf(error));
  return id === undefined
    ? `["error",${problem}]`
    : `["error",${id},${problem}]`;
}

/**
 * Makes the function that carries out messages.
 * @returns a function that gives the text of the answer. It rejects with what nobody expected.
 */
export function messageHandler(
  live: Live,
  dispatch: ReturnType<typeof dispatcher>,
) {
  return async (
    connection: Connection,
    { text, allowed }: Message,
  ): Promise<string | undefined> => {
    let request: Request | undefined;
    try {
      request = readRequest(text);
      if (!allowed) throw rateLimited();
      return await answer(connection, request);
    } catch (error) {
      const known = liveErrorOf(error);
      if (!known) throw error;
      live.metrics?.refused(request, known.code);
      return errorText(known, request?.id);
    }
  };

  async function answer(
    connection: Connection,
    { action, id, payload, elements }: Request,
  ): Promise<string> {
    if (action === "ping") return pong(elements);
    if (!connection.login) {
      if (action !== "authenticate") {
        throw new LiveError("protocol.unauthenticated");
      }
      const answer = await logIn(live, connection, payload);
      live.metrics?.succeeded(action);
      return answer;
    }
    if (elements.length > 3) throw invalidMessage();
    const result = await dispatch(
      live,
      connection,
      connection.login,
      action,
      elements.length === 1 ? null : payload,
    );
    live.metrics?.succeeded(action as string);
    // A request of two elements has no id; its result is still the third element.
    return `["success",${id ?? "null"},${JSON.stringify(result)}]`;
  }
}

function pong(elements: readonly unknown[]): string {
  try {
    return JSON.stringify(["pong", elements[1] ?? null]);
  } catch {
    throw invalidMessage();
  }
}
