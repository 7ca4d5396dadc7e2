import type { ChannelRow } from "../../rules/chat-rows.js";
import { denied } from "../../rules/preconditions.js";
import type { Connection } from "../engine/connection.js";
import { IS_KNOWN } from "../../rules/rows.js";

/** Checks the senders of messages and reactions. */
export function senderCheck(db: Connection) {
  const select = db
    .prepare<
      [string, number | undefined, string, string],
      [state: string, isMember: number]
    >(
      `SELECT moderation_state, chat_members.number IS NOT NULL
       FROM users LEFT JOIN chat_members ON chat_members.world_id = ?
         AND chat_members.channel = ? AND chat_members.user_id = users.id
       WHERE users.id = ? AND users.world_id = ? AND ${IS_KNOWN}`,
    )
    .raw();
  const findBlock = db.prepare<[string, string, number]>(
    `SELECT 1 FROM chat_members CROSS JOIN blocks ON blocks.world_id = chat_members.world_id
       AND blocks.user_id = chat_members.user_id AND blocks.blocked_id = ?
     WHERE chat_members.world_id = ? AND chat_members.channel = ? LIMIT 1`,
  );

  /**
   * @param channel undefined for the channel of a room without any event yet.
   * @param volatile whether the user counts as a member of a room.
   * @throws {StoreError} `denied` if the user is banned, silenced or erased, is no
   *   member, or is blocked by a member of a direct channel.
   */
  return (
    worldId: string,
    channel: ChannelRow | undefined,
    user: string,
    volatile = false,
  ): void => {
    const found = select.get(worldId, channel?.number, user, worldId);
    if (!found) throw denied("There is no such user.");
    const [state, isMember] = found;
    if (state !== "") throw denied("The user is banned or silenced.");
    const isDirect = channel !== undefined && channel.direct !== null;
    if (!isMember && (isDirect || !volatile)) {
      throw denied("The user is no member of the channel.");
    }
    if (isDirect && findBlock.get(user, worldId, channel.number)) {
      throw denied("A member blocks the user.");
    }
  };
}
