import { type Static, Type } from "@sinclair/typebox";
import { CALL_MODES, CALL_SOURCES } from "../plain/calls.js";
import { List, OneOf, Text } from "../values.js";
import { onChannel, onRoom, onUser } from "./errors.js";
import { PublicUser } from "./users.js";
import { command, Empty, Id, Payload, RoomName, roomName, some } from "./values.js";

const seconds = (description: string) => Type.Integer({ minimum: 0, description });

const People = Type.Integer({
  minimum: 0,
  description: "How many people are in the call. A person with two devices counts once.",
});

const Started = Type.Unsafe<string | null>({
  ...Text({ format: "date-time", description: "Null if nobody is in the call." }),
  type: ["string", "null"],
});

const Speakers = Type.Array(PublicUser, { description: "Who publishes sound or a picture." });

/** A raised hand. */
const Hand = Type.Object(
  { user: Text({ format: "uuid" }), raised: Text({ format: "date-time" }) },
  { additionalProperties: false },
);

const Hands = Type.Unsafe<Static<typeof Hand>[] | number>(
  Type.Union([List(Hand, 1000), Type.Integer({ minimum: 0 })], {
    description: "The raised hands in their order; for others than moderators, how many there are.",
  }),
);

const Position = Type.Optional(
  Type.Integer({ minimum: 1, description: "The place of the caller's own raised hand." }),
);

/** Access to a call at the media server. */
export const CallAccess = Type.Object(
  {
    engine: Type.Literal("livekit"),
    url: Type.String({ description: "Where the media server is." }),
    token: Type.String({ description: "Admits one device to this call." }),
    identity: Type.String({ description: "The name of this device: `<user id>:<random>`." }),
    mode: OneOf(...CALL_MODES),
    speak: Type.Boolean({ description: "Whether the device may publish." }),
    moderate: Type.Boolean(),
    expires: seconds("Until when the token admits, in seconds since 1970."),
  },
  { additionalProperties: false },
);
export type CallAccess = Static<typeof CallAccess>;

/** A room's call, as a user sees it. */
export const SentCall = Type.Object(
  {
    people: People,
    speakers: Speakers,
    started: Started,
    on_stage: Type.Optional(
      List(Text({ format: "uuid" }), 1000, {
        description: "Who was invited to the stage. Only for `call.moderate`.",
      }),
    ),
    hands: Hands,
    position: Position,
  },
  { additionalProperties: false },
);
export type SentCall = Static<typeof SentCall>;

const nobody = (description: string) =>
  Type.Unsafe<string | null>({ type: ["string", "null"], description });

/** A recording of a BigBlueButton room. */
const Recording = Type.Object(
  {
    start: Text({ format: "date-time" }),
    end: Text({ format: "date-time" }),
    participants: nobody("How many took part, as BigBlueButton says it."),
    state: nobody("Such as published."),
    url: nobody("The presentation."),
    url_video: nobody("The video."),
    url_screenshare: nobody("The shared screen."),
    url_notes: nobody("The notes."),
  },
  { additionalProperties: false },
);
export type Recording = Static<typeof Recording>;

const Url = Type.Object({ url: Text({ format: "uri" }) }, { additionalProperties: false });

const onCall = [...onRoom, "call.unknown"] as const;
const onEngine = [...onCall, "call.unavailable"] as const;
const named = { ...roomName, user: Id };
const someone = { ...some.room, user: some.user.id };

