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
  chosenOptions,
  isOpened,
  newPoll,
  openingOf,
} from "../../rules/poll-changes.js";
import { planOptions } from "../../rules/poll-options.js";
import { POLL_COLUMNS, type PollRow, toPoll } from "../../rules/poll-rows.js";
import type { Poll, PollChanges, PollDraft } from "../../contract/polls.js";
import { absent } from "../../rules/preconditions.js";
import { channelWrites } from "../chat/chat-channels.js";
import { eventWriter } from "../chat/chat-messages.js";
import type { Connection } from "../engine/connection.js";
import type { WriteLog } from "../log/log-writes.js";
import { participantChecks } from "../users/participants.js";
import { optionWrites } from "./poll-options.js";
import { pollVotes } from "./poll-votes.js";

/** The writes of polls. Each runs inside a transaction of its caller. */
export function pollWrites(db: Connection, log: WriteLog) {
  const { expectRoom, expectUser, expectActive } = participantChecks(db);
  const options = optionWrites(db);
  const ballots = pollVotes(db);
  const channels = channelWrites(db);
  const post = eventWriter(db, log);
  const select = db.prepare<[string, string, string], PollRow>(
    `SELECT ${POLL_COLUMNS} FROM polls AS p WHERE p.id = ? AND p.world_id = ? AND p.room_id = ?`,
  );
  const insert = db.prepare<Omit<PollRow, "number"> & { world: string }>(
    `INSERT INTO polls (world_id, id, room_id, content, state, poll_type, is_pinned, timestamp, results)
     VALUES (@world, @id, @room, @content, @state, @poll_type, @is_pinned, @timestamp, @results)`,
  );
  const update = db.prepare<PollRow>(
    `UPDATE polls SET content = @content, state = @state, poll_type = @poll_type,
       is_pinned = @is_pinned, results = @results WHERE number = @number`,
  );
  const unpin = db
    .prepare<{ world: string; room: string; except: string | null }, string>(
      `UPDATE polls SET is_pinned = 0
       WHERE world_id = @world AND room_id = @room AND is_pinned = 1 AND id IS NOT @except RETURNING id`,
    )
    .pluck();
  const remove = db.prepare<[number]>("DELETE FROM polls WHERE number = ?");
  const hasChat = db.prepare<[string, string]>(
    "SELECT 1 FROM room_modules WHERE world_id = ? AND room_id = ? AND type = 'chat.native'",
  );

  /** @throws {StoreError} `absent` on `room` or `poll`. */
  function find(worldId: string, room: string, id: string): PollRow {
    expectRoom(worldId, room);
    const row = select.get(id, worldId, room);
    if (!row) throw absent("poll");
    return row;
  }

  const whole = (worldId: string, row: PollRow): Poll =>
    toPoll(row, options.of(worldId, row.number));

  return {
    createPoll(worldId: string, room: string, draft: PollDraft): Poll {
      expectRoom(worldId, room);
      const { row, options: added, poll } = newPoll(room, draft);
      const { lastInsertRowid } = insert.run({ ...row, world: worldId });
      options.add(worldId, Number(lastInsertRowid), added);
      log.append(worldId, createdPoll(poll));
      return poll;
    },

    updatePoll(
      worldId: string,
      room: string,
      id: string,
      changes: PollChanges,
      user: string,
    ): {
      before: Poll;
      after: Poll;
      delivery?: Delivery;
      unpinned?: string;
    } {
      const row = find(worldId, room, id);
      expectUser(worldId, user);
      const { number } = row;
      const present = options.of(worldId, number);
      const { options: asked = [] } = changes;
      const plan = asked.length > 0 ? planOptions(present, asked) : undefined;
      const unpinned = changes.is_pinned
        ? unpin.get({ world: worldId, room, except: id })
        : undefined;
      if (plan) {
        ballots.lose(worldId, number, plan.removed);
        options.replace(worldId, number, plan);
      }
      const left = plan ? options.of(worldId, number) : present;
      const changed = changedPoll(row, changes, left);
      update.run(changed);
      const [before, after] = [toPoll(row, present), toPoll(changed, left)];
      log.append(worldId, updatedPoll(before, after));
      if (unpinned !== undefined)
        log.append(worldId, unpinnedPoll(room, unpinned));
      const delivery =
        isOpened(row, changed) && hasChat.get(worldId, room)
          ? announce(worldId, room, id, user)
          : undefined;
      return {
        before,
        after,
        ...(delivery && { delivery }),
        ...(unpinned !== undefined && { unpinned }),
      };
    },

    deletePoll(worldId: string, room: string, id: string): Poll {
      const row = find(worldId, room, id);
      const before = whole(worldId, row);
      remove.run(row.number);
      log.erasedData(worldId);
      log.append(worldId, deletedPoll(before));
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
      const all = options.of(worldId, row.number);
      const before = ballots.of(worldId, row.number, user);
      const chosen = chosenOptions(row, all, named, before);
      ballots.set(worldId, row.number, user, all, before, chosen);
      log.appendOf(worldId, user, { type: "poll.voted", room, poll: id });
      return { poll: toPoll(row, all), options: chosen.map(({ id }) => id) };
    },

    pinPoll(
      worldId: string,
      room: string,
      id: string | null,
      user: string,
    ): Poll | undefined {
      const row = id === null ? undefined : find(worldId, room, id);
      if (!row) expectRoom(worldId, room);
      expectUser(worldId, user);
      const unpinned = unpin.get({ world: worldId, room, except: id });
      log.append(worldId, { type: "poll.pinned", room, poll: id });
      if (!row) return undefined;
      const pinned = { ...row, is_pinned: 1 };
      update.run(pinned);
      const poll = whole(worldId, pinned);
      for (const ended of endedPollPin(poll, unpinned)) {
        log.append(worldId, ended);
      }
      return poll;
    },
  };

  /** Tells the chat of a room that a poll is open. */
  function announce(
    worldId: string,
    room: string,
    poll: string,
    sender: string,
  ): Delivery {
    const channel =
      channels.expect(worldId, room) ?? channels.create(worldId, room);
    return post(worldId, channel, openingOf(poll, sender));
  }
}
