import type { Delivery } from "../contract/chat-store.js";
import type { ItemUpdate } from "../contract/item-store.js";
import type { Poll, PollChanges, PollDraft } from "../contract/poll-store.js";
import {
  createdPoll,
  deletedPoll,
  endedPollPin,
  unpinnedPoll,
  updatedPoll,
} from "../log/changes.js";
import {
  BY_POSITION,
  castIn,
  changedPoll,
  isOpened,
  newPoll,
  openingOf,
  OPTION_COLUMNS,
  type OptionRow,
  planOptions,
  POLL_COLUMNS,
  POLL_FIELDS,
  type PollRow,
  severalChosen,
  toPoll,
} from "../rules/poll-rows.js";
import {
  absent,
  expectActive,
  expectRoom,
  expectUser,
  FIND_PLACE,
  type Place,
  PLACE,
} from "../rules/preconditions.js";
import { claimChannel } from "./chat/channels.js";
import { domain, type DomainLog, type EngineWrites, type Sql } from "./domain.js";
import { optionWrites, pollReads, type WholePoll } from "./poll-reads.js";

const NAMED = "p.world_id = $1 AND p.room_id = $2 AND p.id = $4";

/** The row has the place, even if there is no such poll. */
const FIND = `SELECT ${PLACE}, ${POLL_COLUMNS}
  FROM (VALUES (1)) AS place LEFT JOIN polls AS p ON ${NAMED}`;

const OPTIONS = `SELECT ${OPTION_COLUMNS}, EXISTS (
    SELECT 1 FROM poll_ballots AS b CROSS JOIN poll_votes AS v
    WHERE b.world_id = $1 AND b.user_id = $3 AND b.poll = $2
      AND v.world_id = $1 AND v.ballot = b.number AND v.option = o.number) AS chosen
  FROM poll_options AS o WHERE o.world_id = $1 AND o.poll = $2 ORDER BY ${BY_POSITION}`;

/** What a write finds of a poll, its room and a user. */
interface Found extends Place, WholePoll {
  chosen: ReadonlySet<number>;
}

/** Finds a poll, its room and a user, as writes need them. */
const pollFinder =
  (sql: Sql) =>
  /** @param user none if null. @throws {StoreError} `absent` on `room` or `poll`. */
  async (world: string, room: string, id: string, user: string | null): Promise<Found> => {
    const found = await sql.one<Place & WholePoll["row"]>(FIND, [world, room, user, id]);
    const { hasRoom, userState, ...row } = found!;
    expectRoom({ hasRoom, userState });
    if ((row.number as unknown) === null) throw absent("poll");
    const options = await sql.all<OptionRow & { chosen: unknown }>(OPTIONS, [
      world,
      row.number,
      user,
    ]);
    const chosen = new Set(options.flatMap(({ number, chosen }) => (chosen ? number : [])));
    return { hasRoom, userState, chosen, row, options };
  };

const INSERT = `INSERT INTO polls (world_id, room_id, ${POLL_FIELDS.join()})
  VALUES ($1, $2, ${POLL_FIELDS.map((_, i) => `$${i + 3}`).join()}) RETURNING number`;

const UPDATE = `UPDATE polls SET ${POLL_FIELDS.map((name, i) => `${name} = $${i + 3}`).join()}
  WHERE world_id = $1 AND number = $2`;

const UNPIN = `UPDATE polls SET is_pinned = 0
  WHERE world_id = $1 AND room_id = $2 AND is_pinned = 1 AND id IS DISTINCT FROM $3 RETURNING id`;

const REMOVE = "DELETE FROM polls WHERE world_id = $1 AND number = $2";

const NEXT_CHANGE = `UPDATE polls SET changed = changed + 1
  WHERE world_id = $1 AND number = $2 RETURNING changed`;

const SAVE_BALLOT = `INSERT INTO poll_ballots (world_id, poll, user_id, changed)
  VALUES ($1, $2, $3, $4)
  ON CONFLICT (world_id, user_id, poll) DO UPDATE SET changed = excluded.changed RETURNING number`;

const CHOOSE = "INSERT INTO poll_votes (world_id, ballot, option) VALUES ($1, $2, $3)";

const REJECT = "DELETE FROM poll_votes WHERE world_id = $1 AND ballot = $2 AND option = $3";

const COUNT = "UPDATE poll_options SET votes = votes + $3 WHERE world_id = $1 AND number = $2";

