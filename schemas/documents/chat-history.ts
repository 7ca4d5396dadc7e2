import { Type, type Static } from "@sinclair/typebox";
import {
  at,
  JsonObject,
  ONLY_ONCE,
  optional,
  type Referred,
  time,
  UNKNOWN_USER,
  Uuid,
} from "./document-values.js";
import { compileValidator, InvalidData } from "../validate.js";
import { OneOf, Text } from "../values.js";

// A world's chat in its document. Event ids are valid only inside the document: an import assigns
// new ids in the same order.

const EventId = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const Mark = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Users = Type.Array(Uuid);

/** A channel: either the channel of the room with the same id, or a direct channel. */
const ChannelCopy = Type.Object(
  {
    id: Uuid,
    ...optional({
      /** The ids of a direct channel's members, in ascending order. */
      direct: Users,
      /** In the order in which they joined. */
      members: Type.Array(
        Type.Object(
          { user: Uuid, ...optional({ hidden: Type.Boolean() }) },
          { additionalProperties: false },
        ),
      ),
      /** Read marks: see `Mark` in db/contract/chat-store.ts. */
      readers: Type.Array(
        Type.Object(
          { user: Uuid, ...optional({ pointer: Mark, listed: Mark }) },
          { additionalProperties: false },
        ),
      ),
      notifications: Type.Array(
        Type.Object({ user: Uuid, event: EventId }, { additionalProperties: false }),
      ),
    }),
  },
  { additionalProperties: false },
);
export type ChannelCopy = Static<typeof ChannelCopy>;

/** An event. If an event has no content, its last edit provides the content, or the event was deleted. */
const EventCopy = Type.Object(
  {
    id: EventId,
    channel: Uuid,
    type: OneOf("channel.message", "channel.member", "channel.poll"),
    timestamp: Text(time),
    ...optional({
      /** Omitted if the event has no sender. */
      sender: Uuid,
      content: JsonObject,
      deleted: Type.Boolean(),
      replaces: EventId,
      /** The users who reacted, in order, keyed by reaction. */
      reactions: Type.Record(Type.String(), Users),
    }),
  },
  { additionalProperties: false },
);
export type EventCopy = Static<typeof EventCopy>;

/** A world's chat. */
export interface ChatCopy {
  /** The erased users that the chat refers to. */
  erased?: string[];
  channels: ChannelCopy[];
  /** In ascending order of id. */
  events: EventCopy[];
}

/** Maximum length of an event's content as JSON, in UTF-16 units. */
const MAX_CONTENT = 64 * 1024;

/** Maximum number of reactions to an event. */
const MAX_REACTIONS = 1000;

/** Maximum length of a reaction, in UTF-16 units: an emoji may be a sequence of several characters. */
const MAX_REACTION = 64;

const checkChat = compileValidator(
  Type.Object(
    {
      erased: Type.Optional(Users),
      channels: Type.Array(Type.Unknown()),
      events: Type.Array(Type.Unknown()),
    },
    { additionalProperties: false },
  ),
);
const checkChannel = compileValidator(ChannelCopy);
const checkEvent = compileValidator(EventCopy);

/**
 * Checks a document's chat, including its references.
 * @param note receives the faults in a part of the chat, with the part's dotted path.
 */
export function checkChatCopy(
  chat: unknown,
  { rooms, users }: Referred,
  note: (path: string, found: InvalidData | undefined) => void,
): void {
  const fault = checkChat(chat);
  if (fault) return note("chat", fault);
  const { erased = [], channels, events } = chat as ChatCopy;
  const twice = erased.findIndex((id, i) => users.has(id) || erased.indexOf(id) < i);
  if (twice >= 0) note(`chat.erased.${twice}`, whole("Must be no user."));
  const known = new Set([...users, ...erased]);
  const seen: Seen = { known, channels: new Map(), events: new Map(), last: 0 };
  const sets = new Set<string>();
  channels.forEach((channel, i) => {
    const found = checkChannel(channel) ?? channelFault(channel, rooms, sets, seen);
    note(`chat.channels.${i}`, found);
    if (!found) seen.channels.set(channel.id, channel);
  });
  events.forEach((event, i) => {
    const found = checkEvent(event) ?? eventFault(event, seen);
    note(`chat.events.${i}`, found);
    if (!found) noteEvent(event, seen);
  });
  channels.forEach(({ id, notifications = [] }, i) => {
    if (!seen.channels.has(id)) return;
    notifications.forEach(({ event }, j) => {
      if (seen.events.get(event)?.channel === id) return;
      const path = `chat.channels.${i}.notifications.${j}.event`;
      note(path, whole("Must be an event of the channel."));
    });
  });
  events.forEach((event, i) => {
    if (seen.events.get(event?.id)?.lacks !== true) return;
    note(`chat.events.${i}.content`, whole("This field is required."));
  });
}

