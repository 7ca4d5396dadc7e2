import type { ChatDelivery } from "../../../db/contract/chat-store.js";
import type { RoomValue, UserRecord } from "../../../db/contract/store.js";
import { kindOf } from "../../../db/rules/user-rows.js";
import type { ChannelContext, CommandSender } from "../../module.js";
import { isVolatile, mayInRoom } from "../../rules/rights.js";
import { pushFrame } from "../../socket/frame.js";
import type { ChatPorts } from "./chat-pages.js";
import { mentionsIn } from "./chat-users.js";
import { briefUser, fitting, sharedUser } from "../../rules/sent-users.js";

/** The users that a message mentions. */
export interface Mentions {
  /** The users that the message may notify; empty in a direct channel. */
  readonly mentioned: string[];
  /** Whether the mentioned users are notified even if they are not members. */
  readonly notifiesAll: boolean;
  /** Warns the sender about users who are not notified. Called before the response is sent. */
  warn(delivery: ChatDelivery): void;
}

const NO_MENTIONS: Mentions = { mentioned: [], notifiesAll: false, warn() {} };

/**
 * Finds the users mentioned in a new message before the message is written.
 * @param author the id of the author.
 * @param isEdit whether the message edits or deletes another one. Edits send no notifications.
 */
export async function mentionsOf(
  context: ChannelContext<ChatPorts, CommandSender>,
  author: string,
  content: Record<string, unknown>,
  isEdit: boolean,
): Promise<Mentions> {
  const { ports, connection, room, direct, world } = context;
  const { type, body } = content;
  const ids =
    !isEdit && type === "text" && typeof body === "string"
      ? mentionsIn(body).filter((id) => id !== author)
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

/** Whether a user may read a room, based on the traits of the user's last login. */
const mayRead = (
  user: UserRecord,
  { world }: ChannelContext<ChatPorts, CommandSender>,
  room: RoomValue,
): boolean =>
  kindOf(user) === "person" &&
  mayInRoom(
    { traits: new Set(user.traits), state: user.moderation_state },
    "chat.read",
    world.value,
    room,
  );
