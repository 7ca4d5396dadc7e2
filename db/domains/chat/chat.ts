import { USERS } from "../../contract/author.js";
import type {
  Channel,
  ChatEvent,
  ChatStore,
  ChatDelivery,
  HeldRecord,
  StoredReadMark,
  ChannelMembership,
  MessageInput,
  MessageSearch,
  NewMark,
  Unread,
} from "../../contract/chat-store.js";
import {
  type ChannelRow,
  MAX_NOTIFICATIONS,
  MESSAGE,
  toChannel,
  toEvents,
} from "../../rules/chat-rows.js";
import { approvedMessage, noted, rejectedMessage } from "../../rules/acts.js";
import { absent, denied } from "../../rules/preconditions.js";
import { IS_KNOWN } from "../../rules/rows.js";
import { frozen } from "../../rules/versions.js";
import { closeReports } from "../closed-reports.js";
import {
  type Bound,
  domain,
  type DomainLog,
  type EngineWrites,
  type Reading,
  type Sql,
} from "../domain.js";
import {
  CHANNEL_COLUMNS,
  createChannel,
  expectSender,
  FIND_CHANNEL,
  markRead,
  memberWrites,
} from "./channels.js";
import { chatErasures, sentBy } from "./chat-erasing.js";
import {
  perEngine,
  readDeliveries,
  readEvent,
  readEvents,
  readReactions,
  readSent,
} from "./event-reads.js";
import {
  dropEdits,
  dropHeldOf,
  expectAuthor,
  heldReads,
  holdMessage,
  keepPace,
  takeHeld,
} from "./held.js";
import { indexMessages, reindexMessage, unindexMessages } from "./search.js";

// The events themselves do not tell the id: erasing removes the last ones, soon or late.
const LAST = `SELECT seq FROM log_heads WHERE world_id = $1
  AND EXISTS (SELECT 1 FROM chat_channels WHERE world_id = $1 AND last_event > 0)`;

const IS_MEMBER = `SELECT 1 FROM chat_channels AS c CROSS JOIN chat_members AS m
  WHERE c.world_id = $1 AND c.id = $2
    AND m.world_id = $1 AND m.channel = c.number AND m.user_id = $3`;

const MEMBERS = `SELECT user_id FROM chat_members
  WHERE world_id = $1
    AND channel = (SELECT number FROM chat_channels WHERE world_id = $1 AND id = $2)
  ORDER BY number DESC LIMIT $3`;

const MEMBERSHIPS = `SELECT ${CHANNEL_COLUMNS}, m.hidden
  FROM chat_members AS m JOIN chat_channels AS c ON c.world_id = $1 AND c.number = m.channel
  WHERE m.world_id = $1 AND m.user_id = $2 ORDER BY m.number`;

const marksOf = (users: string) => `SELECT r.user_id AS "user", c.id AS channel, r.pointer, r.listed
  FROM chat_readers AS r JOIN chat_channels AS c ON c.world_id = $1 AND c.number = r.channel
  WHERE r.world_id = $1 AND r.user_id ${users}`;

const MARKS = marksOf("= ANY ($2)");

/**
 * Selects read marks, plus a row without a channel if there are any notifications. Most users have
 * no notifications, so they need no second query.
 */
const UNREAD = `${marksOf("= $2")}
  UNION ALL SELECT NULL, NULL, NULL, NULL
  WHERE EXISTS (SELECT 1 FROM chat_notifications WHERE world_id = $1 AND user_id = $2)`;

const NOTIFICATIONS = `SELECT c.id AS channel, n.event
  FROM chat_notifications AS n JOIN chat_channels AS c ON c.world_id = $1 AND c.number = n.channel
  WHERE n.world_id = $1 AND n.user_id = $2
  ORDER BY n.event DESC LIMIT ${MAX_NOTIFICATIONS}`;

/** @see ChatStore.unread */
async function readUnread(sql: Sql, world: string, user: string): Promise<Unread> {
  const rows = await sql.all<StoredReadMark | { channel: null }>(UNREAD, [world, user]);
  const marks = rows.filter((row): row is StoredReadMark => row.channel !== null);
  if (marks.length === rows.length) return { marks, notifications: [] };
  const notifications = await sql.all<{ channel: string; event: number }>(NOTIFICATIONS, [
    world,
    user,
  ]);
  return { marks, notifications: notifications.reverse() };
}

