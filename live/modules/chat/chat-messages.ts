import type { Delivery } from "../../../db/contract/chat-store.js";
import type { RoomValue, UserRecord } from "../../../db/contract/store.js";
import { kindOf } from "../../../db/rules/user-rows.js";
import { COMMON_KEYS, CONTENT_KEYS, FILE_KEYS, MAX_FILES } from "../../../schemas/live/chat.js";
import type { CommandName, Commands } from "../../../schemas/live/index.js";
import { lengthOf, showsSomething } from "../../../schemas/plain/texts.js";
import { boundFault } from "../../../schemas/validate.js";
import type { ChannelContext, CommandTable, Sender } from "../../module.js";
import type { Sendable } from "../../rules/encoding.js";
import {
  chatDenied,
  invalidPayload,
  LiveError,
  rateLimited,
  unknownEvent,
} from "../../rules/problems.js";
import { isVolatile, mayInRoom } from "../../rules/rights.js";
import { pushFrame } from "../../socket/frame.js";
import { sentEvent } from "./audience.js";
import { answerWithPage, type ChatPorts, idOf, pageOfSearch } from "./chat-pages.js";
import { briefUser, fitting, mentionsIn, readUsers, sharedUser } from "./chat-users.js";

type Message = Extract<CommandName, "chat.send" | "chat.fetch" | "chat.search" | "chat.react">;

/** The messages of channels that calls over HTTP send and read, too. */
export const sharedMessages: CommandTable<"chat.send" | "chat.fetch", ChatPorts, Sender> = {
  "chat.send": { inChannel: "chat.send", direct: "members", rounded: ["replaces"], handler: send },
  "chat.fetch": {
    inChannel: "chat.read",
    direct: "members",
    rounded: ["before_id", "after_id"],
    handler: fetch,
  },
};

/** The messages of channels. */
export const messages: CommandTable<Message, ChatPorts> = {
  ...sharedMessages,
  "chat.search": {
    inChannel: "chat.read",
    direct: "members",
    rounded: ["before"],
    handler: search,
  },
  "chat.react": {
    // The answer shows the event.
    inChannel: ["chat.send", "chat.read"],
    direct: "members",
    rounded: ["event"],
    handler: react,
  },
};

/**
 * Checks that the caller is a member who may send. A call over HTTP counts as a member while it
 * lasts, if its user may join.
 * @returns whether the membership is a volatile one.
 * @throws {LiveError}
 */
async function requireMember(context: ChannelContext<ChatPorts, Sender>): Promise<boolean> {
  const { ports, connection, channel, direct, me, room } = context;
  const { world } = connection;
  // The store refuses senders of direct messages who are silenced.
  if (direct) return false;
  const isVolatile = ports.presence.attends(world, channel, me.id);
  if (isVolatile || (await ports.store.chat.isMember(world, channel, me.id))) {
    return isVolatile;
  }
  const { login, world: rules } = context;
  const mayVisit =
    connection.isCall &&
    room !== undefined &&
    mayInRoom(login, "chat.join", rules.value, room.value);
  if (mayVisit) return true;
  throw chatDenied();
}

/**
 * The id of an event, as a number or as decimal text.
 * @throws {LiveError} if it cannot be one.
 */
function eventIdOf(value: unknown): number {
  const isDecimal = typeof value === "string" && /^[0-9]{1,16}$/.test(value);
  const id = isDecimal ? Number(value) : value;
  if (Number.isSafeInteger(id) && (id as number) > 0) return id as number;
  throw unknownEvent();
}

async function send(
  context: ChannelContext<ChatPorts, Sender>,
  payload: Commands["chat.send"]["payload"],
): Promise<Sendable<Commands["chat.send"]["result"]>> {
  const { ports, connection, channel, room, login, world, me } = context;
  const { direct, isUnused } = context;
  const volatile = await requireMember(context);
  if (payload.event_type !== "channel.message") {
    throw new LiveError("chat.unsupported_event_type");
  }
  const isEdit = payload.replaces !== undefined && payload.replaces !== null;
  const content = contentOf(context, payload.content, isEdit);
  const replaces = isEdit ? eventIdOf(payload.replaces) : undefined;
  const size = Buffer.byteLength(JSON.stringify(content));
  if (!ports.rates.mayMessage(connection, size)) throw rateLimited();
  // Moderators delete messages in a chat that is full, too.
  const isDeletion = content.type === "deleted";
  if (!isDeletion && !ports.rates.mayStore(connection, size)) {
    throw rateLimited();
  }
  if (direct && isUnused && !ports.rates.mayShow(connection, direct.length - 1)) {
    throw rateLimited();
  }
  const mentions = await mentionsOf(context, content, replaces);
  const delivery = await ports.store.chat.send(
    connection.world,
    channel,
    {
      sender: me.id,
      content,
      replaces,
      moderates: room && mayInRoom(login, "chat.moderate", world.value, room.value),
      volatile,
      mentioned: mentions.mentioned,
      notifiesAll: mentions.notifiesAll,
    },
    connection.author,
  );
  ports.metrics?.chatted(delivery.event.type);
  if (!isEdit) ports.activity.count(connection.world, "messages");
  mentions.warn(delivery);
  return { event: sentEvent(delivery.event, () => undefined) };
}

