import type {
  ChannelCopy,
  ChatCopy,
  EventCopy,
} from "../../schemas/chat-history.js";
import { StoreError } from "../store.js";
import type { Connection } from "./database.js";

/**
 * The most events in a document. Each takes some 400 bytes of text, and the longest
 * string of Node.js has 512 Mi characters.
 */
export const MAX_COPIED_EVENTS = 500_000;

/** The types of events by their stored numbers. */
const TYPES = ["channel.message", "channel.member", "channel.poll"] as const;

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

/** The writes of all chat of a world. */
export function chatCopyWrites(db: Connection) {
  const hasUser = db.prepare<[string]>("SELECT 1 FROM users WHERE id = ?");
  const addTombstone = db.prepare<[string, string]>(
    "INSERT INTO users (id, world_id, last_seen) VALUES (?, ?, 0)",
  );
  const hasChannel = db.prepare<[string]>(
    "SELECT 1 FROM chat_channels WHERE id = ?",
  );
  const addChannel = db.prepare<[string, string, string | null]>(
    "INSERT INTO chat_channels (id, world_id, direct) VALUES (?, ?, ?)",
  );
  const addEvent = db.prepare<unknown[]>(
    `INSERT INTO chat_events (channel, type, sender, timestamp, replaces, deleted, content)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const noteEdit = db.prepare<[number, number]>(
    "INSERT OR REPLACE INTO chat_edits (event, edit) VALUES (?, ?)",
  );
  const noteLast = db.prepare<[number, number, number]>(
    `UPDATE chat_channels SET last_event = ?, last_message = ?
     WHERE number = ?`,
  );
  const addReaction = db.prepare<[number, string, string]>(
    "INSERT INTO chat_reactions (event, reaction, user_id) VALUES (?, ?, ?)",
  );
  const addMember = db.prepare<[number, string, number]>(
    "INSERT INTO chat_members (channel, user_id, hidden) VALUES (?, ?, ?)",
  );
  const addReader = db.prepare<unknown[]>(
    "INSERT INTO chat_readers (user_id, channel, pointer, listed) VALUES (?, ?, ?, ?)",
  );
  const addNotification = db.prepare<[string, number, number]>(
    "INSERT INTO chat_notifications (user_id, channel, event) VALUES (?, ?, ?)",
  );

  function importChannels(
    worldId: string,
    channels: readonly ChannelCopy[],
  ): Map<string, number> {
    return new Map(
      channels.map(({ id, direct }) => {
        if (hasChannel.get(id)) {
          throw new StoreError(
            "taken",
            `The id ${id} of a channel is taken.`,
            "chat",
          );
        }
        const set = direct?.join() ?? null;
        return [id, Number(addChannel.run(id, worldId, set).lastInsertRowid)];
      }),
    );
  }

  /** @returns the new id of each event by its old one. */
  function importEvents(
    events: readonly EventCopy[],
    numbers: ReadonlyMap<string, number>,
  ): Map<number, number> {
    const newIds = new Map<number, number>();
    for (const event of events) {
      const channel = numbers.get(event.channel)!;
      const { content, deleted = false } = event;
      const replaces =
        event.replaces === undefined ? null : newIds.get(event.replaces)!;
      const { lastInsertRowid } = addEvent.run(
        channel,
        TYPES.indexOf(event.type),
        event.sender ?? null,
        Date.parse(event.timestamp),
        replaces,
        Number(deleted),
        content && !deleted ? JSON.stringify(content) : Buffer.alloc(0),
      );
      const id = Number(lastInsertRowid);
      newIds.set(event.id, id);
      if (replaces !== null) noteEdit.run(replaces, id);
      for (const [reaction, users] of Object.entries(event.reactions ?? {})) {
        for (const user of users) addReaction.run(id, reaction, user);
      }
    }
    return newIds;
  }

  return {
    /**
     * Creates the chat of a world that has its rooms and users already. Its events
     * get new ids, in the same order.
     * @throws {StoreError} `taken` on `users` or `chat`.
     */
    importChat(
      worldId: string,
      { erased = [], channels, events }: ChatCopy,
    ): void {
      for (const id of erased) {
        if (hasUser.get(id)) {
          throw new StoreError(
            "taken",
            `The id ${id} of a user is taken.`,
            "users",
          );
        }
        addTombstone.run(id, worldId);
      }
      const numbers = importChannels(worldId, channels);
      const newIds = importEvents(events, numbers);
      const oldIds = events.map(({ id }) => id);
      const markOf = (mark: number | undefined): number | null =>
        mark === undefined ? null : markAmong(oldIds, newIds, mark);
      const lasts = new Map<string, { event: number; message: number }>();
      for (const { id, channel, type } of events) {
        const event = newIds.get(id)!;
        const message =
          type === "channel.member"
            ? (lasts.get(channel)?.message ?? 0)
            : event;
        lasts.set(channel, { event, message });
      }
      for (const { id, members, readers, notifications } of channels) {
        const number = numbers.get(id)!;
        const last = lasts.get(id);
        if (last) noteLast.run(last.event, last.message, number);
        for (const { user, hidden = false } of members ?? []) {
          addMember.run(number, user, Number(hidden));
        }
        for (const { user, pointer, listed } of readers ?? []) {
          addReader.run(user, number, markOf(pointer), markOf(listed));
        }
        for (const { user, event } of notifications ?? []) {
          addNotification.run(user, number, newIds.get(event)!);
        }
      }
    },
  };
}

/**
 * The new id for a mark. The marked event may be over or of another world: then the
 * last one before it is meant, and 0 if there is none.
 * @param oldIds in ascending order.
 */
function markAmong(
  oldIds: readonly number[],
  newIds: ReadonlyMap<number, number>,
  mark: number,
): number {
  let low = 0;
  let high = oldIds.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (oldIds[middle]! <= mark) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? 0 : newIds.get(oldIds[low - 1]!)!;
}
