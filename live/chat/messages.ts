import type { ChatEvent } from "../../db/chat.js";
import type {
  Commands,
  CommandName,
  PublicUser,
  TypedEvent,
} from "../../schemas/live/index.js";
import { lengthOf } from "../../schemas/plain/texts.js";
import type { ChannelContext, Module } from "../commands.js";
import {
  chatDenied,
  invalidPayload,
  LiveError,
  rateLimited,
  tooLarge,
  unknownEvent,
} from "../problems.js";
import { mayInRoom } from "../rights.js";
import { sentEvent } from "./events.js";
import { mentionsOf } from "./mentions.js";
import { jsonOfUser, readUsers, sharedUser, usersIn } from "./users.js";
import { isVolatile } from "../targets.js";

/** The largest content of a message, in bytes of JSON. */
const MAX_CONTENT = 64 * 1024;

/** How many files a message may have. */
const MAX_FILES = 100;

/** How many events a page has at most. */
const MAX_PAGE = 1000;

/** How many users a page tells of, and how large they may be together, in characters of JSON. */
const MAX_USERS = 1000;
const MAX_USERS_SIZE = 256 * 1024;

/** How large the users in the member events of a page may be, likewise. */
const MAX_MEMBERS_SIZE = 4 * 1024 * 1024;

type Message = Extract<CommandName, "chat.send" | "chat.fetch" | "chat.react">;

/** What is said in channels. */
export const messages: Module<Message> = {
  "chat.send": {
    inChannel: "chat.send",
    direct: "members",
    rounded: ["replaces"],
    handler: send,
  },
  "chat.fetch": {
    inChannel: "chat.read",
    direct: "members",
    rounded: ["before_id", "after_id"],
    handler: fetch,
  },
  "chat.react": {
    inChannel: "chat.send",
    direct: "members",
    rounded: ["event"],
    handler: react,
  },
};

/**
 * Checks that the caller is a member who may say something.
 * @returns whether the membership is a volatile one.
 * @throws {LiveError}
 */
async function requireMember(context: ChannelContext): Promise<boolean> {
  const { live, connection, channel, direct, me } = context;
  const { world } = connection;
  if (direct) {
    if (me.moderation_state !== "") throw chatDenied();
    return false;
  }
  const isVolatile = live.chat.channels.isVolatileMember(world, channel, me.id);
  if (isVolatile || (await live.store.chat.isMember(world, channel, me.id))) {
    return isVolatile;
  }
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
  context: ChannelContext,
  payload: Commands["chat.send"]["payload"],
): Promise<Commands["chat.send"]["result"]> {
  const { live, connection, channel, room, login, world, me } = context;
  const volatile = await requireMember(context);
  if (payload.event_type !== "channel.message") {
    throw new LiveError(
      "chat.unsupported_event_type",
      "Only messages can be sent.",
    );
  }
  const isEdit = payload.replaces !== undefined && payload.replaces !== null;
  const content = contentOf(context, payload.content, isEdit);
  const replaces = isEdit ? eventIdOf(payload.replaces) : undefined;
  if (!live.mayMessage(connection)) throw rateLimited();
  const mentions = await mentionsOf(context, content, replaces);
  const delivery = await live.store.chat.send(
    connection.world,
    channel,
    {
      sender: me.id,
      content,
      replaces,
      moderates:
        room && mayInRoom(login, "chat.moderate", world.value, room.value),
      volatile,
      mentioned: mentions.mentioned,
      notifiesAll: mentions.notifiesAll,
    },
    connection.id,
  );
  live.metrics?.chatted(delivery.event.type);
  mentions.warn(delivery);
  return { event: sentEvent(delivery.event, () => undefined) };
}

/**
 * What a message says.
 * @throws {LiveError} if nobody can send that here.
 */
function contentOf(
  { live, direct }: ChannelContext,
  content: Record<string, unknown>,
  isEdit: boolean,
): Record<string, unknown> {
  const { type, body, files } = content;
  switch (type) {
    case "deleted":
      if (!isEdit) throw unsupported();
      return { type };
    case "call":
      if (!direct) throw unsupported();
      if (!body) throw empty();
      if (typeof body !== "object" || Array.isArray(body)) {
        throw invalidPayload({ "content.body": ["Must be an object."] });
      }
      break;
    case "text":
      if (!body) throw empty();
      checkText(body, live.limits.maxText);
      break;
    case "files":
      if (!files || (Array.isArray(files) && files.length === 0)) throw empty();
      checkFiles(files);
      if (body !== undefined && body !== null) {
        checkText(body, live.limits.maxText);
      }
      break;
    default:
      throw unsupported();
  }
  if (Buffer.byteLength(JSON.stringify(content)) > MAX_CONTENT) {
    throw invalidPayload({
      content: [`Must be at most ${MAX_CONTENT / 1024} KiB of JSON.`],
    });
  }
  return content;
}

const unsupported = () =>
  new LiveError(
    "chat.unsupported_content_type",
    "Nobody can send content of this type here.",
  );

