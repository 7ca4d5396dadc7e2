import { detach } from "../../../db/runtime.js";
import { kindOf } from "../../../db/rules/user-rows.js";
import type { CommandName, Commands } from "../../../schemas/live/index.js";
import { uuid } from "../../../schemas/plain/texts.js";
import type { ChannelContext, CommandTable, CommandContext } from "../../module.js";
import { chatDenied, invalidPayload, LiveError, rateLimited } from "../../rules/problems.js";
import { isSilenced, isVolatile, mayInRoom } from "../../rules/rights.js";
import { messages } from "./chat-messages.js";
import { type ChatPorts, idOf, pageOf } from "./chat-pages.js";
import { hasName } from "./chat-users.js";
import { held } from "./held-commands.js";

/** Commands for read marks and direct channels. */
export const reading: CommandTable<"chat.mark_read" | "chat.direct.create", ChatPorts> = {
  "chat.mark_read": { inChannel: "any", direct: "all", handler: markRead },
  "chat.direct.create": { requires: "chat.direct", handler: createDirect },
};

async function markRead(
  context: ChannelContext<ChatPorts>,
  { id }: Commands["chat.mark_read"]["payload"],
) {
  await context.ports.readStates.mark(context, pointerIn(id));
  return {};
}

/**
 * Parses the event id in a payload.
 * @throws {LiveError}
 */
function pointerIn(id: unknown): number {
  const isDecimal = typeof id === "string" && /^[0-9]{1,16}$/.test(id);
  const pointer = isDecimal ? Number(id) : id;
  if (!pointer) throw new LiveError("chat.invalid_body");
  if (!Number.isSafeInteger(pointer) || (pointer as number) < 0) {
    throw invalidPayload({ id: ["Must be an event ID."] });
  }
  return pointer as number;
}

/** Maximum number of missed events in the response to a subscription. */
const MAX_MISSED = 1000;

/** All chat commands. */
export const chat: CommandTable<
  Exclude<Extract<CommandName, `chat.${string}`>, "chat.report">,
  ChatPorts
> = {
  "chat.subscribe": {
    inChannel: "chat.read",
    direct: "members",
    rounded: ["after"],
    handler: subscribe,
  },
  "chat.unsubscribe": { inChannel: "any", direct: "all", handler: unsubscribe },
  "chat.join": { inChannel: "chat.join", direct: "none", handler: join },
  "chat.leave": { inChannel: "any", direct: "members", handler: leave },
  ...messages,
  ...held,
  ...reading,
};

async function subscribe(
  context: ChannelContext<ChatPorts>,
  { after }: Commands["chat.subscribe"]["payload"],
) {
  const { channels } = context.ports;
  if (after === undefined) return channels.subscribe(context);
  const seen = idOf(after);
  const read = async (last: number) => {
    const page = { after: seen, until: last, limit: MAX_MISSED };
    const { results, users } = await pageOf(context, page);
    return { more: { events: results, users: users.json }, sentUsers: users.ids };
  };
  return channels.subscribe(context, undefined, { after: seen, read });
}

async function unsubscribe({ ports, connection, channel }: ChannelContext<ChatPorts>) {
  ports.channels.unsubscribe(connection, channel);
  return {};
}

async function join(context: ChannelContext<ChatPorts>, payload: Commands["chat.join"]["payload"]) {
  const { ports, connection, channel, me } = context;
  if (!hasName(me)) {
    throw new LiveError("channel.join.missing_profile");
  }
  const { world } = connection;
  const { channels } = ports;
  const isMember = await ports.store.chat.isMember(world, channel, me.id);
  // A lasting membership is announced to all subscribers.
  const isAnnounced = !isSilenced(me) && !joinsVolatile(context, payload.volatile);
  const lasts = !isMember && isAnnounced;
  if (lasts && !ports.rates.mayJoinOrLeave(connection, me)) throw rateLimited();
  const wasSubscribed = channels.isSubscribed(connection, channel);
  // The response has the state before the join; the join event is pushed.
  const state = await channels.subscribe(context);
  try {
    if (lasts) {
      const { chat } = ports.store;
      const joined = await chat.join(world, channel, me.id, connection.author);
      if (joined) ports.metrics?.chatted(joined.event.type);
      endVisit(context, true);
    } else if (!isMember) {
      const visit = { do: "attend", connection: connection.id, channel } as const;
      ports.presence.note(world, visit);
    }
  } catch (error) {
    if (!wasSubscribed) channels.unsubscribe(connection, channel);
    throw error;
  }
  return state;
}

