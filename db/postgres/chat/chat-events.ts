import type {
  ChatEvent,
  Delivery,
  EventSelection,
} from "../../contract/chat.js";
import {
  EVENT_OVERHEAD,
  type EventRow,
  MAX_PAGE,
  REACTION_OVERHEAD,
  type ReactionRow,
  toDeliveries,
  toEvents,
  tooLarge,
} from "../../rules/chat-rows.js";
import type { Sql } from "../../shared/sql.js";
import { decodedText } from "../engine/sql.js";

/** A reaction, and the id of its user. */
type Reaction = [reaction: string, user: string];

/** An event with its reactions, in their order. */
type WholeEventRow = EventRow & { reactions: Reaction[] };

/** The same with the reactions as JSON; null for none. */
type StoredRow = EventRow & { reactions: string | null };

/**
 * About how many bytes of content and reactions of a page are read at most. It is
 * three times {@link MAX_PAGE}, as a character takes up to three bytes.
 */
const MAX_BYTES = 3 * MAX_PAGE;

const CHANNEL =
  "(SELECT number FROM chat_channels WHERE world_id = $1 AND id = $2)";

/** @param events some rows of `chat_events`. */
const whole = (events: string, more = "") => `
  SELECT e.id, e.type, e.sender, e.timestamp, e.replaces, e.deleted,
    coalesce(last.content, e.content) AS content,
    CASE WHEN e.replaces IS NULL THEN last.timestamp END AS edited,
    (SELECT json_agg(json_build_array(r.reaction, r.user_id) ORDER BY r.number)::text
     FROM chat_reactions AS r WHERE r.world_id = $1 AND r.event = e.id) AS reactions ${more}
  FROM (${events}) AS e
  LEFT JOIN LATERAL (
    SELECT content, timestamp FROM chat_events
    WHERE world_id = $1 AND channel = e.channel
      AND id = (SELECT edit FROM chat_edits
        WHERE world_id = $1 AND event = coalesce(e.replaces, e.id))
    LIMIT 1) AS last ON true`;

const page = (order: "ASC" | "DESC", condition = "") => `
  SELECT * FROM chat_events WHERE world_id = $1 AND channel = ${CHANNEL} ${condition}
    AND id ${order === "ASC" ? ">" : "<"} $3::bigint ORDER BY id ${order} LIMIT $4::bigint`;

/** The events of a page up to the one that is too many bytes. */
const bounded = (order: "ASC" | "DESC", condition = "") => `
  SELECT * FROM (
    SELECT *, sum(bytes) OVER (ORDER BY id ${order}) - bytes AS before FROM (
      SELECT *, coalesce(octet_length(content), 0) + coalesce(octet_length(reactions), 0) AS bytes
      FROM (${whole(page(order, condition))}) AS w) AS sized) AS summed
  WHERE before <= ${MAX_BYTES} ORDER BY id`;

const NO_MEMBERS = "AND type <> 1";

const WITH_MEMBERS = { before: bounded("DESC"), after: bounded("ASC") };
const WITHOUT_MEMBERS = {
  before: bounded("DESC", NO_MEMBERS),
  after: bounded("ASC", NO_MEMBERS),
};

const ONE = whole(
  `SELECT * FROM chat_events WHERE world_id = $1 AND channel = ${CHANNEL} AND id = $3::bigint`,
);

const SENT = `
  SELECT id, timestamp FROM chat_events
  WHERE world_id = $1 AND channel = ${CHANNEL} AND type <> 1 AND type = 0 AND replaces IS NULL
    AND id > $3::bigint ORDER BY id LIMIT $4::bigint`;

/** When the messages of a channel were sent, the oldest first. */
export const readSent = (
  sql: Sql,
  worldId: string,
  channel: string,
  after: number,
  limit: number,
) =>
  sql.all<{ id: number; timestamp: number }>(SENT, [
    ...[worldId, channel, after, limit],
  ]);

const previous = (condition = "") => `
  (SELECT coalesce(max(p.id), 0) FROM chat_events AS p
   WHERE p.world_id = $1 AND p.channel = e.channel AND p.id < e.id ${condition})`;

/** The fields of deliveries beside their events. */
const DELIVERED = `, ${previous()} AS previous, ${previous("AND p.type <> 1")} AS "previousMessage",
  ARRAY(SELECT n.user_id FROM chat_notifications AS n
    WHERE n.world_id = $1 AND n.channel = e.channel AND n.event = e.id) AS notified`;

const DELIVERIES = `${whole(page("ASC"), DELIVERED)} ORDER BY e.id`;

