import { Type } from "@sinclair/typebox";
import { RATING } from "../plain/stage/feedback.js";
import { Text } from "../values.js";
import { command, Empty, Id, Nothing, Payload } from "./values.js";

const stars = Type.Integer({ minimum: 1, maximum: RATING.stars });
const text = Text({ maxLength: RATING.text, description: "A comment; empty if there is none." });

export const ratingCommands = {
  "session.rate": command({
    summary: "Rates a session that is over, replacing the user's earlier rating",
    payload: Payload({ session: Id, stars, text: Type.Optional(text) }),
    result: Empty,
    errors: ["program.unknown", "session.not_rateable"],
    example: { session: "3d0f6a52-64f4-4c2d-8d0c-6a0e8f3c5b21", stars: 5, text: "Lively!" },
  }),
  "session.ratings": command({
    summary: "The user's own ratings and, for speakers, the averages of their sessions",
    payload: Nothing,
    result: Type.Object(
      {
        asks: Type.Boolean({ description: "Whether the event asks people to rate sessions." }),
        ratings: Type.Array(
          Type.Object({ session: Text(), stars, text }, { additionalProperties: false }),
        ),
        averages: Type.Array(
          Type.Object(
            {
              session: Text(),
              stars: Type.Number({ description: "The average, with one decimal place." }),
              count: Type.Integer({ description: "How many people rated it." }),
            },
            { additionalProperties: false },
          ),
          {
            description:
              "For the user's sessions with at least three ratings, if the event shows averages to speakers.",
          },
        ),
      },
      { additionalProperties: false },
    ),
    errors: [],
    example: {},
  }),
} as const;
