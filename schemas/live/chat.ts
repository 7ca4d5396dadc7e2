import { type Static, Type } from "@sinclair/typebox";
import { Expected } from "../plain/texts.js";
import { List, OneOf, Text } from "../values.js";
import { onChannel } from "./errors.js";
import { HeldMessage } from "./held.js";
import { PublicUser } from "./users.js";
import { AnyObject, command, Empty, Id, Payload, some } from "./values.js";

/** The keys of message content, by content type. */
export const CONTENT_KEYS = {
  text: ["body"],
  files: ["files", "body"],
  call: ["body"],
  deleted: [],
} as const;

/**
 * The keys allowed in content of every type. `local_id` and `client` identify the message for its
 * sender, and `reply_to` identifies the message that is being replied to.
 */
export const COMMON_KEYS: readonly string[] = [
  "type",
  "reply_to",
  "local_id",
  "timestamp",
  "client",
  "preview_card",
];

/** The keys allowed in a message's files. */
export const FILE_KEYS: readonly string[] = ["url", "name", "mimeType"];

/** Maximum number of files in a message. */
export const MAX_FILES = 100;

const eventId = Type.Integer({ minimum: 1 });
const userId = Text({ format: "uuid" });

const eventFields = {
  event_id: eventId,
  channel: Type.String({ description: "For a room, the id of the room." }),
  sender: Type.Unsafe<string | null>(
    Type.Union([userId, Type.Null()], { description: "The id of a user." }),
  ),
  timestamp: Text({ format: "date-time" }),
  event_type: OneOf("channel.message", "channel.member", "channel.poll"),
  content: Type.Unsafe<Record<string, unknown>>({
    ...AnyObject,
    description:
      "For a message: type (text, files, call or deleted), body, files, and any of reply_to, local_id, client, timestamp and preview_card that were sent. For a member event: membership (join or leave) and user.",
  }),
  edited: Type.Unsafe<string | null>(Type.Union([Text({ format: "date-time" }), Type.Null()])),
  replaces: Type.Unsafe<number | null>(
    Type.Union([eventId, Type.Null()], {
      description: "The event whose content this one replaces.",
    }),
  ),
  reactions: Type.Record(Type.String(), Type.Array(userId), {
    description: "The users who reacted, by emoji.",
  }),
};

const users = Type.Record(Type.String(), PublicUser, {
  description: "The users in the event or page that this connection does not know yet, by id.",
});

/** An event in a channel. */
export const SentEvent = Type.Object(eventFields, { additionalProperties: false });
export type SentEvent = Static<typeof SentEvent>;

const typed = <T extends string>(type: T) =>
  Type.Object({ ...eventFields, type: OneOf(type) }, { additionalProperties: false });

/** An event in a page or in a notification. */
export const TypedEvent = typed("chat.event");
export type TypedEvent = Static<typeof TypedEvent>;

const PushedEvent = Type.Object({ ...eventFields, users }, { additionalProperties: false });

/** A channel in a user's list of channels. */
export const SentChannel = Type.Object(
  {
    id: Type.String(),
    unread_pointer: Type.Integer({
      minimum: 0,
      description: "The id of the last event that is not a member event, or 0.",
    }),
    members: Type.Optional(Type.Array(PublicUser, { description: "Only for a direct channel." })),
  },
  { additionalProperties: false },
);
export type SentChannel = Static<typeof SentChannel>;

const stateFields = {
  state: Type.Null(),
  next_event_id: Type.Integer({
    minimum: 1,
    description: "Fetch the events before this id; later events are pushed.",
  }),
  unread_pointer: Type.Integer({ minimum: 0 }),
  members: Type.Array(PublicUser, {
    description:
      "The members who joined last, at most 1,000 and 256 KiB. Empty if memberships are volatile.",
  }),
};

/** A channel in the response to a subscription. */
export const ChannelState = Type.Object(
  {
    ...stateFields,
    events: Type.Optional(
      Type.Array(TypedEvent, {
        description: "With `after`: the events after it, at most 1,000.",
      }),
    ),
    users: Type.Optional(users),
  },
  { additionalProperties: false },
);
export type ChannelState = Static<typeof ChannelState>;

const channel = Type.Optional(Id);
const ChannelName = Payload({ channel });

/**
 * An event id as sent by clients. Decimal text is accepted, because some clients request the newest
 * events with 2^63 - 1, which no double can represent.
 */
const EventId = Type.Unsafe<number | string>(
  Type.Union([Type.Integer({ minimum: 0, maximum: 2 ** 63 }), Text({ pattern: "^[0-9]{1,19}$" })], {
    [Expected]: "the id of an event",
  }),
);

const Count = Type.Unsafe<number | string>(
  Type.Union([Type.Integer({ minimum: 0 }), Text({ pattern: "^[0-9]{1,15}$" })], {
    [Expected]: "a whole number that is not negative",
  }),
);

