import type { ChatEvent, ChatDelivery, EventSelection } from "../../contract/chat-store.js";
import {
  EVENT_OVERHEAD,
  type EventRow,
  MAX_PAGE,
  REACTION_OVERHEAD,
  type ReactionRow,
  toDeliveries,
  toEvents,
} from "../../rules/chat-rows.js";
import { pageTooLarge } from "../../rules/preconditions.js";
import { perEngine as eachEngine, type Sql } from "../domain.js";

// SQLite keeps the rows of events that are gone, because deleting rows could move other rows, and a
// moved row would leave its bytes behind. Erased content is overwritten in place with zero bytes.

/** Differences between the engines in statements about `chat_events AS e`. */
interface EventDialect {
  readonly engine: Sql["engine"];
  /** The condition for an event that is not gone. */
  readonly isPresent: string;
  /** An event's id, in the form that matches the index on all events in a world. */
  readonly idInWorld: string;
  /** The value that replaces erased `content` in `chat_events`. */
  readonly blank: string;
  /** The statement that removes events, without its condition. */
  readonly remove: string;
}

const BLANK = "zeroblob(length(CAST(content AS BLOB)))";

const DIALECTS: Readonly<Record<Sql["engine"], EventDialect>> = {
  sqlite: {
    engine: "sqlite",
    isPresent: "e.gone = 0",
    idInWorld: "e.id",
    blank: BLANK,
    remove: `UPDATE chat_events AS e SET content = ${BLANK}, gone = 1`,
  },
  postgres: {
    engine: "postgres",
    isPresent: "TRUE",
    idInWorld: "(e.id + 0)",
    blank: "NULL",
    remove: "DELETE FROM chat_events AS e",
  },
};

export const perEngine = <T>(
  make: (dialect: EventDialect) => T,
): ((sql: Pick<Sql, "engine">) => T) => eachEngine(DIALECTS, make);

export const COLUMNS = `e.id, e.type, e.sender, e.timestamp, e.replaces, e.deleted,
  coalesce(last.content, e.content) AS content,
  CASE WHEN e.replaces IS NULL THEN last.timestamp END AS edited`;

export const LAST = `LEFT JOIN chat_edits AS edits
    ON edits.world_id = $1 AND edits.event = coalesce(e.replaces, e.id)
  LEFT JOIN chat_events AS last
    ON last.world_id = $1 AND last.channel = e.channel AND last.id = edits.edit`;

/** Excludes member events. SQLite uses the partial index only for this exact wording. */
export const NO_MEMBERS = "e.type != 1";

const ofChannel = ({ isPresent }: EventDialect) => `e.world_id = $1
  AND e.channel = (SELECT number FROM chat_channels WHERE world_id = $1 AND id = $2) AND ${isPresent}`;

const pageTexts = (dialect: EventDialect, condition: string) => {
  const events = `SELECT ${COLUMNS} FROM chat_events AS e ${LAST}
    WHERE ${ofChannel(dialect)} ${condition}`;
  return {
    before: `${events} AND e.id < $3 ORDER BY e.id DESC LIMIT $4`,
    after: `${events} AND e.id > $3 ORDER BY e.id LIMIT $4`,
  };
};

const previous = ({ isPresent }: EventDialect, condition = "") => `(
  SELECT e.id FROM chat_events AS e
  WHERE e.world_id = $1 AND e.channel = event.channel AND e.id < event.id
    AND ${isPresent} ${condition} ORDER BY e.id DESC LIMIT 1)`;

/**
 * Builds the statement that reads deliveries.
 * @param condition selects the events.
 */
const deliveriesOf = (dialect: EventDialect, condition: string, order: string) => `
  SELECT event.*, coalesce(${previous(dialect)}, 0) AS previous,
    coalesce(${previous(dialect, `AND ${NO_MEMBERS}`)}, 0) AS "previousMessage"
  FROM (
    SELECT ${COLUMNS}, e.tag, e.author, e.channel, c.id AS name
    FROM chat_events AS e JOIN chat_channels AS c ON c.world_id = $1 AND c.number = e.channel ${LAST}
    WHERE e.world_id = $1 AND ${dialect.isPresent} AND ${condition}
    ORDER BY ${order} LIMIT $4) AS event
  ORDER BY event.id`;

const texts = perEngine((dialect) => ({
  all: pageTexts(dialect, ""),
  withoutMembers: pageTexts(dialect, `AND ${NO_MEMBERS}`),
  one: `SELECT ${COLUMNS} FROM chat_events AS e ${LAST} WHERE ${ofChannel(dialect)} AND e.id = $3`,
  sent: `SELECT e.id, e.timestamp FROM chat_events AS e
    WHERE ${ofChannel(dialect)} AND ${NO_MEMBERS} AND e.type = 0 AND e.replaces IS NULL
      AND e.id > $3 ORDER BY e.id LIMIT $4`,
  ofChannel: deliveriesOf(dialect, "c.id = $2 AND e.id > $3", "e.id"),
  ofWorld: deliveriesOf(
    dialect,
    `${dialect.idInWorld} > $2 AND ${dialect.idInWorld} <= $3`,
    dialect.idInWorld,
  ),
}));

const REACTIONS = `SELECT number, event, reaction, user_id FROM chat_reactions
  WHERE world_id = $1 AND event = ANY ($2) LIMIT $3`;

