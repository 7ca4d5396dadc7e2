import type {
  ChannelCopy,
  ChatCopy,
  EventCopy,
} from "../../../schemas/documents/chat-history.js";
import {
  contentsOf,
  lastsOf,
  markAmong,
  takenChannel,
  takenUser,
} from "../../copies/chat-copies.js";
import { TYPES } from "../../rules/chat-rows.js";
import type { Inserted, Sql } from "../sql.js";
import { insertAll, numbersIn, refuseTaken } from "./bulk.js";

/** What an import of chat needs of its engine. */
export interface ChatImporter {
  /** The first of so many numbers in the log of the world. An entry has to follow. */
  skip(count: number): number;
  newTag(): number;
  /** In place of the content of an event that has none. */
  readonly noContent: Uint8Array | null;
}

/**
 * Creates the chat of a world that has its rooms and users already. Its events get new
 * ids, in the same order. The entry that the world was created follows them.
 * @throws {StoreError} `taken` on `users` or `chat`.
 */
export async function importChat(
  sql: Sql,
  engine: ChatImporter,
  worldId: string,
  { erased = [], channels, events }: ChatCopy,
): Promise<void> {
  await refuseTaken(sql, "users", erased, takenUser);
  const ids = channels.map(({ id }) => id);
  await refuseTaken(sql, "chat_channels", ids, takenChannel);
  const tombstones = erased.map((id) => ({ id, last_seen: 0 }));
  await insertAll(sql, "users", worldId, tombstones);
  const first = engine.skip(events.length);
  const newIds = new Map(events.map(({ id }, i) => [id, first + i]));
  await importChannels(sql, worldId, channels, events, newIds);
  const numbers = await numbersIn(sql, "chat_channels", worldId);
  await importEvents(sql, engine, worldId, events, numbers, newIds);
  await importMembers(sql, worldId, channels, numbers, events, newIds);
}

/** The numbers of the channels by their ids. */
type Numbers = ReadonlyMap<string, number>;

/** The new ids of the events by their old ones. */
type NewIds = ReadonlyMap<number, number>;

async function importChannels(
  sql: Sql,
  worldId: string,
  channels: readonly ChannelCopy[],
  events: readonly EventCopy[],
  newIds: NewIds,
): Promise<void> {
  const lasts = lastsOf(events, newIds);
  const rows = channels.map(({ id, direct }) => {
    const { event, message } = lasts.get(id) ?? { event: 0, message: 0 };
    const set = direct?.join() ?? null;
    return { id, direct: set, last_event: event, last_message: message };
  });
  await insertAll(sql, "chat_channels", worldId, rows);
}

async function importEvents(
  sql: Sql,
  engine: ChatImporter,
  worldId: string,
  events: readonly EventCopy[],
  numbers: Numbers,
  newIds: NewIds,
): Promise<void> {
  const idOf = (id: number) => newIds.get(id)!;
  const contentOf = contentsOf(events);
  const rowOf = (event: EventCopy) => ({
    id: idOf(event.id),
    tag: engine.newTag(),
    channel: numbers.get(event.channel)!,
    type: TYPES.indexOf(event.type),
    sender: event.sender ?? null,
    timestamp: Date.parse(event.timestamp),
    replaces: event.replaces === undefined ? null : idOf(event.replaces),
    deleted: Number(event.deleted ?? false),
    content: contentOf(event) ?? engine.noContent,
  });
  function* rows() {
    for (const event of events) yield rowOf(event);
  }
  await insertAll(sql, "chat_events", worldId, rows());
  // Of several edits, the last one stays.
  const edits = new Map<number, number>();
  for (const { id, replaces } of events) {
    if (replaces !== undefined) edits.set(idOf(replaces), idOf(id));
  }
  const pairs = [...edits].map(([event, edit]) => ({ event, edit }));
  await insertAll(sql, "chat_edits", worldId, pairs);
  function* reactions() {
    for (const { id, reactions = {} } of events) {
      for (const [reaction, users] of Object.entries(reactions)) {
        for (const user of users) {
          yield { event: idOf(id), reaction, user_id: user };
        }
      }
    }
  }
  await insertAll(sql, "chat_reactions", worldId, reactions());
}

async function importMembers(
  sql: Sql,
  worldId: string,
  channels: readonly ChannelCopy[],
  numbers: Numbers,
  events: readonly EventCopy[],
  newIds: NewIds,
): Promise<void> {
  const oldIds = events.map(({ id }) => id);
  const markOf = (mark: number | undefined): number | null =>
    mark === undefined ? null : markAmong(oldIds, newIds, mark);
  function* rowsOf(list: (channel: ChannelCopy) => Inserted[]) {
    for (const one of channels) {
      const channel = numbers.get(one.id)!;
      for (const row of list(one)) yield { channel, ...row };
    }
  }
  const members = rowsOf(({ members = [] }) =>
    members.map(({ user, hidden = false }) => ({
      ...{ user_id: user, hidden: Number(hidden) },
    })),
  );
  await insertAll(sql, "chat_members", worldId, members);
  const readers = rowsOf(({ readers = [] }) =>
    readers.map(({ user, pointer, listed }) => ({
      ...{ user_id: user, pointer: markOf(pointer), listed: markOf(listed) },
    })),
  );
  await insertAll(sql, "chat_readers", worldId, readers);
  const told = rowsOf(({ notifications = [] }) =>
    notifications.map(({ user, event }) => ({
      ...{ user_id: user, event: newIds.get(event)! },
    })),
  );
  await insertAll(sql, "chat_notifications", worldId, told);
}
