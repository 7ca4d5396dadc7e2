import { directOf, toChannel } from "../../../db/rules/chat-rows.js";
import type { ChatStore } from "../../../db/contract/chat.js";
import { absent, denied } from "../../../db/rules/preconditions.js";
import { frozen } from "../../../db/rules/versions.js";
import {
  expectChannel,
  DELETED,
  deletionOf,
  expectSender,
  find,
  membersOf,
  noteMemberships,
  post,
  postMembership,
  replacedBy,
  rewrite,
  show,
  unlist,
} from "./channels.js";
import type { Sync } from "./sync.js";
import { keyOf } from "./tables.js";
import { expectUser } from "./users.js";

// The chat in a simulated store.

export const chatStore: Sync<ChatStore> = {
  lastId({ tables }, world) {
    const last = [...tables.events].map(([channel, events]) =>
      find(tables, world, channel) ? (events.at(-1)?.event.id ?? 0) : 0,
    );
    return Math.max(0, ...last);
  },
  channel({ tables }, world, id) {
    const row = find(tables, world, id);
    return row && toChannel(row);
  },
  events({ tables }, world, channel, { before, after, limit, withoutMembers }) {
    if (!find(tables, world, channel)) return [];
    const found = (tables.events.get(channel) ?? [])
      .map(({ event }) => event)
      .filter(({ type }) => !withoutMembers || type !== "channel.member")
      .filter(({ id }) => id < (before ?? Infinity) && id > (after ?? 0));
    return before === undefined ? found.slice(0, limit) : found.slice(-limit);
  },
  event({ tables }, world, channel, id) {
    if (!find(tables, world, channel)) return undefined;
    const events = tables.events.get(channel) ?? [];
    return events.find(({ event }) => event.id === id)?.event;
  },
  deliveries({ tables }, world, channel, after, limit) {
    if (!find(tables, world, channel)) return [];
    return (tables.events.get(channel) ?? [])
      .filter(({ event }) => event.id > after)
      .slice(0, limit)
      .map((stored) => frozen({ ...stored, appeared: [] }));
  },
  isMember({ tables }, _, channel, user) {
    return tables.members.has(keyOf(channel, user));
  },
  members({ tables }, _, channel, limit) {
    return membersOf(tables, channel).reverse().slice(0, limit);
  },
  memberships({ tables }, world, user) {
    return [...tables.members.values()].flatMap((member) => {
      const row = member.user === user && find(tables, world, member.channel);
      return row ? [{ ...toChannel(row), hidden: member.hidden }] : [];
    });
  },
  unread({ tables }, _, user) {
    const isOwn = (it: { user: string }) => it.user === user;
    return {
      marks: [...tables.marks.values()].filter(isOwn),
      notifications: [...tables.notifications.values()]
        .filter(isOwn)
        .sort((a, b) => a.event - b.event),
    };
  },
  send(tx, world, id, draft, by) {
    const { tables } = tx;
    const row = expectChannel(tx, world, id);
    expectSender(tx, row, draft.sender, draft.volatile);
    const { sender } = draft;
    const content = JSON.stringify(draft.content);
    const isDirect = row !== undefined && row.direct !== null;
    if (draft.replaces !== undefined) {
      const deletes = draft.content.type === "deleted";
      const { id: replaces, content: before } = replacedBy(
        ...([tx, row, draft, deletes] as const),
      );
      // To delete it twice changes nothing.
      if (before === DELETED) return deletionOf(tx, id, replaces);
      rewrite(tx, id, replaces, content);
      const appeared = isDirect ? show(tx, id) : [];
      if (!isDirect) unlist(tx, sender, id);
      const type = "channel.message";
      return post(
        tx,
        world,
        id,
        { type, sender, content, replaces, appeared },
        by,
      );
    }
    const named = isDirect
      ? membersOf(tables, id)
      : (draft.mentioned ?? []).filter(
          (user) => draft.notifiesAll || tables.members.has(keyOf(id, user)),
        );
    const notified = named.filter((user) => user !== sender);
    const event = tx.next(world);
    for (const user of notified) {
      const key = keyOf(user, id, event);
      tables.notifications.set(key, { user, channel: id, event });
    }
    const appeared = isDirect ? show(tx, id) : [];
    if (!isDirect) unlist(tx, sender, id);
    const type = "channel.message";
    return post(
      tx,
      world,
      id,
      { type, sender, content, notified, appeared },
      by,
    );
  },
  join(tx, world, id, user, by) {
    const { tables } = tx;
    const row = expectChannel(tx, world, id);
    if (row && row.direct !== null) throw absent("room");
    const { moderation_state } = expectUser(tables, world, user);
    if (moderation_state === "banned") throw denied("The user is banned.");
    if (tables.members.has(keyOf(id, user))) return undefined;
    tables.members.set(keyOf(id, user), { channel: id, user, hidden: false });
    const delivery = postMembership(tx, world, id, user, "join", by);
    const key = keyOf(user, id);
    const { pointer = null } = tables.marks.get(key) ?? {};
    const listed = delivery.event.id;
    tables.marks.set(key, { user, channel: id, pointer, listed });
    noteMemberships(tx, world, id, [user], by);
    return delivery;
  },
  leave(tx, world, id, user, silent, by) {
    const { members } = tx.tables;
    const row = expectChannel(tx, world, id);
    if (!row) return undefined;
    const key = keyOf(id, user);
    const member = members.get(key);
    if (row.direct !== null) {
      if (!member) throw denied("No member.");
      if (member.hidden) return undefined;
      members.set(key, { ...member, hidden: true });
      noteMemberships(tx, world, id, [user], by);
      return undefined;
    }
    const isUnlisted = unlist(tx, user, id);
    members.delete(key);
    const delivery =
      member && !silent
        ? postMembership(tx, world, id, user, "leave", by)
        : undefined;
    if (member || isUnlisted) noteMemberships(tx, world, id, [user], by);
    return delivery;
  },
  react(tx, world, id, event, { user, reaction, remove, volatile }, by) {
    const { tables } = tx;
    const row = expectChannel(tx, world, id);
    expectSender(tx, row, user, volatile);
    const events = tables.events.get(id) ?? [];
    const stored = events.find((it) => it.event.id === event);
    if (!stored) throw absent("event");
    const { [reaction]: users = [], ...others } = stored.event.reactions;
    if (users.includes(user) !== remove) return stored.event;
    const left = remove ? users.filter((it) => it !== user) : [...users, user];
    const reactions =
      left.length > 0 ? { ...others, [reaction]: left } : others;
    const next = frozen({ ...stored.event, reactions });
    tables.events.set(
      id,
      events.map((it) => (it === stored ? { ...it, event: next } : it)),
    );
    tx.append(world, { type: "chat.reacted", channel: id, event }, by);
    return next;
  },
  direct(tx, world, caller, users, hide, by) {
    const { tables } = tx;
    const states = users.map((id) => tables.users.get(id)?.moderation_state);
    if (states.some((state) => state === undefined || state === "banned")) {
      throw denied("One of the users is banned or does not exist.");
    }
    if (tables.users.get(caller)!.moderation_state !== "") {
      throw denied("Silenced.");
    }
    if (users.some((a) => users.some((b) => tables.blocks.has(keyOf(a, b))))) {
      throw denied("One of the users blocks another.");
    }
    const direct = directOf(users);
    const shown = users.filter((user) => user === caller || !hide);
    const known = [...tables.channels.values()].find(
      (row) => row.world === world && row.direct === direct,
    );
    if (known) {
      const { id } = known;
      const appeared = shown.filter((user) => {
        const member = tables.members.get(keyOf(id, user))!;
        tables.members.set(keyOf(id, user), { ...member, hidden: false });
        return member.hidden;
      });
      noteMemberships(tx, world, id, appeared, by);
      return { channel: toChannel(known), created: [], appeared };
    }
    const id = tx.uuid();
    const row = {
      id,
      world,
      number: 0,
      direct,
      last_event: 0,
      last_message: 0,
    };
    tables.channels.set(id, row);
    for (const user of users) {
      const hidden = !shown.includes(user);
      tables.members.set(keyOf(id, user), { channel: id, user, hidden });
    }
    const created = users.map((user) =>
      postMembership(tx, world, id, user, "join", by),
    );
    noteMemberships(tx, world, id, shown, by);
    return { channel: toChannel(row), created, appeared: shown };
  },
  mark({ tables }, marks) {
    for (const { user, channel, pointer, listed, forward } of marks) {
      if (!tables.users.has(user) || !tables.channels.has(channel)) continue;
      const key = keyOf(user, channel);
      const known = tables.marks.get(key)?.pointer ?? 0;
      if (forward && pointer !== null && known > pointer) continue;
      tables.marks.set(key, { user, channel, pointer, listed });
      for (const [key, it] of tables.notifications) {
        const isRead = pointer !== null && it.event <= pointer;
        if (it.user === user && it.channel === channel && isRead) {
          tables.notifications.delete(key);
        }
      }
    }
  },
};