async function fetch(
  context: ChannelContext<ChatPorts, Sender>,
  { count, before_id, after_id }: Commands["chat.fetch"]["payload"],
): Promise<Sendable<Commands["chat.fetch"]["result"]>> {
  if ((before_id === undefined) === (after_id === undefined)) {
    throw invalidPayload({ non_field_errors: ["Either before_id or after_id is required."] });
  }
  return answerWithPage(context, {
    ...(before_id !== undefined && { before: idOf(before_id) }),
    ...(after_id !== undefined && { after: idOf(after_id) }),
    limit: Number(count),
  });
}

async function search(
  context: ChannelContext<ChatPorts>,
  { query, before }: Commands["chat.search"]["payload"],
) {
  const { ports, connection } = context;
  if (!ports.rates.maySearchChat(connection)) throw rateLimited();
  return pageOfSearch(context, query, before === undefined ? undefined : idOf(before));
}

async function react(
  context: ChannelContext<ChatPorts>,
  payload: Commands["chat.react"]["payload"],
): Promise<Sendable<Commands["chat.react"]["result"]>> {
  const { ports, connection, channel, me, world } = context;
  const volatile = await requireMember(context);
  const { reaction } = payload;
  if (typeof reaction !== "string" || !isEmoji(reaction)) {
    throw new LiveError("emoji.sadpanda");
  }
  const id = eventIdOf(payload.event);
  if (!ports.rates.mayReact(connection)) throw rateLimited();
  const event = await ports.store.chat.react(
    connection.world,
    channel,
    id,
    { user: me.id, reaction, remove: payload.delete ?? false, volatile },
    connection.author,
  );
  const users =
    event.type === "channel.member"
      ? await readUsers(ports, connection.world, [event.sender ?? ""])
      : undefined;
  const sent = sentEvent(event, (id) => {
    const user = users?.get(id);
    return user && sharedUser(user, world.value, ports.clock.date(), false);
  });
  return { ...sent, type: "chat.event.reaction" };
}

// The allowed contents of messages, and reactions.

/** The largest content of a message, in bytes of JSON. */
const MAX_CONTENT = 64 * 1024;

/** How many objects and lists of it may be in each other. */
const MAX_LEVELS = 10;

/**
 * The content of a message.
 * @throws {LiveError} if clients cannot send it here.
 */
export function contentOf(
  { ports, direct }: ChannelContext<ChatPorts, Sender>,
  content: Record<string, unknown>,
  isEdit: boolean,
): Record<string, unknown> {
  const { type, body, files } = content;
  switch (type) {
    case "deleted":
      if (!isEdit) throw unsupported();
      checkKeys(content, CONTENT_KEYS.deleted);
      return { type };
    case "call":
      // There are no calls yet; a client may announce one elsewhere.
      if (!direct || !body) throw unsupported();
      if (typeof body !== "object" || Array.isArray(body)) {
        throw invalidPayload({ "content.body": ["Must be an object."] });
      }
      break;
    case "text":
      if (!body || (typeof body === "string" && !showsSomething(body))) {
        throw empty();
      }
      checkText(body, ports.limits.maxText);
      break;
    case "files":
      if (!files || (Array.isArray(files) && files.length === 0)) throw empty();
      checkFiles(files);
      if (body !== undefined && body !== null) {
        checkText(body, ports.limits.maxText);
      }
      break;
    default:
      throw unsupported();
  }
  checkKeys(content, CONTENT_KEYS[type]);
  const fault = boundFault(content, MAX_CONTENT, MAX_LEVELS);
  if (fault) throw invalidPayload({ content: [fault] });
  return content;
}

