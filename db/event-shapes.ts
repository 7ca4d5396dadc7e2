import {
  isCount,
  isFlag,
  isId,
  isJson,
  isJsonOfObject,
  isListOf,
  isMapOf,
  isNullOr,
  isNumber,
  isObject,
  isOneOf,
  isRecord,
  isText,
  type Shape,
} from "../schemas/plain/shapes.js";
import type { AnyEvent, WorldEvent } from "./events.js";

/** The types of events that other processes may send. All others stay within a process. */
type Sent = WorldEvent["type"] | "live" | "process.ended";

const inWorld = (fields: Readonly<Record<string, Shape>> = {}): Shape =>
  isRecord({ world: isId, ...fields }, { by: isId });

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

const shapes: Readonly<Record<Sent, Shape>> = {
  "world.created": ofWorld,
  "world.updated": ofWorld,
  "world.deleted": ofWorld,
  "world.touched": ofWorld,
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
  "question.saved": ofQuestion,
  "question.deleted": ofQuestion,
  "question.voted": inWorld({ room: isId, question: isId, user: isId }),
  "question.pinned": inWorld({ room: isId, question: isNullOr(isId) }),
  "poll.saved": ofPoll,
  "poll.deleted": ofPoll,
  "poll.voted": inWorld({ room: isId, poll: isId, user: isId }),
  "poll.pinned": inWorld({ room: isId, poll: isNullOr(isId) }),
  "file.added": ofWorld,
  "file.deleted": ofWorld,
  // The listeners of a topic check its messages.
  live: isRecord({ topic: isId, data: isJson }, { world: isId }),
  "process.ended": isRecord({ process: isId }),
};

/** An event that another process sent: `unknown` may be one of a newer Foyer. */
export type Received = AnyEvent | "unknown" | "malformed";

/** Checks an event that another process sent. */
export function received(value: unknown): Received {
  if (!isObject(value) || typeof value["type"] !== "string") return "malformed";
  const { type } = value;
  if (!Object.hasOwn(shapes, type)) return "unknown";
  return shapes[type as Sent](value)
    ? (value as unknown as AnyEvent)
    : "malformed";
}
