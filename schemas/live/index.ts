import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { announcementCommands, announcementPushes, SentAnnouncement } from "./announcements.js";
import { chatCommands, chatPushes, SentChannel } from "./chat.js";
import { pollCommands, pollPushes } from "./polls.js";
import { programCommands, programPushes } from "./program.js";
import { questionCommands, questionPushes } from "./questions.js";
import { recordCommands } from "./records.js";
import { roomCommands, roomPushes } from "./rooms.js";
import { OwnUser, userCommands, userPushes } from "./users.js";
import { worldCommands, worldPushes, WorldState } from "./world.js";
export * from "./announcements.js";
export * from "./chat.js";
export { LiveProblem, Login } from "./values.js";
export * from "./polls.js";
export * from "./program.js";
export * from "./questions.js";
export * from "./records.js";
export * from "./rooms.js";
export * from "./users.js";
export * from "./world.js";

// The schemas of the websocket. live/ declares the permission and the handler of each
// command; the AsyncAPI document and the types of the client follow from here.

/** Everything that a client needs at once, in the answer to `authenticate`. */
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
        { description: "How many messages a user may send, for clients that asked for changes." },
      ),
    ),
  },
  { additionalProperties: false },
);
export type Authenticated = Static<typeof Authenticated>;

/** Every command by its name. */
export const commands = {
  ...userCommands,
  ...worldCommands,
  ...recordCommands,
  ...roomCommands,
  ...announcementCommands,
  ...chatCommands,
  ...questionCommands,
  ...pollCommands,
  ...programCommands,
};

/** The data of every push, by its name. */
export const pushes = {
  authenticated: { summary: "The answer to authenticate", data: Authenticated },
  "connection.reload": {
    summary: "Load everything again; the server closes the connection",
    data: Type.Object({}, { additionalProperties: false }),
  },
  ...userPushes,
  ...worldPushes,
  ...roomPushes,
  ...announcementPushes,
  ...chatPushes,
  ...questionPushes,
  ...pollPushes,
  ...programPushes,
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
