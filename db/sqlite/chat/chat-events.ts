import type { Delivery, EventSelection } from "../../contract/chat.js";
import {
  type ChannelRow,
  EVENT_OVERHEAD,
  type EventRow,
  MAX_PAGE,
  REACTION_OVERHEAD,
  type ReactionRow,
  toDeliveries,
  tooLarge,
} from "../../rules/chat-rows.js";
import type { Connection } from "../engine/connection.js";

/** The columns of an {@link EventRow}. */
const COLUMNS = `e.id, e.type, e.sender, e.timestamp, e.replaces, e.deleted,
    coalesce(last.content, e.content) AS content,
    CASE WHEN e.replaces IS NULL THEN last.timestamp END AS edited`;

/** The last edit of each event. */
const LAST = `LEFT JOIN chat_edits
    ON chat_edits.world_id = e.world_id AND chat_edits.event = coalesce(e.replaces, e.id)
  LEFT JOIN chat_events AS last
    ON last.world_id = e.world_id AND last.id = chat_edits.edit`;

// An event that is gone has left both indexes by channel.
const EVENTS = `SELECT ${COLUMNS} FROM chat_events AS e ${LAST}
  WHERE e.world_id = ? AND e.channel = ? AND e.gone = 0`;

/** The condition for events that are no member events. SQLite uses the partial index for no other wording. */
const NO_MEMBERS = "e.type != 1";

/** The reads of events. */
export function eventReads(db: Connection) {
  const select = db.prepare<[string, number, number], EventRow>(
    `${EVENTS} AND e.id = ?`,
  );
  const before = (condition = "") =>
    db.prepare<[string, number, number, number], EventRow>(
      `${EVENTS} ${condition} AND e.id < ? ORDER BY e.id DESC LIMIT ?`,
    );
  const after = (condition = "") =>
    db.prepare<[string, number, number, number], EventRow>(
      `${EVENTS} ${condition} AND e.id > ? ORDER BY e.id LIMIT ?`,
    );
  const withMembers = { before: before(), after: after() };
  const withoutMembers = {
    before: before(`AND ${NO_MEMBERS}`),
    after: after(`AND ${NO_MEMBERS}`),
  };
  const selectReactions = db.prepare<[string, string], ReactionRow>(
    `SELECT number, event, reaction, user_id FROM chat_reactions
     WHERE world_id = ? AND event IN (SELECT value FROM json_each(?))`,
  );

  const selectSent = db.prepare<
    [string, number, number, number],
    { id: number; timestamp: number }
  >(
    `SELECT e.id, e.timestamp FROM chat_events AS e
     WHERE e.world_id = ? AND e.channel = ? AND e.gone = 0 AND ${NO_MEMBERS}
       AND e.type = 0 AND e.replaces IS NULL AND e.id > ? ORDER BY e.id LIMIT ?`,
  );

  /** @param room how many characters they may take. */
  function reactionsTo(
    worldId: string,
    events: readonly EventRow[],
    room = Infinity,
  ): ReactionRow[] {
    const rows: ReactionRow[] = [];
    if (events.length === 0) return rows;
    const ids = JSON.stringify(events.map(({ id }) => id));
    for (const row of selectReactions.iterate(worldId, ids)) {
      room -= row.reaction.length + REACTION_OVERHEAD;
      if (room < 0) throw tooLarge();
      rows.push(row);
    }
    return rows;
  }

  return {
    reactionsTo,

    sent: (
      worldId: string,
      { number }: ChannelRow,
      after: number,
      limit: number,
    ) => selectSent.all(worldId, number, after, limit),

    one: (
      worldId: string,
      channel: ChannelRow,
      id: number,
    ): EventRow | undefined => select.get(worldId, channel.number, id),

    /**
     * Events with their reactions, the oldest first.
     * @throws {StoreError} `large`.
     */
    page(
      worldId: string,
      channel: ChannelRow,
      selection: EventSelection,
    ): { rows: EventRow[]; reactions: ReactionRow[] } {
      const statements = selection.withoutMembers
        ? withoutMembers
        : withMembers;
      const isAfter = selection.after !== undefined;
      const statement = isAfter ? statements.after : statements.before;
      const bound = selection.after ?? selection.before ?? Infinity;
      const rows: EventRow[] = [];
      let room = MAX_PAGE;
      const { number } = channel;
      for (const row of statement.iterate(
        worldId,
        number,
        bound,
        selection.limit,
      )) {
        room -= row.content!.length + EVENT_OVERHEAD;
        if (room < 0) throw tooLarge();
        rows.push(row);
      }
      if (!isAfter) rows.reverse();
      return { rows, reactions: reactionsTo(worldId, rows, room) };
    },
  };
}

/** A delivery as it is read, and the tag of its entry. */
interface ReadDelivery extends EventRow {
  tag: number;
  author: string | null;
  /** The id of the channel. */
  channel: string;
  previous: number;
  previousMessage: number;
  /** JSON of the ids of the users. */
  notified: string;
}

/** Which deliveries are read. */
interface Stretch {
  world: string;
  after: number;
  limit: number;
}

/** A delivery with the tag and the author of its entry in the log. */
export interface TaggedDelivery {
  tag: number;
  /** See `authorBeside`. */
  author: string | null;
  delivery: Delivery;
}

/** The reads of events with the fields for their deliveries. */
export function deliveryReads(db: Connection) {
  const { reactionsTo } = eventReads(db);
  const before = (condition: string) =>
    `(SELECT coalesce(max(p.id), 0) FROM chat_events AS p
      WHERE p.world_id = e.world_id AND p.channel = e.channel AND p.gone = 0 ${condition} AND p.id < e.id)`;
  const select = (condition: string) =>
    db.prepare<Stretch & { channel?: number }, ReadDelivery>(
      `SELECT ${COLUMNS}, e.tag, e.author, c.id AS channel, ${before("")} AS previous,
         ${before("AND p.type != 1")} AS previousMessage,
         (SELECT json_group_array(user_id) FROM chat_notifications
          WHERE world_id = e.world_id AND channel = e.channel AND event = e.id) AS notified
       FROM chat_events AS e CROSS JOIN chat_channels AS c ON c.number = e.channel ${LAST}
       WHERE e.world_id = @world ${condition} AND e.gone = 0 AND e.id > @after ORDER BY e.id LIMIT @limit`,
    );
  const ofChannel = select("AND e.channel = @channel");
  const ofWorld = select("");

  function read(
    worldId: string,
    rows: readonly ReadDelivery[],
  ): TaggedDelivery[] {
    const byEvent = new Map<number, ReactionRow[]>();
    for (const reaction of reactionsTo(worldId, rows)) {
      const own = byEvent.get(reaction.event);
      if (own) own.push(reaction);
      else byEvent.set(reaction.event, [reaction]);
    }
    return rows.map(
      ({ tag, author, channel, previous, previousMessage, ...event }) => {
        const row = {
          ...{ event, previous, previousMessage, appeared: [] },
          notified: JSON.parse(event.notified) as string[],
        };
        const reactions = byEvent.get(event.id);
        const [delivery] = toDeliveries(channel, [row], reactions);
        return { tag, author, delivery: delivery! };
      },
    );
  }

  return {
    /** The oldest deliveries of a channel after an id. */
    ofChannel: (
      worldId: string,
      channel: number,
      after: number,
      limit: number,
    ) =>
      read(worldId, ofChannel.all({ world: worldId, channel, after, limit })),

    /** The oldest deliveries of a world after an id. */
    ofWorld: (worldId: string, after: number, limit: number) =>
      read(worldId, ofWorld.all({ world: worldId, after, limit })),
  };
}
