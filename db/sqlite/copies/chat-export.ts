import type { ChannelCopy, ChatCopy } from "../../../schemas/chat-history.js";
import {
  type CopiedEvent,
  noteReaction,
  refuseLongChat,
  toChannelCopy,
  toChatCopy,
  toEventCopy,
} from "../../copies/chat-copies.js";
import type { Connection } from "../engine/connection.js";

interface ChannelRow {
  number: number;
  id: string;
  direct: string | null;
}

/** The events of a world that are not over. */
const EVENTS = `chat_channels AS c JOIN chat_events AS e ON e.world_id = c.world_id AND e.channel = c.number
  WHERE c.world_id = ? AND e.gone = 0`;

/** The reads of all chat of a world. */
export function chatCopyReads(db: Connection) {
  const selectChannels = db.prepare<[string], ChannelRow>(
    "SELECT number, id, direct FROM chat_channels WHERE world_id = ? ORDER BY id",
  );
  const selectMembers = db.prepare<
    [string, number],
    { user: string; hidden: number }
  >(
    "SELECT user_id AS user, hidden FROM chat_members WHERE world_id = ? AND channel = ? ORDER BY number",
  );
  const selectReaders = db.prepare<
    [string, number],
    { user: string; pointer: number | null; listed: number | null }
  >(
    "SELECT user_id AS user, pointer, listed FROM chat_readers WHERE world_id = ? AND channel = ? ORDER BY user_id",
  );
  const selectNotifications = db.prepare<
    [string, number],
    { user: string; event: number }
  >(
    `SELECT user_id AS user, event FROM chat_notifications AS n
     WHERE world_id = ? AND channel = ? AND EXISTS (SELECT 1 FROM chat_events AS e
       WHERE e.world_id = n.world_id AND e.channel = n.channel AND e.id = n.event AND e.gone = 0)
     ORDER BY event, user_id`,
  );
  const countEvents = db
    .prepare<[string], number>(`SELECT count(*) FROM ${EVENTS}`)
    .pluck();
  const selectEvents = db.prepare<[string], CopiedEvent>(
    `SELECT e.id, c.id AS channel, e.type, e.sender, e.timestamp, e.replaces, e.deleted, e.content
     FROM ${EVENTS} ORDER BY e.id`,
  );
  const selectReactions = db.prepare<
    { world: string },
    { event: number; reaction: string; user: string }
  >(
    `SELECT r.event, r.reaction, r.user_id AS user FROM chat_reactions AS r
     WHERE r.world_id = @world
       AND r.event IN (SELECT e.id FROM ${EVENTS.replace("?", "@world")}) ORDER BY r.number`,
  );

  function channelCopy(
    worldId: string,
    { number, id, direct }: ChannelRow,
  ): ChannelCopy {
    return toChannelCopy(
      { id, direct },
      selectMembers.all(worldId, number),
      selectReaders.all(worldId, number),
      selectNotifications.all(worldId, number),
    );
  }

  function reactionsIn(worldId: string): Map<number, Map<string, string[]>> {
    const byEvent = new Map<number, Map<string, string[]>>();
    for (const row of selectReactions.iterate({ world: worldId })) {
      noteReaction(byEvent, row);
    }
    return byEvent;
  }

  return {
    /**
     * The chat of a world; undefined if there is none.
     * @param users the ids of its users who are not erased.
     * @throws {StoreError} `large` if a document cannot hold it.
     */
    exportChat(
      worldId: string,
      users: ReadonlySet<string>,
    ): ChatCopy | undefined {
      const count = countEvents.get(worldId)!;
      refuseLongChat(count);
      const channels = selectChannels
        .all(worldId)
        .map((channel) => channelCopy(worldId, channel));
      if (channels.length === 0) return undefined;
      const reactions = reactionsIn(worldId);
      return toChatCopy(channels, copies(), users);

      function* copies() {
        for (const row of selectEvents.iterate(worldId)) {
          yield toEventCopy(row, reactions.get(row.id));
        }
      }
    },
  };
}
