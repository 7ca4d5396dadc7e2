import { type Static, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { Faults } from "../errors.js";
import { Bounds, Expected } from "../plain/texts.js";
import { OneOf, Text, TextOrNull } from "../values.js";
import type { LiveErrorCode } from "./errors.js";

/** An empty payload. Venueless's web client sends `null`. */
export const Nothing = Type.Unsafe<Record<string, unknown> | null | undefined>(
  Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()], {
    description: "Nothing: an empty object, or null.",
    [Expected]: "an object or null",
  }),
);

/** Returns the schema of an object whose unknown keys are ignored. */
export const Payload = <P extends TProperties>(properties: P, options: object = {}): TObject<P> =>
  Type.Object(properties, { ...options, additionalProperties: true });

/** Any JSON object. */
export const AnyObject = Type.Unsafe<Record<string, unknown>>(
  Type.Object({}, { additionalProperties: true }),
);

/** An empty object: the result of a command that returns nothing. */
export const Empty = Type.Object({}, { additionalProperties: false });

/** Returns the schema of an integer. Decimal strings are accepted, because forms send them. */
export const Whole = (options: { minimum: number; maximum: number }) =>
  Type.Unsafe<number | string>(
    Type.Union([Type.Integer(options), Text({ pattern: "^-?[0-9]{1,15}$", [Bounds]: options })], {
      [Expected]: `a whole number from ${options.minimum} to ${options.maximum}`,
    }),
  );

/** An id. Any value is accepted: a malformed id is treated like an unknown id. */
export const Id = Type.Unknown({ description: "An id." });

/** A timestamp or null. */
export const TimeOrNull = TextOrNull({ format: "date-time" });

/** The rough number of people in a room: none, one to ten, or more. */
export const Crowd = OneOf("none", "few", "many");

/** The number of people in a room, for clients that requested changes at login. */
export const Count = Type.Integer({
  minimum: 0,
  description:
    "Exact below 100, then rounded to two digits. Sent only to clients that requested changes at login.",
});

/** A payload's reference to a room, by the room's id, which is also the id of the room's channel. */
export const roomName = { room: Type.Optional(Id), channel: Type.Optional(Id) };

/** A payload that only refers to a room. */
export const RoomName = Payload(roomName);

/** The schema of a command, with its payload and its result. */
export interface CommandSchema<P extends TSchema, R extends TSchema> {
  readonly summary: string;
  readonly payload: P;
  readonly result: R;
  /** The command's own errors, in addition to the errors that every command may return. */
  readonly errors: readonly LiveErrorCode[];
  /** An example payload for the AsyncAPI document. */
  readonly example: Static<P>;
}

/** Declares a command, and infers the types of its payload and example. */
export const command = <P extends TSchema, R extends TSchema>(
  declared: CommandSchema<P, R>,
): CommandSchema<P, R> => declared;

const id = "5ad5b0a4-2d0c-4c63-a2a8-1c63b3f0a9d7";

/** Example ids. */
export const some = {
  user: { id: "0b7a7d5e-9f2b-4f3c-8a51-6f6f0c9f5a10" },
  room: { room: id },
  channel: { channel: id },
  announcement: "8f0d5c0e-6f0a-4f49-9d55-1f0e6d2c7b31",
  question: "6c1e2f34-73a4-4f0e-8d15-0a9f2b6f7c21",
  poll: "2f4b9a63-1c0d-4e72-9b38-5d6a7e8f9012",
  option: "d1c7e5a8-0b3f-4c96-a2d4-7e1f3b5a6c80",
};

// Frames that are neither commands nor pushes of a module.

/** The reason why a command failed. Programs should read the code. */
export const LiveProblem = Type.Object(
  {
    code: Type.String({ pattern: "^[a-z_]+(\\.[a-z_]+)+$" }),
    message: Type.Optional(Type.String()),
    details: Type.Optional(Type.Unsafe<Faults>({ ...Faults, $id: undefined })),
    retry_after: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "The number of seconds after which it may succeed.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type LiveProblem = Static<typeof LiveProblem>;

/** The credentials of a login. If both are present, the token is used. */
export const Login = Payload({
  token: Type.Optional(
    Type.Unknown({ description: "A JWT. Null has the same effect as omitting it." }),
  ),
  client_id: Type.Optional(
    Type.Unknown({
      description: "The name of a guest: 1 to 200 characters of A-Z a-z 0-9 . _ ~ -, or a number.",
    }),
  ),
  profile: Type.Optional(
    Type.Unknown({
      description:
        "The profile of a guest whom the event does not know yet, as in `user.update`. Moderators see its name while the guest waits for approval.",
    }),
  ),
  changes: Type.Optional(
    Type.Boolean({
      description:
        "Whether to receive `world.changed` instead of `world.updated`, and the `count` of people in each room.",
    }),
  ),
  poll_kinds: Type.Optional(
    Type.Array(Type.String(), {
      maxItems: 100,
      description:
        "The kinds of polls that the client supports: any of choice, multi, words, text, scale, rank and quiz. The client receives only these, with their `poll_type` and `settings`. Defaults to choice and multi.",
    }),
  ),
});

export { AnyObjectOrNull } from "../values.js";
