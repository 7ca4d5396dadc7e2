import type {
  ChannelCopy,
  ChatCopy,
  EventCopy,
} from "../../schemas/chat-history.js";
import { StoreError } from "../store.js";
import { TYPES } from "./chat-events.js";
import type { Connection } from "./database.js";

/**
 * The most events in a document. Each takes some 400 bytes of text, and the longest
 * string of Node.js has 512 Mi characters.
 */
export const MAX_COPIED_EVENTS = 500_000;

interface ChannelRow {
  number: number;
  id: string;
  direct: string | null;
}

interface EventRow {
  id: number;
  channel: string;
  type: number;
  sender: string | null;
  timestamp: number;
  replaces: number | null;
  deleted: number;
  content: string | Uint8Array;
}

/** The events of a world that are not over. */
const EVENTS = `chat_channels AS c JOIN chat_events AS e ON e.channel = c.number
  WHERE c.world_id = ? AND e.gone = 0`;

/** The reads of all chat of a world. */
export function chatCopyReads(db: Connection) {
  const selectChannels = db.prepare<[string], ChannelRow>(
    "SELECT number, id, direct FROM chat_channels WHERE world_id = ? ORDER BY id",
  );
  const selectMembers = db.prepare<[number], { user: string; hidden: number }>(
    "SELECT user_id AS user, hidden FROM chat_members WHERE channel = ? ORDER BY number",
  );
  const selectReaders = db.prepare<
    [number],
    { user: string; pointer: number | null; listed: number | null }
  >(
    "SELECT user_id AS user, pointer, listed FROM chat_readers WHERE channel = ? ORDER BY user_id",
  );
  const selectNotifications = db.prepare<
    [number],
    { user: string; event: number }
  >(
    `SELECT user_id AS user, event FROM chat_notifications AS n
     WHERE channel = ? AND EXISTS (SELECT 1 FROM chat_events AS e
       WHERE e.id = n.event AND e.channel = n.channel AND e.gone = 0)
     ORDER BY event, user_id`,
  );
  const countEvents = db
    .prepare<[string], number>(`SELECT count(*) FROM ${EVENTS}`)
    .pluck();
  const selectEvents = db.prepare<[string], EventRow>(
    `SELECT e.id, c.id AS channel, e.type, e.sender, e.timestamp, e.replaces, e.deleted, e.content
     FROM ${EVENTS} ORDER BY e.id`,
  );
  const selectReactions = db.prepare<
    [string],
    { event: number; reaction: string; user: string }
  >(
    `SELECT r.event, r.reaction, r.user_id AS user FROM chat_reactions AS r
     WHERE r.event IN (SELECT e.id FROM ${EVENTS}) ORDER BY r.number`,
  );

  function channelCopy({ number, id, direct }: ChannelRow): ChannelCopy {
    const members = selectMembers
      .all(number)
      .map(({ user, hidden }) => ({ user, ...(hidden && { hidden: true }) }));
    const readers = selectReaders
      .all(number)
      .map(({ user, pointer, listed }) => ({
        user,
        ...(pointer !== null && { pointer }),
        ...(listed !== null && { listed }),
      }));
    const notifications = selectNotifications.all(number);
    return {
      id,
      ...(direct !== null && { direct: direct.split(",") }),
      ...(members.length > 0 && { members }),
      ...(readers.length > 0 && { readers }),
      ...(notifications.length > 0 && { notifications }),
    };
  }

  function reactionsIn(worldId: string): Map<number, Map<string, string[]>> {
    const byEvent = new Map<number, Map<string, string[]>>();
    for (const { event, reaction, user } of selectReactions.iterate(worldId)) {
      let given = byEvent.get(event);
      if (!given) byEvent.set(event, (given = new Map<string, string[]>()));
      const users = given.get(reaction);
      if (users) users.push(user);
      else given.set(reaction, [user]);
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
      if (count > MAX_COPIED_EVENTS) {
        throw new StoreError(
          "large",
          `The chat has ${count} events, and a document holds at most ${MAX_COPIED_EVENTS}. A backup holds them all.`,
        );
      }
      const channels = selectChannels.all(worldId).map(channelCopy);
      if (channels.length === 0) return undefined;
      const reactions = reactionsIn(worldId);
      const events: EventCopy[] = [];
      const ids = new Set<number>();
      for (const row of selectEvents.iterate(worldId)) {
        // Clients show no edit of a message that is over.
        if (row.replaces !== null && !ids.has(row.replaces)) continue;
        ids.add(row.id);
        events.push(toEventCopy(row, reactions.get(row.id)));
      }
      const erased = [...usersIn(channels, events)]
        .filter((user) => !users.has(user))
        .sort();
      return { ...(erased.length > 0 && { erased }), channels, events };
    },
  };
}

function toEventCopy(
  { id, channel, type, sender, timestamp, ...row }: EventRow,
  reactions: Map<string, string[]> | undefined,
): EventCopy {
  const { content } = row;
  return {
    id,
    channel,
    type: TYPES[type]!,
    timestamp: new Date(timestamp).toISOString(),
    ...(sender !== null && { sender }),
    ...(typeof content === "string" && {
      content: JSON.parse(content) as Record<string, unknown>,
    }),
    ...(row.deleted && { deleted: true }),
    ...(row.replaces !== null && { replaces: row.replaces }),
    ...(reactions && { reactions: Object.fromEntries(reactions) }),
  };
}

/** The users who occur in some chat, erased or not. */
function usersIn(channels: ChannelCopy[], events: EventCopy[]): Set<string> {
  const found = new Set<string>();
  for (const { direct, members, readers, notifications } of channels) {
    direct?.forEach((user) => found.add(user));
    for (const { user } of [
      ...(members ?? []),
      ...(readers ?? []),
      ...(notifications ?? []),
    ]) {
      found.add(user);
    }
  }
  for (const { sender, reactions } of events) {
    if (sender !== undefined) found.add(sender);
    if (!reactions) continue;
    for (const user of Object.values(reactions).flat()) found.add(user);
  }
  return found;
}
