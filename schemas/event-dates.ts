import { type Static, Type } from "@sinclair/typebox";
import { PROGRAM_TEXTS } from "./plain/program.js";
import { Expected } from "./plain/texts.js";
import { TIME_PATTERN } from "./plain/times.js";
import { Text, TextOrNull } from "./values.js";

/** An RFC 3339 timestamp with an offset. */
export const time = {
  format: "date-time",
  pattern: TIME_PATTERN,
  [Expected]: "a time with an offset, such as 2027-01-31T09:30:00Z",
};

/** A {@link time}, or null. */
export const TimeOrNull = TextOrNull(time);

/** The event's dates, tagline, cover and location, as stored in the world's `config`. */
export const EventDates = Type.Object(
  {
    starts_at: Type.Optional(TimeOrNull),
    ends_at: Type.Optional(TimeOrNull),
    tagline: Type.Optional(Text({ maxLength: PROGRAM_TEXTS.title })),
    cover: Type.Optional(
      Type.Unsafe<{ url: string } | null>(
        Type.Union(
          [
            Type.Object(
              { url: Text({ minLength: 1, maxLength: PROGRAM_TEXTS.address }) },
              { additionalProperties: false },
            ),
            Type.Null(),
          ],
          { [Expected]: "null or an object with a url" },
        ),
      ),
    ),
    location: Type.Optional(Text({ maxLength: PROGRAM_TEXTS.title })),
  },
  { additionalProperties: false },
);
export type EventDates = Static<typeof EventDates>;
