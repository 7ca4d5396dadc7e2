import type { FeedType } from "../../schemas/plain/feed.js";
import type { Entry } from "./entries.js";

/** An entry as programs get it: its type in the feed, and the data that the entry itself has. */
export interface Published {
  readonly type: FeedType;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The entries of a type. Several types may have the same fields. */
type Of<T, E = Entry> = E extends { type: infer U }
  ? T extends U
    ? E & { type: T }
    : never
  : never;

/** What programs get of entries of each type; undefined for nothing. */
type Table = {
  [T in Entry["type"]]: ((entry: Of<T>) => Published | undefined) | undefined;
};

/** An update, unless it changed nothing. Entries of older versions do not say what they changed. */
const updated = (
  type: FeedType,
  data: object,
  { fields = [] }: Pick<Entry, "fields">,
  isOld = false,
): Published | undefined =>
  fields.length === 0 && !isOld ? undefined : { type, data: Object.assign(data, { fields }) };

const isOld = ({ fields }: Entry): boolean => fields === undefined;

/** Like {@link updated}, of an entry that always names its fields, or is old. */
const changed = (type: FeedType, data: object, entry: Entry) =>
  updated(type, data, entry, isOld(entry));

const question = ({ room, question }: { room: string; question: string }) => ({
  room_id: room,
  question_id: question,
});

const poll = ({ room, poll }: { room: string; poll: string }) => ({ room_id: room, poll_id: poll });

const PINNED = ["is_pinned"];

/** A chat event. Whether its channel is direct, and so not in the feed, is not known here. */
function ofChat({ channel, by, delivery }: Of<"chat.event">) {
  const { id, type, sender, content, replaces } = delivery.event;
  const place = { room_id: channel, channel_id: channel };
  if (type === "channel.member") {
    const { membership } = JSON.parse(content) as { membership?: string };
    return {
      type: membership === "join" ? "chat.joined" : "chat.left",
      data: { ...place, event_id: id, user_id: sender },
    } as const;
  }
  if (type !== "channel.message") return undefined;
  if (replaces === null) {
    const data = { ...place, event_id: id, user_id: sender };
    return { type: "chat.message", data } as const;
  }
  const data = { ...place, event_id: replaces, user_id: sender ?? by.user ?? null };
  // An edit of a message that was deleted since reads as its deletion.
  const isDeletion = content === DELETED;
  return { type: isDeletion ? "chat.deleted" : "chat.edited", data } as const;
}

/** The content of a deleted message, and of all its edits. */
const DELETED = '{"type":"deleted"}';

/** To add a type: a line here, and its name in schemas/plain/feed.ts. */
const table: Table = {
  "world.created": undefined,
  "world.updated": (entry) => changed("world.updated", {}, entry),
  "world.deleted": undefined,
  "world.raised": undefined,
  "log.began": undefined,
  "room.created": ({ room }) => ({ type: "room.created", data: { room_id: room } }),
  "room.opened": ({ room }) => ({ type: "room.created", data: { room_id: room } }),
  "room.updated": (entry) => changed("room.updated", { room_id: entry.room }, entry),
  "room.scheduled": (entry) => changed("room.updated", { room_id: entry.room }, entry),
  "room.deleted": ({ room }) => ({ type: "room.deleted", data: { room_id: room } }),
  "rooms.reordered": () => ({ type: "rooms.reordered", data: {} }),
  "user.entered": (entry) =>
    entry.isNew
      ? { type: "user.created", data: { user_id: entry.user } }
      : updated("user.updated", { user_id: entry.user }, entry),
  // An update of the state that clients keep for themselves has no fields.
  "user.updated": (entry) => updated("user.updated", { user_id: entry.user }, entry),
  "user.moderated": ({ user, state }) =>
    state && { type: "user.moderated", data: { user_id: user, state } },
  "user.blocked": undefined,
  "user.unblocked": undefined,
  "user.erased": ({ user }) => ({ type: "user.erased", data: { user_id: user } }),
  "announcement.created": ({ announcement }) => ({
    type: "announcement.created",
    data: { announcement_id: announcement },
  }),
  "announcement.updated": (entry) =>
    changed("announcement.updated", { announcement_id: entry.announcement }, entry),
  "chat.event": ofChat,
  "chat.reacted": undefined,
  "chat.memberships": undefined,
  "chat.marked": undefined,
  "chat.erased": undefined,
  "question.saved": (entry) =>
    entry.isNew
      ? { type: "question.created", data: question(entry) }
      : changed("question.updated", question(entry), entry),
  "question.deleted": (entry) => ({ type: "question.deleted", data: question(entry) }),
  "question.voted": (entry) => ({ type: "question.votes", data: question(entry) }),
  "question.pinned": ({ room, question }) => ({
    type: "question.updated",
    data: { room_id: room, question_id: question, fields: PINNED },
  }),
  "poll.saved": (entry) =>
    entry.isNew
      ? { type: "poll.created", data: poll(entry) }
      : changed("poll.updated", poll(entry), entry),
  "poll.deleted": (entry) => ({ type: "poll.deleted", data: poll(entry) }),
  "poll.voted": (entry) => ({ type: "poll.votes", data: poll(entry) }),
  "poll.pinned": ({ room, poll }) => ({
    type: "poll.updated",
    data: { room_id: room, poll_id: poll, fields: PINNED },
  }),
  "session.created": ({ session }) => ({ type: "session.created", data: { session_id: session } }),
  "session.updated": ({ session, fields = [] }) => ({
    type: "session.updated",
    data: { session_id: session, fields },
  }),
  "session.deleted": ({ session }) => ({ type: "session.deleted", data: { session_id: session } }),
  "speaker.created": ({ speaker }) => ({ type: "speaker.created", data: { speaker_id: speaker } }),
  "speaker.updated": (entry) => changed("speaker.updated", { speaker_id: entry.speaker }, entry),
  "speaker.deleted": ({ speaker }) => ({ type: "speaker.deleted", data: { speaker_id: speaker } }),
  "program.imported": undefined,
  "program.favored": undefined,
  "program.linked": undefined,
  "file.added": ({ file }) => ({ type: "file.added", data: { file_id: file } }),
  noted: undefined,
  "file.deleted": ({ file }) => ({ type: "file.deleted", data: { file_id: file } }),
};

/** What programs get of an entry; undefined for nothing. */
export const published = (entry: Entry): Published | undefined =>
  (table[entry.type] as ((entry: Entry) => Published | undefined) | undefined)?.(entry);
