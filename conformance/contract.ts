import addFormats from "ajv-formats";
import { Ajv } from "ajv";
import type { JsonObject } from "../schemas/openapi/openapi-schema.js";

type Frame = readonly unknown[];

function frameOf(text: string): Frame {
  const frame = JSON.parse(text) as unknown;
  if (!Array.isArray(frame) || typeof frame[0] !== "string") {
    throw new Error(`not a frame: ${text}`);
  }
  // Clients match the beginning of a frame as text.
  if (!text.startsWith(`[${JSON.stringify(frame[0])}`)) {
    throw new Error(`not compact: ${text}`);
  }
  return frame;
}

/** Validates the server's frames against the AsyncAPI document. */
export class LiveContract {
  readonly #ajv = new Ajv({ strict: false, allErrors: true });
  readonly #messages: JsonObject;
  readonly #hasOthers: boolean;

  /**
   * @param hasOthers whether the server may send pushes that the document does not name. Clients
   * ignore such pushes.
   */
  constructor(document: JsonObject, hasOthers = false) {
    addFormats.default(this.#ajv);
    this.#ajv.addSchema(document, "document");
    const { world } = document.channels as { world: { messages: JsonObject } };
    this.#messages = world.messages;
    this.#hasOthers = hasOthers;
  }

  hasPush(name: string): boolean {
    return `push.${name}` in this.#messages;
  }

  /**
   * Checks a server frame against the document.
   * @param pending the name of the command to which the frame responds, if any. It may be an
   * unknown name, or "" for a client frame that was not a command.
   * @throws {Error} that describes the fault.
   */
  checkFrame(text: string, pending?: string): void {
    const frame = frameOf(text);
    const name = frame[0] as string;
    if (name === "error") this.#checkError(frame, text, pending);
    else if (name === "success" && pending !== undefined && frame.length === 2)
      this.#check(`success.${pending}`, "/items/2", frame[1], text);
    else if (name === "success" || name === "pong") {
      if (pending === undefined) throw new Error(`no answer was expected: ${text}`);
      this.#check(`success.${pending}`, "", frame, text);
    } else if (!this.#hasOthers || this.hasPush(name)) {
      this.#check(`push.${name}`, "", frame, text);
    }
  }

  #checkError(frame: Frame, text: string, pending?: string): void {
    if (pending === undefined) {
      return this.#check("error.unasked", "", frame, text);
    }
    if (frame.length !== 2 && frame.length !== 3) {
      throw new Error(`neither with nor without an id: ${text}`);
    }
    const own = `error.${pending}`;
    const key = own in this.#messages ? own : "error.unknown_command";
    // The problem is the last element, with or without an id.
    const last = key === "error.authenticate" ? 1 : 2;
    this.#check(key, `/items/${last}`, frame.at(-1), text);
  }

  #check(key: string, path: string, value: unknown, text: string): void {
    const validate =
      key in this.#messages &&
      this.#ajv.getSchema(`document#/channels/world/messages/${key}/payload${path}`);
    if (!validate) throw new Error(`${key}: not in the document: ${text}`);
    if (!validate(value)) {
      const faults = this.#ajv.errorsText(validate.errors);
      throw new Error(`${key}: ${faults} in ${text}`);
    }
  }
}

/** Connection errors, which are never the response to a command, even if a pending command has no id. */
const ofConnection = new Set([
  "world.unknown_world",
  "auth.timeout",
  "connection.replaced",
  "server.fatal",
]);

interface Pending {
  /** The first element of the frame; empty if the frame is not a command. */
  name: string;
  /** The command's id as JSON; undefined if the command has no id. */
  id: string | undefined;
  /** The data of a ping, as JSON. */
  data: string;
}

/**
 * One connection's frames in both directions. Checks each frame, and that every command receives
 * exactly one response, in order.
 */
export class Conversation {
  readonly #contract: LiveContract;
  readonly #pending: Pending[] = [];
  /** The number of frames sent by the client. */
  count = 0;

  constructor(contract: LiveContract) {
    this.#contract = contract;
  }

  /** The number of commands that have not received a response yet. */
  get unanswered(): number {
    return this.#pending.length;
  }

  /** Records a frame sent by the client. */
  sent(text: string | Uint8Array): void {
    this.count++;
    this.#pending.push(pendingOf(text));
  }

  /**
   * Records and checks a frame received by the client.
   * @throws {Error} if the server should not have sent the frame.
   */
  received(text: string): void {
    const frame = frameOf(text);
    const next = this.#pending[0];
    if (!this.#isAnswer(frame, next)) return this.#contract.checkFrame(text);
    if (!next) throw new Error(`no answer was expected: ${text}`);
    this.#pending.shift();
    const isLogin = frame[0] === "authenticated";
    if (isLogin !== (next.name === "authenticate" && frame[0] !== "error")) {
      throw new Error(`an answer to another command: ${text}`);
    }
    const id = frame.length === 3 ? JSON.stringify(frame[1]) : undefined;
    if (!isLogin && id !== next.id) {
      throw new Error(`the answer to ${next.name} has another id: ${text}`);
    }
    if (frame[0] === "pong" && JSON.stringify(frame[1]) !== next.data) {
      throw new Error(`other data than the ping had: ${text}`);
    }
    this.#contract.checkFrame(text, isLogin ? undefined : next.name);
  }

  #isAnswer(frame: Frame, next: Pending | undefined): boolean {
    const name = frame[0] as string;
    if (name !== "error" || frame.length === 3) {
      return ["success", "error", "pong", "authenticated"].includes(name);
    }
    const { code = "" } = (frame[1] ?? {}) as { code?: string };
    if (next === undefined || next.id !== undefined) return false;
    // A ping may be pending when a user loses the right to stay logged in. A ping requires no
    // permission, so an `auth.` error is never the response to a ping.
    const endsLogin = next.name === "ping" && code.startsWith("auth.");
    return !endsLogin && !ofConnection.has(code);
  }
}

function pendingOf(text: string | Uint8Array): Pending {
  const frame = typeof text === "string" ? parsed(text) : undefined;
  if (!Array.isArray(frame)) return { name: "", id: undefined, data: "" };
  const [name, second] = frame as unknown[];
  const isCommand = typeof name === "string" && frame.length <= 3;
  const hasId = frame.length === 3 && name !== "ping";
  return {
    name: isCommand ? name : "",
    id: hasId ? JSON.stringify(second) : undefined,
    data: name === "ping" ? JSON.stringify(second ?? null) : "null",
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
