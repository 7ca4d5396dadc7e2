import type { Commands, CommandName } from "../../../schemas/live/index.js";
import type { ChatPorts } from "./ports.js";
import type { ChannelContext, Sender } from "../../context.js";
import type { CommandTable } from "../../module.js";
import type { Sendable } from "../../rules/encoding.js";
import {
  chatDenied,
  invalidPayload,
  LiveError,
  rateLimited,
  unknownEvent,
} from "../../rules/problems.js";
import { mayInRoom } from "../../rules/rights.js";
import { contentOf, isEmoji, mentionsOf } from "./content.js";
import { sentEvent } from "./batch.js";
import { answerWithPage, idOf, pageOfSearch } from "./pages.js";
import { readUsers, sharedUser } from "./users.js";

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
    throw new LiveError("chat.unsupported_event_type", "Only messages can be sent.");
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
    throw new LiveError("emoji.sadpanda", "The reaction must be one emoji.");
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
