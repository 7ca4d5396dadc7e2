import type { ChatEvent, ChatStore, ChatDelivery } from "../../../../db/contract/chat-store.js";
import type { UserStore } from "../../../../db/contract/store.js";
import { DELETED } from "../../../../db/rules/chat-rows.js";
import type { Clock } from "../../../../db/runtime.js";
import { inSlices } from "../../../delivery/push.js";
import type { Hub } from "../../../people/hub.js";
import { isVolatile } from "../../../rules/rights.js";
import type { LiveWorldState, WorldStates } from "../../../rules/world-state.js";
import type { Connection } from "../../../socket/connection.js";
import { pushFrame } from "../../../socket/frame.js";
import { sentEvent } from "../audience.js";
import { absentUser, sharedUser } from "../../../rules/sent-users.js";
import type { ReadMarks } from "./read-marks.js";
import type { ReadState } from "./read-state.js";

/**
 * The unread list of each channel, limited to the users connected to this process. Users who have
 * left the list may still be included until the next message, when each user is checked.
 */
export class UnreadLists {
  readonly #byChannel = new Map<string, Set<ReadState>>();
  /** The users whose marks are still being read, and who may therefore be on any list. */
  readonly #loading = new Set<ReadState>();

  /**
   * Adds a user whose marks are being read. The user counts as being on every list until {@link
   * open} or {@link close}.
   */
  load(reader: ReadState): void {
    this.#loading.add(reader);
  }

  /** Adds a user to the lists of all channels in {@link ReadState.listed}. */
  open(reader: ReadState): void {
    this.#loading.delete(reader);
    for (const channel of reader.listed.keys()) this.#add(reader, channel);
  }

  /** Removes a user from all lists. */
  close(reader: ReadState): void {
    this.#loading.delete(reader);
    for (const channel of reader.listed.keys()) this.#remove(reader, channel);
  }

  /** @param listed see `StoredReadMark.listed`. */
  add(reader: ReadState, channel: string, listed: number): void {
    reader.list(channel, listed);
    this.#add(reader, channel);
  }

  /** @param event an event of the channel. Users added to the list at or after this event stay. */
  remove(reader: ReadState, channel: string, event: number): void {
    const listed = reader.listed.get(channel);
    if (listed === undefined || listed >= event) return;
    reader.unlist(channel);
    this.#remove(reader, channel);
  }

  /** Returns the users who are, or may be, on a channel's list. The list may change during the iteration. */
  *of(channel: string): Iterable<ReadState> {
    yield* this.#loading;
    yield* this.#byChannel.get(channel) ?? [];
  }

  /** Drops the list of a deleted channel. */
  forget(channel: string): void {
    for (const reader of this.of(channel)) {
      // A user whose marks are still being read may be added to the list before this step runs.
      reader.do(() => {
        this.#remove(reader, channel);
        reader.unlist(channel);
      });
    }
    this.#byChannel.delete(channel);
  }

  #add(reader: ReadState, channel: string): void {
    const readers = this.#byChannel.get(channel);
    if (readers) readers.add(reader);
    else this.#byChannel.set(channel, new Set([reader]));
  }

  #remove(reader: ReadState, channel: string): void {
    const readers = this.#byChannel.get(channel);
    if (readers?.delete(reader) && readers.size === 0) {
      this.#byChannel.delete(channel);
    }
  }
}

/** The ports of notices. */
export interface NoticeParts {
  readonly clock: Clock;
  readonly store: { readonly chat: ChatStore; readonly users: UserStore };
  readonly hub: Hub;
  readonly states: WorldStates;
  readonly lists: UnreadLists;
  readonly marks: Pick<ReadMarks, "unlist">;
  /** The read states of the users connected to this process, by user. */
  readonly readStates: ReadonlyMap<string, ReadState>;
  /** Returns the id up to which this process has delivered all of a channel's events. */
  readonly lastDelivered: (world: string, channel: string) => number;
  /** Whether a connection's login response has counted the notifications. */
  readonly hasCounts: (connection: Connection) => boolean;
  /** Sends a user the list of the user's channels. */
  readonly tell: (world: string, user: string) => Promise<void>;
}

