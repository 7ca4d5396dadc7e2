import { kindOf } from "../../../db/rules/user-rows.js";
import { detach } from "../../../db/runtime.js";
import type { Commands } from "../../../schemas/live/index.js";
import { uuid } from "../../../schemas/plain/texts.js";
import type { ChannelContext, Context } from "../../module.js";
import { chatDenied, rateLimited } from "../../rules/problems.js";
import type { ChatPorts } from "./chat-ports.js";

/** How many people a direct channel has at most. */
const MAX_MEMBERS = 100;

const UUID = new RegExp(uuid.pattern, "i");

/** Finds or creates the direct channel of some users, and subscribes the caller to it. */
export async function createDirect(
  context: Context<ChatPorts>,
  { users, hide = true }: Commands["chat.direct.create"]["payload"],
) {
  const { ports, connection, me } = context;
  const members = membersIn(users, me.id);
  if (!ports.rates.mayMessage(connection)) throw rateLimited();
  // Screens and people without a name have no messages.
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
  const tell = () => detach(readStates.tellOne(connection));
  if (appeared.includes(me.id)) {
    // The caller gets a new one in the answer, unless all members get a push.
    if (isNew && hide) readStates.knows(me.id, channel.id);
    else tell();
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
    // The answer does not bring the channel to the caller.
    tell();
    throw error;
  }
}

/**
 * The ids of all members, the caller included.
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