/** The events of all present channels, with their tags, by the index of the expression. */
const NEW_DELIVERIES = `${whole(
  `SELECT events.*, c.id AS name FROM chat_events AS events
   JOIN chat_channels AS c ON c.world_id = $1 AND c.number = events.channel
   WHERE events.world_id = $1 AND events.id + 0 > $2::bigint AND events.id + 0 <= $3::bigint
   ORDER BY events.id + 0 LIMIT $4::bigint`,
  `, e.tag, e.author, e.name ${DELIVERED}`,
)} ORDER BY e.id`;

type DeliveredRow = StoredRow &
  Pick<Delivery, "previous" | "previousMessage" | "notified">;

const readRow = <R extends StoredRow>(row: R): R & WholeEventRow => ({
  ...row,
  reactions: (row.reactions === null
    ? []
    : (JSON.parse(row.reactions) as Reaction[])
  ).map(([reaction, user]): Reaction => [decodedText(reaction), user]),
});

/** Bounds an id, which may be any number, to the range of PostgreSQL. */
export const bounding = (id: number): number =>
  Math.max(0, Math.min(id, Number.MAX_SAFE_INTEGER));

/** Reads one event. */
export async function readEvent(
  sql: Sql,
  worldId: string,
  channel: string,
  id: number,
): Promise<WholeEventRow | undefined> {
  if (!Number.isSafeInteger(id)) return undefined;
  const row = await sql.one<StoredRow>(ONE, [worldId, channel, id]);
  return row && readRow(row);
}

/** @see ChatStore.events */
export async function readEvents(
  sql: Sql,
  worldId: string,
  channel: string,
  selection: EventSelection,
): Promise<ChatEvent[]> {
  const { before = Infinity, after, limit, withoutMembers } = selection;
  const statements = withoutMembers ? WITHOUT_MEMBERS : WITH_MEMBERS;
  const rows = (
    after === undefined
      ? await sql.all<StoredRow & { before: number; bytes: number }>(
          statements.before,
          [worldId, channel, Math.ceil(bounding(before)), limit],
        )
      : await sql.all<StoredRow & { before: number; bytes: number }>(
          statements.after,
          [worldId, channel, Math.floor(bounding(after)), limit],
        )
  ).map(readRow);
  if (rows.some(({ before, bytes }) => before + bytes > MAX_BYTES)) {
    throw tooLarge();
  }
  if (rows.reduce((sum, row) => sum + sizeOf(row), 0) > MAX_PAGE) {
    throw tooLarge();
  }
  return toEventsWithReactions(channel, rows);
}

const sizeOf = ({ content, reactions }: WholeEventRow): number =>
  EVENT_OVERHEAD +
  (content?.length ?? 0) +
  reactions.reduce(
    (sum, [reaction]) => sum + reaction.length + REACTION_OVERHEAD,
    0,
  );

/** @see ChatStore.deliveries */
export async function readDeliveries(
  sql: Sql,
  worldId: string,
  channel: string,
  after: number,
  limit: number,
): Promise<Delivery[]> {
  const values = [worldId, channel, bounding(after), limit];
  const rows = await sql.all<DeliveredRow>(DELIVERIES, values);
  return rows.map((row) => deliveryIn(channel, row));
}

/** The deliveries of all channels of a world after an id, and up to another one. */
export async function readNewDeliveries(
  sql: Sql,
  worldId: string,
  after: number,
  last: number,
  limit: number,
): Promise<{ tag: number; author: string | null; delivery: Delivery }[]> {
  const values = [worldId, after, last, limit];
  const rows = await sql.all<
    DeliveredRow & { tag: number; author: string | null; name: string }
  >(NEW_DELIVERIES, values);
  return rows.map((row) => ({
    tag: row.tag,
    author: row.author,
    delivery: deliveryIn(row.name, row),
  }));
}

function deliveryIn(channel: string, row: DeliveredRow): Delivery {
  const event = readRow(row);
  const { previous, previousMessage, notified } = row;
  const stored = { event, previous, previousMessage, notified, appeared: [] };
  return toDeliveries(channel, [stored], reactionsOf([event]))[0]!;
}

/** The events in rows of one channel. */
export const toEventsWithReactions = (
  channel: string,
  rows: readonly WholeEventRow[],
): ChatEvent[] => toEvents(channel, rows, reactionsOf(rows));

const reactionsOf = (rows: readonly WholeEventRow[]): ReactionRow[] =>
  rows.flatMap(({ id, reactions }) =>
    reactions.map(([reaction, user_id], number) => ({
      ...{ number, event: id, reaction, user_id },
    })),
  );
