import { Type, type Static } from "@sinclair/typebox";
import { time } from "../event-dates.js";
import { OneOf, Text } from "../values.js";
import { WorldParams } from "../worlds.js";

/** The forms of results. */
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
] as const;
export type ResultsKind = (typeof resultsKinds)[number];

export const ResultsQuery = Type.Object({
  room: Type.Optional(
    Text({
      description:
        "Only of this room: its id. Not of `people`, which belong to no room.",
    }),
  ),
  format: Type.Optional(OneOf(...formats)),
  after: Type.Optional(
    Text({
      ...time,
      description:
        "Of `activity`, and of no other kind: only from this time on.",
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
      "`people`, `chat`, `questions`, `polls`, `attendance` (who was where) or `activity` (how many people were in rooms, and how many messages they sent, minute by minute).",
    examples: ["people"],
  }),
});

/** Records, as JSON. */
export const ResultsList = Type.Object(
  { results: Type.Array(Type.Object({}, { additionalProperties: true })) },
  {
    $id: "ResultsList",
    description:
      "The results of an event. The fields are the columns of the CSV.",
  },
);

export const ReportParams = Type.Object({
  ...WorldParams.properties,
  report: Type.String({ description: "A sealed name of a report." }),
});
