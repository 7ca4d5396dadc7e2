import { hasOptions } from "../../schemas/plain/polls.js";
import type { ChatDelivery } from "../contract/chat-store.js";
import type { ItemUpdate } from "../contract/item-store.js";
import type { Poll, PollChanges, PollDraft, PollVote } from "../contract/poll-store.js";
import {
  createdPoll,
  deletedPoll,
  endedPollPin,
  hiddenAnswer,
  unpinnedPoll,
  updatedPoll,
} from "../log/changes.js";
import {
  BY_POSITION,
  changedPoll,
  expectSameOptions,
  isAnnounced,
  newPoll,
  openingOf,
  OPTION_COLUMNS,
  type OptionPlan,
  type OptionRow,
  planOptions,
  POLL_COLUMNS,
  POLL_FIELDS,
  type PollRow,
  severalChosen,
  toPoll,
} from "../rules/poll-rows.js";
import { castIn, hasVote, isSameCast } from "../rules/poll-votes.js";
import {
  absent,
  expectActive,
  expectRoom,
  expectUser,
  FIND_PLACE,
  type RoomAndUser,
  PLACE,
} from "../rules/preconditions.js";
import { claimChannel } from "./chat/channels.js";
import { domain, type DomainLog, type EngineWrites, type Sql } from "./domain.js";
import { ballotWrites } from "./poll-ballots.js";
import { optionWrites, pollReads, type WholePoll } from "./poll-reads.js";
import { pollResults } from "./poll-results.js";

const NAMED = "p.world_id = $1 AND p.room_id = $2 AND p.id = $4";

/** Selects a row about the room and the user, even if the poll does not exist. */
const FIND = `SELECT ${PLACE}, ${POLL_COLUMNS}
  FROM (VALUES (1)) AS place LEFT JOIN polls AS p ON ${NAMED}`;

const OPTIONS = `SELECT ${OPTION_COLUMNS} FROM poll_options AS o
  WHERE o.world_id = $1 AND o.poll = $2 ORDER BY ${BY_POSITION}`;

const HAS_VOTES =
  "SELECT 1 FROM poll_ballots WHERE world_id = $1 AND poll = $2 AND cast_at IS NOT NULL LIMIT 1";

/** The data that a write needs about a poll, its room and a user. */
type Found = RoomAndUser & WholePoll;

/** Creates a function that finds a poll, its room and a user for a write. */
const pollFinder =
  (sql: Sql) =>
  /** @param user null if the write concerns no user. @throws {StoreError} `absent` on `room` or `poll`. */
  async (world: string, room: string, id: string, user: string | null): Promise<Found> => {
    const found = await sql.one<RoomAndUser & WholePoll["row"]>(FIND, [world, room, user, id]);
    const { hasRoom, userState, ...row } = found!;
    expectRoom({ hasRoom, userState });
    if ((row.number as unknown) === null) throw absent("poll");
    // A kind without options has none to read: crowds vote in a poll at the same time.
    const options = hasOptions(row.poll_type)
      ? await sql.all<OptionRow>(OPTIONS, [world, row.number])
      : [];
    return { hasRoom, userState, row, options };
  };

const FIND_ENDING = `SELECT ${POLL_COLUMNS} FROM polls AS p
  WHERE p.world_id = $1 AND p.room_id = $2 AND p.id = $3 AND p.ends_at <= $4`;

/**
 * Returns the changes to a poll's options, or undefined if they stay. A kind without options loses
 * them.
 */
function planOf(
  row: PollRow,
  present: readonly OptionRow[],
  { options: asked = [], poll_type = row.poll_type }: PollChanges,
): OptionPlan | undefined {
  if (asked.length > 0) return planOptions(present, asked);
  const isEmptied = !hasOptions(poll_type) && present.length > 0;
  return isEmptied ? { kept: [], removed: [...present] } : undefined;
}

const INSERT = `INSERT INTO polls (world_id, room_id, ${POLL_FIELDS.join()})
  VALUES ($1, $2, ${POLL_FIELDS.map((_, i) => `$${i + 3}`).join()}) RETURNING number`;

const UPDATE = `UPDATE polls SET ${POLL_FIELDS.map((name, i) => `${name} = $${i + 3}`).join()}
  WHERE world_id = $1 AND number = $2`;

const UNPIN = `UPDATE polls SET is_pinned = 0
  WHERE world_id = $1 AND room_id = $2 AND is_pinned = 1 AND id IS DISTINCT FROM $3 RETURNING id`;

const REMOVE = "DELETE FROM polls WHERE world_id = $1 AND number = $2";

const HAS_LONG_BALLOT = `SELECT 1 FROM poll_ballots AS b CROSS JOIN poll_votes AS v
  WHERE b.world_id = $1 AND b.poll = $2 AND v.world_id = $1 AND v.ballot = b.number
  GROUP BY b.number HAVING count(*) > 1 LIMIT 1`;

const HAS_CHAT = `SELECT 1 FROM room_modules
  WHERE world_id = $1 AND room_id = $2 AND type = 'chat.native'`;

const valuesOf = (row: Omit<PollRow, "number">) => POLL_FIELDS.map((name) => row[name]);

