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
      { description: "The rooms with an audience that the caller may see, the largest first." },
    ),
    since: Type.String({
      format: "date-time",
      description: "When messages and slow_readers were 0.",
    }),
    overdue_erasure: Type.Optional(
      Type.String({
        format: "date-time",
        description:
          "When the first of what is still in the files of the server's database was deleted. Only if that is more than a day ago: then the log of the server says why.",
      }),
    ),
  },
  {
    $id: "Activity",
    description: "What goes on in a world, in all processes of the server.",
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
      description: "Only of this room: its id. Not of `people`, which belong to no room.",
    }),
  ),
  format: Type.Optional(OneOf(...formats)),
  columns: Type.Optional(
    Type.Unsafe<"technical" | "readable">({
      ...OneOf("technical", "readable"),
      description:
        "Of CSV and XLSX: `readable` has names instead of ids, times in the zone of the event, headings in words, and nothing that was deleted. By default technical.",
    }),
  ),
  locale: Type.Optional(
    Type.Unsafe<"en" | "de">({
      ...OneOf("en", "de"),
      description: "The language of `readable` headings; by default English.",
    }),
  ),
  after: Type.Optional(
    Text({
      ...time,
      description: "Of `activity`, and of no other kind: only from this time on.",
    }),
  ),
  every: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1440,
      description:
        "Of `activity`, and of no other kind: one record for so many minutes, with the largest number of people in them. By default 1.",
    }),
  ),
});

export type ResultsQuery = Static<typeof ResultsQuery>;

export const ResultsParams = Type.Object({
  ...WorldParams.properties,
  kind: Type.Unsafe<ResultsKind>({
    ...OneOf(...resultsKinds),
    description:
      "`people`, `chat`, `questions`, `polls`, `attendance` (who was where), `activity` (how many people were in rooms, and how many messages they sent, minute by minute) `calls` (of each room: when, how many people at most, and for how many minutes together) or `feedback` (what people think of sessions, without names).",
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
  report: Type.String({ description: "A sealed name of a report." }),
});
