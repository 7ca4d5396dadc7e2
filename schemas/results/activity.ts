import { Type, type Static } from "@sinclair/typebox";
import { Text } from "../values.js";

const count = (description: string) =>
  Type.Integer({ minimum: 0, description });

/** The activity in a world. */
export const Activity = Type.Object(
  {
    connections: count("Websockets that are logged in."),
    users: count("How many users they belong to."),
    messages: count("Chat messages that were sent, without edits."),
    slow_readers: count(
      "Websockets that were dropped because they did not read.",
    ),
    rooms: Type.Array(
      Type.Object({
        id: Text({ format: "uuid" }),
        viewers: count("How many users are in it."),
      }),
      {
        description:
          "The rooms with an audience that the caller may see, the largest first.",
      },
    ),
    since: Type.String({
      format: "date-time",
      description: "When messages and slow_readers were 0.",
    }),
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