export const chatCommands = {
  "chat.subscribe": command({
    summary: "Subscribes to a channel's events, from now on or starting after an event",
    payload: Payload({ channel, after: Type.Optional(EventId) }),
    result: ChannelState,
    errors: [...onChannel, "protocol.denied", "server.too_large"],
    example: { ...some.channel, after: 1204 },
  }),
  "chat.unsubscribe": command({
    summary: "Unsubscribes from a channel's events",
    payload: ChannelName,
    result: Empty,
    errors: [...onChannel, "protocol.denied"],
    example: some.channel,
  }),
  "chat.join": command({
    summary: "Becomes a member of the channel of a room, and subscribes to it",
    payload: Payload({ channel, volatile: Type.Optional(Type.Boolean()) }),
    result: ChannelState,
    errors: [...onChannel, "protocol.denied", "channel.join.missing_profile"],
    example: some.channel,
  }),
  "chat.leave": command({
    summary: "Ends the membership in the channel of a room, or hides a direct channel",
    payload: ChannelName,
    result: Empty,
    errors: [...onChannel, "protocol.denied"],
    example: some.channel,
  }),
  "chat.send": command({
    summary: "Sends, edits or deletes a message",
    payload: Payload({
      channel,
      event_type: Type.Optional(Type.Unknown()),
      content: AnyObject,
      replaces: Type.Optional(Type.Unknown({ description: "The id of an event, or null." })),
    }),
    result: Type.Object(
      {
        event: Type.Optional(SentEvent),
        held: Type.Optional(
          Type.Unsafe<HeldMessage>({
            ...HeldMessage,
            description: "Set instead of `event` if the message waits for a moderator.",
          }),
        ),
      },
      { additionalProperties: false },
    ),
    errors: [
      ...onChannel,
      "protocol.denied",
      "chat.unknown_event",
      "chat.slow_mode",
      "chat.blocked_word",
      "chat.empty",
      "chat.unsupported_event_type",
      "chat.unsupported_content_type",
    ],
    example: {
      ...some.channel,
      event_type: "channel.message",
      content: { type: "text", body: "Hello!" },
    },
  }),
  "chat.fetch": command({
    summary: "A page of the events of a channel, oldest first",
    payload: Payload({
      channel,
      count: Count,
      before_id: Type.Optional(EventId),
      after_id: Type.Optional(EventId),
    }),
    result: Type.Object(
      { results: Type.Array(TypedEvent), users },
      { additionalProperties: false },
    ),
    errors: [...onChannel, "protocol.denied", "server.too_large"],
    example: { ...some.channel, count: 25, before_id: 1205 },
  }),
  "chat.search": command({
    summary: "A channel's messages that contain the given words, newest first",
    payload: Payload({
      channel,
      query: Text({
        minLength: 2,
        maxLength: 100,
        description: "Each of its words must match the beginning of a word in the message.",
      }),
      before: Type.Optional(EventId),
    }),
    result: Type.Object(
      {
        results: Type.Array(TypedEvent, { maxItems: 20 }),
        users,
        more: Type.Boolean({ description: "Whether there are more before the last one listed." }),
      },
      { additionalProperties: false },
    ),
    errors: [...onChannel, "protocol.denied"],
    example: { ...some.channel, query: "lunch" },
  }),
  "chat.react": command({
    summary: "Adds or removes a reaction to an event",
    payload: Payload({
      channel,
      event: Id,
      reaction: Type.Unknown({ description: "One emoji." }),
      delete: Type.Optional(Type.Boolean()),
    }),
    result: typed("chat.event.reaction"),
    errors: [
      ...onChannel,
      "protocol.denied",
      "chat.unknown_event",
      "chat.reaction_limit",
      "emoji.sadpanda",
    ],
    example: { ...some.channel, event: 1204, reaction: "👍" },
  }),
  "chat.mark_read": command({
    summary: "Marks a channel as read up to an event",
    payload: Payload({
      channel,
      id: Type.Optional(Type.Unknown({ description: "The id of an event, not 0." })),
    }),
    result: Empty,
    errors: [...onChannel, "protocol.denied", "chat.invalid_body"],
    example: { ...some.channel, id: 1204 },
  }),
  "chat.direct.create": command({
    summary: "Finds or creates the caller's direct channel with the given users",
    payload: Payload({ users: List(Id, 100), hide: Type.Optional(Type.Boolean()) }),
    result: Type.Object({ id: Type.String(), ...stateFields }, { additionalProperties: false }),
    errors: ["chat.denied"],
    example: { users: [some.user.id] },
  }),
} as const;

const pointers = Type.Record(Type.String(), Type.Integer({ minimum: 0 }));

export const chatPushes = {
  "chat.event": {
    summary: "A new event in a channel to which the connection subscribes",
    data: PushedEvent,
  },
  "chat.event.reaction": { summary: "The reactions to an event changed", data: PushedEvent },
  "chat.channels": {
    summary: "All of the user's channels that are neither volatile nor hidden",
    data: Type.Object({ channels: Type.Array(SentChannel) }, { additionalProperties: false }),
  },
  "chat.read_pointers": { summary: "How far the user has read each channel", data: pointers },
  "chat.unread_pointers": {
    summary: "The user's channels have new events",
    data: pointers,
  },
  "chat.notification_counts": {
    summary: "How many notifications the user has in each channel",
    data: pointers,
  },
  "chat.notification": {
    summary: "The user was mentioned, or received a direct message",
    data: Type.Object({ event: TypedEvent, sender: PublicUser }, { additionalProperties: false }),
  },
  "chat.mention_warning": {
    summary: "Some mentioned users will not be notified",
    data: Type.Object(
      { channel: Type.String(), event_id: eventId, missed_users: Type.Array(PublicUser) },
      { additionalProperties: false },
    ),
  },
} as const;