/** Whether a join lasts only as long as the subscription. Only moderators may choose this per join. */
function joinsVolatile(
  { login, world, room }: ChannelContext<ChatPorts>,
  volatile: boolean | undefined,
): boolean {
  const mayChoose = mayInRoom(login, "chat.moderate", world.value, room!.value);
  return mayChoose && volatile !== undefined ? volatile : isVolatile(room!.value);
}

/**
 * Ends a membership that lasts only as long as the subscription, if there is one.
 * @param silent whether the user is now a lasting member. That change is pushed separately.
 */
function endVisit(
  { ports, connection, channel, me }: ChannelContext<ChatPorts>,
  silent: boolean,
): void {
  const { world, id } = connection;
  if (!ports.presence.attends(world, channel, me.id)) return;
  const step = { do: "absent", connection: id, channel, silent } as const;
  ports.presence.note(world, step);
}

async function leave(context: ChannelContext<ChatPorts>) {
  const { ports, connection, channel, room, me } = context;
  const { world } = connection;
  const { channels } = ports;
  const { chat } = ports.store;
  const isMember = await chat.isMember(world, channel, me.id);
  if (isMember && !ports.rates.mayJoinOrLeave(connection, me)) throw rateLimited();
  if (isMember) {
    const silent = isSilenced(me) || (room !== undefined && isVolatile(room.value));
    const left = await chat.leave(world, channel, me.id, silent, connection.author);
    if (left) ports.metrics?.chatted(left.event.type);
  }
  // Only after the write, so that the client keeps receiving messages if the write fails.
  channels.unsubscribe(connection, channel);
  endVisit(context, false);
  return {};
}

/** Maximum number of people in a direct channel. */
const MAX_MEMBERS = 100;

const UUID = new RegExp(uuid.pattern, "i");

/** Finds or creates the direct channel between users, and subscribes the caller to it. */
async function createDirect(
  context: CommandContext<ChatPorts>,
  { users, hide = true }: Commands["chat.direct.create"]["payload"],
) {
  const { ports, connection, me } = context;
  const members = membersIn(users, me.id);
  if (!ports.rates.mayMessage(connection)) throw rateLimited();
  // Screens and people without a name cannot use direct messages.
  const found = await ports.store.users.getMany(connection.world, members);
  if (found.some((user) => kindOf(user) !== "person")) throw chatDenied();
  if (!hide && !ports.rates.mayShow(connection, members.length - 1)) {
    throw rateLimited();
  }
  const { world } = connection;
  const { channel, created, appeared } = await ports.store.chat.direct(
    world,
    me.id,
    members,
    hide,
    connection.author,
  );
  for (const { event } of created) ports.metrics?.chatted(event.type);
  const { readStates, channels } = ports;
  const isNew = created.length > 0;
  const push = () => detach(readStates.pushOne(connection));
  if (appeared.includes(me.id)) {
    // The response shows a new channel to the caller, unless the channel is pushed to all members.
    if (isNew && hide) readStates.knows(me.id, channel.id);
    else push();
  }
  const target: ChannelContext<ChatPorts> = {
    ...context,
    channel: channel.id,
    room: undefined,
    direct: channel.direct,
    isUnused: channel.lastMessage === 0,
  };
  const since = created[0] && created[0].event.id - 1;
  try {
    const state = await channels.subscribe(target, since);
    return { ...state, id: channel.id };
  } catch (error) {
    // There will be no response to show the channel to the caller.
    push();
    throw error;
  }
}

/**
 * Returns the ids of all members, including the caller.
 * @throws {LiveError}
 */
function membersIn(users: readonly unknown[], me: string): string[] {
  const ids = new Set([me]);
  for (const id of users) {
    if (typeof id !== "string" || !UUID.test(id)) throw chatDenied();
    ids.add(id.toLowerCase());
  }
  if (ids.size < 2 || ids.size > MAX_MEMBERS) throw chatDenied();
  return [...ids];
}
