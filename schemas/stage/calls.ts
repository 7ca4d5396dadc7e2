import { type Static, Type } from "@sinclair/typebox";
import { CallAccess } from "../live/calls.js";
import { CALL_ENGINES, CALL_MODES } from "../plain/calls.js";
import { OneOf, Text } from "../values.js";

const user = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

/** Access to a room's call, for clients that are not part of Foyer. */
export const JoinedCall = Type.Object(CallAccess.properties, {
  $id: "JoinedCall",
  description: "What a device needs to enter a call at the media server.",
  additionalProperties: false,
  examples: [
    {
      engine: "livekit",
      url: "wss://live.example.org",
      token: "eyJhbGciOiJIUzI1NiJ9.e30.c2ln",
      identity: `${user}:q83vEjRWeJq8`,
      mode: "call",
      speak: true,
      moderate: false,
      expires: 1801474200,
    },
  ],
});

const Participant = Type.Object(
  {
    user_id: Text({ format: "uuid" }),
    name: Type.String({ description: "The display name; empty if there is none." }),
    joined: Text({ format: "date-time" }),
    speaks: Type.Boolean({ description: "Whether the person publishes anything." }),
    on_stage: Type.Boolean({ description: "Whether the person was invited to the stage." }),
    microphone: Type.Boolean(),
    camera: Type.Boolean(),
    screen: Type.Boolean(),
  },
  { additionalProperties: false },
);

/** A room's call, as moderators see it. */
export const RoomCall = Type.Object(
  {
    mode: OneOf(...CALL_MODES),
    people: Type.Integer({ minimum: 0 }),
    started: Type.Unsafe<string | null>({
      ...Text({ format: "date-time", description: "Null if nobody is in the call." }),
      type: ["string", "null"],
    }),
    participants: Type.Array(Participant, {
      description: "The people in the call, in the order in which they joined. No screens.",
    }),
    hands: Type.Array(
      Type.Object(
        { user: Text({ format: "uuid" }), raised: Text({ format: "date-time" }) },
        { additionalProperties: false },
      ),
      { description: "The raised hands, in order." },
    ),
  },
  {
    $id: "RoomCall",
    description: "The people in a room's call.",
    additionalProperties: false,
    examples: [
      {
        mode: "stage",
        people: 1,
        started: "2027-01-31T09:30:00.000Z",
        participants: [
          {
            user_id: user,
            name: "Ada",
            joined: "2027-01-31T09:30:00.000Z",
            speaks: true,
            on_stage: true,
            microphone: true,
            camera: false,
            screen: false,
          },
        ],
        hands: [],
      },
    ],
  },
);
export type RoomCall = Static<typeof RoomCall>;

/** The server's call engines. */
export const CallEngineList = Type.Object(
  { results: Type.Array(OneOf(...CALL_ENGINES)) },
  {
    $id: "CallEngineList",
    description: "The server's call engines.",
    examples: [{ results: ["livekit"] }],
  },
);
