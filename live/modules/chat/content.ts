import { kindOf } from "../../../db/rules/user-kinds.js";
import type { Delivery } from "../../../db/contract/chat.js";
import type { RoomValue, UserRecord } from "../../../db/contract/store.js";
import { COMMON_KEYS, CONTENT_KEYS, FILE_KEYS, MAX_FILES } from "../../../schemas/live/chat.js";
import { boundFault } from "../../../schemas/validate.js";
import { lengthOf, showsSomething } from "../../../schemas/plain/texts.js";
import type { ChannelContext, Sender } from "../../context.js";
import { invalidPayload, LiveError } from "../../rules/problems.js";
import { isVolatile, mayInRoom } from "../../rules/rights.js";
import { pushFrame } from "../../socket/frame.js";
import type { ChatPorts } from "./ports.js";
import { briefUser, fitting, mentionsIn, sharedUser } from "./users.js";

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

const unsupported = () =>
  new LiveError("chat.unsupported_content_type", "The channel takes no content of this type.");

const empty = () => new LiveError("chat.empty", "The message is empty.");

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
export const isEmoji = (text: string): boolean =>
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
export async function mentionsOf(
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