const NOTIFIED = `SELECT event, user_id FROM chat_notifications
  WHERE world_id = $1 AND channel = ANY ($2) AND event = ANY ($3)`;

/** Maximum number of events that one statement reads, so that even the largest messages fit in memory. */
const SLICE = 100;

/** Clamps an id, which may be any number, to the range of a column. */
export const bounding = (id: number): number => Math.max(0, Math.min(id, Number.MAX_SAFE_INTEGER));

/**
 * Reads the reactions to events.
 * @param space the maximum total size, in characters.
 * @throws {StoreError} `large`.
 */
export async function readReactions(
  sql: Sql,
  world: string,
  events: readonly EventRow[],
  space: number = Number.MAX_SAFE_INTEGER,
): Promise<ReactionRow[]> {
  if (events.length === 0) return [];
  const ids = events.map(({ id }) => id);
  const most = Math.floor(space / REACTION_OVERHEAD) + 1;
  const rows = await sql.all<ReactionRow>(REACTIONS, [world, ids, most]);
  const size = rows.reduce((sum, { reaction }) => sum + reaction.length + REACTION_OVERHEAD, 0);
  if (size > space) throw pageTooLarge();
  return rows;
}

export const readEvent = async (
  sql: Sql,
  world: string,
  channel: string,
  id: number,
): Promise<EventRow | undefined> =>
  Number.isSafeInteger(id) ? sql.one<EventRow>(texts(sql).one, [world, channel, id]) : undefined;

/** @see ChatStore.events */
export async function readEvents(
  sql: Sql,
  world: string,
  channel: string,
  selection: EventSelection,
): Promise<ChatEvent[]> {
  const { before = Infinity, after, limit, withoutMembers } = selection;
  const { all, withoutMembers: some } = texts(sql);
  const isAfter = after !== undefined;
  const text = (withoutMembers ? some : all)[isAfter ? "after" : "before"];
  let bound = isAfter ? Math.floor(bounding(after)) : Math.ceil(bounding(before));
  let space = MAX_PAGE;
  const rows: EventRow[] = [];
  while (rows.length < limit) {
    const count = Math.min(SLICE, limit - rows.length);
    const slice = await sql.all<EventRow>(text, [world, channel, bound, count]);
    for (const row of slice) {
      space -= EVENT_OVERHEAD + (row.content?.length ?? 0);
      if (space < 0) throw pageTooLarge();
      rows.push(row);
    }
    if (slice.length < count) break;
    bound = slice.at(-1)!.id;
  }
  if (!isAfter) rows.reverse();
  return toEvents(channel, rows, await readReactions(sql, world, rows, space));
}

/** Returns the times at which a channel's messages were sent, oldest first. */
export const readSent = (
  sql: Sql,
  world: string,
  channel: string,
  after: number,
  limit: number,
): Promise<{ id: number; timestamp: number }[]> =>
  sql.all<{ id: number; timestamp: number }>(texts(sql).sent, [world, channel, after, limit]);

/** A delivery's row, with the tag and the author of the event's entry in the log. */
interface ReadDelivery extends EventRow {
  tag: number;
  author: string | null;
  channel: number;
  /** The channel's id. */
  name: string;
  previous: number;
  previousMessage: number;
}

/** A delivery, with the tag and the author of the event's entry in the log. */
interface TaggedDelivery {
  tag: number;
  /** See `authorBeside`. */
  author: string | null;
  delivery: ChatDelivery;
}

async function withRest(
  sql: Sql,
  world: string,
  rows: readonly ReadDelivery[],
): Promise<TaggedDelivery[]> {
  if (rows.length === 0) return [];
  const reactions = byEvent(await readReactions(sql, world, rows));
  const channels = [...new Set(rows.map(({ channel }) => channel))];
  const ids = rows.map(({ id }) => id);
  const notified = byEvent(
    await sql.all<{ event: number; user_id: string }>(NOTIFIED, [world, channels, ids]),
  );
  return rows.map((event) => {
    const { id, tag, author, name, previous, previousMessage } = event;
    const users = (notified.get(id) ?? []).map(({ user_id }) => user_id);
    const row = { event, previous, previousMessage, notified: users, appeared: [] };
    const [delivery] = toDeliveries(name, [row], reactions.get(id));
    return { tag, author, delivery: delivery! };
  });
}

function byEvent<R extends { event: number }>(rows: readonly R[]): Map<number, R[]> {
  const grouped = new Map<number, R[]>();
  for (const row of rows) {
    const own = grouped.get(row.event);
    if (own) own.push(row);
    else grouped.set(row.event, [row]);
  }
  return grouped;
}

/** @see ChatStore.deliveries */
export async function readDeliveries(
  sql: Sql,
  world: string,
  channel: string,
  after: number,
  limit: number,
): Promise<ChatDelivery[]> {
  const params = [world, channel, Math.floor(bounding(after)), limit];
  const rows = await sql.all<ReadDelivery>(texts(sql).ofChannel, params);
  return (await withRest(sql, world, rows)).map(({ delivery }) => delivery);
}

/** Reads the deliveries in all channels of a world, from the event after `after` up to and including `last`. */
export async function readNewDeliveries(
  sql: Sql,
  world: string,
  after: number,
  last: number,
  limit: number,
): Promise<TaggedDelivery[]> {
  const rows = await sql.all<ReadDelivery>(texts(sql).ofWorld, [world, after, last, limit]);
  return withRest(sql, world, rows);
}
