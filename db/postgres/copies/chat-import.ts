import type {
  ChannelCopy,
  ChatCopy,
  EventCopy,
} from "../../../schemas/chat-history.js";
import {
  contentsOf,
  lastsOf,
  markAmong,
  takenChannel,
  takenUser,
} from "../../copies/chat-copies.js";
import { TYPES } from "../../rules/chat-rows.js";
import type { StoreError } from "../../contract/store.js";
import type { Value } from "../../copies/tables.js";
import { finder, inserter, newNumbers } from "../engine/bulk.js";
import type { Log } from "../log/log.js";
import type { Sql } from "../../shared/sql.js";

const addTombstones = inserter("users", { id: "text", last_seen: "bigint" });

const addChannels = inserter("chat_channels", {
  number: "bigint",
  id: "text",
  direct: "text",
  last_event: "bigint",
  last_message: "bigint",
});

const addEvents = inserter("chat_events", {
  id: "bigint",
  tag: "bigint",
  channel: "bigint",
  type: "bigint",
  sender: "text",
  timestamp: "bigint",
  replaces: "bigint",
  deleted: "bigint",
  content: "text",
});

const addEdits = inserter("chat_edits", { event: "bigint", edit: "bigint" });

const addReactions = inserter("chat_reactions", {
  event: "bigint",
  reaction: "text",
  user_id: "text",
});

const addMembers = inserter("chat_members", {
  channel: "bigint",
  user_id: "text",
  hidden: "bigint",
});

const addReaders = inserter("chat_readers", {
  channel: "bigint",
  user_id: "text",
  pointer: "bigint",
  listed: "bigint",
});

const addNotifications = inserter("chat_notifications", {
  channel: "bigint",
  user_id: "text",
  event: "bigint",
});

const findUsers = finder("users", "id");
const findChannels = finder("chat_channels", "id");

/**
 * Creates the chat of a world that has its rooms and users already. Its events get new
 * ids, in the same order. The entry that the world was created follows them.
 * @throws {StoreError} `taken` on `users` or `chat`.
 */
export async function importChat(
  sql: Sql,
  log: Log,
  worldId: string,
  { erased = [], channels, events }: ChatCopy,
): Promise<void> {
  refuseTaken(erased, await findUsers(sql, erased), takenUser);
  const ids = channels.map(({ id }) => id);
  refuseTaken(ids, await findChannels(sql, ids), takenChannel);
  await addTombstones(
    sql,
    worldId,
    erased.map((id) => [id, 0]),
  );
  const drawn = await newNumbers(sql, "chat_channels", channels.length);
  const numbers = new Map(ids.map((id, i) => [id, drawn[i]!]));
  const first = log.skip(events.length);
  const newIds = new Map(events.map(({ id }, i) => [id, first + i]));
  await importChannels(sql, worldId, channels, numbers, events, newIds);
  await importEvents(sql, log, worldId, events, numbers, newIds);
  await importMembers(sql, worldId, channels, numbers, events, newIds);
}

/** @throws {StoreError} for the first of the ids that is taken, or given twice. */
function refuseTaken(
  ids: readonly string[],
  taken: Set<string>,
  refusal: (id: string) => StoreError,
): void {
  for (const id of ids) {
    if (taken.has(id)) throw refusal(id);
    taken.add(id);
  }
}

/** The numbers of the channels by their ids. */
type Numbers = ReadonlyMap<string, number>;

/** The new ids of the events by their old ones. */
type NewIds = ReadonlyMap<number, number>;

async function importChannels(
  sql: Sql,
  worldId: string,
  channels: readonly ChannelCopy[],
  numbers: Numbers,
  events: readonly EventCopy[],
  newIds: NewIds,
): Promise<void> {
  const lasts = lastsOf(events, newIds);
  const rows = channels.map(({ id, direct }) => {
    const { event, message } = lasts.get(id) ?? { event: 0, message: 0 };
    return [numbers.get(id)!, id, direct?.join() ?? null, event, message];
  });
  await addChannels(sql, worldId, rows);
}

async function importEvents(
  sql: Sql,
  log: Log,
  worldId: string,
  events: readonly EventCopy[],
  numbers: Numbers,
  newIds: NewIds,
): Promise<void> {
  const idOf = (id: number) => newIds.get(id)!;
  const contentOf = contentsOf(events);
  const rows = events.map((event) => {
    const { deleted = false, replaces } = event;
    return [
      idOf(event.id),
      log.newTag(),
      numbers.get(event.channel)!,
      TYPES.indexOf(event.type),
      event.sender ?? null,
      Date.parse(event.timestamp),
      replaces === undefined ? null : idOf(replaces),
      Number(deleted),
      contentOf(event) ?? null,
    ];
  });
  await addEvents(sql, worldId, rows);
  // Of several edits, the last one stays.
  const edits = new Map<number, number>();
  for (const { id, replaces } of events) {
    if (replaces !== undefined) edits.set(idOf(replaces), idOf(id));
  }
  await addEdits(sql, worldId, edits);
  const reactions = events.flatMap(({ id, reactions = {} }) =>
    Object.entries(reactions).flatMap(([reaction, users]) =>
      users.map((user) => [idOf(id), reaction, user]),
    ),
  );
  await addReactions(sql, worldId, reactions);
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
  const rowsOf = (list: (channel: ChannelCopy) => Value[][]) =>
    channels.flatMap((channel) =>
      list(channel).map((row) => [numbers.get(channel.id)!, ...row]),
    );
  const members = rowsOf(({ members = [] }) =>
    members.map(({ user, hidden = false }) => [user, Number(hidden)]),
  );
  await addMembers(sql, worldId, members);
  const readers = rowsOf(({ readers = [] }) =>
    readers.map(({ user, pointer, listed }) => {
      const marks = [markOf(pointer), markOf(listed)];
      return [user, ...marks];
    }),
  );
  await addReaders(sql, worldId, readers);
  const told = rowsOf(({ notifications = [] }) =>
    notifications.map(({ user, event }) => [user, newIds.get(event)!]),
  );
  await addNotifications(sql, worldId, told);
}
