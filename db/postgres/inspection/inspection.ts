import type { Rules } from "../../rules/contradictions.js";

// References within a world are foreign keys, so PostgreSQL itself keeps most rows
// consistent. A reference to a user has none where it may outlive the user's world, or
// where it becomes null: this file checks those.

/** Rows of a table that name a user outside their world, by owner. */
const strangers = (rows: string): string =>
  `SELECT t.id, count(*) AS count FROM ${rows} AS t
   WHERE t.user_id IS NOT NULL AND NOT EXISTS
     (SELECT 1 FROM users AS u WHERE u.world_id = t.world_id AND u.id = t.user_id)
   GROUP BY t.id ORDER BY t.id`;

/** Events with a fault, by channel. Events of deleted channels wait for their erasure. */
const events = (condition: string): string =>
  `SELECT c.id, count(*) AS count FROM chat_events AS e
   JOIN chat_channels AS c ON c.world_id = e.world_id AND c.number = e.channel
   WHERE ${condition} GROUP BY c.id ORDER BY c.id`;

/** How many rows of a table have a fault. */
const all = (table: string, condition: string): string =>
  `SELECT '' AS id, count(*) AS count FROM ${table} AS t WHERE ${condition} HAVING count(*) > 0`;

/** Rows of a table that name an event that there is not. */
const orphans = (table: string, condition = "TRUE"): string =>
  all(
    table,
    `NOT EXISTS (SELECT 1 FROM chat_events AS e WHERE e.world_id = t.world_id
       AND e.id = t.event AND ${condition})`,
  );