type Reads = (connection: Connection) => boolean;

/** Notifies users of new messages, whether they are subscribed to the channel or not. */
export class Notices {
  readonly #parts: NoticeParts;

  constructor(parts: NoticeParts) {
    this.#parts = parts;
  }

  /**
   * Handles a new event in a channel. Called once for each event, in order, after any subscribers
   * have received it.
   */
  async delivered(state: LiveWorldState, delivery: ChatDelivery): Promise<void> {
    const { event } = delivery;
    if (event.replaces !== null && event.content === DELETED) {
      for (const reader of this.#parts.readStates.values()) {
        reader.do(() => reader.forgetNotice(event.channel, event.replaces!));
      }
    }
    const isRoom = state.room(event.channel) !== undefined;
    if (event.type === "channel.member") {
      if (isRoom) this.#joinedOrLeft(event);
    } else if (isRoom) await this.#inRoom(state, delivery);
    else await this.#inDirect(state, delivery);
  }

  #joinedOrLeft({ sender, channel, id, content }: ChatEvent): void {
    const user = sender!;
    const { membership } = JSON.parse(content) as { membership?: unknown };
    const isIn = membership === "join";
    if (!isIn) this.#parts.marks.unlist(user, channel, id);
    const reader = this.#parts.readStates.get(user);
    reader?.do(() => {
      if (isIn) this.#parts.lists.add(reader, channel, id);
      else this.#parts.lists.remove(reader, channel, id);
    });
  }

  /**
   * Removes a user from the unread list of a volatile room if the user is no longer a member: the
   * user may have left the room without a push.
   */
  async left({ world, user }: ReadState, channel: string): Promise<void> {
    const { states, store, lastDelivered } = this.#parts;
    const state = await states.get(world);
    const room = state?.room(channel);
    if (!room || !isVolatile(room)) return;
    const last = lastDelivered(world, channel);
    if (await store.chat.isMember(world, channel, user)) return;
    this.#parts.marks.unlist(user, channel, last + 1);
    const reader = this.#parts.readStates.get(user);
    if (reader) this.#parts.lists.remove(reader, channel, last + 1);
  }

  /**
   * Sends the latest notice to a user who marked a room in another process, if this process has
   * delivered newer messages without notifying the user.
   */
  async catchUp(reader: ReadState, channel: string, listed: number): Promise<void> {
    const { states, store } = this.#parts;
    const state = await states.get(reader.world);
    const found = await store.chat.channel(reader.world, channel);
    if (!state || !found || found.lastMessage <= listed) return;
    const frame = unreadFrame({ channel, id: found.lastMessage });
    for (const connection of this.#connectionsOf(reader)) {
      if (connection.viewOf(state).reads(channel)) connection.push(frame);
    }
  }

  /** Handles a new message in a room: notifies mentioned users, and users on the unread list. */
  async #inRoom(state: LiveWorldState, delivery: ChatDelivery): Promise<void> {
    const { clock, hub, lists } = this.#parts;
    const { event, previousMessage } = delivery;
    const people = hub.gathering(state.world.value.id);
    const { channel, id, sender } = event;
    const reads: Reads = (connection) => connection.viewOf(state).reads(channel);
    await this.#notify(state, delivery, reads);
    let frame: Buffer | undefined;
    const tell = (reader: ReadState) => {
      if (!people || people.isOver) return;
      const listed = reader.listed.get(channel);
      if (listed === undefined || listed >= id) return;
      lists.remove(reader, channel, id);
      if (listed < previousMessage || reader.user === sender) return;
      frame ??= unreadFrame(event);
      for (const connection of this.#connectionsOf(reader)) {
        if (reads(connection)) connection.push(frame);
      }
    };
    // A user who marks the channel during the iteration is visited a second time, and skipped.
    await inSlices(clock, lists.of(channel), (reader) => reader.do(() => tell(reader)));
  }

  /**
   * Handles a new message in a direct channel: notifies everyone except the sender. Does not wait
   * for users who must first be sent the list of their channels, because sending the list may take
   * seconds.
   */
  async #inDirect(state: LiveWorldState, delivery: ChatDelivery): Promise<void> {
    const { store } = this.#parts;
    const { event, notified, appeared } = delivery;
    const world = state.world.value.id;
    const concerned = this.#readersOf([...notified, ...appeared]);
    if (concerned.length === 0) return;
    const channel = await store.chat.channel(world, event.channel);
    // The event may belong to a room that has been deleted.
    if (!channel?.direct) return;
    const unread = unreadFrame(event);
    const notice = notified.length > 0 ? await this.#frameOf(state, event) : undefined;
    const isNotified = new Set(notified);
    for (const reader of concerned) {
      this.#whenSent(reader, delivery, () => {
        if (!notice || !isNotified.has(reader.user)) return;
        for (const connection of this.#connectionsOf(reader)) {
          connection.push(unread);
        }
        this.#push(reader, event, notice, () => true, true);
      });
    }
  }

  /**
   * Runs an action once a user has been sent the direct channel of a message, and after the actions
   * for earlier messages.
   */
  #whenSent(
    reader: ReadState,
    { event: { channel }, appeared }: ChatDelivery,
    act: () => void,
  ): void {
    const { notices, direct } = reader;
    const appears = appeared.includes(reader.user);
    const before = notices.get(channel);
    if (!before && !appears && direct.has(channel)) {
      act();
      return;
    }
    const notified = this.#pushOf(reader, channel, appears);
    const done = Promise.all([before, notified]).then(() => {
      if (notices.get(channel) === done) notices.delete(channel);
      act();
    });
    notices.set(channel, done);
  }

  /** @returns a promise that never rejects. */
  async #pushOf(reader: ReadState, channel: string, appears: boolean): Promise<void> {
    const { tell } = this.#parts;
    if (!appears) {
      // A list that is already in flight may include the channel.
      await reader.sending;
      if (reader.direct.has(channel)) return;
    }
    await tell(reader.world, reader.user);
  }

  /**
   * Returns a reader's connections, or none if a newer login has replaced the reader, because that
   * login's response included everything.
   */
  #connectionsOf(reader: ReadState): Iterable<Connection> {
    const { hub, readStates } = this.#parts;
    const isHere = readStates.get(reader.user) === reader;
    return isHere ? hub.of(reader.world, reader.user) : [];
  }

  #readersOf(users: readonly string[]): ReadState[] {
    return [...new Set(users)].flatMap((user) => this.#parts.readStates.get(user) ?? []);
  }

  /** Pushes the notifications that were stored for a message in a room. */
  async #notify(
    state: LiveWorldState,
    { event, notified }: ChatDelivery,
    reads: Reads,
  ): Promise<void> {
    const readers = this.#readersOf(notified);
    if (readers.length === 0) return;
    const frame = await this.#frameOf(state, event);
    for (const reader of readers) {
      this.#push(reader, event, frame, reads, false);
    }
  }

  #push(
    reader: ReadState,
    { channel, id }: ChatEvent,
    frame: Buffer,
    reads: Reads,
    direct: boolean,
  ): void {
    const { hasCounts } = this.#parts;
    reader.do(() => {
      if (!reader.notify(channel, id, direct)) return;
      for (const connection of this.#connectionsOf(reader)) {
        if (hasCounts(connection) && reads(connection)) connection.push(frame);
      }
    });
  }

  async #frameOf(state: LiveWorldState, event: ChatEvent): Promise<Buffer> {
    const world = state.world.value;
    const { store, clock } = this.#parts;
    const id = event.sender ?? "";
    const user = await store.users.get(world.id, id);
    const sender = user ? sharedUser(user, world, clock.date(), false) : absentUser(id);
    const sent = sentEvent(event, () => sender);
    return pushFrame("chat.notification", { event: { ...sent, type: "chat.event" }, sender });
  }
}

const unreadFrame = ({ channel, id }: Pick<ChatEvent, "channel" | "id">): Buffer =>
  pushFrame("chat.unread_pointers", { [channel]: id });
