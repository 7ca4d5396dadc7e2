import type { Store } from "../../../db/contract/store.js";
import { worldOf } from "../../support/helper.js";

// Inconsistencies in a database that `foyer check` finds, on either engine.

const ROOM = "11111111-0000-4000-8000-000000000001";
const [ADA, BOB, EVE] = [2, 3, 4].map((n) => `11111111-0000-4000-8000-00000000000${n}`) as [
  string,
  string,
  string,
];
const QUESTION = "22222222-0000-4000-8000-000000000001";
const POLL = "33333333-0000-4000-8000-000000000001";
const [YES, NO] = [2, 3].map((n) => `33333333-0000-4000-8000-00000000000${n}`) as [string, string];
const OTHER = "33333333-0000-4000-8000-000000000004";

const SEEN = "2027-01-01T00:00:00.000Z";
const userOf = (id: string) => ({
  id,
  token_id: id,
  client_id: null,
  profile: null,
  traits: [],
  last_seen: SEEN,
});
const optionOf = (id: string) => ({ id, content: "o", order: 1 });

/** A world with one of nearly everything; {@link furnish} adds the rest. */
const COPY = {
  world: worldOf("demo"),
  rooms: [{ id: ROOM, name: "R" }],
  users: [userOf(ADA), userOf(BOB)],
  questions: [
    {
      id: QUESTION,
      room: ROOM,
      content: "Why?",
      timestamp: SEEN,
      state: "visible" as const,
      sender: ADA,
      votes: [ADA, BOB],
    },
  ],
  polls: [
    {
      id: POLL,
      room: ROOM,
      content: "Who?",
      timestamp: SEEN,
      state: "closed" as const,
      poll_type: "choice" as const,
      options: [optionOf(YES), optionOf(NO)],
      ballots: [{ user: ADA, options: [YES] }],
    },
    {
      id: OTHER,
      room: ROOM,
      content: "Who?",
      timestamp: SEEN,
      state: "open" as const,
      poll_type: "multi" as const,
      options: [optionOf(EVE)],
    },
  ],
};

/**
 * Creates a world with one of everything.
 * @returns the id of its message.
 */
export async function furnish({ worlds, chat, calls }: Store): Promise<number> {
  await worlds.import(COPY);
  await chat.join("demo", ROOM, ADA);
  const content = { type: "text", body: "Hello" };
  const { event } = await chat.send("demo", ROOM, { sender: ADA, content });
  const device = { identity: "d", user: ADA, hidden: false, access: { traits: [] }, ends: 9 };
  await calls.issued("demo", ROOM, device, { now: 1 });
  const visit = { identity: "d", session: "s" };
  await calls.joined("demo", ROOM, visit, { at: 1, now: 1 });
  const given = { user: ADA, reaction: "+", remove: false, volatile: false };
  await chat.react("demo", ROOM, event.id, given);
  return event.id;
}

/**
 * Returns each contradiction: the SQL that causes it, and the resulting finding.
 * @param event the id of the message.
 * @param erased how the engine stores an erased text.
 */