const chatReads = (sql: Reading) => ({
  lastId: async (world: string): Promise<number> => (await sql.value<number>(LAST, [world])) ?? 0,

  async channel(world: string, id: string): Promise<Channel | undefined> {
    const row = await sql.one<ChannelRow>(FIND_CHANNEL, [world, id]);
    return row && toChannel(row);
  },

  events: readEvents.bind(undefined, sql),
  sent: readSent.bind(undefined, sql),
  sentBy: sentBy.bind(undefined, sql),
  deliveries: readDeliveries.bind(undefined, sql),
  search: (world: string, channel: string, search: MessageSearch) =>
    sql.search("messages", world, { channel, ...search }),

  async event(world: string, channel: string, id: number): Promise<ChatEvent | undefined> {
    const row = await readEvent(sql, world, channel, id);
    return row && toEvents(channel, [row], await readReactions(sql, world, [row]))[0];
  },

  isMember: async (world: string, channel: string, user: string): Promise<boolean> =>
    (await sql.one(IS_MEMBER, [world, channel, user])) !== undefined,

  members: (world: string, channel: string, limit: number): Promise<string[]> =>
    sql.column<string>(MEMBERS, [world, channel, limit]),

  async memberships(world: string, user: string): Promise<ChannelMembership[]> {
    const rows = await sql.all<ChannelRow & { hidden: number }>(MEMBERSHIPS, [world, user]);
    return rows.map((row) => ({ ...toChannel(row), hidden: row.hidden === 1 }));
  },

  marks: (world: string, users: readonly string[]): Promise<StoredReadMark[]> =>
    sql.all<StoredReadMark>(MARKS, [world, users]),

  unread: readUnread.bind(undefined, sql),
  ...heldReads(sql),
});

/** A message in the form sent to the writer thread. The content is JSON. */
type SentMessage = Omit<MessageInput, "content"> & { content: string };

const NOTIFY = `INSERT INTO chat_notifications (world_id, user_id, channel, event)
  SELECT u.world_id, u.id, CAST($2 AS BIGINT), CAST($3 AS BIGINT) FROM`;

const IS_NOTIFIED = `u.world_id = $1 AND u.id <> $4 AND ${IS_KNOWN}`;

// A cross join keeps SQLite from reading all users in the world.
const NOTIFY_MEMBERS = `${NOTIFY} chat_members AS m CROSS JOIN users AS u
  WHERE m.world_id = $1 AND m.channel = $2 AND u.id = m.user_id AND ${IS_NOTIFIED}
  RETURNING user_id`;

const NOTIFY_NAMED = `${NOTIFY} users AS u
  WHERE u.id = ANY ($5) AND ${IS_NOTIFIED} AND ($6 OR EXISTS (
    SELECT 1 FROM chat_members AS m WHERE m.world_id = $1 AND m.channel = $2 AND m.user_id = u.id))
  RETURNING user_id`;

const FORGET = "DELETE FROM chat_notifications WHERE world_id = $1 AND channel = $2 AND event = $3";

const SET_EDIT = `INSERT INTO chat_edits (world_id, event, edit) VALUES ($1, $2, $3)
  ON CONFLICT (world_id, event) DO UPDATE SET edit = excluded.edit`;

const LAST_EDIT = "SELECT edit FROM chat_edits WHERE world_id = $1 AND event = $2";

/** The message that a draft edits or deletes. */
interface Replaced {
  id: number;
  type: number;
  sender: string | null;
  deleted: number;
}

const OF_CHANNEL = "e.world_id = $1 AND e.channel = $2";

const texts = perEngine(({ isPresent, blank }) => ({
  find: `SELECT e.id, e.type, e.sender, e.deleted FROM chat_events AS e
    WHERE ${OF_CHANNEL} AND ${isPresent} AND e.id = (
      SELECT coalesce(e.replaces, e.id) FROM chat_events AS e
      WHERE ${OF_CHANNEL} AND ${isPresent} AND e.id = $3)`,
  blank: `UPDATE chat_events AS e SET content = ${blank} WHERE ${OF_CHANNEL} AND e.id = $3`,
  remove: `UPDATE chat_events AS e SET content = ${blank}, deleted = 1
    WHERE ${OF_CHANNEL} AND e.id = $3`,
  removeEdits: `UPDATE chat_events AS e SET content = ${blank}, deleted = 1
    WHERE ${OF_CHANNEL} AND e.replaces = $3 AND e.deleted = 0`,
}));

