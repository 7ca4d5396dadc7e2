import type { Delivery, MessageDraft } from "../../contract/chat.js";
import {
  type ChannelRow,
  type EventRow,
  MEMBER,
  MESSAGE,
  type NewEvent,
  toEvents,
} from "../../rules/chat-rows.js";
import { channelWrites, senderCheck } from "./chat-channels.js";
import { deliveryReads } from "./chat-events.js";
import type { Connection } from "../engine/connection.js";
import type { WriteLog } from "../log/log-writes.js";
import { absent, denied } from "../../rules/preconditions.js";
import { IS_KNOWN } from "../../rules/rows.js";
import { blankOf } from "../erasure/scrub.js";

/** A message as it travels to the writer thread: with its content as JSON. */
type SentMessage = Omit<MessageDraft, "content"> & { content: string };

/** An event that an edit or a deletion names. */
interface Replaced {
  rowid: number;
  id: number;
  type: number;
  sender: string | null;
  replaces: number | null;
  deleted: number;
}

/** The remains of a content. */
export const BLANK = blankOf("content");

const NOTHING = new Uint8Array();

/** The fields of a delivery beside the event and its place in the channel. */
type Recipients = Partial<Pick<Delivery, "notified" | "appeared">>;

/** Stores events. */
export function eventWriter(db: Connection, log: WriteLog) {
  const insert = db.prepare<unknown[]>(
    `INSERT INTO chat_events (world_id, id, tag, channel, type, sender, timestamp, replaces, deleted, content, author)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const note = db.prepare<[number, number, number]>(
    "UPDATE chat_channels SET last_event = ?, last_message = ? WHERE number = ?",
  );

  /**
   * Stores an event as the next entry of the log, and notes it in the row of its channel,
   * which was read in this transaction.
   */
  return (
    worldId: string,
    channel: ChannelRow,
    given: NewEvent,
    { notified = [], appeared = [] }: Recipients = {},
  ): Delivery => {
    const { type, sender, content, replaces = null, deleted = 0 } = given;
    const timestamp = Date.now();
    const [id, tag] = [log.next(worldId), log.newTag()];
    insert.run(
      worldId,
      id,
      tag,
      channel.number,
      type,
      sender,
      timestamp,
      replaces,
      deleted,
      content ?? NOTHING,
      log.authorBeside(sender),
    );
    const { last_event: previous, last_message: previousMessage } = channel;
    channel.last_event = id;
    if (type !== MEMBER) channel.last_message = id;
    note.run(id, channel.last_message, channel.number);
    const row: EventRow = {
      id,
      type,
      sender,
      timestamp,
      replaces,
      deleted,
      content,
      edited: null,
    };
    const event = toEvents(channel.id, [row])[0]!;
    const delivery = { event, previous, previousMessage, notified, appeared };
    log.deliver(worldId, tag, delivery);
    return delivery;
  };
}

/** The writes of messages. Each runs inside a transaction of its caller. */
export function messageWrites(db: Connection, log: WriteLog) {
  const channels = channelWrites(db);
  const post = eventWriter(db, log);
  const expectSender = senderCheck(db);
  const deliveries = deliveryReads(db);
  const selectReplaced = db.prepare<[string, number, number], Replaced>(
    `SELECT rowid, id, type, sender, replaces, deleted FROM chat_events
     WHERE world_id = ? AND channel = ? AND id = ? AND gone = 0`,
  );
  const setEdit = db.prepare<[string, number, number]>(
    `INSERT INTO chat_edits (world_id, event, edit) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET edit = excluded.edit`,
  );
  const lastEdit = db
    .prepare<[string, number], number>(
      "SELECT edit FROM chat_edits WHERE world_id = ? AND event = ?",
    )
    .pluck();
  const blank = db.prepare<[number]>(
    `UPDATE chat_events SET content = ${BLANK} WHERE rowid = ? AND typeof(content) = 'text'`,
  );
  // Earlier ones are erased already.
  const blankEdit = db.prepare<{ world: string; event: number }>(
    `UPDATE chat_events SET content = ${BLANK}
     WHERE world_id = @world AND typeof(content) = 'text'
       AND id = (SELECT edit FROM chat_edits WHERE world_id = @world AND event = @event)`,
  );
  const remove = db.prepare<[number]>(
    `UPDATE chat_events SET content = ${BLANK}, deleted = 1 WHERE rowid = ?`,
  );
  const removeEdits = db.prepare<[string, number, number]>(
    `UPDATE chat_events SET content = ${BLANK}, deleted = 1
     WHERE world_id = ? AND channel = ? AND replaces = ? AND deleted = 0`,
  );
  const forgetNotices = db.prepare<[string, number, number]>(
    "DELETE FROM chat_notifications WHERE world_id = ? AND channel = ? AND event = ?",
  );
  const unlist = db.prepare<[string, string, number]>(
    "UPDATE chat_readers SET listed = NULL WHERE world_id = ? AND user_id = ? AND channel = ? AND listed IS NOT NULL",
  );
  const show = db
    .prepare<[string, number], string>(
      "UPDATE chat_members SET hidden = 0 WHERE world_id = ? AND channel = ? AND hidden = 1 RETURNING user_id",
    )
    .pluck();
  /**
   * @param from selects the notified users: tables joined with `users`, and a condition. A `CROSS
   *   JOIN` keeps SQLite from going through all users of the world.
   */
  const notify = (from: string) =>
    db
      .prepare<Notified, string>(
        `INSERT OR IGNORE INTO chat_notifications (world_id, user_id, channel, event)
         SELECT @world, users.id, @channel, @event FROM ${from}
           AND users.id != @sender AND users.world_id = @world AND ${IS_KNOWN}
         RETURNING user_id`,
      )
      .pluck();
  const notifyMembers = notify(
    `chat_members CROSS JOIN users ON users.id = chat_members.user_id
     WHERE chat_members.world_id = @world AND chat_members.channel = @channel`,
  );
  const notifyNamed = notify(
    `json_each(@users) AS named CROSS JOIN users ON users.id = named.value
     WHERE (@all OR EXISTS (SELECT 1 FROM chat_members
       WHERE world_id = @world AND channel = @channel AND user_id = users.id))`,
  );

  /**
   * The message that a draft edits or deletes.
   * @throws {StoreError} `absent` on `event`, or `denied`.
   */
  function expectReplaced(
    worldId: string,
    channel: ChannelRow | undefined,
    draft: SentMessage,
    deletes: boolean,
  ): Replaced {
    const find = (id: number) =>
      channel && selectReplaced.get(worldId, channel.number, id);
    const named = find(draft.replaces!);
    const replaced =
      named && named.replaces !== null ? find(named.replaces) : named;
    if (replaced?.type !== MESSAGE) throw absent("event");
    if (replaced.sender !== draft.sender) {
      const mayDelete = draft.moderates && channel!.direct === null;
      if (!deletes || !mayDelete) throw denied("It is another user's.");
    }
    if (replaced.deleted && !deletes) throw denied("It is deleted.");
    return replaced;
  }

  /** The event that deleted a message; undefined if an erasure did it. */
  function deletionOf(
    worldId: string,
    { number }: ChannelRow,
    { id, deleted }: Replaced,
  ): Delivery | undefined {
    const edit = deleted ? lastEdit.get(worldId, id) : undefined;
    if (edit === undefined) return undefined;
    return deliveries.ofChannel(worldId, number, edit - 1, 1)[0]?.delivery;
  }

  function replace(
    worldId: string,
    id: string,
    draft: SentMessage,
    deletes: boolean,
  ): Delivery {
    const found = channels.expect(worldId, id);
    expectSender(worldId, found, draft.sender, draft.volatile);
    const replaced = expectReplaced(worldId, found, draft, deletes);
    const channel = found!;
    const before = deletionOf(worldId, channel, replaced);
    if (before) return before;
    log.erased();
    if (!deletes) {
      blank.run(replaced.rowid);
      blankEdit.run({ world: worldId, event: replaced.id });
    } else if (!replaced.deleted) {
      remove.run(replaced.rowid);
      removeEdits.run(worldId, channel.number, replaced.id);
      forgetNotices.run(worldId, channel.number, replaced.id);
    }
    const event = {
      type: MESSAGE,
      sender: draft.sender,
      replaces: replaced.id,
      ...(deletes ? { deleted: 1, content: null } : { content: draft.content }),
    };
    const appeared = seen(worldId, channel, draft.sender);
    const delivery = post(worldId, channel, event, { appeared });
    setEdit.run(worldId, replaced.id, delivery.event.id);
    if (replaced.sender !== draft.sender) {
      log.moderated(worldId, delivery, replaced.sender);
    }
    return delivery;
  }

  /**
   * Updates the unread lists and notifications for a new message.
   * @returns the users who got a direct channel by it.
   */
  function seen(
    worldId: string,
    { number, direct }: ChannelRow,
    sender: string,
  ): string[] {
    if (direct !== null) return show.all(worldId, number);
    unlist.run(worldId, sender, number);
    return [];
  }

  return {
    sendMessage(worldId: string, id: string, draft: SentMessage): Delivery {
      const { sender, content, mentioned = [], notifiesAll = false } = draft;
      const found = channels.expect(worldId, id);
      expectSender(worldId, found, sender, draft.volatile);
      const channel = found ?? channels.create(worldId, id);
      const about = {
        world: worldId,
        channel: channel.number,
        event: log.next(worldId),
        sender,
      };
      const notified =
        channel.direct !== null
          ? notifyMembers.all({ ...about, users: "", all: 0 })
          : mentioned.length > 0
            ? notifyNamed.all({
                ...about,
                users: JSON.stringify(mentioned),
                all: notifiesAll ? 1 : 0,
              })
            : [];
      const appeared = seen(worldId, channel, sender);
      const event = { type: MESSAGE, sender, content };
      return post(worldId, channel, event, { notified, appeared });
    },

    editMessage: (worldId: string, id: string, draft: SentMessage): Delivery =>
      replace(worldId, id, draft, false),

    deleteMessage: (
      worldId: string,
      id: string,
      draft: SentMessage,
    ): Delivery => replace(worldId, id, draft, true),
  };
}

interface Notified {
  world: string;
  channel: number;
  event: number;
  sender: string;
  /** JSON of the ids of the mentioned users. */
  users: string;
  /** 1 if they need not be members. */
  all: number;
}
