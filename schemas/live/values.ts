import { type Static, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { Faults } from "../errors.js";
import { Bounds, Expected } from "../plain/texts.js";
import { OneOf, Text, TextOrNull } from "../values.js";
import type { LiveErrorCode } from "./errors.js";

/** A payload without content: the web client of Venueless sends `null`. */
export const Nothing = Type.Unsafe<Record<string, unknown> | null | undefined>(
  Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()], {
    description: "Nothing: an empty object, or null.",
    [Expected]: "an object or null",
  }),
);

/** An object whose unknown keys are ignored. */
export const Payload = <P extends TProperties>(properties: P, options: object = {}): TObject<P> =>
  Type.Object(properties, { ...options, additionalProperties: true });

/** Any JSON object. */
export const AnyObject = Type.Unsafe<Record<string, unknown>>(
  Type.Object({}, { additionalProperties: true }),
);

/** An empty object: the answer of a command without a result. */
export const Empty = Type.Object({}, { additionalProperties: false });

/** A whole number. Decimal text is accepted, as forms send it. */
export const Whole = (options: { minimum: number; maximum: number }) =>
  Type.Unsafe<number | string>(
    Type.Union([Type.Integer(options), Text({ pattern: "^-?[0-9]{1,15}$", [Bounds]: options })], {
      [Expected]: `a whole number from ${options.minimum} to ${options.maximum}`,
    }),
  );

/**
 * The id of something. Any value is accepted: a malformed id names nothing, as an
 * unknown one does.
 */
export const Id = Type.Unknown({ description: "An id." });

/** A point in time, or null. */
export const TimeOrNull = TextOrNull({ format: "date-time" });

/** How many people a room has: none, one to ten, or more. */
export const Crowd = OneOf("none", "few", "many");

/** The number of people, for clients that asked for changes at login. */
export const Count = Type.Integer({
  minimum: 0,
  description:
    "Exact below 100, then rounded to two digits. Only clients that asked for changes at login get it.",
});

/** A room in a payload, by its id, which is also the id of its channel. */
export const roomName = { room: Type.Optional(Id), channel: Type.Optional(Id) };

/** A payload that only names a room. */
export const RoomName = Payload(roomName);

/** What a client may send as a command, and what it gets. */
export interface Command<P extends TSchema, R extends TSchema> {
  readonly summary: string;
  readonly payload: P;
  readonly result: R;
  /** Its errors, without the errors of all commands. */
  readonly errors: readonly LiveErrorCode[];
  /** A payload that the AsyncAPI document shows. */
  readonly example: Static<P>;
}

/** Declares a command: the type of its example follows from its payload. */
export const command = <P extends TSchema, R extends TSchema>(
  declared: Command<P, R>,
): Command<P, R> => declared;

const id = "5ad5b0a4-2d0c-4c63-a2a8-1c63b3f0a9d7";

/** Ids for examples. */
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

/** Why a command failed. Programs read the code. */
export const LiveProblem = Type.Object(
  {
    code: Type.String({ pattern: "^[a-z_]+(\\.[a-z_]+)+$" }),
    message: Type.Optional(Type.String()),
    details: Type.Optional(Type.Unsafe<Faults>({ ...Faults, $id: undefined })),
  },
  { additionalProperties: false },
);
export type LiveProblem = Static<typeof LiveProblem>;

/** The credentials of a login. With both, the token counts. */
export const Login = Payload({
  token: Type.Optional(Type.Unknown({ description: "A JWT, as text. Null counts as left out." })),
  client_id: Type.Optional(
    Type.Unknown({
      description: "The name of a guest: 1 to 200 characters of A-Z a-z 0-9 . _ ~ -, or a number.",
    }),
  ),
  changes: Type.Optional(
    Type.Boolean({
      description:
        "Whether to get `world.changed` instead of `world.updated`, and the `count` of the people in each room.",
    }),
  ),
});

export { AnyObjectOrNull } from "../values.js";