/** The parts of writes that change messages, also for moderators who decide about reports. */
export function messageParts(sql: Sql, log: DomainLog, own: EngineWrites) {
  const { find, blank, remove, removeEdits } = texts(sql);

  const lastEdit = (world: string, event: number) => sql.value<number>(LAST_EDIT, [world, event]);

  /** Stores notifications for the next event. @returns the ids of the notified users. */
  async function notify(
    world: string,
    { number, direct }: ChannelRow,
    { sender, mentioned = [], notifiesAll = false }: SentMessage,
  ): Promise<string[]> {
    if (direct === null && mentioned.length === 0) return [];
    const params = [world, number, log.next(world), sender];
    return direct === null
      ? sql.column<string>(NOTIFY_NAMED, [...params, mentioned, notifiesAll])
      : sql.column<string>(NOTIFY_MEMBERS, params);
  }

  /**
   * Returns the message that a draft edits or deletes.
   * @throws {StoreError} `absent` on `event`, or `denied`.
   */
  async function expectReplaced(
    world: string,
    channel: ChannelRow,
    { replaces, sender, moderates }: SentMessage,
    deletes: boolean,
  ): Promise<Replaced> {
    const replaced = Number.isSafeInteger(replaces)
      ? await sql.one<Replaced>(find, [world, channel.number, replaces])
      : undefined;
    if (replaced?.type !== MESSAGE) throw absent("event");
    if (replaced.sender !== sender) {
      const mayDelete = moderates && channel.direct === null;
      if (!deletes || !mayDelete) throw denied("It is another user's.");
    }
    if (replaced.deleted && !deletes) throw denied("It is deleted.");
    return replaced;
  }

  /**
   * Returns the event that deleted a message, or the message's last edit if an erasure deleted it.
   * Returns undefined if there is no such event.
   */
  async function deletionOf(
    world: string,
    channel: string,
    { id, deleted }: Replaced,
  ): Promise<ChatDelivery | undefined> {
    const edit = deleted ? await lastEdit(world, id) : undefined;
    if (edit === undefined) return undefined;
    return (await readDeliveries(sql, world, channel, edit - 1, 1))[0];
  }

  /** Replaces the content of a message. @param content as JSON; null deletes the message. */
  async function change(
    world: string,
    channel: ChannelRow,
    replaced: Replaced,
    sender: string,
    content: string | null,
  ): Promise<ChatDelivery> {
    log.erased("chat_events", "chat_notifications");
    const params = [world, channel.number, replaced.id];
    if (content !== null) {
      await reindexMessage(sql, log, world, channel.number, replaced.id, content);
      await sql.run(blank, params);
      // All edits but the last have already been erased.
      const edit = await lastEdit(world, replaced.id);
      if (edit !== undefined) await sql.run(blank, [world, channel.number, edit]);
    } else if (!replaced.deleted) {
      await unindexMessages(sql, log, world, [replaced.id]);
      await sql.run(remove, params);
      await sql.run(removeEdits, params);
      await sql.run(FORGET, params);
    }
    if (channel.direct === null) await dropEdits(sql, log, world, channel.id, replaced.id);
    const deleted = content === null ? 1 : 0;
    const event = { type: MESSAGE, sender, content, replaces: replaced.id, deleted };
    const delivery = await own.appendEvent(world, channel, event);
    await sql.run(SET_EDIT, [world, replaced.id, delivery.event.id]);
    if (replaced.sender !== sender) {
      log.moderated(world, delivery, replaced.sender);
      await closeReports(sql, log, world, "message", replaced.id, sender);
    }
    return delivery;
  }

  /** Finds a message, which may be deleted. */
  const findMessage = (world: string, channel: ChannelRow, event: number) =>
    sql.one<Replaced>(find, [world, channel.number, event]);

  return { notify, expectReplaced, deletionOf, change, findMessage };
}

