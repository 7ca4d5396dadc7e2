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
  isOneOf,
  isRecord,
  isText,
  MAX_PARTS,
  type Shape,
} from "../../schemas/plain/shapes.js";
import type { Mark } from "../contract/chat-store.js";
import type { Poll, PollOption } from "../contract/poll-store.js";
import type { Question } from "../contract/question-store.js";
import type { Entry } from "../log/entries.js";
import type { HintMessage, SnapshotMessage } from "./bus.js";

/** How many entries a message has at most. Receivers read the rest from the log. */
const MAX_HINTS = 5_000;

/** How many users an entry names at most. An entry with more is read from the log. */
const MAX_USERS = 20_000;

const isUsers = isListOf(isId, MAX_USERS);
const isSeq: Shape = (value) => isCount(value) && value !== 0;

const isAuthor = isRecord(
  { kind: isOneOf("user", "users", "api", "command", "server") },
  { user: isId, token: isId, connection: isId },
);

const isOption = isRecord({ id: isId, content: isText, order: isNumber } satisfies Record<
  keyof PollOption,
  Shape
>);

const isPoll = isRecord({
  id: isId,
  room: isId,
  content: isText,
  state: isOneOf("draft", "open", "closed", "archived"),
  poll_type: isOneOf("choice", "multi"),
  is_pinned: isFlag,
  timestamp: isNumber,
  options: isListOf(isOption, MAX_PARTS),
  results: isMapOf(isCount, MAX_PARTS),
} satisfies Record<keyof Poll, Shape>);

const isQuestion = isRecord(
  {
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
  } satisfies Record<Exclude<keyof Question, "named">, Shape>,
  // An entry of an earlier version has none.
  { named: isFlag },
);

/** An entry with some fields. @param optional the shapes of fields that may be missing. */
const entryWith = (
  fields: Readonly<Record<string, Shape>> = {},
  optional: Readonly<Record<string, Shape>> = {},
): Shape =>
  isRecord(
    { world: isId, seq: isSeq, tag: isCount, at: isNumber, by: isAuthor, ...fields },
    { fields: isListOf(isText, MAX_PARTS), isNew: isFlag, ...optional },
  );

const isRule: Shape = isListOf((value) => isText(value) || isTexts(value), MAX_PARTS);
const isTexts = isListOf(isText, MAX_PARTS);

const isIdOf: Shape = isNullOr((value) => isText(value) || isCount(value));

const isDelivery = isRecord({
  event: isRecord({
    id: isSeq,
    channel: isId,
    sender: isNullOr(isId),
    timestamp: isNumber,
    type: isOneOf("channel.message", "channel.member", "channel.poll"),
    content: isJsonOfObject,
    edited: isNullOr(isNumber),
    replaces: isNullOr(isCount),
    reactions: isMapOf(isUsers, MAX_PARTS),
  }),
  previous: isCount,
  previousMessage: isCount,
  notified: isUsers,
  appeared: isUsers,
});

const hasDelivery = entryWith({ channel: isId, delivery: isDelivery });
const isChatEntry: Shape = (value) => {
  if (!hasDelivery(value)) return false;
  const { seq, channel, delivery } = value as Of<"chat.event">;
  return delivery.event.id === seq && delivery.event.channel === channel;
};

const isAnnouncement = isRecord({
  id: isId,
  text: isText,
  show_until: isNullOr(isNumber),
  state: isOneOf("draft", "active", "archived"),
});

const ofWorld = entryWith();
const ofRoom = entryWith({ room: isId });
const ofUser = entryWith({ user: isId });
const ofFile = entryWith({ file: isId });
const ofSession = entryWith({ session: isId }, { fields: isTexts });
const ofSpeaker = entryWith({ speaker: isId }, { fields: isTexts });
const ofAnnouncement = entryWith(
  { announcement: isId, wasVisible: isFlag },
  { hidden: isAnnouncement },
);
const votes = isListOf(isRecord({ user: isId }, { connection: isId }), MAX_USERS);

const isMark = isRecord({
  user: isId,
  channel: isId,
  pointer: isNullOr(isCount),
  listed: isNullOr(isCount),
} satisfies Record<keyof Mark, Shape>);

type Of<T extends Entry["type"]> = Extract<Entry, { type: T }>;

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
  "room.deleted": entryWith({ room: isId, rules: isMapOf(isRule, MAX_PARTS) }),
  "rooms.reordered": ofWorld,
  "user.entered": ofUser,
  "user.updated": ofUser,
  "user.moderated": entryWith({ user: isId }, { state: isOneOf("none", "silenced", "banned") }),
  "user.blocked": ofUser,
  "user.unblocked": ofUser,
  "user.erased": ofUser,
  "announcement.created": ofAnnouncement,
  "announcement.updated": ofAnnouncement,
  "chat.event": isChatEntry,
  "chat.reacted": entryWith({ channel: isId, event: isSeq }),
  "chat.memberships": entryWith({ channel: isId, users: isUsers }),
  "chat.marked": entryWith({ marks: isListOf(isMark, MAX_USERS) }),
  "chat.erased": ofWorld,
  "question.saved": entryWith({ room: isId, question: isId, hid: isFlag }, { hidden: isQuestion }),
  "question.deleted": entryWith({ room: isId, question: isId, wasVisible: isFlag }),
  "question.voted": entryWith({ room: isId, question: isId, votes }),
  "question.pinned": entryWith({ room: isId, question: isNullOr(isId) }),
  "poll.saved": entryWith({ room: isId, poll: isId, hid: isFlag }, { hidden: isPoll }),
  "poll.deleted": entryWith({ room: isId, poll: isId, wasPublic: isFlag }),
  "poll.voted": entryWith({ room: isId, poll: isId, votes }),
  "poll.pinned": entryWith({ room: isId, poll: isNullOr(isId) }),
  "session.created": ofSession,
  "session.updated": ofSession,
  "session.deleted": ofSession,
  "speaker.created": ofSpeaker,
  "speaker.updated": ofSpeaker,
  "speaker.deleted": ofSpeaker,
  "program.imported": entryWith({ created: isCount, updated: isCount, deleted: isCount }),
  "program.favored": ofUser,
  "program.linked": ofUser,
  "file.added": ofFile,
  "file.deleted": ofFile,
  noted: entryWith({ act: isText, subject: isMapOf(isIdOf, MAX_PARTS) }),
};

const isHint = isRecord({ entry: isKindOf("type", entries), previous: isCount });

const hasHints = isRecord({ world: isId, hints: isListOf(isHint, MAX_HINTS) });

const isMessage = isKindOf("type", {
  hints: (value) => {
    if (!hasHints(value)) return false;
    const { world, hints } = value as HintMessage;
    return hints.every(({ entry }) => entry.world === world);
  },
  // The listener checks what it is of.
  snapshot: isRecord({ data: isJson }, { world: isId }),
});

export type Sent = SnapshotMessage | HintMessage;

/**
 * Checks a message of another process.
 * @returns nothing for one that no process of this Foyer sends. A process that does not
 *   get the entries in it reads them from the log.
 */
export const received = (value: unknown): Sent[] => (isMessage(value) ? [value as Sent] : []);
