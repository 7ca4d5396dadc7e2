import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { announcementCommands, announcementPushes, SentAnnouncement } from "./announcements.js";
import { callCommands, callPushes } from "./calls.js";
import { captionCommands, captionPushes } from "./captions.js";
import { chatCommands, chatPushes, SentChannel } from "./chat.js";
import { heldCommands, heldPushes } from "./held.js";
import { pollCommands, pollPushes } from "./polls.js";
import { programCommands, programPushes, sessionCommands } from "./program.js";
import { questionCommands, questionPushes } from "./questions.js";
import { ratingCommands } from "./ratings.js";
import { recordCommands } from "./records.js";
import { reportCommands, reportPushes } from "./reports.js";
import { screenCommands, screenPushes } from "./screens.js";
import { roomCommands, roomPushes } from "./rooms.js";
import { guestCommands, OwnUser, userCommands, userPushes } from "./users.js";
import { worldCommands, worldPushes, WorldState } from "./world.js";
export * from "./announcements.js";
export * from "./calls.js";
export * from "./captions.js";
export * from "./chat.js";
export * from "./held.js";
export { LiveProblem, Login } from "./values.js";
export * from "./polls.js";
export * from "./program.js";
export * from "./questions.js";
export * from "./ratings.js";
export * from "./records.js";
export * from "./reports.js";
export * from "./rooms.js";
export * from "./screens.js";
export * from "./users.js";
export * from "./world.js";

// The websocket's schemas. live/ declares each command's permission and handler. The AsyncAPI
// document and the client's types are derived from these schemas.

/** The response to `authenticate`: everything that a client needs to start. */
export const Authenticated = Type.Object(
  {
    "user.config": OwnUser,
    "world.config": WorldState,
    "chat.channels": Type.Array(SentChannel),
    "chat.read_pointers": Type.Record(Type.String(), Type.Integer()),
    "chat.notification_counts": Type.Record(Type.String(), Type.Integer()),
    exhibition: Type.Object({
      exhibitors: Type.Array(Type.Unknown()),
      contact_requests: Type.Array(Type.Unknown()),
    }),
    announcements: Type.Array(SentAnnouncement),
    limits: Type.Optional(
      Type.Object(
        { messages_per_second: Type.Number(), messages_at_once: Type.Number() },
        {
          description:
            "How many messages a user may send; only for clients that requested changes.",
        },
      ),
    ),
  },
  { additionalProperties: false },
);
export type Authenticated = Static<typeof Authenticated>;

/** The schemas of all commands, by name. */
export const commands = {
  ...userCommands,
  ...guestCommands,
  ...worldCommands,
  ...recordCommands,
  ...roomCommands,
  ...announcementCommands,
  ...chatCommands,
  ...heldCommands,
  ...reportCommands,
  ...questionCommands,
  ...pollCommands,
  ...programCommands,
  ...sessionCommands,
  ...ratingCommands,
  ...callCommands,
  ...screenCommands,
  ...captionCommands,
};

/** The schemas of all pushes, by name. */
export const pushes = {
  authenticated: { summary: "The response to authenticate", data: Authenticated },
  "connection.reload": {
    summary: "Reload everything; the server closes the connection",
    data: Type.Object({}, { additionalProperties: false }),
  },
  ...userPushes,
  ...worldPushes,
  ...roomPushes,
  ...announcementPushes,
  ...chatPushes,
  ...heldPushes,
  ...reportPushes,
  ...questionPushes,
  ...pollPushes,
  ...programPushes,
  ...callPushes,
  ...screenPushes,
  ...captionPushes,
} as const satisfies Record<string, { summary: string; data: TSchema }>;

/** The types of {@link commands}. */
export type Commands = {
  [N in keyof typeof commands]: {
    payload: Static<(typeof commands)[N]["payload"]>;
    result: Static<(typeof commands)[N]["result"]>;
  };
};
export type CommandName = keyof Commands;

/** The types of {@link pushes}. */
export type Pushes = {
  [N in keyof typeof pushes]: Static<(typeof pushes)[N]["data"]>;
};
export type PushName = keyof Pushes;
