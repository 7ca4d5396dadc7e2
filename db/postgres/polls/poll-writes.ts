import type { Delivery } from "../../contract/chat.js";
import {
  deletedPoll,
  endedPollPin,
  createdPoll,
  unpinnedPoll,
  updatedPoll,
} from "../../log/changes.js";
import {
  changedPoll,
  isOpened,
  newPoll,
  openingOf,
} from "../../rules/poll-changes.js";
import { planOptions } from "../../rules/poll-options.js";
import { toPoll } from "../../rules/poll-rows.js";
import type { Poll, PollChanges, PollDraft } from "../../contract/polls.js";
import { postInRoom } from "../chat/chat-posts.js";
import type { Log } from "../log/log.js";
import {
  expectRoom,
  expectUser,
  PLACE,
  type Place,
} from "../users/participants.js";
import { findPoll, optionsOf } from "./poll-finding.js";
import { ADD_OPTIONS, columnsOf, replaceOptions } from "./poll-options.js";
import type { Sql } from "../../shared/sql.js";

const FIND_PLACE = `SELECT ${PLACE}`;

const CREATE = `WITH poll AS (
    INSERT INTO polls (world_id, id, room_id, content, state, poll_type, timestamp, results)
    VALUES ($1, $2, $6, $7, $8, $9, $10, $11) RETURNING number)
  ${ADD_OPTIONS}`;

export async function createPoll(
  sql: Sql,
  log: Log,
  worldId: string,
  room: string,
  draft: PollDraft,
): Promise<Poll> {
  expectRoom((await sql.one<Place>(FIND_PLACE, [worldId, room, null]))!);
  const { row, options, poll } = newPoll(room, draft);
  await sql.run(CREATE, [
    worldId,
    row.id,
    ...columnsOf(options),
    room,
    row.content,
    row.state,
    row.poll_type,
    row.timestamp,
    row.results,
  ]);
  log.append(createdPoll(poll));
  return poll;
}

const UNPIN = `UPDATE polls SET is_pinned = 0
  WHERE world_id = $1 AND room_id = $2 AND is_pinned = 1 AND id IS DISTINCT FROM $3 RETURNING id`;

const UPDATE = `UPDATE polls SET content = $3, state = $4, poll_type = $5, is_pinned = $6, results = $7
  WHERE world_id = $1 AND number = $2`;

/** @see PollStore.update */
export async function updatePoll(
  sql: Sql,
  log: Log,
  worldId: string,
  room: string,
  id: string,
  changes: PollChanges,
  user: string,
): Promise<{
  before: Poll;
  after: Poll;
  delivery?: Delivery;
  unpinned?: string;
}> {
  const found = await findPoll(sql, worldId, room, id, user);
  expectUser(found);
  const { row, options: present } = found;
  const { number } = row;
  const { options: asked = [] } = changes;
  const plan = asked.length > 0 ? planOptions(present, asked) : undefined;
  const unpinned = changes.is_pinned
    ? await sql.value<string>(UNPIN, [worldId, room, id])
    : undefined;
  if (plan) await replaceOptions(sql, worldId, number, plan);
  const options = plan ? await optionsOf(sql, worldId, number) : present;
  const changed = changedPoll(row, changes, options);
  await sql.run(UPDATE, [
    worldId,
    number,
    changed.content,
    changed.state,
    changed.poll_type,
    changed.is_pinned,
    changed.results,
  ]);
  const before = toPoll(row, present);
  const after = toPoll(changed, options);
  log.append(updatedPoll(before, after));
  if (unpinned !== undefined) log.append(unpinnedPoll(room, unpinned));
  // The poll is known before the event that names it.
  const delivery = isOpened(row, changed)
    ? await announce(sql, log, worldId, room, id, user)
    : undefined;
  return {
    before,
    after,
    ...(delivery && { delivery }),
    ...(unpinned !== undefined && { unpinned }),
  };
}

const HAS_CHAT = `SELECT 1 FROM room_modules
  WHERE world_id = $1 AND room_id = $2 AND foyer_digest(type) = foyer_digest('chat.native')`;

/** Tells the chat of a room, if it has one, that a poll is open. */
async function announce(
  sql: Sql,
  log: Log,
  worldId: string,
  room: string,
  poll: string,
  sender: string,
): Promise<Delivery | undefined> {
  if (!(await sql.one(HAS_CHAT, [worldId, room]))) return undefined;
  const event = openingOf(poll, sender);
  return postInRoom(sql, log, worldId, room, event);
}

const REMOVE = "DELETE FROM polls WHERE world_id = $1 AND number = $2";

/** @returns the poll as it was. */
export async function deletePoll(
  sql: Sql,
  log: Log,
  worldId: string,
  room: string,
  id: string,
): Promise<Poll> {
  const { row, options } = await findPoll(sql, worldId, room, id, null);
  await sql.run(REMOVE, [worldId, row.number]);
  const poll = toPoll(row, options);
  log.append(deletedPoll(poll));
  log.erasedData();
  return poll;
}

const PIN =
  "UPDATE polls SET is_pinned = 1 WHERE world_id = $1 AND number = $2";

/** @returns the poll that is pinned now. */
export async function pinPoll(
  sql: Sql,
  log: Log,
  worldId: string,
  room: string,
  id: string | null,
  user: string,
): Promise<Poll | undefined> {
  if (id === null) {
    const place = (await sql.one<Place>(FIND_PLACE, [worldId, room, user]))!;
    expectRoom(place);
    expectUser(place);
    await sql.run(UNPIN, [worldId, room, null]);
    log.append({ type: "poll.pinned", room, poll: null });
    return undefined;
  }
  const found = await findPoll(sql, worldId, room, id, user);
  expectUser(found);
  const { row, options } = found;
  let unpinned: string | undefined;
  if (row.is_pinned === 0) {
    unpinned = await sql.value<string>(UNPIN, [worldId, room, id]);
    await sql.run(PIN, [worldId, row.number]);
  }
  log.append({ type: "poll.pinned", room, poll: id });
  const poll = toPoll({ ...row, is_pinned: 1 }, options);
  endedPollPin(poll, unpinned).forEach((ended) => log.append(ended));
  return poll;
}
