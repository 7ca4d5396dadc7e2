import type { Author } from "./author.js";

// Part of db/contract/store.ts: chat. `Store` has the rules for every method.

export type ChatEventType = "channel.message" | "channel.member" | "channel.poll";

/** An event of a channel, frozen. */
export interface ChatEvent {
  /**
   * The number of its entry in the log of its world: ids count up over all channels of
   * the world in the order of the commits, and an id is never used again. Other entries
   * have numbers, too, so ids have gaps.
   */
  readonly id: number;
  readonly channel: string;
  /** The id of a user, who may be erased; null without a sender. */
  readonly sender: string | null;
  /** In milliseconds since 1970. */
  readonly timestamp: number;
  readonly type: ChatEventType;
  /**
   * JSON of an object, as it is stored: it is sent as it is, and parsing it may take a hundred
   * times as long as copying it. Of a message that was edited, and of all its edits, the content of
   * the last edit; of one that was deleted, and of all its edits, `{"type":"deleted"}`. Of a member
   * event only `membership`: the user is the sender.
   */
  readonly content: string;
  /** When it was edited or deleted last; null if never. */
  readonly edited: number | null;
  /** The id of the message that this event edits or deletes. That message never replaces another. */
  readonly replaces: number | null;
  /** The ids of the users who reacted, by reaction, in the order of reacting. */
  readonly reactions: Readonly<Record<string, readonly string[]>>;
}

/** A new event, with what its delivery needs. Frozen, and plain JSON: it travels with the event of the store. */
export interface Delivery {
  readonly event: ChatEvent;
  /** The id of the event of this channel before it, of any type; 0 if it is the first. */
  readonly previous: number;
  /** The id of the last event before it that is no member event; 0 for none. */
  readonly previousMessage: number;
  /** The users with a stored notification of it. */
  readonly notified: readonly string[];
  /** The members of a direct channel who had hidden it, and see it again. */
  readonly appeared: readonly string[];
}

export interface Channel {
  readonly id: string;
  /** The ids of the members of a direct channel, erased ones included, sorted; undefined if it is the channel of a room. */
  readonly direct: readonly string[] | undefined;
  /** The id of the last event that is no member event; 0 for none. */
  readonly lastMessage: number;
}

/** A membership that lasts. */
export interface Membership extends Channel {
  /** Whether the member has put away this direct channel until its next message. */
  readonly hidden: boolean;
}

/** How far a user has read a channel. Of two marks, the larger numbers count. */
export interface Mark {
  readonly user: string;
  readonly channel: string;
  /** The id of the event that was marked as read last; null for none. */
  readonly pointer: number | null;
  /**
   * The id of the last event of the channel when the user came onto its unread list;
   * null if the user is not on it. A user with at least the `previousMessage` of a new
   * message here is on the list when it arrives.
   */
  readonly listed: number | null;
}

export interface NewMark extends Mark {
  readonly world: string;
}

export interface Unread {
  readonly marks: readonly Mark[];
  /** The stored notifications in ascending order of their events: the last 10,000 if there are more. */
  readonly notifications: readonly { channel: string; event: number }[];
}

export interface MessageDraft {
  readonly sender: string;
  readonly content: Record<string, unknown>;
  /** The id of the event that it edits; it deletes it if the type of the content is `deleted`. */
  readonly replaces?: number | undefined;
  /** Whether the sender may delete messages of others in this room. */
  readonly moderates?: boolean | undefined;
  /** Whether the sender is a member for as long as they are connected. */
  readonly volatile?: boolean | undefined;
  /** The mentioned users. A message in a room notifies the members among them; an edit notifies no user. */
  readonly mentioned?: readonly string[] | undefined;
  /** Whether mentioned users are notified even if they are no members. */
  readonly notifiesAll?: boolean | undefined;
}

/** Selects events of a channel: after an id or before one, but not both. */
export interface EventSelection {
  before?: number | undefined;
  after?: number | undefined;
  limit: number;
  withoutMembers?: boolean | undefined;
}

/** Selects messages of a channel by their words. */
export interface MessageSearch {
  /** Words, of which each begins a word of the message. Without any word, nothing is found. */
  query: string;
  before?: number | undefined;
  limit: number;
}

/**
 * Chat. The channel of a room has the id of the room, and exists as soon as the room
 * does. A write to a channel that does not exist fails with `absent` on `room`. Where
 * a method checks rights, a banned, silenced or erased user is `denied`.
 */
