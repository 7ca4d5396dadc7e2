import type { Author } from "./author.js";

// Part of db/contract/store.ts: chat. `Store` documents the rules for every method.

export type ChatEventType = "channel.message" | "channel.member" | "channel.poll";

/** A frozen event in a channel. */
export interface ChatEvent {
  /**
   * The number of the event's entry in the world's log. Ids increase in commit order across all
   * channels of the world and are never reused. The log numbers other entries as well, so event ids
   * have gaps.
   */
  readonly id: number;
  readonly channel: string;
  /** The id of a user, who may have been erased; null if there is no sender. */
  readonly sender: string | null;
  /** In milliseconds since 1970. */
  readonly timestamp: number;
  readonly type: ChatEventType;
  /**
   * A JSON object, as stored. It is sent unparsed, because parsing may take a hundred times as long
   * as copying. An edited message and all its edits contain the content of the last edit; a deleted
   * message and all its edits contain `{"type":"deleted"}`. A member event contains only
   * `membership`, because the user is the sender.
   */
  readonly content: string;
  /** The time of the last edit or deletion; null if the event was never edited or deleted. */
  readonly edited: number | null;
  /** The id of the message that this event edits or deletes. That message is never an edit itself. */
  readonly replaces: number | null;
  /** The ids of the users who reacted, grouped by reaction and in the order in which they reacted. */
  readonly reactions: Readonly<Record<string, readonly string[]>>;
}

/**
 * A new event, along with the data needed to deliver the event. The object is frozen, and is plain
 * JSON, so that it can be sent to other processes.
 */
export interface ChatDelivery {
  readonly event: ChatEvent;
  /** The id of the channel's previous event, of any type; 0 if there is none. */
  readonly previous: number;
  /** The id of the previous event that is not a member event; 0 if there is none. */
  readonly previousMessage: number;
  /** The users for whom a notification of this event is stored. */
  readonly notified: readonly string[];
  /** The members of a direct channel who had hidden the channel and now see it again. */
  readonly appeared: readonly string[];
}

export interface Channel {
  readonly id: string;
  /** The sorted ids of a direct channel's members, including erased members; undefined for a room's channel. */
  readonly direct: readonly string[] | undefined;
  /** The id of the last event that is not a member event; 0 if there is none. */
  readonly lastMessage: number;
}

/** A lasting membership, as opposed to a volatile membership. */
export interface ChannelMembership extends Channel {
  /** Whether the member has hidden this direct channel until its next message. */
  readonly hidden: boolean;
}

/** A user's read position in a channel. When two marks are merged, the larger numbers win. */
export interface StoredReadMark {
  readonly user: string;
  readonly channel: string;
  /** The id of the last event marked as read; null for none. */
  readonly pointer: number | null;
  /**
   * The id of the channel's last event when the user was added to the channel's unread list; null
   * if the user is not on the list. A new message finds the user on the list if this id is at least
   * the message's `previousMessage`.
   */
  readonly listed: number | null;
}

export interface NewMark extends StoredReadMark {
  readonly world: string;
}

export interface Unread {
  readonly marks: readonly StoredReadMark[];
  /** The stored notifications, ordered by event. Only the last 10,000 are returned. */
  readonly notifications: readonly { channel: string; event: number }[];
}

export interface MessageInput {
  readonly sender: string;
  readonly content: Record<string, unknown>;
  /** The id of the event to edit, or to delete if the content's type is `deleted`. */
  readonly replaces?: number | undefined;
  /** Whether the sender may delete other users' messages in this room. */
  readonly moderates?: boolean | undefined;
  /** Whether the sender is a member only while connected. */
  readonly volatile?: boolean | undefined;
  /** The mentioned users. A message in a room notifies the mentioned members. An edit sends no notifications. */
  readonly mentioned?: readonly string[] | undefined;
  /** Whether mentioned users are notified even if they are not members. */
  readonly notifiesAll?: boolean | undefined;
  /** The slow mode that applies to the sender; undefined for none. Edits and deletions are exempt. */
  readonly slow?: SlowMode | undefined;
}

/** The minimum time between two messages of one person in a room. */
export interface SlowMode {
  readonly seconds: number;
  /** The current time, in milliseconds since 1970. */
  readonly at: number;
}

/**
 * A message in a room that waits for a moderator's approval. No other data in the store refers to
 * its id.
 */
export interface HeldRecord {
  readonly id: string;
  readonly channel: string;
  readonly sender: string;
  /** The message that an edit will replace; null for a new message. */
  readonly replaces: number | null;
  /** As JSON. */
  readonly content: string;
  /** In milliseconds since 1970. */
  readonly timestamp: number;
}

