import type { EventSelection } from "../chat.js";
import {
  type ChannelRow,
  type DeliveryRow,
  EVENT_OVERHEAD,
  type EventRow,
  MAX_PAGE,
  MEMBER,
  REACTION_OVERHEAD,
  type ReactionRow,
  tooLarge,
} from "../chat-rows.js";
import type { Connection } from "./database.js";

// An event that is gone has left both indexes by channel.
const EVENTS = `SELECT e.id, e.type, e.sender, e.timestamp, e.replaces, e.deleted,
    coalesce(last.content, e.content) AS content,
    CASE WHEN e.replaces IS NULL THEN last.timestamp END AS edited
  FROM chat_events AS e
  LEFT JOIN chat_edits ON chat_edits.event = coalesce(e.replaces, e.id)
  LEFT JOIN chat_events AS last ON last.id = chat_edits.edit
  WHERE e.channel = ? AND e.gone = 0`;

/** The condition for events that are no member events. SQLite uses the partial index for no other wording. */
const NO_MEMBERS = "e.type != 1";

/** The reads of events. */
export function eventReads(db: Connection) {
  const select = db.prepare<[number, number], EventRow>(
    `${EVENTS} AND e.id = ?`,
  );
  const before = (condition = "") =>
    db.prepare<[number, number, number], EventRow>(
      `${EVENTS} ${condition} AND e.id < ? ORDER BY e.id DESC LIMIT ?`,
    );
  const after = (condition = "") =>
    db.prepare<[number, number, number], EventRow>(
      `${EVENTS} ${condition} AND e.id > ? ORDER BY e.id LIMIT ?`,
    );
  const withMembers = { before: before(), after: after() };
  const withoutMembers = {
    before: before(`AND ${NO_MEMBERS}`),
    after: after(`AND ${NO_MEMBERS}`),
  };
  const last = (condition = "") =>
    db
      .prepare<[number, number], number>(
        `SELECT coalesce(max(e.id), 0) FROM chat_events AS e
         WHERE e.channel = ? AND e.gone = 0 ${condition} AND e.id < ?`,
      )
      .pluck();
  const lastBefore = last();
  const lastMessageBefore = last(`AND ${NO_MEMBERS}`);
  const selectReactions = db.prepare<[string], ReactionRow>(
    `SELECT number, event, reaction, user_id FROM chat_reactions
     WHERE event IN (SELECT value FROM json_each(?))`,
  );
  const selectNotified = db.prepare<
    [number, number, number],
    Pick<ReactionRow, "event" | "user_id">
  >(
    "SELECT event, user_id FROM chat_notifications WHERE channel = ? AND event BETWEEN ? AND ?",
  );

  /** @param room how many characters they may take. */
  function reactionsTo(
    events: readonly EventRow[],
    room = Infinity,
  ): ReactionRow[] {
    const rows: ReactionRow[] = [];
    if (events.length === 0) return rows;
    const ids = JSON.stringify(events.map(({ id }) => id));
    for (const row of selectReactions.iterate(ids)) {
      room -= row.reaction.length + REACTION_OVERHEAD;
      if (room < 0) throw tooLarge();
      rows.push(row);
    }
    return rows;
  }

  return {
    reactionsTo,

    one: (channel: ChannelRow, id: number): EventRow | undefined =>
      select.get(channel.number, id),

    /**
     * Events with their reactions, the oldest first.
     * @throws {StoreError} `large`.
     */
    page(
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
      for (const row of statement.iterate(number, bound, selection.limit)) {
        room -= row.content!.length + EVENT_OVERHEAD;
        if (room < 0) throw tooLarge();
        rows.push(row);
      }
      if (!isAfter) rows.reverse();
      return { rows, reactions: reactionsTo(rows, room) };
    },

    /** The oldest events after an id, with what their delivery needs. */
    deliveries(
      { number }: ChannelRow,
      after: number,
      limit: number,
    ): { rows: DeliveryRow[]; reactions: ReactionRow[] } {
      const events = withMembers.after.all(number, after, limit);
      const first = events[0]?.id ?? 0;
      const notified = new Map<number, string[]>(
        events.map(({ id }) => [id, []]),
      );
      for (const row of selectNotified.iterate(
        number,
        first,
        events.at(-1)?.id ?? 0,
      )) {
        notified.get(row.event)?.push(row.user_id);
      }
      let previous = lastBefore.get(number, first)!;
      let previousMessage = lastMessageBefore.get(number, first)!;
      const rows = events.map((event) => {
        const row = {
          event,
          previous,
          previousMessage,
          notified: notified.get(event.id)!,
          appeared: [],
        };
        previous = event.id;
        if (event.type !== MEMBER) previousMessage = event.id;
        return row;
      });
      return { rows, reactions: reactionsTo(events) };
    },
  };
}