const empty = () => new LiveError("chat.empty", "The message is empty.");

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
    return typeof url === "string" && typeof name === "string";
  };
  const areFiles =
    Array.isArray(files) && files.length <= MAX_FILES && files.every(isFile);
  if (areFiles) return;
  throw invalidPayload({
    "content.files": [
      `Must be a list of at most ${MAX_FILES} objects with the texts url and name.`,
    ],
  });
}

async function fetch(
  context: ChannelContext,
  { count, before_id, after_id }: Commands["chat.fetch"]["payload"],
): Promise<Commands["chat.fetch"]["result"]> {
  if ((before_id === undefined) === (after_id === undefined)) {
    throw invalidPayload({
      non_field_errors: ["Either before_id or after_id is required."],
    });
  }
  const { results, users } = await pageOf(context, {
    ...(before_id !== undefined && { before: idOf(before_id) }),
    ...(after_id !== undefined && { after: idOf(after_id) }),
    limit: Number(count),
  });
  return { results, users };
}

/** An id as clients send it. What is larger than any id means all events. */
export const idOf = (id: number | string): number =>
  Math.min(Number(id), Number.MAX_SAFE_INTEGER);

/**
 * A page of events, with the users whom the connection was not told of.
 * @param selection.until the id of the last event that may be part of it, for a
 *   connection that is only about to subscribe.
 */
export async function pageOf(
  context: ChannelContext,
  selection: {
    before?: number;
    after?: number;
    until?: number;
    limit: number;
  },
): Promise<{ results: TypedEvent[]; users: Record<string, PublicUser> }> {
  const { live, connection, channel, room } = context;
  const { world } = connection;
  const { until = Infinity, limit, ...bounds } = selection;
  const withoutMembers =
    room && (isVolatile(room.value) || room.value.extras.force_join);
  const read =
    limit === 0
      ? []
      : await live.store.chat.events(world, channel, {
          ...bounds,
          limit: Math.min(limit, MAX_PAGE),
          withoutMembers,
        });
  const events = read.filter(({ id }) => id <= until);
  const involved = events.map(usersIn);
  // Every sender comes before anybody who is only mentioned.
  const ids = [
    ...new Set([...involved.map(([first]) => first ?? ""), ...involved.flat()]),
  ]
    .filter((id) => id !== "")
    .slice(0, MAX_USERS);
  const found = await readUsers(live, world, ids);
  const shownUser = (id: string) => {
    const user = found.get(id);
    return user && sharedUser(user, context.world.value, false);
  };
  let size = 0;
  const results = events.map((event) => {
    size += sizeOfMember(event);
    if (size > MAX_MEMBERS_SIZE) throw tooLarge();
    return { ...sentEvent(event, shownUser), type: "chat.event" as const };
  });
  return { results, users: usersFor() };

  function sizeOfMember({ type, sender }: ChatEvent): number {
    const user =
      type === "channel.member" ? found.get(sender ?? "") : undefined;
    return user ? jsonOfUser(user, context.world.value, false).length : 0;
  }

  function usersFor(): Record<string, PublicUser> {
    const listener = live.chat.channels.subscriptions.listener(connection);
    // What was pushed while somebody subscribes may never be sent.
    const audience =
      selection.until === undefined
        ? live.chat.channels.subscriptions.of(channel)
        : undefined;
    const admin = context.may("user.manage");
    const users: Record<string, PublicUser> = {};
    let size = 0;
    for (const id of ids) {
      const user = found.get(id);
      if (!user || listener.knows(id, audience?.toldOf(id, connection))) {
        continue;
      }
      size += jsonOfUser(user, context.world.value, admin).length;
      if (size > MAX_USERS_SIZE) break;
      users[id] = sharedUser(user, context.world.value, admin);
    }
    listener.tell(Object.keys(users));
    return users;
  }
}

/** One emoji of those that Unicode recommends for general interchange. */
const EMOJI = new RegExp("^\\p{RGI_Emoji}$", "v");

/** A character that is shown as an emoji only with a selector, and has none. */
const BARE =
  /(?!\p{Emoji_Presentation})\p{Extended_Pictographic}(?!\uFE0F|\p{Emoji_Modifier})/gu;

/** Whether a text is one emoji. Many keyboards leave out selectors, as in U+2764. */
const isEmoji = (text: string): boolean =>
  EMOJI.test(text) || EMOJI.test(text.replace(BARE, "$&\uFE0F"));

async function react(
  context: ChannelContext,
  payload: Commands["chat.react"]["payload"],
): Promise<Commands["chat.react"]["result"]> {
  const { live, connection, channel, me, world } = context;
  const volatile = await requireMember(context);
  const { reaction } = payload;
  if (typeof reaction !== "string" || !isEmoji(reaction)) {
    throw new LiveError("emoji.sadpanda", "The reaction must be one emoji.");
  }
  const id = eventIdOf(payload.event);
  const event = await live.store.chat.react(
    connection.world,
    channel,
    id,
    { user: me.id, reaction, remove: payload.delete ?? false, volatile },
    connection.id,
  );
  const users =
    event.type === "channel.member"
      ? await readUsers(live, connection.world, [event.sender ?? ""])
      : undefined;
  const sent = sentEvent(event, (id) => {
    const user = users?.get(id);
    return user && sharedUser(user, world.value, false);
  });
  return { ...sent, type: "chat.event.reaction" };
}
