import type { Delivery, MessageDraft } from "../../contract/chat.js";
import { type ChannelRow, MESSAGE } from "../../rules/chat-rows.js";
import { absent, denied } from "../../rules/preconditions.js";
import { IS_KNOWN } from "../../rules/rows.js";
import type { DomainLog, EngineWrites } from "../domain.js";
import type { Sql } from "../sql.js";
import { createChannel, expectSender } from "./channel-rows.js";
import { perEngine } from "./event-dialects.js";
import { readDeliveries } from "./event-reads.js";
import { reindexMessage, unindexMessages } from "./search.js";

/** A message as it travels to the writer thread: with its content as JSON. */
export type SentMessage = Omit<MessageDraft, "content"> & { content: string };

const NOTIFY = `INSERT INTO chat_notifications (world_id, user_id, channel, event)
  SELECT u.world_id, u.id, CAST($2 AS BIGINT), CAST($3 AS BIGINT) FROM`;

const IS_NOTIFIED = `u.world_id = $1 AND u.id <> $4 AND ${IS_KNOWN}`;

// A cross join keeps SQLite from reading all users of the world.
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

/** An event that an edit or a deletion names. */
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

/** The writes of messages. */
export function messageWrites(sql: Sql, log: DomainLog, own: EngineWrites) {
  const { find, blank, remove, removeEdits } = texts(sql);

  const lastEdit = (world: string, event: number) => sql.value<number>(LAST_EDIT, [world, event]);

  /** Notifies users of the next event. @returns their ids. */
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
   * The message that a draft edits or deletes.
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

  /** The event that deleted a message; undefined if an erasure did it. */
  async function deletionOf(
    world: string,
    channel: string,
    { id, deleted }: Replaced,
  ): Promise<Delivery | undefined> {
    const edit = deleted ? await lastEdit(world, id) : undefined;
    if (edit === undefined) return undefined;
    return (await readDeliveries(sql, world, channel, edit - 1, 1))[0];
  }

  return {
    async send(world: string, id: string, draft: SentMessage): Promise<Delivery> {
      const { sender, content, volatile } = draft;
      const found = await expectSender(sql, world, id, sender, volatile);
      const channel = found ?? (await createChannel(sql, world, id));
      const notified = await notify(world, channel, draft);
      return own.appendEvent(world, channel, { type: MESSAGE, sender, content }, notified);
    },

    async replace(
      world: string,
      id: string,
      draft: SentMessage,
      deletes: boolean,
    ): Promise<Delivery> {
      const { sender, volatile } = draft;
      const channel = await expectSender(sql, world, id, sender, volatile);
      if (!channel) throw absent("event");
      const replaced = await expectReplaced(world, channel, draft, deletes);
      const before = await deletionOf(world, id, replaced);
      if (before) return before;
      log.erased("chat_events", "chat_notifications");
      const params = [world, channel.number, replaced.id];
      if (!deletes) {
        await reindexMessage(sql, log, world, channel.number, replaced.id, draft.content);
        await sql.run(blank, params);
        // Earlier edits are erased already.
        const edit = await lastEdit(world, replaced.id);
        if (edit !== undefined) await sql.run(blank, [world, channel.number, edit]);
      } else if (!replaced.deleted) {
        await unindexMessages(sql, log, world, [replaced.id]);
        await sql.run(remove, params);
        await sql.run(removeEdits, params);
        await sql.run(FORGET, params);
      }
      const content = deletes ? null : draft.content;
      const event = {
        type: MESSAGE,
        sender,
        content,
        replaces: replaced.id,
        deleted: deletes ? 1 : 0,
      };
      const delivery = await own.appendEvent(world, channel, event);
      await sql.run(SET_EDIT, [world, replaced.id, delivery.event.id]);
      if (replaced.sender !== sender) log.moderated(world, delivery, replaced.sender);
      return delivery;
    },
  };
}
