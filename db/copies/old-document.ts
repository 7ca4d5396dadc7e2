import type { ChatCopy, EventCopy } from "../../schemas/documents/chat-history.js";
import type { PollCopy, QuestionCopy } from "../../schemas/documents/votes-copy.js";
import type { UserCopy, WorldCopy } from "../../schemas/documents/world-document.js";
import { isOver } from "../../schemas/plain/items.js";
import { copiedAnnouncement } from "../contract/announcement-store.js";
import { tag } from "../log/draft.js";
import { TYPES } from "../rules/chat-rows.js";
import { newRoomRow } from "../rules/room-rows.js";
import { MAX_BLOCKED, stateJson, tooManyBlocked } from "../rules/user-rows.js";
import { newWorldRow } from "../rules/world-rows.js";
import { type CopiedRows, takenAs } from "./copied-rows.js";
import { copied, type Table, TABLES, type Value } from "./tables.js";

// Reads the old document format, which contains no rows. Foyer also uses this format to describe
// the worlds that it creates itself, such as the demo. Nothing else reads the format.

/** Yields the rows of a document. @throws {StoreError} `quota` on `blocks`, or `taken` on `users`. */
export function* rowsOf(copy: WorldCopy): Generator<CopiedRows> {
  const { world, rooms, users = [], announcements = [] } = copy;
  const { questions = [], polls = [], chat } = copy;
  refuseTwins(users);
  const found = new Map<string, readonly NamedValues[]>([
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

const inOrder = (table: Table, world: string, rows: readonly NamedValues[]): CopiedRows => ({
  table,
  rows: rows.map((row) =>
    table.columns.map(({ name }) => (name === "world_id" ? world : (row[name] ?? null))),
  ),
});

const userRow = (user: UserCopy): NamedValues => ({
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

/** Rejects two users with the same name. */
function refuseTwins(users: readonly UserCopy[]): void {
  const names = new Set<string>();
  for (const { id, token_id, client_id } of users) {
    const name = token_id === null ? `guest ${client_id}` : `token ${token_id}`;
    if (names.size === names.add(name).size) throw takenAs("users", id);
  }
}

const erasedUsers = (chat: ChatCopy | undefined): NamedValues[] =>
  (chat?.erased ?? []).map((id) => ({ id, last_seen: 0, created: 0, moderation_state: "" }));

function blockRows({ id, blocked = [] }: UserCopy): NamedValues[] {
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
    settings: "{}",
  }));
  const options = counted(
    polls.flatMap(({ options }, i) =>
      options.map(({ id, content, order }) => ({
        id,
        poll: i + 1,
        content,
        position: order,
        correct: 0,
      })),
    ),
  );
  const places = new Map(options.map(({ id, number }) => [id, number]));
  const ballots = polls.flatMap(({ timestamp, ballots = [] }, i) =>
    ballots.map(({ user = null, options }, j) => ({
      poll: i + 1,
      user_id: user,
      changed: j + 1,
      // The document does not say when people voted.
      cast_at: Date.parse(timestamp),
      anonymous: 0,
      options,
    })),
  );
  const votes = ballots.flatMap(({ options }, i) =>
    options.map((id) => ({ ballot: i + 1, option: places.get(id)!, place: 0 })),
  );
  return [
    ["polls", counted(rows)],
    ["poll_options", options],
    ["poll_ballots", counted(ballots.map(({ options: _options, ...row }) => row))],
    ["poll_votes", votes],
  ];
}

/**
 * Returns the results of a closed or archived poll as JSON; null for a poll in any other state.
 * Counts the ballots if the document has no results.
 */
function totalsOf({ state, options, ballots = [], results }: PollCopy): string | null {
  if (!isOver({ state })) return null;
  const votes = new Map(options.map(({ id }) => [id, 0]));
  for (const id of ballots.flatMap((ballot) => ballot.options)) {
    votes.set(id, votes.get(id)! + 1);
  }
  return JSON.stringify(results ?? Object.fromEntries(votes));
}

/** Returns the chat rows for an old document. @param tag generates an event's tag. */
function chatParts({ channels, events }: ChatCopy, tag: () => number): Parts {
  const numbers = new Map(channels.map(({ id }, i) => [id, i + 1]));
  const places = new Map(events.map(({ id }, i) => [id, i + 1]));
  const ids = events.map(({ id }) => id);
  const contentOf = contentsOf(events);
  const markOf = (mark: number | undefined): number | null =>
    mark === undefined ? null : placeUntil(ids, mark);
  const lasts = lastsOf(events);
  const inChannels = <T>(list: (channel: ChatCopy["channels"][number]) => T[]) =>
    channels.flatMap((one, i) => list(one).map((row) => ({ channel: i + 1, ...row })));
  const edits = new Map<number, number>();
  for (const { id, replaces } of events) {
    if (replaces !== undefined) edits.set(places.get(replaces)!, places.get(id)!);
  }
  const reactions = events.flatMap(({ reactions = {} }, i) =>
    Object.entries(reactions).flatMap(([reaction, users]) =>
      users.map((user_id) => ({ event: i + 1, reaction, user_id })),
    ),
  );
  return [
    [
      "chat_channels",
      counted(
        channels.map(({ id, direct }) => ({
          id,
          direct: direct?.join() ?? null,
          ...(lasts.get(id) ?? { last_event: 0, last_message: 0 }),
        })),
      ),
    ],
    [
      "chat_events",
      events.map((event, i) => ({
        id: i + 1,
        channel: numbers.get(event.channel)!,
        type: TYPES.indexOf(event.type),
        sender: event.sender ?? null,
        timestamp: Date.parse(event.timestamp),
        replaces: event.replaces === undefined ? null : places.get(event.replaces)!,
        deleted: Number(event.deleted ?? false),
        content: contentOf(event) ?? null,
        tag: tag(),
        author: null,
      })),
    ],
    // Only the last edit of each message is kept.
    ["chat_edits", [...edits].map(([event, edit]) => ({ event, edit }))],
    ["chat_reactions", counted(reactions)],
    [
      "chat_members",
      counted(
        inChannels(({ members = [] }) =>
          members.map(({ user, hidden = false }) => ({ user_id: user, hidden: Number(hidden) })),
        ),
      ),
    ],
    [
      "chat_readers",
      inChannels(({ readers = [] }) =>
        readers.map(({ user, pointer, listed }) => ({
          user_id: user,
          pointer: markOf(pointer),
          listed: markOf(listed),
        })),
      ),
    ],
    [
      "chat_notifications",
      inChannels(({ notifications = [] }) =>
        notifications.map(({ user, event }) => ({ user_id: user, event: places.get(event)! })),
      ),
    ],
  ];
}

/**
 * Creates a function that returns an event's stored content as JSON. The function returns undefined
 * for a deleted event, and for an edit that a later edit has replaced.
 */
function contentsOf(events: readonly EventCopy[]): (event: EventCopy) => string | undefined {
  const lastEdits = new Map<number, number>();
  for (const { id, replaces } of events) {
    if (replaces !== undefined) lastEdits.set(replaces, id);
  }
  return ({ id, content, deleted, replaces }) => {
    const isOld = replaces !== undefined && lastEdits.get(replaces) !== id;
    return content && !deleted && !isOld ? JSON.stringify(content) : undefined;
  };
}

/** Returns each channel's last event, and its last event that is not a member event; 0 for none. */
function lastsOf(events: readonly EventCopy[]): Map<string, NamedValues> {
  const lasts = new Map<string, NamedValues>();
  for (const [i, { channel, type }] of events.entries()) {
    const before = lasts.get(channel)?.last_message ?? 0;
    const last_message = type === "channel.member" ? before : i + 1;
    lasts.set(channel, { last_event: i + 1, last_message });
  }
  return lasts;
}

/**
 * Returns the position of the event to which a read mark refers; 0 if there is none. If that event
 * is gone or in another world, returns the position of the last event before it.
 * @param ids in ascending order.
 */
function placeUntil(ids: readonly number[], mark: number): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ids[middle]! <= mark) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A row's values by column name, without `world_id`. */
export type NamedValues = Readonly<Record<string, Value>>;

/** Numbers rows by position, from 1. */
export const counted = <T extends object>(rows: readonly T[]): (T & { number: number })[] =>
  rows.map((row, i) => ({ ...row, number: i + 1 }));

export type Parts = [table: string, rows: NamedValues[]][];
