import type { ChatCopy } from "../../schemas/documents/chat-history.js";
import type { PollCopy, QuestionCopy } from "../../schemas/documents/votes-copy.js";
import type { UserCopy, WorldCopy } from "../../schemas/documents/world-document.js";
import { isOver } from "../../schemas/plain/items.js";
import { copiedAnnouncement } from "../contract/announcements.js";
import { tag } from "../log/draft.js";
import { MAX_BLOCKED, stateJson, tooManyBlocked } from "../rules/user-rows.js";
import { newRoomRow } from "../rules/room-rows.js";
import { newWorldRow } from "../rules/world-rows.js";
import { chatParts, counted, type Named, type Parts } from "./old-chat.js";
import { takenAs } from "./taken.js";
import { copied, type Table, TABLES } from "./tables.js";
import type { CopiedRows } from "./world-rows.js";

// Documents of worlds before they had rows, and worlds that the server itself describes. This is
// the only reader of their form.

/**
 * The rows of a document.
 * @throws {StoreError} `quota` on `blocks`, or `taken` on `users`.
 */
export function* rowsOf(copy: WorldCopy): Generator<CopiedRows> {
  const { world, rooms, users = [], announcements = [] } = copy;
  const { questions = [], polls = [], chat } = copy;
  refuseTwins(users);
  const found = new Map<string, readonly Named[]>([
    ["worlds", [{ ...newWorldRow(world) }]],
    ["rooms", rooms.map((room) => ({ ...newRoomRow(room) }))],
    ["users", [...users.map(userRow), ...erasedUsers(chat)]],
    ["blocks", users.flatMap(blockRows)],
    ["announcements", counted(announcements.map((one) => ({ ...copiedAnnouncement(one) })))],
    ...(chat ? chatParts(chat, tag) : []),
    ...questionParts(questions),
    ...pollParts(polls),
  ]);
  for (const one of TABLES) {
    const rows = found.get(one.name);
    if (rows?.length) yield inOrder(copied(one), world.id, rows);
  }
}

const inOrder = (table: Table, world: string, rows: readonly Named[]): CopiedRows => ({
  table,
  rows: rows.map((row) =>
    table.columns.map(({ name }) => (name === "world_id" ? world : (row[name] ?? null))),
  ),
});

const userRow = (user: UserCopy): Named => ({
  id: user.id,
  token_id: user.token_id,
  client_id: user.client_id,
  profile: user.profile && JSON.stringify(user.profile),
  traits: JSON.stringify(user.traits),
  last_seen: Date.parse(user.last_seen),
  created: 0,
  moderation_state: user.moderation_state ?? "",
  client_state: stateJson(user.client_state),
  pretalx_id: user.pretalx_id ?? null,
  last_login: user.last_login == null ? null : Date.parse(user.last_login),
});

/** Two users may not have the same name. */
function refuseTwins(users: readonly UserCopy[]): void {
  const names = new Set<string>();
  for (const { id, token_id, client_id } of users) {
    const name = token_id === null ? `guest ${client_id}` : `token ${token_id}`;
    if (names.size === names.add(name).size) throw takenAs("users", id);
  }
}

const erasedUsers = (chat: ChatCopy | undefined): Named[] =>
  (chat?.erased ?? []).map((id) => ({ id, last_seen: 0, created: 0, moderation_state: "" }));

function blockRows({ id, blocked = [] }: UserCopy): Named[] {
  const others = [...new Set(blocked)];
  if (others.length > MAX_BLOCKED) throw tooManyBlocked();
  return others.map((other) => ({ user_id: id, blocked_id: other }));
}

function questionParts(questions: readonly QuestionCopy[]): Parts {
  const rows = questions.map((question) => ({
    id: question.id,
    room_id: question.room,
    sender: question.sender ?? null,
    moderator: question.moderator ?? null,
    content: question.content,
    state: question.state,
    answered: Number(question.answered ?? false),
    is_pinned: Number(question.is_pinned ?? false),
    timestamp: Date.parse(question.timestamp),
    named: 0,
  }));
  const votes = questions.flatMap(({ votes = [] }, i) =>
    votes.map((user_id) => ({ question: i + 1, user_id })),
  );
  return [
    ["questions", counted(rows)],
    ["question_votes", counted(votes)],
  ];
}

function pollParts(polls: readonly PollCopy[]): Parts {
  const rows = polls.map((poll) => ({
    id: poll.id,
    room_id: poll.room,
    content: poll.content,
    state: poll.state,
    poll_type: poll.poll_type,
    is_pinned: Number(poll.is_pinned ?? false),
    timestamp: Date.parse(poll.timestamp),
    changed: poll.ballots?.length ?? 0,
    results: totalsOf(poll),
  }));
  const options = counted(
    polls.flatMap(({ options }, i) =>
      options.map(({ id, content, order }) => ({ id, poll: i + 1, content, position: order })),
    ),
  );
  const places = new Map(options.map(({ id, number }) => [id, number]));
  const ballots = polls.flatMap(({ ballots = [] }, i) =>
    ballots.map(({ user = null, options }, j) => ({
      poll: i + 1,
      user_id: user,
      changed: j + 1,
      options,
    })),
  );
  const votes = ballots.flatMap(({ options }, i) =>
    options.map((id) => ({ ballot: i + 1, option: places.get(id)! })),
  );
  return [
    ["polls", counted(rows)],
    ["poll_options", options],
    ["poll_ballots", counted(ballots.map(({ options: _options, ...row }) => row))],
    ["poll_votes", votes],
  ];
}

/**
 * JSON of the results of a poll that is over; null for others. If the document lacks them,
 * its ballots are counted.
 */
function totalsOf({ state, options, ballots = [], results }: PollCopy): string | null {
  if (!isOver({ state })) return null;
  const votes = new Map(options.map(({ id }) => [id, 0]));
  for (const id of ballots.flatMap((ballot) => ballot.options)) {
    votes.set(id, votes.get(id)! + 1);
  }
  return JSON.stringify(results ?? Object.fromEntries(votes));
}