export interface ChatStore {
  /** The highest id of an event of a world; 0 for none. */
  lastId(worldId: string): Promise<number>;
  /** A channel; undefined for the channel of a room without any event yet. */
  channel(worldId: string, id: string): Promise<Channel | undefined>;
  /**
   * Some events of a channel, oldest first.
   * @throws {StoreError} `large` when they would take more than 4 MiB; 25 events never do.
   */
  events(worldId: string, channel: string, selection: EventSelection): Promise<ChatEvent[]>;
  /**
   * When the messages of a channel were sent, in milliseconds since 1970, the oldest first: without
   * edits, and with deleted ones.
   * @param after the id of an event.
   */
  sent(
    worldId: string,
    channel: string,
    after: number,
    limit: number,
  ): Promise<{ id: number; timestamp: number }[]>;
  /**
   * The newest messages of a channel with some words, the newest first: as they were edited last, and
   * no deleted ones. Case, width and accents make no difference.
   */
  search(worldId: string, channel: string, selection: MessageSearch): Promise<ChatEvent[]>;
  event(worldId: string, channel: string, id: number): Promise<ChatEvent | undefined>;
  /**
   * The oldest events of a channel after an id, for a process that missed them. `appeared`
   * is empty.
   */
  deliveries(worldId: string, channel: string, after: number, limit: number): Promise<Delivery[]>;
  /** Whether a user is a lasting member of a channel. */
  isMember(worldId: string, channel: string, user: string): Promise<boolean>;
  /** The ids of the lasting members of a channel, the latest to join first. Erased users are left out of rooms. */
  members(worldId: string, channel: string, limit: number): Promise<string[]>;
  /** The lasting memberships of a user, the oldest first. */
  memberships(worldId: string, user: string): Promise<Membership[]>;
  /** How far some users have read each channel. */
  marks(worldId: string, users: readonly string[]): Promise<Mark[]>;
  unread(worldId: string, user: string): Promise<Unread>;

  /**
   * Sends, edits or deletes a message. A new message notifies the mentioned users in a
   * room, and all other members in a direct channel; an edit notifies no user. The
   * sender of a message leaves the unread list of a room. A direct channel appears
   * again to members who had hidden it.
   * @param draft if it replaces an edit, the edited message is meant. Deleting a message twice
   *   changes nothing.
   * @returns the new event; of a message that was deleted already, the event that did it, or
   *   its last edit if that was the erasure of a user or of their messages.
   * @throws {StoreError} `absent` on `room`, or on `event` if it replaces none of this
   *   channel or no message; `denied` if the sender is banned, silenced or erased, is no member, is blocked by
   *   a member of a direct channel, or replaces a message of another user without
   *   the right to, edits a deleted one, or moderates in a direct channel.
   */
  send(worldId: string, channel: string, draft: MessageDraft, by?: Author): Promise<Delivery>;
  /**
   * Makes a user a lasting member of the channel of a room, who comes onto the unread list.
   * @returns the join event; undefined if they are a member already.
   * @throws {StoreError} `absent` on `room` or `user`; `denied` if banned.
   */
  join(worldId: string, channel: string, user: string, by?: Author): Promise<Delivery | undefined>;
  /**
   * Ends the membership of a user in the channel of a room, or puts a direct channel
   * away. In both, the user leaves the unread list of a room.
   * @param silent make no leave event.
   * @returns the leave event; undefined if there is none.
   * @throws {StoreError} `absent` on `room`; `denied` if the user is no member of a direct channel.
   */
  leave(
    worldId: string,
    channel: string,
    user: string,
    silent: boolean,
    by?: Author,
  ): Promise<Delivery | undefined>;
  /**
   * Adds or removes a reaction of a user. Doing it twice changes and writes nothing.
   * @param isMember whether the user is a volatile member.
   * @returns the event with all reactions.
   * @throws {StoreError} `absent` on `room` or `event`; `denied` as in {@link send};
   *   `quota` on `reactions` when the event has 1,000 already.
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
   * Finds or creates the direct channel of a set of users. It makes it visible to the
   * caller, and to the others unless it hides from them; a new one has a join event of each member.
   * @param users all members, the caller included: 2 to 100 distinct ids.
   * @param hide whether a new channel stays hidden from the others until its first message.
   * @returns the channel; the join events of a new one; and the users who see it from now on.
   * @throws {StoreError} `denied` if one of them is unknown, erased or banned, if one blocks
   *   another, or if the caller is silenced.
   */
  direct(
    worldId: string,
    caller: string,
    users: readonly string[],
    hide: boolean,
    by?: Author,
  ): Promise<{
    channel: Channel;
    created: readonly Delivery[];
    appeared: readonly string[];
  }>;
  /**
   * Notes how far users have read, all at once. No number becomes smaller. A `pointer` removes the
   * notifications up to it. A mark of a channel or a user that does not exist any more is skipped.
   * All others of a world are one entry of its log.
   * @param marks at most a few hundred.
   */
  mark(marks: readonly NewMark[]): Promise<void>;
  /**
   * Erases the content of a slice of the messages of a user, who may be erased, as if each had been deleted.
   * @param after begins after this event id.
   * @returns the last id of the slice, and how many messages were emptied; undefined
   *   after the last slice.
   * @throws {StoreError} `absent` on `user`.
   */
  empty(
    worldId: string,
    user: string,
    after: number,
  ): Promise<{ next: number | undefined; emptied: number }>;
  /**
   * Removes a slice of the events of a world that are older than a time, with their
   * bytes. Member events, too.
   * @param before in milliseconds since 1970.
   * @returns whether there may be more.
   */
  expire(worldId: string, before: number): Promise<boolean>;
}