const HAS_LONG_BALLOT = `SELECT 1 FROM poll_ballots AS b CROSS JOIN poll_votes AS v
  WHERE b.world_id = $1 AND b.poll = $2 AND v.world_id = $1 AND v.ballot = b.number
  GROUP BY b.number HAVING count(*) > 1 LIMIT 1`;

const HAS_CHAT = `SELECT 1 FROM room_modules
  WHERE world_id = $1 AND room_id = $2 AND type = 'chat.native'`;

const valuesOf = (row: Omit<PollRow, "number">) => POLL_FIELDS.map((name) => row[name]);

export function pollWrites(sql: Sql, log: DomainLog, own: EngineWrites) {
  const options = optionWrites(sql);

  const find = pollFinder(sql);

  const update = (world: string, row: PollRow) =>
    sql.run(UPDATE, [world, row.number, ...valuesOf(row)]);

  /** @returns the id of the poll whose pin ended. */
  const unpin = (world: string, room: string, except: string | null) =>
    sql.value<string>(UNPIN, [world, room, except]);

  /** Tells the chat of a room, if it has one, that a poll is open. */
  async function announce(
    world: string,
    room: string,
    poll: string,
    sender: string,
  ): Promise<Delivery | undefined> {
    if (!(await sql.one(HAS_CHAT, [world, room]))) return undefined;
    const channel = await claimChannel(sql, world, room);
    return own.appendEvent(world, channel, openingOf(poll, sender));
  }

  /** Changes the ballot of a user. @param votes the numbers of options. */
  async function saveBallot(
    world: string,
    poll: number,
    user: string,
    { added, removed }: { added: number[]; removed: number[] },
  ): Promise<void> {
    const changed = await sql.value<number>(NEXT_CHANGE, [world, poll]);
    const ballot = await sql.value<number>(SAVE_BALLOT, [world, poll, user, changed]);
    // Most votes change one option or two, for which a list would cost more.
    for (const option of added) {
      await sql.run(CHOOSE, [world, ballot, option]);
      await sql.run(COUNT, [world, option, 1]);
    }
    for (const option of removed) {
      await sql.run(REJECT, [world, ballot, option]);
      await sql.run(COUNT, [world, option, -1]);
    }
  }

  return {
    async create(world: string, room: string, draft: PollDraft): Promise<Poll> {
      expectRoom((await sql.one<Place>(FIND_PLACE, [world, room, null]))!);
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
    ): Promise<ItemUpdate<Poll> & { delivery?: Delivery }> {
      const found = await find(world, room, id, user);
      expectUser(found);
      const { row, options: present } = found;
      const { options: asked = [] } = changes;
      const plan = asked.length > 0 ? planOptions(present, asked) : undefined;
      const unpinned = changes.is_pinned ? await unpin(world, room, id) : undefined;
      const left = plan ? await options.replace(world, row.number, present, plan) : present;
      const changed = changedPoll(row, changes, left);
      if (changed.poll_type === "choice" && row.poll_type !== "choice") {
        // Ballots with several choices would break the rule of the poll, and dropping some of
        // them would change votes that people have cast.
        const isBroken = await sql.one(HAS_LONG_BALLOT, [world, row.number]);
        if (isBroken) throw severalChosen();
      }
      await update(world, changed);
      const [before, after] = [toPoll(row, present), toPoll(changed, left)];
      log.append(world, updatedPoll(before, after));
      if (unpinned !== undefined) log.append(world, unpinnedPoll(room, unpinned));
      // The poll is known before the event that names it.
      const delivery = isOpened(row, changed) ? await announce(world, room, id, user) : undefined;
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
      named: readonly string[],
    ): Promise<{ poll: Poll; options: string[] }> {
      const found = await find(world, room, id, user);
      expectActive(found);
      const { row, options, chosen } = found;
      const { added, removed, answer } = castIn(row, options, named, chosen);
      if (added.length + removed.length > 0) {
        await saveBallot(world, row.number, user, { added, removed });
      }
      log.appendOf(world, user, { type: "poll.voted", room, poll: id });
      return answer;
    },

    async pin(
      world: string,
      room: string,
      id: string | null,
      user: string,
    ): Promise<Poll | undefined> {
      const change = { type: "poll.pinned", room, poll: id } as const;
      if (id === null) {
        const place = (await sql.one<Place>(FIND_PLACE, [world, room, user]))!;
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
  reads: pollReads,
  writes: pollWrites,
  parameters: { create: 3, update: 5, delete: 3, vote: 5, pin: 4 },
});
