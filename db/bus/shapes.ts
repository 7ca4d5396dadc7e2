import {
  isCount,
  isFlag,
  isId,
  isJson,
  isJsonOfObject,
  isKindOf,
  isListOf,
  isMapOf,
  isNullOr,
  isNumber,
  isObject,
  isOneOf,
  isRecord,
  isText,
  type Shape,
} from "../../schemas/plain/shapes.js";
import type { Entry } from "../log/entries.js";
import type { HintMessage, LiveMessage } from "./bus.js";

const isAuthor = isRecord(
  { kind: isOneOf("user", "api", "command", "server") },
  { user: isId, connection: isId },
);

const inWorld = (fields: Readonly<Record<string, Shape>> = {}): Shape =>
  isRecord({
    world: isId,
    seq: isCount,
    tag: isCount,
    at: isNumber,
    by: isAuthor,
    ...fields,
  });

const ofWorld = inWorld();
const ofRoom = inWorld({ room: isId });
const ofUser = inWorld({ user: isId });
const ofAnnouncement = inWorld({ announcement: isId, wasVisible: isFlag });

const isChatEvent = isRecord({
  id: isCount,
  channel: isId,
  sender: isNullOr(isId),
  timestamp: isNumber,
  type: isOneOf("channel.message", "channel.member", "channel.poll"),
  content: isJsonOfObject,
  edited: isNullOr(isNumber),
  replaces: isNullOr(isCount),
  reactions: isMapOf(isListOf(isId)),
});

const isDelivery = isRecord({
  event: isChatEvent,
  previous: isCount,
  previousMessage: isCount,
  notified: isListOf(isId),
  appeared: isListOf(isId),
});

const isQuestion = isRecord({
  id: isId,
  room: isId,
  sender: isNullOr(isId),
  moderator: isNullOr(isId),
  content: isText,
  state: isOneOf("mod_queue", "visible", "archived"),
  answered: isFlag,
  is_pinned: isFlag,
  timestamp: isNumber,
  score: isCount,
});

const isPoll = isRecord({
  id: isId,
  room: isId,
  content: isText,
  state: isOneOf("draft", "open", "closed", "archived"),
  poll_type: isOneOf("choice", "multi"),
  is_pinned: isFlag,
  timestamp: isNumber,
  options: isListOf(isRecord({ id: isId, content: isText, order: isNumber })),
  results: isMapOf(isCount),
});

const isHiding = (fields: Readonly<Record<string, Shape>>, hidden: Shape) => {
  const isEvent = inWorld({ room: isId, ...fields });
  const isHidden = isRecord({}, { hidden });
  return (value: unknown) => isEvent(value) && isHidden(value);
};
const ofQuestion = isHiding({ question: isId, wasVisible: isFlag }, isQuestion);
const ofPoll = isHiding({ poll: isId, wasPublic: isFlag }, isPoll);

const votes = isListOf(isRecord({ user: isId }, { connection: isId }));
const ofFile = inWorld({ file: isId });

const entries: Readonly<Record<Entry["type"], Shape>> = {
  "world.created": ofWorld,
  "world.updated": ofWorld,
  "world.deleted": ofWorld,
  "world.raised": ofWorld,
  "log.began": ofWorld,
  "room.created": ofRoom,
  "room.opened": ofRoom,
  "room.updated": ofRoom,
  "room.scheduled": ofRoom,
  "room.deleted": ofRoom,
  "rooms.reordered": ofWorld,
  "user.entered": ofUser,
  "user.updated": ofUser,
  "user.moderated": ofUser,
  "user.blocked": ofUser,
  "user.unblocked": ofUser,
  "user.erased": ofUser,
  "announcement.created": ofAnnouncement,
  "announcement.updated": ofAnnouncement,
  "chat.event": inWorld({ channel: isId, delivery: isDelivery }),
  "chat.reacted": inWorld({ channel: isId, event: isCount }),
  "chat.memberships": inWorld({ channel: isId, users: isListOf(isId) }),
  "chat.erased": ofWorld,
  "question.saved": ofQuestion,
  "question.deleted": ofQuestion,
  "question.voted": inWorld({ room: isId, question: isId, votes }),
  "question.pinned": inWorld({ room: isId, question: isNullOr(isId) }),
  "poll.saved": ofPoll,
  "poll.deleted": ofPoll,
  "poll.voted": inWorld({ room: isId, poll: isId, votes }),
  "poll.pinned": inWorld({ room: isId, poll: isNullOr(isId) }),
  "file.added": ofFile,
  "file.deleted": ofFile,
};

const isHint = isRecord({
  entry: (value) =>
    isObject(value) &&
    typeof value["type"] === "string" &&
    Object.hasOwn(entries, value["type"]) &&
    entries[value["type"] as Entry["type"]](value),
  previous: isCount,
});

const isMessage = isKindOf("type", {
  hints: isRecord({ world: isId, hints: isListOf(isHint) }),
  // The listeners of a topic check its messages.
  live: isRecord({ topic: isId, data: isJson }, { world: isId }),
});

/** What processes send each other. */
type Sent = LiveMessage | HintMessage;

/**
 * Checks a message of another process.
 * @returns nothing for one that no process of this Foyer sends. A process that does not
 *   get the entries in it reads them from the log.
 */
export const received = (value: unknown): Sent[] =>
  isMessage(value) ? [value as Sent] : [];
