import type { MessageDraft } from "../chat.js";
import {
  type ChannelRow,
  type DeliveryRow,
  MEMBER,
  MESSAGE,
} from "../chat-rows.js";
import { channelWrites } from "./chat-channels.js";
import { senderCheck } from "./chat-senders.js";
import type { Connection } from "./database.js";
import { absent, denied } from "../preconditions.js";
import { IS_KNOWN } from "../rows.js";

/** A message as it travels to the writer thread: with its content as JSON. */
type SentMessage = Omit<MessageDraft, "content"> & { content: string };

/** An event to store. */
interface NewEvent {
  type: number;
  sender: string;
  content: string | Uint8Array;
  replaces?: number;
  deleted?: number;
}

/** An event that an edit or a deletion names. */
interface Replaced {
  id: number;
  type: number;
  sender: string | null;
  replaces: number | null;
  deleted: number;
}

/** What is left of a text: SQLite then overwrites it in its place. */
export const BLANK = "zeroblob(length(CAST(content AS BLOB)))";

const NOTHING = new Uint8Array();

/** Stores events. */
export function eventWriter(db: Connection) {
  const insert = db.prepare<unknown[]>(
    `INSERT INTO chat_events (channel, type, sender, timestamp, replaces, deleted, content)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const note = db.prepare<[number, number, number]>(
    "UPDATE chat_channels SET last_event = ?, last_message = ? WHERE number = ?",
  );

  /** Stores an event, and notes it in the row of its channel, which was read in this transaction. */
  return (channel: ChannelRow, event: NewEvent): DeliveryRow => {
    const { type, sender, content, replaces = null, deleted = 0 } = event;
    const timestamp = Date.now();
    const { lastInsertRowid } = insert.run(
      channel.number,
      type,
      sender,
      timestamp,
      replaces,
      deleted,
      content,
    );
    const id = Number(lastInsertRowid);
    const { last_event: previous, last_message: previousMessage } = channel;
    channel.last_event = id;
    if (type !== MEMBER) channel.last_message = id;
    note.run(id, channel.last_message, channel.number);
    return {
      event: {
        id,
        type,
        sender,
        timestamp,
        replaces,
        deleted,
        content,
        edited: null,
      },
      previous,
      previousMessage,
      notified: [],
      appeared: [],
    };
  };
}

/** The writes of messages. Each runs inside a transaction of its caller. */
export function messageWrites(db: Connection) {
  const channels = channelWrites(db);
  const post = eventWriter(db);
  const expectSender = senderCheck(db);
  const selectReplaced = db.prepare<[number, number], Replaced>(
    `SELECT id, type, sender, replaces, deleted FROM chat_events
     WHERE id = ? AND channel = ? AND gone = 0`,
  );
  const setEdit = db.prepare<[number, number]>(
    `INSERT INTO chat_edits (event, edit) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET edit = excluded.edit`,
  );
  const blank = db.prepare<[number]>(
    `UPDATE chat_events SET content = ${BLANK} WHERE id = ? AND typeof(content) = 'text'`,
  );
  // Those before it are erased already.
  const blankEdit = db.prepare<[number]>(
    `UPDATE chat_events SET content = ${BLANK}
     WHERE id = (SELECT edit FROM chat_edits WHERE event = ?) AND typeof(content) = 'text'`,
  );
  const remove = db.prepare<[number]>(
    `UPDATE chat_events SET content = ${BLANK}, deleted = 1 WHERE id = ?`,
  );
  const removeEdits = db.prepare<[number]>(
    `UPDATE chat_events SET content = ${BLANK}, deleted = 1 WHERE replaces = ? AND deleted = 0`,
  );
  const unlist = db.prepare<[string, number]>(
    "UPDATE chat_readers SET listed = NULL WHERE user_id = ? AND channel = ? AND listed IS NOT NULL",
  );
  const show = db
    .prepare<[number], string>(
      "UPDATE chat_members SET hidden = 0 WHERE channel = ? AND hidden = 1 RETURNING user_id",
    )
    .pluck();
  /**
   * @param from who is notified: tables joined with `users`, and a condition. A `CROSS
   *   JOIN` keeps SQLite from going through all users of the world.
   */
  const notify = (from: string) =>
    db
      .prepare<Notified, string>(
        `INSERT OR IGNORE INTO chat_notifications (user_id, channel, event)
         SELECT users.id, @channel, @event FROM ${from}
           AND users.id != @sender AND users.world_id = @world AND ${IS_KNOWN}
         RETURNING user_id`,
      )
      .pluck();
  const notifyMembers = notify(
    "chat_members CROSS JOIN users ON users.id = chat_members.user_id WHERE chat_members.channel = @channel",
  );
  const notifyNamed = notify(
    `json_each(@users) AS named CROSS JOIN users ON users.id = named.value
     WHERE (@all OR EXISTS (SELECT 1 FROM chat_members WHERE channel = @channel AND user_id = users.id))`,
  );

  /**
   * The message that a draft edits or deletes.
   * @throws {StoreError} `absent` on `event`, or `denied`.
   */
  function expectReplaced(
    channel: ChannelRow | undefined,
    draft: SentMessage,
    deletes: boolean,
  ): Replaced {
    const find = (id: number) =>
      channel && selectReplaced.get(id, channel.number);
    const named = find(draft.replaces!);
    const replaced =
      named && named.replaces !== null ? find(named.replaces) : named;
    if (replaced?.type !== MESSAGE) throw absent("event");
    if (replaced.sender !== draft.sender) {
      const mayDelete = draft.moderates && channel!.direct === null;
      if (!deletes || !mayDelete) throw denied("It is somebody else's.");
    }
    if (replaced.deleted && !deletes) throw denied("It is deleted.");
    return replaced;
  }

  function replace(
    worldId: string,
    id: string,
    draft: SentMessage,
    deletes: boolean,
  ): DeliveryRow {
    const channel = channels.expect(worldId, id);
    expectSender(worldId, channel, draft.sender, draft.volatile);
    const replaced = expectReplaced(channel, draft, deletes);
    if (!deletes) {
      blank.run(replaced.id);
      blankEdit.run(replaced.id);
    } else if (!replaced.deleted) {
      remove.run(replaced.id);
      removeEdits.run(replaced.id);
    }
    const delivery = post(channel!, {
      type: MESSAGE,
      sender: draft.sender,
      replaces: replaced.id,
      ...(deletes
        ? { deleted: 1, content: NOTHING }
        : { content: draft.content }),
    });
    setEdit.run(replaced.id, delivery.event.id);
    return { ...delivery, appeared: seen(channel!, draft.sender) };
  }

  /**
   * Updates who knows of a new message.
   * @returns to whom a direct channel appeared.
   */
  function seen({ number, direct }: ChannelRow, sender: string): string[] {
    if (direct !== null) return show.all(number);
    unlist.run(sender, number);
    return [];
  }

  return {
    sendMessage(worldId: string, id: string, draft: SentMessage): DeliveryRow {
      const { sender, content, mentioned = [], notifiesAll = false } = draft;
      const found = channels.expect(worldId, id);
      expectSender(worldId, found, sender, draft.volatile);
      const channel = found ?? channels.create(worldId, id);
      const delivery = post(channel, { type: MESSAGE, sender, content });
      const notified = {
        world: worldId,
        channel: channel.number,
        event: delivery.event.id,
        sender,
      };
      return {
        ...delivery,
        notified:
          channel.direct !== null
            ? notifyMembers.all({ ...notified, users: "", all: 0 })
            : mentioned.length > 0
              ? notifyNamed.all({
                  ...notified,
                  users: JSON.stringify(mentioned),
                  all: notifiesAll ? 1 : 0,
                })
              : [],
        appeared: seen(channel, sender),
      };
    },

    editMessage: (
      worldId: string,
      id: string,
      draft: SentMessage,
    ): DeliveryRow => replace(worldId, id, draft, false),

    deleteMessage: (
      worldId: string,
      id: string,
      draft: SentMessage,
    ): DeliveryRow => replace(worldId, id, draft, true),
  };
}

interface Notified {
  world: string;
  channel: number;
  event: number;
  sender: string;
  /** JSON of the ids of those who are named. */
  users: string;
  /** 1 if they need not be members. */
  all: number;
}
