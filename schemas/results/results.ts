import { type Static, Type } from "@sinclair/typebox";
import { time } from "../event-dates.js";
import { OneOf, Text } from "../values.js";
import { WorldParams } from "../worlds.js";

const count = (description: string) => Type.Integer({ minimum: 0, description });

/** The activity in a world. */
export const Activity = Type.Object(
  {
    connections: count("Websockets that are logged in."),
    users: count("How many users they belong to."),
    messages: count("Chat messages that were sent, without edits."),
    slow_readers: count("Websockets that were dropped because they did not read."),
    rooms: Type.Array(
      Type.Object({ id: Text({ format: "uuid" }), viewers: count("How many users are in it.") }),
      { description: "The rooms with an audience that the caller may see, largest first." },
    ),
    since: Type.String({
      format: "date-time",
      description: "When messages and slow_readers were 0.",
    }),
    overdue_erasure: Type.Optional(
      Type.String({
        format: "date-time",
        description:
          "The time of the oldest deletion whose data is still in the server's database files. Only present if that is more than a day ago; the server's log says why.",
      }),
    ),
  },
  {
    $id: "Activity",
    description: "A world's current activity, in all processes of the server.",
    examples: [
      {
        connections: 212,
        users: 198,
        messages: 5120,
        slow_readers: 0,
        rooms: [{ id: "0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10", viewers: 180 }],
        since: "2027-01-31T09:30:00.000Z",
      },
    ],
  },
);
export type Activity = Static<typeof Activity>;

/** The formats of results. */
export const formats = ["json", "csv", "xlsx"] as const;
export type ResultsFormat = (typeof formats)[number];

/** The kinds of results. */
export const resultsKinds = [
  "people",
  "chat",
  "questions",
  "polls",
  "attendance",
  "activity",
  "calls",
  "feedback",
] as const;
export type ResultsKind = (typeof resultsKinds)[number];

export const ResultsQuery = Type.Object({
  room: Type.Optional(
    Text({
      description: "The id of a room. Not for `people`, which do not belong to rooms.",
    }),
  ),
  format: Type.Optional(OneOf(...formats)),
  columns: Type.Optional(
    Type.Unsafe<"technical" | "readable">({
      ...OneOf("technical", "readable"),
      description:
        "For CSV and XLSX: `readable` has names instead of ids, times in the event's time zone, plain headings, and no deleted content. Defaults to `technical`.",
    }),
  ),
  locale: Type.Optional(
    Type.Unsafe<"en" | "de">({
      ...OneOf("en", "de"),
      description: "The language of `readable` headings; defaults to English.",
    }),
  ),
  after: Type.Optional(
    Text({
      ...time,
      description: "Only for `activity`: starts at this time.",
    }),
  ),
  every: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1440,
      description:
        "Only for `activity`: the minutes per record, which contains the largest number of people in that time. Defaults to 1.",
    }),
  ),
});

export type ResultsQuery = Static<typeof ResultsQuery>;

export const ResultsParams = Type.Object({
  ...WorldParams.properties,
  kind: Type.Unsafe<ResultsKind>({
    ...OneOf(...resultsKinds),
    description:
      "`people`, `chat`, `questions`, `polls`, `attendance` (who was where), `activity` (how many people were in rooms, and how many messages they sent, minute by minute) `calls` (of each room: when, how many people at most, and for how many minutes together) or `feedback` (anonymous ratings of sessions).",
    examples: ["people"],
  }),
});

/** Results as JSON records. */
export const ResultsList = Type.Object(
  { results: Type.Array(Type.Object({}, { additionalProperties: true })) },
  {
    $id: "ResultsList",
    description: "The results of an event. The fields are the columns of the CSV.",
  },
);

export const ReportParams = Type.Object({
  ...WorldParams.properties,
  report: Type.String({ description: "A sealed report name." }),
});
