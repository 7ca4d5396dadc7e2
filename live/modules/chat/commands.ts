import type { Commands, CommandName } from "../../../schemas/live/index.js";
import type { ChannelContext, Module } from "../../dispatch.js";
import { LiveError, rateLimited } from "../../rules/problems.js";
import { isSilenced, mayInRoom } from "../../rules/rights.js";
import { messages } from "./messages.js";
import { idOf, pageOf } from "./pages.js";
import { reading } from "./unread/reading.js";
import { hasName } from "./users.js";
import { isVolatile } from "../../rules/targets.js";

/** How many events the answer to a subscription has at most. */
const MAX_MISSED = 1000;

/** Everything about chat. */
export const chat: Module<Extract<CommandName, `chat.${string}`>> = {
  "chat.subscribe": {
    inChannel: "chat.read",
    direct: "members",
    rounded: ["after"],
    handler: subscribe,
  },
  "chat.unsubscribe": {
    inChannel: "any",
    direct: "anybody",
    handler: unsubscribe,
  },
  "chat.join": { inChannel: "chat.join", direct: "nobody", handler: join },
  "chat.leave": { inChannel: "any", direct: "members", handler: leave },
  ...messages,
  ...reading,
};

async function subscribe(
  context: ChannelContext,
  { after }: Commands["chat.subscribe"]["payload"],
) {
  const { channels } = context.live.chat;
  if (after === undefined) return channels.subscribe(context);
  return channels.subscribe(context, undefined, async (last) => {
    const { results, users } = await pageOf(context, {
      after: idOf(after),
      until: last,
      limit: MAX_MISSED,
    });
    return { more: { events: results, users: users.json }, told: users.ids };
  });
}

async function unsubscribe({ live, connection, channel }: ChannelContext) {
  live.chat.channels.unsubscribe(connection, channel);
  return {};
}

async function join(
  context: ChannelContext,
  payload: Commands["chat.join"]["payload"],
) {
  const { live, connection, channel, me } = context;
  if (!hasName(me)) {
    throw new LiveError(
      "channel.join.missing_profile",
      "Your profile needs a display name.",
    );
  }
  const { world } = connection;
  const { channels } = live.chat;
  const isMember = await live.store.chat.isMember(world, channel, me.id);
  // All subscribers get an event for a lasting membership.
  const isTold = !isSilenced(me) && !joinsVolatile(context, payload.volatile);
  const lasts = !isMember && isTold;
  if (lasts && !live.rates.mayJoinOrLeave(connection, me)) throw rateLimited();
  const wasSubscribed = channels.isSubscribed(connection, channel);
  // The state is that before the join, whose event is pushed.
  const state = await channels.subscribe(context);
  try {
    if (lasts) {
      const { chat } = live.store;
      const joined = await chat.join(world, channel, me.id, connection.author);
      if (joined) live.metrics?.chatted(joined.event.type);
      channels.absent(connection, channel, true);
    } else if (!isMember) channels.attend(connection, channel);
  } catch (error) {
    if (!wasSubscribed) channels.unsubscribe(connection, channel);
    throw error;
  }
  return state;
}

/** Whether somebody who joins does so for as long as they are subscribed. Only moderators choose. */
function joinsVolatile(
  { login, world, room }: ChannelContext,
  volatile: boolean | undefined,
): boolean {
  const mayChoose = mayInRoom(login, "chat.moderate", world.value, room!.value);
  return mayChoose && volatile !== undefined
    ? volatile
    : isVolatile(room!.value);
}

async function leave({ live, connection, channel, room, me }: ChannelContext) {
  const { world } = connection;
  const { channels } = live.chat;
  const { chat } = live.store;
  const isMember = await chat.isMember(world, channel, me.id);
  if (isMember && !live.rates.mayJoinOrLeave(connection, me))
    throw rateLimited();
  // Its own leave event is for the others.
  channels.unsubscribe(connection, channel);
  channels.absent(connection, channel, false);
  if (isMember) {
    const silent =
      isSilenced(me) || (room !== undefined && isVolatile(room.value));
    const left = await chat.leave(
      world,
      channel,
      me.id,
      silent,
      connection.author,
    );
    if (left) live.metrics?.chatted(left.event.type);
  }
  return {};
}
