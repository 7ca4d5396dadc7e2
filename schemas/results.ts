import { Type } from "@sinclair/typebox";
import { OneOf, Text } from "./values.js";
import { WorldParams } from "./worlds.js";

/** The forms of results. */
export const formats = ["json", "csv", "xlsx"] as const;
export type ResultsFormat = (typeof formats)[number];

export const ResultsQuery = Type.Object({
  room: Type.Optional(Text({ description: "Only of this room: its id." })),
  format: Type.Optional(OneOf(...formats)),
});

export const ResultsParams = Type.Object({
  ...WorldParams.properties,
  kind: Type.String({
    description: "`people`, `chat`, `questions` or `polls`.",
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