/** The part of the chat that has been checked so far. */
interface Seen {
  known: ReadonlySet<unknown>;
  channels: Map<string, ChannelCopy>;
  /** The fields that later events depend on, by event id. */
  events: Map<number, { channel: string; isOriginal: boolean; lacks: boolean }>;
  /** The id of the previous event. */
  last: number;
}

const whole = (message: string) => new InvalidData({ non_field_errors: [message] });

function channelFault(
  channel: ChannelCopy,
  rooms: ReadonlySet<unknown>,
  sets: Set<string>,
  { known, channels }: Seen,
): InvalidData | undefined {
  const { id, direct, members = [], readers = [] } = channel;
  const { notifications = [] } = channel;
  if (channels.has(id)) return at("id", ONLY_ONCE);
  if (rooms.has(id) === (direct !== undefined)) {
    return at("id", "Must be the id of a room unless it is direct.");
  }
  if (direct) {
    const set = direct.join();
    const isSorted = direct.every((user, j) => j === 0 || direct[j - 1]! < user);
    if (!isSorted || direct.length < 2 || direct.length > 100) {
      return at("direct", "Must be 2 to 100 ids in ascending order.");
    }
    if (sets.has(set)) return at("direct", ONLY_ONCE);
    sets.add(set);
  }
  const mayJoin: ReadonlySet<unknown> = direct ? new Set(direct) : known;
  const lists: [field: string, ids: unknown[], allowed: ReadonlySet<unknown>][] = [
    ["direct", direct ?? [], known],
    ["members", members.map(({ user }) => user), mayJoin],
    ["readers", readers.map(({ user }) => user), known],
  ];
  for (const [field, ids, allowed] of lists) {
    const wrong = ids.findIndex((user) => !allowed.has(user));
    if (wrong >= 0) return at(`${field}.${wrong}`, UNKNOWN_USER);
    if (new Set(ids).size < ids.length) {
      return at(field, "May name each user only once.");
    }
  }
  const unknown = notifications.findIndex(({ user }) => !known.has(user));
  if (unknown >= 0) return at(`notifications.${unknown}`, UNKNOWN_USER);
  const told = notifications.map(({ user, event }) => `${user} ${event}`);
  return new Set(told).size < told.length
    ? at("notifications", "May name each user and event only once.")
    : undefined;
}

function eventFault(
  event: EventCopy,
  { known, channels, events, last }: Seen,
): InvalidData | undefined {
  const { id, channel, type, sender, content, replaces, reactions } = event;
  if (id <= last) return at("id", "Must be greater than the one before.");
  if (!channels.has(channel)) {
    return at("channel", "Must be the id of a channel of this document.");
  }
  if (sender !== undefined && !known.has(sender)) {
    return at("sender", UNKNOWN_USER);
  }
  if (replaces !== undefined) {
    const original = events.get(replaces);
    if (type !== "channel.message" || original?.channel !== channel || !original.isOriginal) {
      return at("replaces", "Must be an earlier message of the channel.");
    }
  }
  if (content && JSON.stringify(content).length > MAX_CONTENT) {
    return at("content", `May have at most ${MAX_CONTENT} characters.`);
  }
  const given = Object.entries(reactions ?? {});
  if (given.flatMap(([, ids]) => ids).length > MAX_REACTIONS) {
    return at("reactions", `May hold at most ${MAX_REACTIONS} entries.`);
  }
  for (const [reaction, ids] of given) {
    const isFine =
      reaction.length <= MAX_REACTION &&
      new Set(ids).size === ids.length &&
      ids.every((user) => known.has(user));
    if (!isFine) return at(`reactions.${reaction}`, UNKNOWN_USER);
  }
  return undefined;
}

function noteEvent(event: EventCopy, seen: Seen): void {
  const { id, channel, type, content, deleted, replaces } = event;
  seen.last = id;
  seen.events.set(id, {
    channel,
    isOriginal: type === "channel.message" && replaces === undefined,
    // A later edit may provide the content. An edit without content counts as deleted.
    lacks: !content && !deleted && replaces === undefined,
  });
  const original = replaces === undefined ? undefined : seen.events.get(replaces);
  if (original) original.lacks = false;
}
