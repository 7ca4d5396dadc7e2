import { POLL_KINDS } from "../../schemas/plain/polls.js";
import { reportActions, reportKinds } from "../../schemas/plain/moderation/reports.js";
import { ofRecords } from "../../schemas/plain/records.js";
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
import type { StoredReadMark } from "../contract/chat-store.js";
import type { Poll, PollOption } from "../contract/poll-store.js";
import type { Question } from "../contract/question-store.js";
import type { Entry } from "../log/entries.js";
import type { HintMessage, SnapshotMessage } from "./bus.js";

/** Maximum entries per message. A larger message is dropped, and receivers read its entries from the log. */
const MAX_HINTS = 5_000;

/**
 * Maximum users per entry. A message is dropped if one of its entries exceeds this number, and
 * receivers read the entry from the log.
 */
const MAX_USERS = 20_000;

const isUsers = isListOf(isId, MAX_USERS);
const isSeq: Shape = (value) => isCount(value) && value !== 0;

const isAuthor = isRecord(
  { kind: isOneOf("user", "users", "api", "command", "server") },
  { user: isId, token: isId, connection: isId },
);

const isOption = isRecord(
  { id: isId, content: isText, order: isNumber } satisfies Partial<Record<keyof PollOption, Shape>>,
  { correct: isFlag },
);

const isSettings = isMapOf((value) => isText(value) || isNumber(value) || isFlag(value), MAX_PARTS);

const isPoll = isRecord(
  {
    id: isId,
    room: isId,
    content: isText,
    state: isOneOf("draft", "open", "closed", "archived"),
    poll_type: isOneOf(...POLL_KINDS),
    settings: isSettings,
    is_pinned: isFlag,
    timestamp: isNumber,
    options: isListOf(isOption, MAX_PARTS),
    results: isMapOf(isCount, MAX_PARTS),
  } satisfies Partial<Record<keyof Poll, Shape>>,
  { ends_at: isNumber },
);

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
  // Entries from earlier versions of Foyer lack this field.
  { named: isFlag },
);

/**
 * Returns the shape of an entry that has the common fields and the given fields.
 * @param optional the shapes of fields that may be missing.
 */
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
const ofCall = entryWith({ channel: isId, call: isId, isDirect: isFlag });
const ofCaller = entryWith({ channel: isId, user: isId, isDirect: isFlag });
const ofVisitor = entryWith({ user: isId }, { waits: isFlag });
const ofHand = entryWith({ room: isId, user: isId });
const ofAnnouncement = entryWith(
  { announcement: isId, wasVisible: isFlag },
  { hidden: isAnnouncement },
);
const reported = { report: isId, kind: isOneOf(...reportKinds), inRoom: isNullOr(isId) };
const votes = isListOf(isRecord({ user: isId }, { connection: isId }), MAX_USERS);

const isMark = isRecord({
  user: isId,
  channel: isId,
  pointer: isNullOr(isCount),
  listed: isNullOr(isCount),
} satisfies Record<keyof StoredReadMark, Shape>);

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
  "user.entered": ofVisitor,
  "user.updated": ofVisitor,
  "user.moderated": entryWith(
    { user: isId },
    { state: isOneOf("none", "silenced", "banned"), waited: isFlag },
  ),
  "user.blocked": ofUser,
  "user.unblocked": ofUser,
  "user.erased": ofUser,
  "announcement.created": ofAnnouncement,
  "announcement.updated": ofAnnouncement,
  "chat.event": isChatEntry,
  "chat.reacted": entryWith({ channel: isId, event: isSeq }),
  "chat.held": entryWith({ channel: isId, held: isId, user: isId }),
  "chat.unheld": entryWith(
    { channel: isId, held: isId, user: isId, state: isOneOf("approved", "rejected") },
    { event: isSeq, hidden: isRecord({ reason: isText }) },
  ),
  "report.created": entryWith(reported),
  "report.resolved": entryWith({ ...reported, action: isOneOf(...reportActions) }),
  "chat.memberships": entryWith({ channel: isId, users: isUsers }),
  "chat.marked": entryWith({ marks: isListOf(isMark, MAX_USERS) }),
  "chat.erased": ofWorld,
  "question.saved": entryWith({ room: isId, question: isId, hid: isFlag }, { hidden: isQuestion }),
  "question.deleted": entryWith({ room: isId, question: isId, wasVisible: isFlag }),
  "question.voted": entryWith({ room: isId, question: isId, votes }),
  "question.pinned": entryWith({ room: isId, question: isNullOr(isId) }),
  "poll.saved": entryWith(
    { room: isId, poll: isId, hid: isFlag },
    { hidden: isPoll, kind: isText },
  ),
  "poll.deleted": entryWith({ room: isId, poll: isId, wasPublic: isFlag }, { kind: isText }),
  "poll.voted": entryWith({ room: isId, poll: isId, votes }),
  "poll.pinned": entryWith({ room: isId, poll: isNullOr(isId) }),
  ...ofRecords((record) => entryWith({ [record]: isId }, { fields: isTexts })),
  "program.imported": entryWith({ created: isCount, updated: isCount, deleted: isCount }),
  "program.favored": ofUser,
  "session.rated": entryWith({ session: isId, user: isId }),
  "program.linked": ofUser,
  "call.started": ofCall,
  "call.ended": entryWith(
    { channel: isId, call: isId, isDirect: isFlag },
    { users: isListOf(isId, MAX_USERS), seconds: isCount },
  ),
  "call.declined": entryWith({ channel: isId, call: isId, user: isId }),
  "call.joined": ofCaller,
  "call.left": ofCaller,
  "call.published": entryWith({ channel: isId, user: isId }),
  "call.staged": entryWith({ room: isId, user: isId, on: isFlag }),
  "hand.raised": ofHand,
  "hand.lowered": ofHand,
  "screen.shown": ofRoom,
  "caption.added": entryWith({ room: isId, lang: isText, caption: isCount }),
  "caption.heard": entryWith({ room: isId, langs: isListOf(isText, MAX_PARTS) }),
  "caption.erased": ofWorld,
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
  // Listeners validate the data themselves.
  snapshot: isRecord({ data: isJson }, { world: isId }),
});

export type BusPayload = SnapshotMessage | HintMessage;

/**
 * Validates a message from another process.
 * @returns the message in an array, or an empty array if no process of this installation could have
 * sent the message. The receiver then reads the missing entries from the log.
 */
export const received = (value: unknown): BusPayload[] =>
  isMessage(value) ? [value as BusPayload] : [];
