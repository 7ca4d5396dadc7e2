import { INDEX } from "../log/entries.js";

/** A contradiction between rows of a database, as returned by its SQL query. */
export interface SubjectCount {
  /** The subject's id; empty for the whole database. */
  id: string;
  /** The number of affected rows, or the stored count. */
  count: number;
  /** The expected count. */
  counted: number;
}

/** Formats a count with its noun, such as "1 event" or "2 events". */
const plural = (count: number, noun: string, nouns = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : nouns}`;

const logOf = (id: string): string =>
  id === INDEX ? "the log of all worlds" : `the log of the world ${id}`;

const strangers = (kind: string, noun: string) => (found: SubjectCount) =>
  `the ${kind} ${found.id} has ${plural(found.count, noun)} of another world`;

const events =
  (what: string) =>
  ({ id, count }: SubjectCount) =>
    `${plural(count, "event")} of the channel ${id} ${what}`;

/**
 * The messages about contradictions, by name. A contradiction that affects many rows is reported as
 * a count, so that its message is one line.
 */
const MESSAGES = {
  worldsUnreadable: ({ id }) => `the world ${id} cannot be read`,
  roomsUnreadable: ({ id }) => `the room ${id} cannot be read`,
  usersUnreadable: ({ id }) => `the user ${id} cannot be read`,
  roomsMiscounted: ({ id, count, counted }) =>
    `a view group of the world ${id} counts ${count} rooms but has ${counted}`,
  bytesMiscounted: ({ id, count, counted }) =>
    `the world ${id} counts ${count} bytes of files but has ${counted}`,
  filesOfStrangers: strangers("world", "file"),

  channelsWithoutRoom: ({ id }) => `the channel ${id} has no room`,
  membersTooMany: ({ id, count }) =>
    `the direct channel ${id} has ${plural(count, "member")} too many`,
  eventsWithoutChannel: ({ count }) => `${plural(count, "event")} of chat without a channel`,
  lastEventWrong: ({ id, count }) =>
    `the channel ${id} names ${count} as its last event and has a later one`,
  eventsUnreadable: events("cannot be read"),
  eventsEmpty: events("have lost their content"),
  eventsNotErased: ({ count }) => `${plural(count, "event")} of chat still have erased content`,
  eventsOfStrangers: events("have no sender"),
  editsOfNothing: events("replace what is no message of it"),
  editsWithoutEvent: ({ count }) => `${plural(count, "edit")} of chat without an event`,
  reactionsWithoutEvent: ({ count }) => `${plural(count, "reaction")} of chat without an event`,
  reactionsOfStrangers: ({ count }) => `${plural(count, "reaction")} of chat without a user`,
  notificationsWithoutEvent: ({ count }) =>
    `${plural(count, "notification")} of chat without an event`,
  headMissing: ({ id }) => `the world ${id} has no last entry in its log`,
  headTooLow: ({ id, count }) =>
    `${logOf(id)} names ${count} as its last entry and has a later one`,
  numbersTwice: ({ id, count }) => `${logOf(id)} has ${plural(count, "number")} twice`,
  entriesUnreadable: ({ id, count }) =>
    `${logOf(id)} has ${plural(count, "entry", "entries")} that cannot be read`,

  questionsOfStrangers: ({ id }) =>
    `the question ${id} has an author or moderator of another world`,
  votesOfStrangers: strangers("question", "vote"),
  ballotsOfStrangers: strangers("poll", "ballot"),
  scoreMiscounted: ({ id, count, counted }) =>
    `the question ${id} counts ${plural(count, "vote")} but has ${counted}`,
  optionMiscounted: ({ id, count, counted }) =>
    `the option ${id} of a poll counts ${plural(count, "vote")} but has ${counted}`,
  votesElsewhere: ({ id, count }) =>
    `the poll ${id} has ${plural(count, "vote")} for options of another`,
  ballotsTooNew: ({ id, count }) =>
    `the poll ${id} has ${plural(count, "ballot")} from after its last change`,
  callsNowhere: ({ id }) => `the call ${id} is in no channel`,
  peopleNowhere: ({ id, count }) =>
    `the channel ${id} does not exist and has ${plural(count, "device")} in a call`,
  peopleMiscounted: ({ id, count, counted }) =>
    `the call ${id} counts ${count} people but has ${counted}`,
  resultsUnreadable: ({ id }) => `the results of the poll ${id} cannot be read`,
} satisfies Record<string, (found: SubjectCount) => string>;

export interface Dialect {
  /** The chat events that have not been removed, with `content` NULL where it has been erased or replaced. */
  events: string;
  /** The log, with `data` NULL where it has been erased. */
  log: string;
  /** A condition for rows of `chat_events AS t` whose content should have been erased but was not. */
  notErased: string;
  isJson: (text: string) => string;
  /** An expression for the position of a string within another string, or 0 if it does not occur there. */
  placeOf: (text: string, within: string) => string;
  /** A condition for polls whose results are not an object of numbers. */
  resultsUnreadable: string;
}

/** Selects rows that name a user outside their world, by owner. */
const outsiders = (rows: string): string =>
  `SELECT t.id, count(*) AS count FROM ${rows} AS t
   WHERE t.user_id IS NOT NULL AND NOT EXISTS
     (SELECT 1 FROM users AS u WHERE u.world_id = t.world_id AND u.id = t.user_id)
   GROUP BY t.id ORDER BY t.id`;

/** A condition for rows whose channel is neither a room nor a direct channel. */
const noChannel = (row: string): string =>
  `NOT EXISTS (SELECT 1 FROM rooms AS r WHERE r.world_id = ${row}.world_id AND r.id = ${row}.channel)
   AND NOT EXISTS (SELECT 1 FROM chat_channels AS d
     WHERE d.world_id = ${row}.world_id AND d.id = ${row}.channel AND d.direct IS NOT NULL)`;

/** Counts the rows of a table that meet a condition. */
const all = (table: string, condition: string): string =>
  `SELECT '' AS id, count(*) AS count FROM ${table} AS t WHERE ${condition} HAVING count(*) > 0`;

/**
 * The SQL that finds each contradiction, with the columns of {@link SubjectCount} that its message
 * needs. Most references are foreign keys, which the database checks. A reference to a user is not
 * a foreign key if it may become null. Neither is an event's reference to its channel, because the
 * event may outlive the channel.
 */
const rulesOf = (dialect: Dialect): Record<keyof typeof MESSAGES, string> => {
  const { isJson, placeOf } = dialect;
  /**
   * Selects events that meet a condition, by channel. Skips the events in deleted channels, which
   * are awaiting erasure.
   */
  const eventsWith = (condition: string): string =>
    `SELECT c.id, count(*) AS count FROM ${dialect.events} AS e
     JOIN chat_channels AS c ON c.world_id = e.world_id AND c.number = e.channel
     WHERE ${condition} GROUP BY c.id ORDER BY c.id`;
  /** Counts rows of a table that name a missing event. */
  const orphans = (table: string, condition = "1 = 1"): string =>
    all(
      table,
      `NOT EXISTS (SELECT 1 FROM ${dialect.events} AS e
         WHERE e.world_id = t.world_id AND e.id = t.event AND ${condition})`,
    );
  return {
    worldsUnreadable: `SELECT id FROM worlds
      WHERE NOT (${isJson("config")} AND ${isJson("permission_config")}) ORDER BY id`,
    roomsUnreadable: `SELECT id FROM rooms
      WHERE NOT (${isJson("module_config")} AND ${isJson("permission_config")}
        AND ${isJson("coalesce(extras, '{}')")}) ORDER BY id`,
    usersUnreadable: `SELECT id FROM users
      WHERE NOT (${isJson("coalesce(profile, '{}')")} AND ${isJson("coalesce(traits, '[]')")}
        AND ${isJson("coalesce(client_state, '{}')")}) ORDER BY id`,
    roomsMiscounted: `SELECT g.world_id AS id, g.rooms AS count, count(r.id) AS counted
      FROM view_groups AS g LEFT JOIN rooms AS r ON r.world_id = g.world_id AND r.view_group = g.id
      GROUP BY g.world_id, g.id, g.rooms HAVING g.rooms <> count(r.id) ORDER BY g.world_id`,
    bytesMiscounted: `SELECT w.id, w.file_bytes AS count, coalesce(sum(f.size), 0) AS counted
      FROM worlds AS w LEFT JOIN files AS f ON f.world_id = w.id
      GROUP BY w.id, w.file_bytes HAVING w.file_bytes <> coalesce(sum(f.size), 0) ORDER BY w.id`,
    filesOfStrangers: outsiders("(SELECT world_id, world_id AS id, user_id FROM files)"),

    channelsWithoutRoom: `SELECT c.id FROM chat_channels AS c WHERE c.direct IS NULL AND NOT EXISTS
      (SELECT 1 FROM rooms AS r WHERE r.world_id = c.world_id AND r.id = c.id) ORDER BY c.id`,
    membersTooMany: `SELECT c.id, count(*) AS count FROM chat_members AS m
      JOIN chat_channels AS c ON c.world_id = m.world_id AND c.number = m.channel
      WHERE ${placeOf("m.user_id", "c.direct")} = 0 GROUP BY c.id ORDER BY c.id`,
    eventsWithoutChannel: all(
      dialect.events,
      `NOT EXISTS (SELECT 1 FROM chat_channels AS c
         WHERE c.world_id = t.world_id AND c.number = t.channel)
       AND NOT EXISTS (SELECT 1 FROM chat_remains AS r
         WHERE r.world_id = t.world_id AND r.channel = t.channel)`,
    ),
    lastEventWrong: `SELECT c.id, c.last_event AS count FROM chat_channels AS c
      LEFT JOIN (SELECT world_id, channel, max(id) AS event, max(id) FILTER (WHERE type <> 1) AS message
        FROM ${dialect.events} AS e GROUP BY world_id, channel) AS e
      ON e.world_id = c.world_id AND e.channel = c.number
      WHERE c.last_message > c.last_event OR c.last_event < coalesce(e.event, 0)
        OR c.last_message < coalesce(e.message, 0) ORDER BY c.id`,
    eventsUnreadable: eventsWith(`NOT ${isJson("e.content")}`),
    eventsEmpty: eventsWith(
      `e.deleted = 0 AND e.replaces IS NULL AND e.content IS NULL
       AND NOT EXISTS (SELECT 1 FROM chat_edits AS d WHERE d.world_id = e.world_id AND d.event = e.id)`,
    ),
    eventsNotErased: all("chat_events", dialect.notErased),
    eventsOfStrangers: eventsWith(
      `e.sender IS NOT NULL AND NOT EXISTS
       (SELECT 1 FROM users AS u WHERE u.world_id = e.world_id AND u.id = e.sender)`,
    ),
    editsOfNothing: eventsWith(
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
    notificationsWithoutEvent: orphans("chat_notifications", "e.channel = t.channel"),

    headMissing: `SELECT id FROM worlds
      WHERE NOT EXISTS (SELECT 1 FROM log_heads WHERE world_id = worlds.id) ORDER BY id`,
    headTooLow: `SELECT last.world_id AS id, coalesce(h.seq, 0) AS count
      FROM (SELECT world_id, max(seq) AS seq FROM
        (SELECT world_id, seq FROM log UNION ALL SELECT world_id, id FROM chat_events) AS entries
        GROUP BY world_id) AS last
      LEFT JOIN log_heads AS h ON h.world_id = last.world_id
      WHERE last.seq > coalesce(h.seq, 0) AND NOT EXISTS (SELECT 1 FROM world_ids AS w
        WHERE w.id = last.world_id AND w.touched IS NOT NULL) ORDER BY id`,
    numbersTwice: `SELECT log.world_id AS id, count(*) AS count FROM log
      JOIN chat_events AS e ON e.world_id = log.world_id AND e.id = log.seq
      GROUP BY log.world_id ORDER BY id`,
    entriesUnreadable: `SELECT world_id AS id, count(*) AS count FROM ${dialect.log} AS t
      WHERE NOT (${isJson("author")} AND ${isJson("detail")} AND ${isJson("coalesce(data, '{}')")}
        AND ${isJson("coalesce(changes, '[]')")})
      GROUP BY world_id ORDER BY id`,

    questionsOfStrangers: outsiders(
      `(SELECT world_id, id, sender AS user_id FROM questions
        UNION ALL SELECT world_id, id, moderator FROM questions)`,
    ),
    votesOfStrangers: outsiders(
      `(SELECT q.world_id, q.id, v.user_id FROM question_votes AS v
        JOIN questions AS q ON q.world_id = v.world_id AND q.number = v.question)`,
    ),
    ballotsOfStrangers: outsiders(
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
    callsNowhere: `SELECT c.id FROM calls AS c WHERE ${noChannel("c")} ORDER BY c.id`,
    peopleNowhere: `SELECT p.channel AS id, count(*) AS count FROM call_people AS p
      WHERE ${noChannel("p")} GROUP BY p.channel ORDER BY id`,
    peopleMiscounted: `SELECT c.id, c.people AS count, count(DISTINCT p.user_id) AS counted
      FROM calls AS c LEFT JOIN call_people AS p ON p.world_id = c.world_id
        AND p.channel = c.channel AND p.hidden = 0 AND p.session IS NOT NULL
      GROUP BY c.id, c.people HAVING c.people <> count(DISTINCT p.user_id) ORDER BY c.id`,
    // The ids are not checked: they may name options that have since been deleted.
    resultsUnreadable: `SELECT id FROM polls
      WHERE results IS NOT NULL AND ${dialect.resultsUnreadable} ORDER BY id`,
  };
};

export const rulesIn = (
  dialect: Dialect,
): [sql: string, words: (found: SubjectCount) => string][] =>
  Object.entries(rulesOf(dialect)).map(([name, sql]) => [
    sql,
    MESSAGES[name as keyof typeof MESSAGES],
  ]);

export const POSTGRES: Dialect = {
  events: "chat_events",
  log: `(SELECT world_id, author, detail, data, changes FROM log
    UNION ALL SELECT world_id, author, detail, NULL, changes FROM log_kept)`,
  notErased: "deleted = 1 AND content IS NOT NULL",
  isJson: (text) => `foyer_is_json(${text})`,
  placeOf: (text, within) => `strpos(${within}, ${text})`,
  resultsUnreadable: `CASE
      WHEN NOT foyer_is_json(results) THEN TRUE
      WHEN json_typeof(results::json) <> 'object' THEN TRUE
      ELSE EXISTS (SELECT 1 FROM json_each(results::json) AS result WHERE result.value::text !~ '^[0-9]+$')
    END`,
};

/** In SQLite, an erased string is a blob of zeros. */
const unlessErased = (column: string) =>
  `CASE typeof(${column}) WHEN 'text' THEN ${column} END AS ${column}`;

export const SQLITE: Dialect = {
  events: `(SELECT world_id, id, channel, type, sender, replaces, deleted, ${unlessErased("content")}
    FROM chat_events WHERE gone = 0)`,
  log: `(SELECT world_id, author, detail, ${unlessErased("data")}, ${unlessErased("changes")} FROM log
    UNION ALL SELECT world_id, author, detail, NULL, changes FROM log_kept)`,
  notErased: "(deleted = 1 OR gone = 1) AND typeof(content) = 'text'",
  isJson: (text) => `json_valid(${text})`,
  placeOf: (text, within) => `instr(${within}, ${text})`,
  resultsUnreadable: `CASE
      WHEN NOT json_valid(results) THEN 1
      WHEN json_type(results) <> 'object' THEN 1
      ELSE EXISTS (SELECT 1 FROM json_each(results) WHERE type <> 'integer' OR value < 0)
    END`,
};
