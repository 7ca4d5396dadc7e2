import type { TSchema } from "@sinclair/typebox";
import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";
import { commands, LiveProblem, pushes } from "../../schemas/live/index.js";
import { components } from "../../schemas/components.js";

const ajv = new Ajv({ strict: false, allErrors: true });
addFormats.default(ajv);
for (const schema of components) ajv.addSchema(schema);
const compiled = new Map<TSchema, ValidateFunction>();

function check(schema: TSchema, value: unknown, text: string): void {
  let validate = compiled.get(schema);
  if (!validate) compiled.set(schema, (validate = ajv.compile(schema)));
  if (validate(value)) return;
  throw new Error(`${ajv.errorsText(validate.errors)} in ${text.slice(0, 500)}`);
}

/** What one connection sent and received: each frame is held against its schema. */
export class Conversation {
  readonly #sent = new Map<string, string>();

  /** The client sends a message; undefined if it is binary. */
  sent(text: string | undefined): void {
    let frame: unknown;
    try {
      frame = JSON.parse(text ?? "");
    } catch {
      return;
    }
    if (!Array.isArray(frame) || frame.length !== 3) return;
    const [action, id] = frame as unknown[];
    try {
      if (typeof action === "string")
        this.#sent.set(JSON.stringify(id), action);
    } catch {
      // Nested too deep.
    }
  }

  /**
   * The client receives a message.
   * @throws {Error} if the server should not have sent it.
   */
  received(text: string): void {
    const frame = JSON.parse(text) as unknown[];
    const [name, second, third] = frame as [string, unknown, unknown];
    if (!text.startsWith(`["${name}"`)) throw new Error(`not compact: ${text}`);
    if (name === "pong") return;
    if (name === "error") {
      check(LiveProblem, frame.at(-1), text);
    } else if (name === "success") {
      const action = this.#sent.get(JSON.stringify(second)) as "room.enter";
      if (Object.hasOwn(commands, action ?? "")) {
        check(commands[action].result, third, text);
      }
    } else {
      if (!Object.hasOwn(pushes, name)) throw new Error(`unknown: ${text}`);
      check(pushes[name as keyof typeof pushes].data, second, text);
    }
  }
}
