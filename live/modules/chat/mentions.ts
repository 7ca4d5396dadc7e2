import type { Delivery } from "../../../db/contract/chat.js";
import type { RoomValue, UserRecord } from "../../../db/contract/store.js";
import type { ChatPorts } from "./ports.js";
import type { ChannelContext, Sender } from "../../context.js";
import { pushFrame } from "../../socket/frame.js";
import { mayInRoom } from "../../rules/rights.js";
import { isVolatile } from "../../rules/room-modules.js";
import { mentionsIn } from "./mention-ids.js";
import { briefUser, fitting, sharedUser } from "./users.js";

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
  const mentioned = room
    ? users.filter((user) => mayRead(user, context, room.value))
    : [];
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
          (shown.has(user) ? sharedUser : briefUser)(
            user,
            world.value,
            now,
            false,
          ),
        ),
      });
      connection.outgoing.pushFirst(frame);
    },
  };
}

/** Whether a user may read a room, by the traits of their last login. */
const mayRead = (
  { traits, moderation_state: state }: UserRecord,
  { world }: ChannelContext<ChatPorts, Sender>,
  room: RoomValue,
): boolean =>
  mayInRoom({ traits: new Set(traits), state }, "chat.read", world.value, room);
