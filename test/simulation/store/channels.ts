import type {
  ChatEvent,
  Delivery,
  MessageDraft,
} from "../../../db/contract/chat.js";
import type { Author } from "../../../db/contract/author.js";
import { absent, denied } from "../../../db/rules/preconditions.js";
import { frozen } from "../../../db/rules/versions.js";
import { keyOf, type StoredEvent, type Tables } from "./tables.js";
import type { Transaction } from "./transaction.js";

// The channels in a simulated store, and what the methods about them share.

type Row = ReturnType<typeof find> & {};

export const find = ({ channels }: Tables, world: string, id: string) => {
  const row = channels.get(id);
  return row?.world === world ? row : undefined;
};

/** @throws {StoreError} `absent` on `room`. */
export function expectChannel(
  { tables }: Transaction,
  world: string,
  id: string,
) {
  const row = find(tables, world, id);
  if (!row && tables.rooms.get(id)?.world !== world) throw absent("room");
  return row;
}

/** The channel of a room, made if nothing has happened there yet. */
function made({ tables }: Transaction, world: string, id: string): Row {
  const known = find(tables, world, id);
  if (known) return known;
  const row = { id, world, number: 0, direct: null };
  const channel = { ...row, last_event: 0, last_message: 0 };
  tables.channels.set(id, channel);
  return channel;
}

/** What an event says that is posted. */
type Posted = Pick<ChatEvent, "type" | "sender" | "content"> &
  Partial<Pick<ChatEvent, "replaces">> &
  Partial<Pick<Delivery, "notified" | "appeared">>;

/** Stores an event as the next entry of the log. */
export function post(
  tx: Transaction,
  world: string,
  id: string,
  { type, sender, content, replaces = null, ...recipients }: Posted,
  by?: Author,
): Delivery {
  const { tables, now } = tx;
  const row = made(tx, world, id);
  const event: ChatEvent = {
    ...{ id: tx.next(world), channel: id, sender, timestamp: now, type },
    ...{ content, edited: null, replaces, reactions: {} },
  };
  const { last_event: previous, last_message: previousMessage } = row;
  const { notified = [], appeared = [] } = recipients;
  const delivery = frozen({
    ...{ event, previous, previousMessage, notified, appeared },
  });
  const stored: StoredEvent = { event, previous, previousMessage, notified };
  tables.events.set(id, [...(tables.events.get(id) ?? []), stored]);
  tables.channels.set(id, {
    ...row,
    last_event: event.id,
    last_message: type === "channel.member" ? row.last_message : event.id,
  });
  tx.deliver(world, delivery, by);
  return delivery;
}

export const postMembership = (
  tx: Transaction,
  world: string,
  channel: string,
  sender: string,
  membership: "join" | "leave",
  by: Author | undefined,
): Delivery =>
  post(
    tx,
    world,
    channel,
    { type: "channel.member", sender, content: JSON.stringify({ membership }) },
    by,
  );

export function noteMemberships(
  tx: Transaction,
  world: string,
  channel: string,
  users: string[],
  by: Author | undefined,
): void {
  if (users.length === 0) return;
  tx.append(world, { type: "chat.memberships", channel, users }, by);
}

/** @throws {StoreError} `denied` if a user may not write in a channel. */
export function expectSender(
  { tables }: Transaction,
  row: Row | undefined,
  sender: string,
  volatile = false,
): void {
  const user = tables.users.get(sender);
  if (user?.moderation_state !== "") throw denied("Banned or silenced.");
  const isMember = row && tables.members.has(keyOf(row.id, sender));
  const isDirect = row !== undefined && row.direct !== null;
  if (!isMember && (isDirect || !volatile)) throw denied("No member.");
  if (!isDirect) return;
  const members = row.direct.split(",");
  if (members.some((other) => tables.blocks.has(keyOf(other, sender)))) {
    throw denied("A member blocks the user.");
  }
}

/** The message that an edit means. @throws {StoreError} */
export function replacedBy(
  { tables }: Transaction,
  row: Row | undefined,
  { sender, replaces, moderates }: MessageDraft,
  deletes: boolean,
): ChatEvent {
  const events = (row && tables.events.get(row.id)) ?? [];
  const find = (id: number | null | undefined) =>
    events.find(({ event }) => event.id === id)?.event;
  const named = find(replaces);
  const replaced =
    named && named.replaces !== null ? find(named.replaces) : named;
  if (replaced?.type !== "channel.message") throw absent("event");
  if (
    replaced.sender !== sender &&
    !(deletes && moderates && row?.direct === null)
  ) {
    throw denied("It is another user's.");
  }
  if (replaced.content === DELETED && !deletes) throw denied("It is deleted.");
  return replaced;
}

/** The content of a deleted message, as JSON. */
export const DELETED = JSON.stringify({ type: "deleted" });

/** The event that deleted a message. */
export function deletionOf(
  { tables }: Transaction,
  channel: string,
  id: number,
): Delivery {
  const events = tables.events.get(channel) ?? [];
  const last = events.findLast(({ event }) => event.replaces === id)!;
  return frozen({ ...last, appeared: [] });
}

/** Of a message that was edited, and of all its edits, only the content of the last is kept. */
export function rewrite(
  { tables, now }: Transaction,
  channel: string,
  id: number,
  content: string,
): void {
  const events = tables.events.get(channel) ?? [];
  tables.events.set(
    channel,
    events.map((stored) => {
      const { event } = stored;
      if (event.id !== id && event.replaces !== id) return stored;
      const edited = event.id === id ? now : event.edited;
      return { ...stored, event: frozen({ ...event, content, edited }) };
    }),
  );
}

/** Shows a direct channel to the members who had put it away. */
export function show({ tables }: Transaction, channel: string): string[] {
  const hidden = [...tables.members].filter(
    ([, member]) => member.channel === channel && member.hidden,
  );
  for (const [key, member] of hidden) {
    tables.members.set(key, { ...member, hidden: false });
  }
  return hidden.map(([, { user }]) => user);
}

export function unlist(
  { tables }: Transaction,
  user: string,
  channel: string,
): boolean {
  const key = keyOf(user, channel);
  const mark = tables.marks.get(key);
  if (!mark || mark.listed === null) return false;
  tables.marks.set(key, { ...mark, listed: null });
  return true;
}

export const membersOf = ({ members }: Tables, channel: string): string[] =>
  [...members.values()]
    .filter((member) => member.channel === channel)
    .map(({ user }) => user);