export const contradictions = (
  event: number,
  erased: string,
): [breaking: string, finding: string][] => [
  ["UPDATE worlds SET config = '{'", "the world demo cannot be read"],
  ["UPDATE rooms SET extras = 'x'", `the room ${ROOM} cannot be read`],
  [`UPDATE users SET traits = '[}' WHERE id = '${ADA}'`, `the user ${ADA} cannot be read`],
  ["UPDATE view_groups SET rooms = 2", "a view group of the world demo counts 2 rooms but has 1"],
  ["UPDATE worlds SET file_bytes = 5", "the world demo counts 5 bytes of files but has 0"],
  [`UPDATE chat_channels SET id = '${EVE}'`, `the channel ${EVE} has no room`],
  [
    "UPDATE chat_channels SET direct = 'nobody'",
    `the direct channel ${ROOM} has 1 member too many`,
  ],
  [
    "UPDATE chat_events SET channel = 99 WHERE type <> 1; DELETE FROM chat_reactions",
    "1 event of chat without a channel",
  ],
  [
    "UPDATE chat_channels SET last_event = 1, last_message = 1",
    `the channel ${ROOM} names 1 as its last event and has a later one`,
  ],
  [
    "UPDATE chat_events SET content = 'x' WHERE type <> 1",
    `1 event of the channel ${ROOM} cannot be read`,
  ],
  [
    `UPDATE chat_events SET content = ${erased} WHERE type <> 1`,
    `1 event of the channel ${ROOM} have lost their content`,
  ],
  [
    "UPDATE chat_events SET deleted = 1 WHERE type <> 1",
    "1 event of chat still have erased content",
  ],
  [
    `UPDATE chat_events SET sender = '${EVE}' WHERE type <> 1`,
    `1 event of the channel ${ROOM} have no sender`,
  ],
  [
    "UPDATE chat_events SET replaces = (SELECT min(id) FROM chat_events) WHERE type <> 1",
    `1 event of the channel ${ROOM} replace what is no message of it`,
  ],
  [
    `INSERT INTO chat_edits (world_id, event, edit) VALUES ('demo', ${event}, ${event})`,
    "1 edit of chat without an event",
  ],
  ["UPDATE chat_reactions SET event = 99", "1 reaction of chat without an event"],
  [`UPDATE chat_reactions SET user_id = '${EVE}'`, "1 reaction of chat without a user"],
  [
    `INSERT INTO chat_notifications (world_id, user_id, channel, event)
     SELECT world_id, '${ADA}', number, 99 FROM chat_channels`,
    "1 notification of chat without an event",
  ],
  [
    "INSERT INTO world_ids (id) VALUES ('new'); INSERT INTO worlds (id, title, config, permission_config, domain) VALUES ('new', '', '{}', '{}', 'new.example.org')",
    "the world new has no last entry in its log",
  ],
  [
    "UPDATE log_heads SET seq = 1 WHERE world_id = 'demo'",
    "the log of the world demo names 1 as its last entry and has a later one",
  ],
  [
    `UPDATE log SET seq = ${event} WHERE world_id = 'demo' AND type = 'chat.memberships'`,
    "the log of the world demo has 1 number twice",
  ],
  [
    "UPDATE log SET detail = 'x' WHERE world_id = '' AND type = 'log.began'",
    "the log of all worlds has 1 entry that cannot be read",
  ],
  [
    `UPDATE questions SET moderator = '${EVE}'`,
    `the question ${QUESTION} has an author or moderator of another world`,
  ],
  [
    `UPDATE question_votes SET user_id = '${EVE}' WHERE user_id = '${ADA}'`,
    `the question ${QUESTION} has 1 vote of another world`,
  ],
  [`UPDATE poll_ballots SET user_id = '${EVE}'`, `the poll ${POLL} has 1 ballot of another world`],
  ["UPDATE questions SET score = 3", `the question ${QUESTION} counts 3 votes but has 2`],
  [
    `UPDATE poll_options SET votes = 1 WHERE id = '${NO}'`,
    `the option ${NO} of a poll counts 1 vote but has 0`,
  ],
  [
    `UPDATE poll_options SET votes = 0; UPDATE poll_options SET votes = 1 WHERE id = '${EVE}';
     UPDATE poll_votes SET option = (SELECT number FROM poll_options WHERE id = '${EVE}')`,
    `the poll ${POLL} has 1 vote for options of another`,
  ],
  [
    "UPDATE poll_ballots SET changed = 9",
    `the poll ${POLL} has 1 ballot from after its last change`,
  ],
  [
    `UPDATE call_people SET channel = '${EVE}'; UPDATE calls SET people = 0`,
    `the channel ${EVE} does not exist and has 1 device in a call`,
  ],
  [`UPDATE calls SET id = '${EVE}', people = 2`, `the call ${EVE} counts 2 people but has 1`],
  [
    `UPDATE calls SET id = '${EVE}', channel = '${EVE}', people = 0`,
    `the call ${EVE} is in no channel`,
  ],
  ...["x", "[]", '{"a":-1}', '{"a":"1"}', '{"a":1.5}'].map((results): [string, string] => [
    `UPDATE polls SET results = '${results}' WHERE state = 'closed'`,
    `the results of the poll ${POLL} cannot be read`,
  ]),
];
