import { randomUUID } from "node:crypto";
import type { Poll, PollChanges, PollDraft, PollState } from "../polls.js";
import { StoreError } from "../store.js";
import { channelWrites } from "./chat-channels.js";
import { type DeliveryRow, POLL } from "./chat-events.js";
import { eventWriter } from "./chat-messages.js";
import type { Connection } from "./database.js";
import { participantChecks } from "./participants.js";
import { optionWrites, planOptions } from "./poll-options.js";
import { POLL_COLUMNS, type PollRow, toPoll, votesIn } from "./poll-reads.js";
import { pollVotes } from "./poll-votes.js";
import { absent } from "./preconditions.js";

/** Whether the results of a poll in this state are those of when it came there. */
const isFrozen = (state: PollState): boolean =>
  state === "closed" || state === "archived";

/** The writes of polls. Each runs inside a transaction of its caller. */
export function pollWrites(db: Connection) {
  const { expectRoom, expectUser, expectActive } = participantChecks(db);
  const options = optionWrites(db);
  const ballots = pollVotes(db);
  const channels = channelWrites(db);
  const post = eventWriter(db);
  const select = db.prepare<[string, string], PollRow>(
    `SELECT ${POLL_COLUMNS} FROM polls AS p WHERE p.id = ? AND p.room_id = ?`,
  );
  const insert = db.prepare<Omit<PollRow, "number">>(
    `INSERT INTO polls (id, room_id, content, state, poll_type, is_pinned, timestamp, results)
     VALUES (@id, @room, @content, @state, @poll_type, @is_pinned, @timestamp, @results)`,
  );
  const update = db.prepare<PollRow>(
    `UPDATE polls SET content = @content, state = @state, poll_type = @poll_type,
       is_pinned = @is_pinned, results = @results WHERE number = @number`,
  );
  const setResults = db.prepare<[string, number]>(
    "UPDATE polls SET results = ? WHERE number = ?",
  );
  const unpin = db
    .prepare<{ room: string; except: string | null }, string>(
      `UPDATE polls SET is_pinned = 0
       WHERE room_id = @room AND is_pinned = 1 AND id IS NOT @except RETURNING id`,
    )
    .pluck();
  const remove = db.prepare<[number]>("DELETE FROM polls WHERE number = ?");
  const hasChat = db.prepare<[string]>(
    "SELECT 1 FROM room_modules WHERE room_id = ? AND type = 'chat.native'",
  );

  /** @throws {StoreError} `absent` on `room` or `poll`. */
  function find(worldId: string, room: string, id: string): PollRow {
    expectRoom(worldId, room);
    const row = select.get(id, room);
    if (!row) throw absent("poll");
    return row;
  }

  const whole = (row: PollRow): Poll => toPoll(row, options.of(row.number));

  /** What the results of a poll are frozen to in its state: JSON, or null for not at all. */
  const frozenResults = (state: PollState, poll: number): string | null =>
    isFrozen(state) ? JSON.stringify(votesIn(options.of(poll))) : null;

  return {
    createPoll(
      worldId: string,
      room: string,
      {
        content,
        options: drafts,
        state = "draft",
        poll_type = "choice",
      }: PollDraft,
    ): Poll {
      expectRoom(worldId, room);
      options.expectFew(drafts);
      const row = {
        id: randomUUID(),
        room,
        content,
        state,
        poll_type,
        is_pinned: 0,
        timestamp: Date.now(),
        results: isFrozen(state) ? "{}" : null,
      };
      const number = Number(insert.run(row).lastInsertRowid);
      options.add(number, drafts);
      const results = frozenResults(state, number);
      if (results !== null) setResults.run(results, number);
      return whole({ ...row, number, results });
    },

    updatePoll(
      worldId: string,
      room: string,
      id: string,
      {
        content,
        state,
        poll_type,
        is_pinned,
        options: asked = [],
      }: PollChanges,
      user: string,
    ): {
      before: Poll;
      after: Poll;
      delivery?: DeliveryRow;
      unpinned?: string;
    } {
      const row = find(worldId, room, id);
      expectUser(worldId, user);
      const { number } = row;
      const present = options.of(number);
      const plan = asked.length > 0 ? planOptions(present, asked) : undefined;
      const unpinned = is_pinned ? unpin.get({ room, except: id }) : undefined;
      if (plan) {
        ballots.lose(number, plan.removed);
        options.replace(number, plan);
      }
      const changed = {
        ...row,
        content: content ?? row.content,
        state: state ?? row.state,
        poll_type: poll_type ?? row.poll_type,
        is_pinned: Number(is_pinned ?? row.is_pinned),
      };
      if (isFrozen(changed.state) !== isFrozen(row.state)) {
        changed.results = frozenResults(changed.state, number);
      }
      update.run(changed);
      const opens = row.state === "draft" && changed.state === "open";
      const delivery =
        opens && hasChat.get(room)
          ? announce(worldId, room, id, user)
          : undefined;
      return {
        before: toPoll(row, present),
        after: whole(changed),
        ...(delivery && { delivery }),
        ...(unpinned !== undefined && { unpinned }),
      };
    },

    deletePoll(worldId: string, room: string, id: string): Poll {
      const row = find(worldId, room, id);
      const before = whole(row);
      remove.run(row.number);
      return before;
    },

    votePoll(
      worldId: string,
      room: string,
      id: string,
      user: string,
      named: readonly string[],
    ): { poll: Poll; options: string[] } {
      const row = find(worldId, room, id);
      expectActive(worldId, user);
      const all = options.of(row.number);
      const ids = new Set(named);
      const chosen = all.filter((option) => ids.has(option.id));
      if (row.state !== "open") throw refused("The poll is not open.");
      if (row.poll_type === "choice" && chosen.length > 1) {
        throw refused("The poll has a choice of one.");
      }
      ballots.set(row.number, user, all, chosen);
      return { poll: toPoll(row, all), options: chosen.map(({ id }) => id) };
    },

    pinPoll(
      worldId: string,
      room: string,
      id: string | null,
    ): Poll | undefined {
      if (id === null) {
        expectRoom(worldId, room);
        unpin.get({ room, except: null });
        return undefined;
      }
      const row = find(worldId, room, id);
      unpin.get({ room, except: id });
      const pinned = { ...row, is_pinned: 1 };
      update.run(pinned);
      return whole(pinned);
    },
  };

  /** Tells the chat of a room that a poll is open. */
  function announce(
    worldId: string,
    room: string,
    poll: string,
    sender: string,
  ): DeliveryRow {
    const channel =
      channels.expect(worldId, room) ?? channels.create(worldId, room);
    const content = JSON.stringify({ poll_id: poll, state: "open" });
    return post(channel, { type: POLL, sender, content });
  }
}

const refused = (reason: string) => new StoreError("denied", reason, "poll");
