import type { Connection } from "../engine/connection.js";
import type { Rules } from "../../rules/contradictions.js";
import { findContradictions } from "./rules.js";

/** Rows of a table that name a user of another world than their channel. */
const strangers = (table: string): string =>
  `SELECT c.id, count(*) AS count FROM ${table} AS t
   JOIN chat_channels AS c ON c.number = t.channel JOIN users ON users.id = t.user_id
   WHERE users.world_id != c.world_id GROUP BY c.id`;

/** Events with a fault, by channel. Events of deleted channels wait for their erasure. */
const events = (condition: string): string =>
  `SELECT c.id, count(*) AS count FROM chat_events AS e
   JOIN chat_channels AS c ON c.number = e.channel
   WHERE ${condition} GROUP BY c.id ORDER BY c.id`;

/** Rows of a table that name an event that there is not. */
const orphans = (table: string): string =>
  `SELECT '' AS id, count(*) AS count FROM ${table} AS t
   WHERE NOT EXISTS (SELECT 1 FROM chat_events AS e
     WHERE e.world_id = t.world_id AND e.id = t.event AND e.gone = 0)
   HAVING count(*) > 0`;

const RULES: Rules = {
  channelsWithoutRoom: `SELECT c.id, 1 AS count FROM chat_channels AS c WHERE c.direct IS NULL AND NOT EXISTS
       (SELECT 1 FROM rooms WHERE rooms.id = c.id AND rooms.world_id = c.world_id)`,
  membersOfStrangers: strangers("chat_members"),
  readersOfStrangers: strangers("chat_readers"),
  notificationsOfStrangers: strangers("chat_notifications"),
  membersTooMany: `SELECT c.id, count(*) AS count FROM chat_members AS m JOIN chat_channels AS c ON c.number = m.channel
     WHERE instr(c.direct, m.user_id) = 0 GROUP BY c.id`,
  eventsWithoutChannel: `SELECT '' AS id, count(*) AS count FROM chat_events AS e WHERE gone = 0
       AND channel NOT IN (SELECT number FROM chat_channels)
       AND channel NOT IN (SELECT channel FROM chat_remains) HAVING count(*) > 0`,
  lastEventWrong: `SELECT c.id, c.last_event AS count FROM chat_channels AS c
     WHERE last_message > last_event OR last_event <
         (SELECT coalesce(max(id), 0) FROM chat_events WHERE channel = c.number AND gone = 0)
       OR last_message < (SELECT coalesce(max(id), 0) FROM chat_events
         WHERE channel = c.number AND gone = 0 AND type != 1)`,
  eventsUnreadable: events(
    "typeof(e.content) = 'text' AND NOT json_valid(e.content)",
  ),
  eventsEmpty:
    events(`e.deleted = 0 AND e.gone = 0 AND e.replaces IS NULL AND typeof(e.content) != 'text'
     AND NOT EXISTS (SELECT 1 FROM chat_edits WHERE world_id = e.world_id AND event = e.id)`),
  eventsNotErased: `SELECT '' AS id, count(*) AS count FROM chat_events
     WHERE (deleted = 1 OR gone = 1) AND typeof(content) = 'text' HAVING count(*) > 0`,
  eventsOfStrangers: events(`e.sender IS NOT NULL AND e.gone = 0 AND NOT EXISTS
       (SELECT 1 FROM users WHERE users.id = e.sender AND users.world_id = c.world_id)`),
  editsOfNothing:
    events(`e.replaces IS NOT NULL AND e.gone = 0 AND (e.replaces >= e.id OR EXISTS
       (SELECT 1 FROM chat_events AS o WHERE o.world_id = e.world_id AND o.id = e.replaces
        AND (o.channel != e.channel OR o.type != 0 OR o.replaces IS NOT NULL)))`),
  editsWithoutEvent: `SELECT '' AS id, count(*) AS count FROM chat_edits AS t WHERE NOT EXISTS
       (SELECT 1 FROM chat_events AS e WHERE e.world_id = t.world_id AND e.id = t.edit
        AND e.replaces = t.event) HAVING count(*) > 0`,
  reactionsWithoutEvent: orphans("chat_reactions"),
  notificationsWithoutEvent: `SELECT '' AS id, count(*) AS count FROM chat_notifications AS t
     WHERE NOT EXISTS (SELECT 1 FROM chat_events AS e
       WHERE e.channel = t.channel AND e.id = t.event AND e.gone = 0) HAVING count(*) > 0`,
};

/** Contradictions in chat. */
export const chatContradictions = (db: Connection): string[] =>
  findContradictions(db, RULES);