/** The rules of all tables in PostgreSQL. */
export const RULES: Rules = {
  worldsUnreadable: `SELECT id FROM worlds
    WHERE NOT (foyer_is_json(config) AND foyer_is_json(permission_config))`,
  roomsUnreadable: `SELECT id FROM rooms
    WHERE NOT (foyer_is_json(module_config) AND foyer_is_json(permission_config)
      AND foyer_is_json(coalesce(extras, '{}')))`,
  usersUnreadable: `SELECT id FROM users
    WHERE NOT (foyer_is_json(coalesce(profile, '{}')) AND foyer_is_json(coalesce(traits, '[]'))
      AND foyer_is_json(coalesce(client_state, '{}')))`,
  roomsMiscounted: `SELECT g.world_id AS id, g.rooms AS count, count(r.id) AS counted
    FROM view_groups AS g LEFT JOIN rooms AS r ON r.world_id = g.world_id AND r.view_group = g.id
    GROUP BY g.world_id, g.id HAVING g.rooms <> count(r.id)`,
  bytesMiscounted: `SELECT w.id, w.file_bytes AS count, coalesce(sum(f.size), 0) AS counted
    FROM worlds AS w LEFT JOIN files AS f ON f.world_id = w.id
    GROUP BY w.id HAVING w.file_bytes <> coalesce(sum(f.size), 0)`,
  filesOfStrangers: strangers(
    "(SELECT world_id, world_id AS id, user_id FROM files)",
  ),

  channelsWithoutRoom: `SELECT c.id FROM chat_channels AS c WHERE c.direct IS NULL AND NOT EXISTS
    (SELECT 1 FROM rooms AS r WHERE r.world_id = c.world_id AND r.id = c.id)`,
  membersTooMany: `SELECT c.id, count(*) AS count FROM chat_members AS m
    JOIN chat_channels AS c ON c.world_id = m.world_id AND c.number = m.channel
    WHERE strpos(c.direct, m.user_id) = 0 GROUP BY c.id`,
  eventsWithoutChannel: all(
    "chat_events",
    `NOT EXISTS (SELECT 1 FROM chat_channels AS c
       WHERE c.world_id = t.world_id AND c.number = t.channel)
     AND NOT EXISTS (SELECT 1 FROM chat_remains AS r
       WHERE r.world_id = t.world_id AND r.channel = t.channel)`,
  ),
  lastEventWrong: `SELECT c.id, c.last_event AS count FROM chat_channels AS c
    LEFT JOIN (SELECT world_id, channel, max(id) AS event, max(id) FILTER (WHERE type <> 1) AS message
      FROM chat_events GROUP BY world_id, channel) AS e
    ON e.world_id = c.world_id AND e.channel = c.number
    WHERE c.last_message > c.last_event OR c.last_event < coalesce(e.event, 0)
      OR c.last_message < coalesce(e.message, 0)`,
  eventsUnreadable: events("NOT foyer_is_json(e.content)"),
  eventsEmpty: events(
    `e.deleted = 0 AND e.replaces IS NULL AND e.content IS NULL
     AND NOT EXISTS (SELECT 1 FROM chat_edits AS d WHERE d.world_id = e.world_id AND d.event = e.id)`,
  ),
  eventsNotErased: all("chat_events", "deleted = 1 AND content IS NOT NULL"),
  eventsOfStrangers: events(
    `e.sender IS NOT NULL AND NOT EXISTS
     (SELECT 1 FROM users AS u WHERE u.world_id = e.world_id AND u.id = e.sender)`,
  ),
  editsOfNothing: events(
    `e.replaces IS NOT NULL AND (e.replaces >= e.id OR EXISTS
       (SELECT 1 FROM chat_events AS o WHERE o.world_id = e.world_id AND o.id = e.replaces
        AND (o.channel <> e.channel OR o.type <> 0 OR o.replaces IS NOT NULL)))`,
  ),
  editsWithoutEvent: all(
    "chat_edits",
    `NOT EXISTS (SELECT 1 FROM chat_events AS e
       WHERE e.world_id = t.world_id AND e.id = t.edit AND e.replaces = t.event)`,
  ),
  reactionsWithoutEvent: orphans("chat_reactions"),
  reactionsOfStrangers: all(
    "chat_reactions",
    "NOT EXISTS (SELECT 1 FROM users AS u WHERE u.world_id = t.world_id AND u.id = t.user_id)",
  ),
  notificationsWithoutEvent: orphans(
    "chat_notifications",
    "e.channel = t.channel",
  ),

  headMissing: `SELECT id FROM worlds
    WHERE NOT EXISTS (SELECT FROM log_heads WHERE world_id = worlds.id) ORDER BY id`,
  headTooLow: `SELECT last.world_id AS id, coalesce(h.seq, 0) AS count
    FROM (SELECT world_id, max(seq) AS seq FROM
      (SELECT world_id, seq FROM log UNION ALL SELECT world_id, id FROM chat_events) AS entries
      GROUP BY world_id) AS last
    LEFT JOIN log_heads AS h ON h.world_id = last.world_id
    WHERE last.seq > coalesce(h.seq, 0) ORDER BY id`,
  numbersTwice: `SELECT log.world_id AS id, count(*) AS count FROM log
    JOIN chat_events AS e ON e.world_id = log.world_id AND e.id = log.seq
    GROUP BY log.world_id ORDER BY id`,
  entriesUnreadable: `SELECT world_id AS id, count(*) AS count FROM log
    WHERE NOT (foyer_is_json(author) AND foyer_is_json(detail) AND foyer_is_json(coalesce(data, '{}')))
    GROUP BY world_id ORDER BY id`,

  questionsOfStrangers: strangers(
    `(SELECT world_id, id, sender AS user_id FROM questions
      UNION ALL SELECT world_id, id, moderator FROM questions)`,
  ),
  votesOfStrangers: strangers(
    `(SELECT q.world_id, q.id, v.user_id FROM question_votes AS v
      JOIN questions AS q ON q.world_id = v.world_id AND q.number = v.question)`,
  ),
  ballotsOfStrangers: strangers(
    `(SELECT p.world_id, p.id, b.user_id FROM poll_ballots AS b
      JOIN polls AS p ON p.world_id = b.world_id AND p.number = b.poll)`,
  ),
  scoreMiscounted: `SELECT q.id, q.score AS count, count(v.number) AS counted FROM questions AS q
    LEFT JOIN question_votes AS v ON v.world_id = q.world_id AND v.question = q.number
    GROUP BY q.id, q.score HAVING q.score <> count(v.number) ORDER BY q.id`,
  optionMiscounted: `SELECT o.id, o.votes AS count, count(v.ballot) AS counted FROM poll_options AS o
    LEFT JOIN poll_votes AS v ON v.world_id = o.world_id AND v.option = o.number
    GROUP BY o.id, o.votes HAVING o.votes <> count(v.ballot) ORDER BY o.id`,
  votesElsewhere: `SELECT p.id, count(*) AS count FROM poll_votes AS v
    JOIN poll_ballots AS b ON b.world_id = v.world_id AND b.number = v.ballot
    JOIN polls AS p ON p.world_id = b.world_id AND p.number = b.poll
    JOIN poll_options AS o ON o.world_id = v.world_id AND o.number = v.option
    WHERE o.poll <> b.poll GROUP BY p.id ORDER BY p.id`,
  ballotsTooNew: `SELECT p.id, count(*) AS count FROM polls AS p
    JOIN poll_ballots AS b ON b.world_id = p.world_id AND b.poll = p.number
    WHERE b.changed > p.changed GROUP BY p.id ORDER BY p.id`,
  // The ids may name options that were deleted since.
  resultsUnreadable: `SELECT id FROM polls WHERE CASE
      WHEN NOT foyer_is_json(results) THEN TRUE
      WHEN json_typeof(results::json) <> 'object' THEN TRUE
      ELSE EXISTS (SELECT 1 FROM json_each(results::json) AS result WHERE result.value::text !~ '^[0-9]+$')
    END AND results IS NOT NULL ORDER BY id`,
};
