import { COMMON_KEYS, CONTENT_KEYS, FILE_KEYS, MAX_FILES } from "../../../schemas/live/chat.js";
import type { CommandName, Commands } from "../../../schemas/live/index.js";
import { blockedWordAction } from "../../../schemas/plain/moderation/blocked-words.js";
import { lengthOf, showsSomething } from "../../../schemas/plain/texts.js";
import { boundFault } from "../../../schemas/validate.js";
import type { ChannelContext, CommandTable, CommandSender } from "../../module.js";
import type { Sendable } from "../../rules/encoding.js";
import {
  chatDenied,
  invalidPayload,
  LiveError,
  rateLimited,
  unknownEvent,
} from "../../rules/problems.js";
import { configOf, mayInRoom } from "../../rules/rights.js";
import { sentEvent } from "./audience.js";
import { mentionsOf } from "./chat-mentions.js";
import { answerWithPage, type ChatPorts, idOf, pageOfSearch } from "./chat-pages.js";
import { readUsers, sharedUser } from "../../rules/sent-users.js";
import { sentHeld } from "./held-commands.js";

type Message = Extract<CommandName, "chat.send" | "chat.fetch" | "chat.search" | "chat.react">;

/** Message commands that are also available over HTTP. */
export const sharedMessages: CommandTable<"chat.send" | "chat.fetch", ChatPorts, CommandSender> = {
  "chat.send": { inChannel: "chat.send", direct: "members", rounded: ["replaces"], handler: send },
  "chat.fetch": {
    inChannel: "chat.read",
    direct: "members",
    rounded: ["before_id", "after_id"],
    handler: fetch,
  },
};

/** All message commands. */
export const messages: CommandTable<Message, ChatPorts> = {
  ...sharedMessages,
  "chat.search": {
    inChannel: "chat.read",
    direct: "members",
    rounded: ["before"],
    handler: search,
  },
  "chat.react": {
    // Requires reading as well, because the response contains the event.
    inChannel: ["chat.send", "chat.read"],
    direct: "members",
    rounded: ["event"],
    handler: react,
  },
};

/**
 * Checks that the caller is a member who may send. The user of an HTTP call counts as a member
 * during the call, if that user may join.
 * @returns whether the membership is volatile.
 * @throws {LiveError}
 */
async function requireMember(context: ChannelContext<ChatPorts, CommandSender>): Promise<boolean> {
  const { ports, connection, channel, direct, me, room } = context;
  const { world } = connection;
  // The store rejects direct messages from silenced users.
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
 * Parses an event id, given as a number or as a decimal string.
 * @throws {LiveError} if the id is invalid.
 */
function eventIdOf(value: unknown): number {
  const isDecimal = typeof value === "string" && /^[0-9]{1,16}$/.test(value);
  const id = isDecimal ? Number(value) : value;
  if (Number.isSafeInteger(id) && (id as number) > 0) return id as number;
  throw unknownEvent();
}

async function send(
  context: ChannelContext<ChatPorts, CommandSender>,
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
  const call = !isEdit && content.type === "call" ? ports.calls.bodyFor(channel) : undefined;
  if (call) {
    if (!context.may("call.join")) throw chatDenied();
    const running = await ports.calls.running(connection.world, channel);
    if (running) return { event: sentEvent(running, () => undefined) };
    content.body = call;
  }
  const size = Buffer.byteLength(JSON.stringify(content));
  if (!ports.rates.mayMessage(connection, size)) throw rateLimited();
  // Moderators may delete messages even when the chat is full.
  const isDeletion = content.type === "deleted";
  if (!isDeletion && !ports.rates.mayStore(connection, size)) {
    throw rateLimited();
  }
  if (direct && isUnused && !ports.rates.mayShow(connection, direct.length - 1)) {
    throw rateLimited();
  }
  const moderates = room && mayInRoom(login, "chat.moderate", world.value, room.value);
  const isExempt = isDeletion || (moderates ?? context.may("chat.moderate"));
  const blocked = isExempt ? undefined : blockedWordAction(world.value.config, textsIn(content));
  if (blocked === "refuse" || (blocked && direct)) throw new LiveError("chat.blocked_word");
  const chat = room && configOf(room.value, "chat.native");
  const at = ports.clock.date();
  const slowMode = isExempt ? 0 : Number(chat?.slow_mode ?? 0);
  const slow = slowMode > 0 ? { seconds: slowMode, at } : undefined;
  if (room && !isExempt && (blocked ?? chat?.hold === true)) {
    const draft = { sender: me.id, content, replaces, volatile, slow };
    const { author } = connection;
    const held = await ports.store.chat.hold(connection.world, channel, draft, at, author);
    return { held: sentHeld(held) };
  }
  const mentions = await mentionsOf(context, me.id, content, isEdit);
  const delivery = await ports.store.chat.send(
    connection.world,
    channel,
    {
      sender: me.id,
      content,
      replaces,
      moderates,
      volatile,
      slow,
      mentioned: mentions.mentioned,
      notifiesAll: mentions.notifiesAll,
    },
    connection.author,
  );
  ports.metrics?.chatted(delivery.event.type);
  if (!isEdit) ports.activity.count(connection.world, "messages");
  mentions.warn(delivery);
  if (call) await ports.calls.begin(connection.world, delivery.event, connection.author);
  return { event: sentEvent(delivery.event, () => undefined) };
}

async function fetch(
  context: ChannelContext<ChatPorts, CommandSender>,
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

// Validation of message contents and reactions.

/** Returns all texts in a message that others are shown. */
function textsIn({ body, files, preview_card: card }: Record<string, unknown>): string[] {
  const names = Array.isArray(files) ? files.map((file) => (file as { name?: unknown }).name) : [];
  return stringsIn([body, names, card]);
}

/** Returns all strings in a JSON value whose depth is limited. */
const stringsIn = (value: unknown): string[] =>
  typeof value === "string"
    ? [value]
    : typeof value === "object" && value !== null
      ? Object.values(value).flatMap(stringsIn)
      : [];

/** Maximum size of a message's content, in bytes of JSON. */
const MAX_CONTENT = 64 * 1024;

/** Maximum nesting depth of objects and lists in a message's content. */
const MAX_LEVELS = 10;

/**
 * Validates the content of a message, and returns it.
 * @throws {LiveError} if clients may not send this content in this channel.
 */
export function contentOf(
  { ports, direct }: ChannelContext<ChatPorts, CommandSender>,
  content: Record<string, unknown>,
  isEdit: boolean,
): Record<string, unknown> {
  const { type, body, files } = content;
  const isHeldHere = direct !== undefined && ports.calls.bodyFor("") !== undefined;
  switch (type) {
    case "deleted":
      if (!isEdit) throw unsupported();
      checkKeys(content, CONTENT_KEYS.deleted);
      return { type };
    case "call":
      if (isHeldHere) {
        if (isEdit) throw unsupported();
        break;
      }
      // A client may announce a call that is held elsewhere.
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

/** Rejects unknown keys: no page shows their values, so these values would only fill the disk. */
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

/** A single emoji that Unicode recommends for general interchange (RGI). */
const EMOJI = new RegExp("^\\p{RGI_Emoji}$", "v");

/** A character that needs a variation selector to be shown as an emoji, but lacks one. */
const BARE = /(?!\p{Emoji_Presentation})\p{Extended_Pictographic}(?!\uFE0F|\p{Emoji_Modifier})/gu;

/** Whether a string is a single emoji. Many keyboards omit variation selectors, as in U+2764. */
const isEmoji = (text: string): boolean =>
  EMOJI.test(text) || EMOJI.test(text.replace(BARE, "$&\uFE0F"));
