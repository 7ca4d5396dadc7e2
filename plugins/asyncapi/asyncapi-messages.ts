import { pascalCase } from "../../schemas/feed-data.js";
import {
  commonErrors,
  loginErrors,
  nonCommandErrors,
  unsolicitedErrors,
} from "../../schemas/live/errors.js";
import { type CommandName, commands, Login, pushes } from "../../schemas/live/index.js";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";
import { titled, toAsyncapiSchema, unsupportedErrors } from "./schemas.js";

// Describes every frame as a message. A message's key combines the frame's kind with the name of
// the command or push, because `command.room.create` and `push.room.create` are different messages.

const id = { $ref: "#/components/schemas/CommandId" };
const anything = { description: "Any JSON." };

/**
 * Builds the schema of a JSON array with exactly these elements, in JSON Schema draft 7.
 * @param title the name that code generators use, such as `RoomCreateCommand`.
 */
const frame = (title: string, ...items: JsonObject[]): JsonObject => ({
  title,
  type: "array",
  items: items.map((item, i) =>
    "const" in item ? item : titled(item, `${title}${FRAME_PARTS[i]}`),
  ),
  minItems: items.length,
  additionalItems: false,
});

/** Names for a frame's elements: the word, then an id or the data, then the data that follows an id. */
const FRAME_PARTS = ["Word", "Value", "Data"];

/** The frame's second element is the command's id, which the response repeats. */
const correlationId = { location: "$message.payload#/1" };

const problemOf = (codes: readonly string[]): JsonObject => ({
  allOf: [{ $ref: "#/components/schemas/LiveProblem" }, { properties: { code: { enum: codes } } }],
});

const refusal = (name: string, codes: readonly string[]): JsonObject => ({
  name: "error",
  title: name,
  summary: `${name} failed.`,
  correlationId,
  payload: frame(`${pascalCase(name)}Refusal`, { const: "error" }, id, problemOf(codes)),
});

function messagesOf(name: CommandName): [string, JsonObject][] {
  const { summary, payload, result, errors, example } = commands[name];
  return [
    [
      `command.${name}`,
      {
        name,
        title: name,
        summary: `${summary}.`,
        correlationId,
        payload: frame(
          `${pascalCase(name)}Command`,
          { const: name },
          id,
          toAsyncapiSchema(payload),
        ),
        examples: [{ payload: [name, 1, example] }],
      },
    ],
    [
      `success.${name}`,
      {
        name: "success",
        title: name,
        summary: `${name} succeeded.`,
        correlationId,
        payload: frame(
          `${pascalCase(name)}Success`,
          { const: "success" },
          id,
          toAsyncapiSchema(result),
        ),
      },
    ],
    [`error.${name}`, refusal(name, [...errors, ...commonErrors])],
  ];
}

function pushMessages(): [string, JsonObject][] {
  return Object.entries(pushes).map(([name, { summary, data }]) => [
    `push.${name}`,
    {
      name,
      title: name,
      summary: `${summary}.`,
      payload: frame(`${pascalCase(name)}Push`, { const: name }, toAsyncapiSchema(data)),
    },
  ]);
}

const login = (): Record<string, JsonObject> => ({
  "command.authenticate": {
    name: "authenticate",
    title: "authenticate",
    summary: "Logs in.",
    payload: frame("AuthenticateCommand", { const: "authenticate" }, toAsyncapiSchema(Login)),
    examples: [
      { payload: ["authenticate", { client_id: "0b7a7d5e-9f2b" }] },
      { payload: ["authenticate", { token: "eyJhbGciOiJIUzI1NiJ9.e30.x" }] },
    ],
  },
  "error.authenticate": {
    name: "error",
    title: "authenticate",
    summary: "The login failed. The connection stays open.",
    payload: frame("AuthenticateRefusal", { const: "error" }, problemOf(loginErrors)),
  },
});

const ping: Record<string, JsonObject> = {
  "command.ping": {
    name: "ping",
    title: "ping",
    summary: "Asks whether the connection works.",
    payload: frame("Ping", { const: "ping" }, anything),
    examples: [{ payload: ["ping", 1766000000000] }],
  },
  "success.ping": {
    name: "pong",
    title: "pong",
    summary: "The response to ping, with the same data.",
    payload: frame("Pong", { const: "pong" }, anything),
  },
};

const errors: Record<string, JsonObject> = {
  "error.unasked": {
    name: "error",
    title: "error",
    summary: "A failure that does not belong to a command with an id.",
    payload: frame("UnaskedError", { const: "error" }, problemOf(unsolicitedErrors)),
  },
  "error.unknown_command": {
    name: "error",
    title: "error",
    summary: "The response to an unknown command. Has no id if the command had none.",
    correlationId,
    payload: frame(
      "UnknownCommand",
      { const: "error" },
      id,
      problemOf([...nonCommandErrors, ...unsupportedErrors]),
    ),
  },
};

/** Returns all messages on the websocket channel, by key. */
export function messagesOfChannel(): Record<string, JsonObject> {
  const names = Object.keys(commands) as CommandName[];
  return {
    ...login(),
    ...ping,
    ...Object.fromEntries(names.flatMap(messagesOf)),
    ...Object.fromEntries(pushMessages()),
    ...errors,
  };
}