/** Selects a channel's events by id, either before or after an event. */
export interface EventSelection {
  before?: number | undefined;
  after?: number | undefined;
  limit: number;
  withoutMembers?: boolean | undefined;
}

/** Selects a channel's messages by the words that they contain. */
export interface MessageSearch {
  /** Search words. Each must match the beginning of a word in the message. A query without words finds nothing. */
  query: string;
  before?: number | undefined;
  limit: number;
}

/**
 * Stores chat. A room's channel has the room's id and exists as soon as the room does. A write to a
 * channel that does not exist fails with `absent` on `room`. In methods that check permissions, a
 * banned, silenced or erased user is `denied`.
 */
export interface ChatStore {
  /**
   * Returns the id of the last entry in a world's log, which no event's id exceeds and all later
   * ones do; 0 if no channel has had an event.
   */
  lastId(worldId: string): Promise<number>;
  /** Returns a channel, or undefined for a room's channel that has no events. */
  channel(worldId: string, id: string): Promise<Channel | undefined>;
  /**
   * Returns a channel's events, oldest first.
   * @throws {StoreError} `large` when the events would exceed 4 MiB; 25 events never do.
   */
  events(worldId: string, channel: string, selection: EventSelection): Promise<ChatEvent[]>;
  /**
   * Returns the times at which a channel's messages were sent, in milliseconds since 1970, oldest
   * first. Excludes edits, and includes deleted messages.
   * @param after the event id after which the result begins.
   */
  sent(
    worldId: string,
    channel: string,
    after: number,
    limit: number,
  ): Promise<{ id: number; timestamp: number }[]>;
  /**
   * Returns the newest messages in a channel that contain all words of the query, newest first.
   * Searches the latest edits and skips deleted messages. Ignores case, width and accents.
   */
  search(worldId: string, channel: string, selection: MessageSearch): Promise<ChatEvent[]>;
  event(worldId: string, channel: string, id: number): Promise<ChatEvent | undefined>;
  /** Returns a channel's oldest events after an id, for a process that missed the events. `appeared` is empty. */
  deliveries(
    worldId: string,
    channel: string,
    after: number,
    limit: number,
  ): Promise<ChatDelivery[]>;
  /** Whether a user is a lasting member of a channel. */
  isMember(worldId: string, channel: string, user: string): Promise<boolean>;
  /** Returns the ids of a channel's lasting members, latest to join first. For a room, omits erased users. */
  members(worldId: string, channel: string, limit: number): Promise<string[]>;
  /** Returns a user's lasting memberships, oldest first. */
  memberships(worldId: string, user: string): Promise<ChannelMembership[]>;
  /** Returns the given users' read marks in all their channels. */
  marks(worldId: string, users: readonly string[]): Promise<StoredReadMark[]>;
  unread(worldId: string, user: string): Promise<Unread>;

