import { isDeepStrictEqual } from "node:util";
import {
  deletedPoll,
  endedPollPin,
  createdPoll,
  unpinnedPoll,
  updatedPoll,
} from "../../../db/log/changes.js";
import {
  changedPoll,
  chosenOptions,
  isOpened,
  newPoll,
  openingOf,
  type OptionRow,
  toPoll,
  votesIn,
} from "../../../db/rules/poll-rows.js";
import type { Poll, PollStore } from "../../../db/contract/polls.js";
import { absent } from "../../../db/rules/preconditions.js";
import { post } from "./channels.js";
import {
  appendOf,
  expectActive,
  expectRoom,
  inRoom,
  newest,
} from "./participants.js";
import type { Sync } from "./sync.js";
import type { StoredPoll } from "./tables.js";
import type { Transaction } from "./transaction.js";
import { expectUser } from "./users.js";

// The polls in a simulated store.

function expectPoll(
  { tables }: Transaction,
  world: string,
  room: string,
  id: string,
): StoredPoll {
  expectRoom(tables, world, room);
  const poll = tables.polls.get(id);
  if (poll?.room !== room) throw absent("poll");
  return poll;
}

function unpinPoll(
  { tables }: Transaction,
  { world, room }: { world: string; room: string },
  except?: string,
): string | undefined {
  const pinned = inRoom(tables.polls, world, room).find(
    (it) => it.is_pinned && it.id !== except,
  );
  if (pinned) tables.polls.set(pinned.id, { ...pinned, is_pinned: 0 });
  return pinned?.id;
}

const shown = (poll: StoredPoll): Poll => toPoll(poll, poll.options);

export const pollStore: Sync<PollStore> = {
  get({ tables }, world, room, id) {
    const found = tables.polls.get(id);
    return found?.world === world && found.room === room
      ? shown(found)
      : undefined;
  },
  list({ tables }, world, room, { limit, isPublic }) {
    const found = inRoom(tables.polls, world, room).filter(
      ({ state }) => !isPublic || state === "open" || state === "closed",
    );
    return newest(found, limit).map(shown);
  },
  ballots({ tables }, world, room, user) {
    return inRoom(tables.polls, world, room).flatMap(({ id, ballots }) => {
      const { options = [] } = ballots.get(user) ?? {};
      return options.length > 0 ? [{ poll: id, options: [...options] }] : [];
    });
  },
  voters({ tables }, world, room, id, since) {
    const found = tables.polls.get(id);
    if (found?.world !== world || found.room !== room) return undefined;
    const users = [...found.ballots]
      .filter(([, { changed }]) => changed > since)
      .map(([id, { options }]) => ({ id, voted: options.length > 0 }));
    return { changed: found.changed, users };
  },
  create(tx, world, room, draft, by) {
    const { tables, now } = tx;
    expectRoom(tables, world, room);
    const id = tx.uuid();
    const { row, options: saved } = newPoll(room, draft);
    const number = tables.polls.size;
    const options: OptionRow[] = saved
      .map((option, i) => ({
        ...{ ...option, id: tx.uuid(), number: i, poll: number, votes: 0 },
      }))
      .sort((a, b) => a.order - b.order);
    const ballots: StoredPoll["ballots"] = new Map();
    const poll = {
      ...{ ...row, id, world, number, timestamp: now, changed: 0 },
      ...{ options, ballots },
      results: row.results && JSON.stringify(votesIn(options)),
    };
    tables.polls.set(id, poll);
    tx.append(world, createdPoll(shown(poll)), by);
    return shown(poll);
  },
  update(tx, world, room, id, { options: _, ...changes }, user, by) {
    const { tables } = tx;
    const row = expectPoll(tx, world, room, id);
    expectUser(tables, world, user);
    const unpinned = changes.is_pinned ? unpinPoll(tx, row, id) : undefined;
    const changed = { ...row, ...changedPoll(row, changes, row.options) };
    tables.polls.set(id, changed);
    const [before, after] = [shown(row), shown(changed)];
    if (!isDeepStrictEqual(before, after)) {
      tx.append(world, updatedPoll(before, after), by);
    }
    if (unpinned !== undefined)
      tx.append(world, unpinnedPoll(room, unpinned), by);
    const { module_config } = expectRoom(tables, world, room);
    const isTold =
      isOpened(row, changed) && module_config.includes("chat.native");
    const { content } = openingOf(id, user);
    const opening = { type: "channel.poll", sender: user, content } as const;
    return {
      ...{ before, after },
      ...(isTold && { delivery: post(tx, world, room, opening, by) }),
      ...(unpinned !== undefined && { unpinned }),
    };
  },
  delete(tx, world, room, id, by) {
    const before = shown(expectPoll(tx, world, room, id));
    tx.tables.polls.delete(id);
    tx.erase(world);
    tx.append(world, deletedPoll(before), by);
    return before;
  },
  vote(tx, world, room, id, user, named, by) {
    const row = expectPoll(tx, world, room, id);
    expectActive(tx.tables, world, user);
    const before = new Set(row.ballots.get(user)?.options);
    const numbers = row.options
      .filter((option) => before.has(option.id))
      .map(({ number }) => number);
    const chosen = chosenOptions(row, row.options, named, new Set(numbers));
    const ids = chosen.map(({ id }) => id);
    const now = new Set(ids);
    const isSame = row.options.every(
      (option) => before.has(option.id) === now.has(option.id),
    );
    if (isSame) return { poll: shown(row), options: ids };
    const changed = row.changed + 1;
    const poll = {
      ...{ ...row, changed },
      ballots: new Map(row.ballots).set(user, { options: ids, changed }),
      options: row.options.map((option) => ({
        ...option,
        votes:
          option.votes +
          Number(now.has(option.id)) -
          Number(before.has(option.id)),
      })),
    };
    tx.tables.polls.set(id, poll);
    appendOf(tx, world, user, { type: "poll.voted", room, poll: id }, by);
    return { poll: shown(poll), options: ids };
  },
  pin(tx, world, room, id, user, by) {
    const row = id === null ? undefined : expectPoll(tx, world, room, id);
    expectRoom(tx.tables, world, room);
    expectUser(tx.tables, world, user);
    const unpinned = unpinPoll(tx, { world, room }, id ?? "");
    if (unpinned !== undefined || row?.is_pinned === 0) {
      tx.append(world, { type: "poll.pinned", room, poll: id }, by);
    }
    if (!row) return undefined;
    const pinned = { ...row, is_pinned: 1 };
    tx.tables.polls.set(row.id, pinned);
    const poll = shown(pinned);
    for (const ended of endedPollPin(poll, unpinned)) {
      tx.append(world, ended, by);
    }
    return poll;
  },
};
