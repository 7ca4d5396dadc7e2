import { Type, type TObject, type TProperties } from "@sinclair/typebox";
import { Bounds, Expected } from "../plain/texts.js";
import { OneOf, Text, TextOrNull } from "../values.js";

export { AnyObjectOrNull } from "../values.js";

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
