import type { Connection } from "./database.js";
import { findContradictions, plural, type Rule } from "./rules.js";

/** Rows of a table that name a user of another world than their channel. */
const strangers = (table: string, noun: string): Rule => [
  `SELECT c.id, count(*) AS count FROM ${table} AS t
   JOIN chat_channels AS c ON c.number = t.channel JOIN users ON users.id = t.user_id
   WHERE users.world_id != c.world_id GROUP BY c.id`,
  (id, count) =>
    `the channel ${id} has ${plural(count, noun)} of another world`,
];

/** Events with a fault, by channel. Those of deleted channels wait for their erasure. */
const events = (
  condition: string,
  message: (events: string, id: string) => string,
): Rule => [
  `SELECT c.id, count(*) AS count FROM chat_events AS e
   JOIN chat_channels AS c ON c.number = e.channel
   WHERE ${condition} GROUP BY c.id ORDER BY c.id`,
  (id, count) => message(plural(count, "event"), id),
];

/** Rows of a table that name an event that there is not. */
const orphans = (table: string, noun: string, condition = "1"): Rule => [
  `SELECT '' AS id, count(*) AS count FROM ${table} AS t
   WHERE NOT EXISTS (SELECT 1 FROM chat_events AS e WHERE e.id = t.event AND e.gone = 0 AND ${condition})
   HAVING count(*) > 0`,
  (_, count) => `${plural(count, noun)} of chat without an event`,
];

const RULES: readonly Rule[] = [
  [
    `SELECT c.id, 1 AS count FROM chat_channels AS c WHERE c.direct IS NULL AND NOT EXISTS
       (SELECT 1 FROM rooms WHERE rooms.id = c.id AND rooms.world_id = c.world_id)`,
    (id) => `the channel ${id} has no room`,
  ],
  strangers("chat_members", "member"),
  strangers("chat_readers", "reader"),
  strangers("chat_notifications", "notification"),
  [
    `SELECT c.id, count(*) AS count FROM chat_members AS m JOIN chat_channels AS c ON c.number = m.channel
     WHERE instr(c.direct, m.user_id) = 0 GROUP BY c.id`,
    (id, count) =>
      `the direct channel ${id} has ${plural(count, "member")} too many`,
  ],
  [
    `SELECT '' AS id, count(*) AS count FROM chat_events AS e WHERE gone = 0
       AND channel NOT IN (SELECT number FROM chat_channels)
       AND channel NOT IN (SELECT channel FROM chat_remains) HAVING count(*) > 0`,
    (_, count) => `${plural(count, "event")} of chat without a channel`,
  ],
  [
    `SELECT c.id, c.last_event AS count FROM chat_channels AS c
     WHERE last_message > last_event OR last_event <
         (SELECT coalesce(max(id), 0) FROM chat_events WHERE channel = c.number AND gone = 0)
       OR last_message < (SELECT coalesce(max(id), 0) FROM chat_events
         WHERE channel = c.number AND gone = 0 AND type != 1)`,
    (id, count) =>
      `the channel ${id} names ${count} as its last event and has a later one`,
  ],
  events(
    "typeof(e.content) = 'text' AND NOT json_valid(e.content)",
    (events, id) => `${events} of the channel ${id} cannot be read`,
  ),
  events(
    `e.deleted = 0 AND e.gone = 0 AND e.replaces IS NULL AND typeof(e.content) != 'text'
     AND NOT EXISTS (SELECT 1 FROM chat_edits WHERE event = e.id)`,
    (events, id) => `${events} of the channel ${id} have lost their content`,
  ),
  [
    `SELECT '' AS id, count(*) AS count FROM chat_events
     WHERE (deleted = 1 OR gone = 1) AND typeof(content) = 'text' HAVING count(*) > 0`,
    (_, count) => `${plural(count, "event")} of chat still have erased content`,
  ],
  events(
    `e.sender IS NOT NULL AND e.gone = 0 AND NOT EXISTS
       (SELECT 1 FROM users WHERE users.id = e.sender AND users.world_id = c.world_id)`,
    (events, id) => `${events} of the channel ${id} were sent by nobody`,
  ),
  events(
    `e.replaces IS NOT NULL AND e.gone = 0 AND (e.replaces >= e.id OR EXISTS
       (SELECT 1 FROM chat_events AS o WHERE o.id = e.replaces
        AND (o.channel != e.channel OR o.type != 0 OR o.replaces IS NOT NULL)))`,
    (events, id) =>
      `${events} of the channel ${id} replace what is no message of it`,
  ),
  [
    `SELECT '' AS id, count(*) AS count FROM chat_edits AS t WHERE NOT EXISTS
       (SELECT 1 FROM chat_events AS e WHERE e.id = t.edit AND e.replaces = t.event) HAVING count(*) > 0`,
    (_, count) => `${plural(count, "edit")} of chat without an event`,
  ],
  orphans("chat_reactions", "reaction"),
  orphans("chat_notifications", "notification", "e.channel = t.channel"),
  [
    `SELECT '' AS id, max(id) AS count FROM chat_events HAVING max(id) >
       (SELECT coalesce(max(seq), 0) FROM main.sqlite_sequence WHERE name = 'chat_events')`,
    (_, count) => `the event ${count} of chat has an id that is given again`,
  ],
];

/** Contradictions in chat. */
export const chatContradictions = (db: Connection): string[] =>
  findContradictions(db, RULES);