  /**
   * Sends, edits or deletes a message. In a room, a new message notifies the mentioned users; in a
   * direct channel, it notifies all other members. An edit sends no notifications. The sender of a message
   * is removed from a room's unread list. A direct channel reappears for members who had hidden it.
   * @param draft if `replaces` names an edit, the edited message is replaced. Deleting a message
   * twice changes nothing.
   * @returns the new event. If the message was already deleted, returns the event that deleted it,
   * or the message's last edit if the erasure of a user or of a user's messages deleted it.
   * @throws {StoreError} `absent` on `room`, or on `event` if `replaces` names no message in this
   * channel; `denied` if the sender is banned, silenced or erased, is not a member, is blocked by a
   * member of a direct channel, replaces another user's message without permission, edits a deleted
   * message, or moderates in a direct channel; `quota` on `slow_mode` if the sender's last message
   * is too recent, with the seconds that are left as its message.
   */
  send(worldId: string, channel: string, draft: MessageInput, by?: Author): Promise<ChatDelivery>;
  /**
   * Puts a message or an edit in a room into the queue of its moderators. An edit takes the place of
   * an earlier edit of the same message that waits.
   * @param draft without mentions, which count when the message is approved.
   * @param at the present time, in milliseconds since 1970.
   * @throws {StoreError} as {@link send}; `denied` in a direct channel; `quota` on `held` if the
   * sender has too many messages in the queue.
   */
  hold(
    worldId: string,
    channel: string,
    draft: MessageInput,
    at: number,
    by?: Author,
  ): Promise<HeldRecord>;
  /**
   * Returns a room's held messages, longest waiting first, and their number.
   * @param sender returns only the messages of this user; null for all.
   */
  held(
    worldId: string,
    channel: string,
    sender: string | null,
    limit: number,
  ): Promise<{ count: number; messages: HeldRecord[] }>;
  heldMessage(worldId: string, channel: string, id: string): Promise<HeldRecord | undefined>;
  /**
   * Sends a held message, as if its author were sending it now.
   * @param mentioned as in {@link MessageInput}; the same applies to `notifiesAll`.
   * @throws {StoreError} `absent` on `event` if no such message is held, if its author was banned
   * or erased, or if the message that it edits no longer exists.
   */
  approve(
    worldId: string,
    channel: string,
    id: string,
    mentioned: readonly string[],
    notifiesAll: boolean,
    by?: Author,
  ): Promise<ChatDelivery>;
  /**
   * Rejects and erases a held message.
   * @param reason the moderator's reason, which is shown to the author; null for none.
   * @throws {StoreError} `absent` on `event`.
   */
  reject(
    worldId: string,
    channel: string,
    id: string,
    reason: string | null,
    by?: Author,
  ): Promise<HeldRecord>;
  /** Erases a user's messages that wait, in all rooms. @returns their number. */
  rejectAll(worldId: string, user: string, by?: Author): Promise<number>;
  /**
   * Makes a user a lasting member of a room's channel, and adds the user to the channel's unread
   * list.
   * @returns the join event, or undefined if the user is already a member.
   * @throws {StoreError} `absent` on `room` or `user`; `denied` if the user is banned.
   */
  join(
    worldId: string,
    channel: string,
    user: string,
    by?: Author,
  ): Promise<ChatDelivery | undefined>;
  /**
   * Ends a user's membership in a room's channel, or hides a direct channel. In a room, also
   * removes the user from the channel's unread list.
   * @param silent whether to omit the leave event.
   * @returns the leave event, or undefined if there is none.
   * @throws {StoreError} `absent` on `room`; `denied` if the channel is direct and the user is not
   * a member.
   */
  leave(
    worldId: string,
    channel: string,
    user: string,
    silent: boolean,
    by?: Author,
  ): Promise<ChatDelivery | undefined>;
  /**
   * Adds or removes a user's reaction. Adding or removing a reaction twice is a no-op and writes
   * nothing.
   * @param reaction `volatile` is whether the user is a volatile member.
   * @returns the event with all reactions.
   * @throws {StoreError} `absent` on `room` or `event`; `denied` as in {@link send}; `quota` on
   * `reactions` when the event already has 1,000 reactions.
   */
  react(
    worldId: string,
    channel: string,
    event: number,
    reaction: {
      user: string;
      reaction: string;
      remove: boolean;
      volatile: boolean;
    },
    by?: Author,
  ): Promise<ChatEvent>;
  /**
   * Finds or creates the direct channel of a set of users. The channel becomes visible to the
   * caller, and also to all other members unless the channel is new and `hide` is set. A new
   * channel has a join event for each member.
   * @param users all members, including the caller: 2 to 100 distinct ids.
   * @param hide whether a new channel stays hidden from the other members until its first message.
   * @returns the channel, the join events if the channel is new, and the users to whom it becomes
   * visible.
   * @throws {StoreError} `denied` if any member is unknown, erased or banned, if one member blocks
   * another, or if the caller is silenced.
   */
  direct(
    worldId: string,
    caller: string,
    users: readonly string[],
    hide: boolean,
    by?: Author,
  ): Promise<{
    channel: Channel;
    created: readonly ChatDelivery[];
    appeared: readonly string[];
  }>;
  /**
   * Stores read marks in one operation. The numbers in a mark never decrease. A `pointer` removes
   * the notifications up to that event. Marks whose channel or user no longer exists are skipped.
   * All stored marks in a world are combined into a single entry in the world's log.
   * @param marks at most a few hundred.
   */
  mark(marks: readonly NewMark[]): Promise<void>;
  /**
   * Erases the content of a slice of a user's messages, as if each message had been deleted. The
   * user may already be erased.
   * @param after the event id after which the slice begins.
   * @returns the last id in the slice, or undefined after the last slice, and the number of
   * messages whose content was erased.
   * @throws {StoreError} `absent` on `user`.
   */
  empty(
    worldId: string,
    user: string,
    after: number,
  ): Promise<{ next: number | undefined; emptied: number }>;
  /**
   * Returns a user's messages in rooms within a slice of the world's events, oldest first. Excludes
   * deleted messages.
   * @param after the event id after which the slice begins.
   * @returns the last id in the slice, or undefined after the last slice.
   */
  sentBy(
    worldId: string,
    user: string,
    after: number,
  ): Promise<{ next: number | undefined; messages: { id: number; channel: string }[] }>;
  /**
   * Removes a slice of the events in a world that are older than `before`, including member events,
   * and overwrites their bytes in storage.
   * @param before in milliseconds since 1970.
   * @returns whether there may be more to remove.
   */
  expire(worldId: string, before: number): Promise<boolean>;
}