export const callCommands = {
  "call.join": command({
    summary: "Access to the call of a room or of a direct channel, for one more device",
    payload: RoomName,
    result: CallAccess,
    errors: [
      ...onEngine,
      ...onChannel.filter((code) => code !== "room.unknown"),
      "call.missing_profile",
      "call.full",
    ],
    example: some.room,
  }),
  "call.state": command({
    summary: "Who is in the call of a room, who speaks, and whose hands are raised",
    payload: RoomName,
    result: SentCall,
    errors: onCall,
    example: some.room,
  }),
  "call.stage": command({
    summary: "Invites a person to the stage, or sends them back to the audience",
    payload: Payload({ ...named, on: Type.Boolean() }),
    result: Empty,
    errors: [...onCall, ...onUser, "call.not_on_stage", "call.full"],
    example: { ...someone, on: true },
  }),
  "call.mute": command({
    summary: "Mutes a microphone, a camera or a shared screen. Only its owner can unmute it",
    payload: Payload({ ...named, source: OneOf(...CALL_SOURCES) }),
    result: Empty,
    errors: [...onEngine, ...onUser],
    example: { ...someone, source: "microphone" },
  }),
  "call.remove": command({
    summary: "Removes all devices of a person. They may come back unless their rights change",
    payload: Payload(named),
    result: Empty,
    errors: [...onEngine, ...onUser],
    example: someone,
  }),
  "call.end": command({
    summary: "Ends the call: everyone leaves",
    payload: RoomName,
    result: Empty,
    errors: onEngine,
    example: some.room,
  }),
  "call.decline": command({
    summary: "Stops the ringing of a call in a direct channel, on all devices of the caller",
    payload: Payload({ channel: Type.Optional(Id) }),
    result: Empty,
    errors: [...onChannel, "call.unknown"],
    example: some.channel,
  }),
  "hand.raise": command({
    summary: "Raises the own hand. Idempotent",
    payload: RoomName,
    result: Empty,
    errors: [...onCall, "call.full"],
    example: some.room,
  }),
  "hand.lower": command({
    summary: "Lowers the own hand, or with `call.moderate` another one's. Idempotent",
    payload: Payload({ ...roomName, user: Type.Optional(Id) }),
    result: Empty,
    errors: onCall,
    example: some.room,
  }),
  "bbb.room_url": command({
    summary: "The link into the BigBlueButton meeting of a room",
    payload: RoomName,
    result: Url,
    errors: [...onEngine, "bbb.join.missing_profile", "bbb.failed"],
    example: some.room,
  }),
  "bbb.call_url": command({
    summary: "The link into the BigBlueButton meeting of a call in a direct channel",
    payload: Payload({ call: Id }),
    result: Url,
    errors: ["call.unknown", "call.unavailable", "bbb.join.missing_profile", "bbb.failed"],
    example: { call: some.room.room },
  }),
  "bbb.recordings": command({
    summary: "The recordings of a BigBlueButton room",
    payload: RoomName,
    result: Type.Object({ results: Type.Array(Recording) }, { additionalProperties: false }),
    errors: [...onEngine, "bbb.failed"],
    example: some.room,
  }),
  "jitsi.room_url": command({
    summary: "The link into the Jitsi meeting of a room",
    payload: RoomName,
    result: Url,
    errors: [...onEngine, "call.missing_profile"],
    example: some.room,
  }),
} as const;

const room = Text({ format: "uuid" });
const inRoom = Type.Object({ room }, { additionalProperties: false });
const channel = Type.String({ description: "The id of a direct channel." });
const call = Type.String({ description: "The id of the call." });

export const callPushes = {
  "call.changed": {
    summary: "The people in a room's call changed; sent at most once a second",
    data: Type.Object(
      { room, people: People, speakers: Speakers, started: Started },
      { additionalProperties: false },
    ),
  },
  "call.stage": {
    summary: "The receiver was invited to the stage, or sent back to the audience",
    data: Type.Object({ room, on: Type.Boolean() }, { additionalProperties: false }),
  },
  "call.ended": { summary: "A moderator ended the call that the receiver was in", data: inRoom },
  "hand.changed": {
    summary: "Hands were raised or lowered",
    data: Type.Object({ room, hands: Hands, position: Position }, { additionalProperties: false }),
  },
  "call.ring": {
    summary: "Someone calls in a direct channel",
    data: Type.Object({ channel, call, from: PublicUser }, { additionalProperties: false }),
  },
  "call.declined": {
    summary: "A member of a direct channel declined a call",
    data: Type.Object(
      { channel, call, user: Text({ format: "uuid" }) },
      { additionalProperties: false },
    ),
  },
  "call.over": {
    summary: "A call in a direct channel ended",
    data: Type.Object(
      {
        channel,
        call,
        seconds: Type.Optional(seconds("How long it took.")),
        missed: Type.Optional(Type.Literal(true)),
      },
      { additionalProperties: false },
    ),
  },
} as const;