const unsupported = () => new LiveError("chat.unsupported_content_type");

const empty = () => new LiveError("chat.empty");

/** Refuses other keys: no page shows them, so they would only fill the disk. */
function checkKeys(content: Record<string, unknown>, own: readonly string[]): void {
  const isKnown = (key: string) => COMMON_KEYS.includes(key) || own.includes(key);
  if (Object.keys(content).every(isKnown)) return;
  const known = [...own, ...COMMON_KEYS].join(", ");
  throw invalidPayload({ content: [`May only have the keys ${known}.`] });
}

function checkText(body: unknown, maxText: number): void {
  const field = "content.body";
  if (typeof body !== "string") {
    throw invalidPayload({ [field]: ["Must be a string."] });
  }
  if (lengthOf(body) > maxText) {
    throw invalidPayload({
      [field]: [`Must be at most ${maxText} characters.`],
    });
  }
}

function checkFiles(files: unknown): void {
  const isFile = (file: unknown): boolean => {
    const { url, name } = (file ?? {}) as Record<string, unknown>;
    if (typeof url !== "string" || typeof name !== "string") return false;
    return Object.keys(file as object).every((key) => FILE_KEYS.includes(key));
  };
  const areFiles = Array.isArray(files) && files.length <= MAX_FILES && files.every(isFile);
  if (areFiles) return;
  throw invalidPayload({
    "content.files": [
      `Must be a list of at most ${MAX_FILES} objects with the texts url and name, and mimeType.`,
    ],
  });
}

/** One emoji that Unicode recommends for general interchange. */
const EMOJI = new RegExp("^\\p{RGI_Emoji}$", "v");

/** A character that is shown as an emoji only with a selector, and has none. */
const BARE = /(?!\p{Emoji_Presentation})\p{Extended_Pictographic}(?!\uFE0F|\p{Emoji_Modifier})/gu;

/** Whether a text is one emoji. Many keyboards leave out selectors, as in U+2764. */
const isEmoji = (text: string): boolean =>
  EMOJI.test(text) || EMOJI.test(text.replace(BARE, "$&\uFE0F"));

/** The users that a message mentions. */
export interface Mentions {
  /** The users that it may notify, in the channel of a room. */
  readonly mentioned: string[];
  /** Whether they are notified even if they are no members. */
  readonly notifiesAll: boolean;
  /** Warns the sender about users who get no notification. Called before the answer. */
  warn(delivery: Delivery): void;
}

const NO_MENTIONS: Mentions = { mentioned: [], notifiesAll: false, warn() {} };

/**
 * Finds the users that a new message mentions, before it is written.
 * @param replaces the message that it edits or deletes. Edits send no notifications.
 */
async function mentionsOf(
  context: ChannelContext<ChatPorts, Sender>,
  content: Record<string, unknown>,
  replaces: number | undefined,
): Promise<Mentions> {
  const { ports, connection, room, direct, me, world } = context;
  const { type, body } = content;
  const ids =
    replaces === undefined && type === "text" && typeof body === "string"
      ? mentionsIn(body).filter((id) => id !== me.id)
      : [];
  if (ids.length === 0) return NO_MENTIONS;
  const found = await ports.store.users.getMany(connection.world, ids);
  const users = found.filter(({ deleted }) => !deleted);
  const mentioned = room ? users.filter((user) => mayRead(user, context, room.value)) : [];
  return {
    mentioned: mentioned.map(({ id }) => id),
    notifiesAll: room !== undefined && isVolatile(room.value),
    warn({ event, notified }) {
      const learned = new Set(direct ?? notified);
      const missed = users.filter(({ id }) => !learned.has(id));
      if (connection.isCall || missed.length === 0) return;
      const now = ports.clock.date();
      const shown = new Set(fitting(missed, world.value, now));
      const frame = pushFrame("chat.mention_warning", {
        channel: event.channel,
        event_id: event.id,
        missed_users: missed.map((user) =>
          (shown.has(user) ? sharedUser : briefUser)(user, world.value, now, false),
        ),
      });
      connection.outgoing.push(frame, 1, true);
    },
  };
}

/** Whether a user may read a room, by the traits of their last login. */
const mayRead = (
  user: UserRecord,
  { world }: ChannelContext<ChatPorts, Sender>,
  room: RoomValue,
): boolean =>
  kindOf(user) === "person" &&
  mayInRoom(
    { traits: new Set(user.traits), state: user.moderation_state },
    "chat.read",
    world.value,
    room,
  );