export function pollWrites(sql: Sql, log: DomainLog, own: EngineWrites) {
  const options = optionWrites(sql);
  const ballots = ballotWrites(sql, log);

  const find = pollFinder(sql);

  const update = (world: string, row: PollRow) =>
    sql.run(UPDATE, [world, row.number, ...valuesOf(row)]);

  /** @returns the id of the poll that was unpinned, if any. */
  const unpin = (world: string, room: string, except: string | null) =>
    sql.value<string>(UNPIN, [world, room, except]);

  /** Posts an event about an opened poll to the room's chat, if the room has a chat. */
  async function announce(
    world: string,
    room: string,
    poll: string,
    sender: string,
  ): Promise<ChatDelivery | undefined> {
    if (!(await sql.one(HAS_CHAT, [world, room]))) return undefined;
    const channel = await claimChannel(sql, world, room);
    return own.appendEvent(world, channel, openingOf(poll, sender));
  }

  return {
    async create(world: string, room: string, draft: PollDraft): Promise<Poll> {
      expectRoom((await sql.one<RoomAndUser>(FIND_PLACE, [world, room, null]))!);
      const { row, options: added, poll } = newPoll(room, draft);
      const number = await sql.value<number>(INSERT, [world, room, ...valuesOf(row)]);
      await options.add(world, number!, added);
      log.append(world, createdPoll(poll));
      return poll;
    },

    async update(
      world: string,
      room: string,
      id: string,
      changes: PollChanges,
      user: string,
    ): Promise<ItemUpdate<Poll> & { delivery?: ChatDelivery }> {
      const found = await find(world, room, id, user);
      expectUser(found);
      const { row, options: present } = found;
      const hasVotes = (await sql.one(HAS_VOTES, [world, row.number])) !== undefined;
      const plan = planOf(row, present, changes);
      const keepsOptions = row.poll_type === "rank" || row.poll_type === "quiz";
      if (plan && hasVotes && keepsOptions) expectSameOptions(present, plan);
      const unpinned = changes.is_pinned ? await unpin(world, room, id) : undefined;
      const left = plan ? await options.replace(world, row.number, present, plan) : present;
      const changed = changedPoll(row, changes, left, hasVotes);
      if (changed.poll_type === "choice" && row.poll_type !== "choice") {
        // Ballots with several choices would violate the new poll type, and dropping some of the
        // choices would alter votes that people have cast.
        const isBroken = await sql.one(HAS_LONG_BALLOT, [world, row.number]);
        if (isBroken) throw severalChosen();
      }
      await update(world, changed);
      const [before, after] = [toPoll(row, present), toPoll(changed, left)];
      log.append(world, updatedPoll(before, after));
      if (unpinned !== undefined) log.append(world, unpinnedPoll(room, unpinned));
      // The entry for the poll must precede the chat event that names the poll.
      const delivery = isAnnounced(row, changed)
        ? await announce(world, room, id, user)
        : undefined;
      return {
        before,
        after,
        ...(delivery && { delivery }),
        ...(unpinned !== undefined && { unpinned }),
      };
    },

    async delete(world: string, room: string, id: string): Promise<Poll> {
      const { row, options } = await find(world, room, id, null);
      await sql.run(REMOVE, [world, row.number]);
      const poll = toPoll(row, options);
      log.erasedData(world);
      log.append(world, deletedPoll(poll));
      return poll;
    },

    async vote(
      world: string,
      room: string,
      id: string,
      user: string,
      vote: PollVote,
    ): Promise<{ poll: Poll; options: string[]; hasVote: boolean }> {
      const found = await find(world, room, id, user);
      expectActive(found);
      const { row, options } = found;
      const before = await ballots.of(world, row, user);
      const after = castIn(row, options, vote, before);
      if (!isSameCast(before, after)) {
        const at = vote.at ?? Date.now();
        const isAnonymous = vote.anonymous ?? false;
        await ballots.save(world, row, { user, before, after, at, isAnonymous });
        for (const option of options) {
          option.votes -= Number(before.options.includes(option.number));
          option.votes += Number(after.options.includes(option.number));
        }
      }
      log.appendOf(world, user, { type: "poll.voted", room, poll: id });
      const chosen = options.filter(({ number }) => after.options.includes(number));
      return {
        poll: toPoll(row, options),
        options: chosen.map(({ id }) => id),
        hasVote: hasVote(after),
      };
    },

    async hideAnswer(
      world: string,
      room: string,
      id: string,
      answer: string,
      isHidden: boolean,
    ): Promise<void> {
      const { row, options } = await find(world, room, id, null);
      await ballots.hide(world, row, answer, isHidden);
      const poll = toPoll(row, options);
      log.append(world, hiddenAnswer(poll, isHidden));
    },

    async end(world: string, room: string, id: string, at: number): Promise<boolean> {
      const found = await sql.one<WholePoll["row"]>(FIND_ENDING, [world, room, id, at]);
      if (!found) return false;
      const present = await sql.all<OptionRow>(OPTIONS, [world, found.number]);
      const changed = changedPoll(found, { state: "closed", at }, present, true);
      await update(world, changed);
      log.append(world, updatedPoll(toPoll(found, present), toPoll(changed, present)));
      return true;
    },

    async pin(
      world: string,
      room: string,
      id: string | null,
      user: string,
    ): Promise<Poll | undefined> {
      const change = { type: "poll.pinned", room, poll: id } as const;
      if (id === null) {
        const place = (await sql.one<RoomAndUser>(FIND_PLACE, [world, room, user]))!;
        expectRoom(place);
        expectUser(place);
        await unpin(world, room, null);
        log.append(world, change);
        return undefined;
      }
      const found = await find(world, room, id, user);
      expectUser(found);
      const unpinned = await unpin(world, room, id);
      const row = { ...found.row, is_pinned: 1 };
      await update(world, row);
      log.append(world, change);
      const poll = toPoll(row, found.options);
      for (const ended of endedPollPin(poll, unpinned)) {
        log.append(world, ended);
      }
      return poll;
    },
  };
}

export const polls = domain({
  reads: (sql) => ({ ...pollReads(sql), ...pollResults(sql) }),
  writes: pollWrites,
  parameters: { create: 3, update: 5, delete: 3, vote: 5, pin: 4, hideAnswer: 5, end: 4 },
});