function messageWrites(sql: Sql, log: DomainLog, own: EngineWrites) {
  const { notify, expectReplaced, deletionOf, change, findMessage } = messageParts(sql, log, own);

  /** Sends a message of a user whose rights were checked. */
  async function post(
    world: string,
    id: string,
    found: ChannelRow | undefined,
    draft: SentMessage,
  ): Promise<ChatDelivery> {
    const { sender, content } = draft;
    const channel = found ?? (await createChannel(sql, world, id));
    const notified = await notify(world, channel, draft);
    return own.appendEvent(world, channel, { type: MESSAGE, sender, content }, notified);
  }

  return {
    async send(world: string, id: string, draft: SentMessage): Promise<ChatDelivery> {
      const { sender, volatile, slow } = draft;
      const found = await expectSender(sql, world, id, sender, volatile);
      await keepPace(sql, world, id, sender, slow);
      return post(world, id, found, draft);
    },

    async replace(
      world: string,
      id: string,
      draft: SentMessage,
      deletes: boolean,
    ): Promise<ChatDelivery> {
      const { sender, volatile } = draft;
      const channel = await expectSender(sql, world, id, sender, volatile);
      if (!channel) throw absent("event");
      const replaced = await expectReplaced(world, channel, draft, deletes);
      const before = await deletionOf(world, id, replaced);
      if (before) return before;
      return change(world, channel, replaced, sender, deletes ? null : draft.content);
    },

    async hold(world: string, id: string, draft: SentMessage, at: number): Promise<HeldRecord> {
      const { sender, content, volatile, slow, replaces } = draft;
      const channel = await expectSender(sql, world, id, sender, volatile);
      if (channel && channel.direct !== null) throw denied("Direct messages never wait.");
      const held = { channel: id, sender, content, timestamp: at };
      if (replaces == null) {
        await keepPace(sql, world, id, sender, slow);
        return holdMessage(sql, log, world, { ...held, replaces: null });
      }
      if (!channel) throw absent("event");
      const replaced = await expectReplaced(world, channel, draft, false);
      return holdMessage(sql, log, world, { ...held, replaces: replaced.id });
    },

    async approve(
      world: string,
      id: string,
      held: string,
      mentioned: readonly string[],
      notifiesAll: boolean,
    ): Promise<ChatDelivery> {
      const { sender, content, replaces } = await takeHeld(sql, log, world, id, held);
      await expectAuthor(sql, world, sender);
      const channel = await sql.one<ChannelRow>(FIND_CHANNEL, [world, id]);
      let delivery: ChatDelivery;
      if (replaces === null) {
        const draft = { sender, content, mentioned, notifiesAll };
        delivery = await post(world, id, channel, draft);
      } else {
        const replaced = channel && (await findMessage(world, channel, replaces));
        if (!replaced || replaced.deleted) throw absent("event");
        delivery = await change(world, channel, replaced, sender, content);
      }
      const { id: event } = delivery.event;
      const gone = { channel: id, held, user: sender } as const;
      log.append(world, { type: "chat.unheld", ...gone, state: "approved", event });
      log.append(world, noted(approvedMessage(id, event, sender)));
      return delivery;
    },

    async reject(
      world: string,
      id: string,
      held: string,
      reason: string | null,
    ): Promise<HeldRecord> {
      const message = await takeHeld(sql, log, world, id, held);
      const gone = { channel: id, held, user: message.sender } as const;
      const hidden = reason === null ? {} : { hidden: { reason } };
      log.append(world, { type: "chat.unheld", ...gone, state: "rejected", ...hidden });
      log.append(world, noted(rejectedMessage(id, message.sender)));
      return message;
    },

    async rejectAll(world: string, user: string): Promise<number> {
      const gone = await dropHeldOf(sql, log, world, user);
      for (const { channel } of gone) log.append(world, noted(rejectedMessage(channel, user)));
      return gone.length;
    },
  };
}

export const chat = domain({
  reads: chatReads,
  writes: (sql, log, own) => ({
    ...messageWrites(sql, log, own),
    ...memberWrites(sql, log, own),
    ...chatErasures(sql, log),
    index: (world: string, channel: string) => indexMessages(sql, world, channel),
    mark: (world: string, marks: readonly NewMark[]) => markRead(sql, log, world, marks),
  }),
  parameters: {
    send: 3,
    replace: 4,
    hold: 4,
    approve: 5,
    reject: 4,
    rejectAll: 2,
    join: 3,
    leave: 4,
    react: 4,
    direct: 4,
    index: 2,
    mark: 2,
    empty: 3,
    expire: 2,
  },
});

/**
 * Adapts the chat domain to `ChatStore`. Message content is passed to the writer as JSON, which is
 * faster to copy than an object.
 */
export const chatStore = ({ replace, hold, index, ...bound }: Bound<typeof chat>): ChatStore => ({
  ...bound,
  send(world, id, { content, ...rest }, by) {
    const draft = { content: JSON.stringify(content), ...rest };
    if (draft.replaces == null) return bound.send(world, id, draft, by);
    return replace(world, id, draft, content.type === "deleted", by);
  },
  hold: (world, id, { content, ...rest }, at, by) =>
    hold(world, id, { content: JSON.stringify(content), ...rest }, at, by),
  async search(world, id, selection) {
    for (;;) {
      const { rows } = await bound.search(world, id, selection);
      if (rows) return rows;
      await index(world, id);
    }
  },
  react: async (...args) => frozen(await bound.react(...args)),
  async direct(...args) {
    const opened = await bound.direct(...args);
    return { ...opened, channel: frozen(opened.channel) };
  },
  async mark(marks) {
    const byWorld = new Map<string, NewMark[]>();
    for (const mark of marks) {
      const own = byWorld.get(mark.world);
      if (own) own.push(mark);
      else byWorld.set(mark.world, [mark]);
    }
    await Promise.all([...byWorld].map(([world, own]) => bound.mark(world, own, USERS)));
  },
});
