// Read marks, and notices about unread messages.
//
// **ReadMarks.** A mark records how far a user has read a channel. The largest mark wins, so marks may
// be applied late, twice, and in any order. `chat.mark_read` immediately applies the mark to the
// user in this process (`read-state.ts`, shared by all connections of the user), and passes it to
// `read-marks.ts`, which writes the marks of all users in batches, about once a second. Each write
// appends a `chat.marked` entry, from which every process applies the marks to the users that it
// serves. In the process where the marks were made, applying them again is a no-op. A login reads
// the store, and then applies the marks that this process has not written yet.
//
// **Notices.** In a full room, everyone reads every message, so a message must not write a row per
// reader. Two numbers decide whether a message causes a push:
//
// - `listed`, per user and channel: the event at which the user was added to the channel's unread
//   list, by joining the channel or by marking it as read.
// - `previousMessage`, per message: the message before it in the same channel.
//
// If a user's `listed` is at least the previous message, the user has not been pushed anything
// about this channel since marking it. The user receives one push, `chat.unread_pointers`, and
// leaves the list. Every other user has already received such a push, so the message costs nothing
// for them.
//
// `chat.notification_counts` counts stored notifications: messages in direct channels, and
// mentions. A mark removes the notifications up to its event.
//
// The parts: `read-states.ts` handles logins, marks, and membership changes. `unread-notices.ts`
// receives each event after the channel's subscribers. It keeps, per channel, the connected users
// who are on the channel's unread list, and sends the pushes about a new message. `own-channels.ts`
// sends users the list of their channels when it changes; a notice about a direct channel waits
// until the user has a list with that channel. `chat-commands.ts` contains the command.

import type { StoredReadMark, ChannelMembership } from "../../../../db/contract/chat-store.js";
import type { UserRecord } from "../../../../db/contract/store.js";
import { detach, nextTurn } from "../../../../db/runtime.js";
import type { Authenticated } from "../../../../schemas/live/index.js";
import type { ChannelContext, EntryHandlers, EventOf } from "../../../module.js";
import type { Hub } from "../../../people/hub.js";
import { unknownWorld } from "../../../rules/problems.js";
import type { View, LiveWorldState } from "../../../rules/world-state.js";
import type { Connection } from "../../../socket/connection.js";
import { pushFrame } from "../../../socket/frame.js";
import { type ReadMarkPorts, ReadMarks } from "./read-marks.js";
import { type OwnChannelPorts, OwnChannels } from "./own-channels.js";
import { type ListedChannel, ReadState } from "./read-state.js";
import { type NoticeParts, Notices, UnreadLists } from "./unread-notices.js";

type Entrance = Pick<Authenticated, "chat.read_pointers" | "chat.notification_counts"> & {
  "chat.channels": readonly ListedChannel[];
};

/** Number of users whose marks are read at a time. */
const USERS_PER_READ = 200;

const noCounts = pushFrame("chat.notification_counts", {});

const countsFrame = (reader: ReadState, view: View): Buffer =>
  pushFrame(
    "chat.notification_counts",
    reader.counts((room) => view.reads(room)),
  );

/** The ports of read states. */
export interface ReadStatePorts extends ReadMarkPorts, OwnChannelPorts {
  readonly store: OwnChannelPorts["store"];
  readonly hub: Hub;
  readonly lastDelivered: NoticeParts["lastDelivered"];
  /** Returns the id up to which the notices of all of a channel's events have been sent. */
  readonly lastNoticed: (world: string, channel: string) => number;
}

/** The read states of connected users, and the notices about unread messages. */
export class ReadStates {
  readonly #ports: ReadStatePorts;
  readonly #marks: ReadMarks;
  /** The read states, by user. */
  readonly #states = new Map<string, ReadState>();
  readonly #lists = new UnreadLists();
  readonly #own: OwnChannels;
  /** The worlds whose marks are about to be re-read. */
  readonly #unread = new Set<string>();
  /** The connections whose login response has the unread counts. */
  readonly #entered = new WeakSet<Connection>();
  /** Receives each event in a channel once, in order, after the channel's subscribers have received it. */
  readonly notices: Notices;
  readonly handlers: EntryHandlers = {
    "room.deleted": ({ room }) => this.#lists.forget(room),
    "chat.memberships": (event) => this.#moved(event),
    "chat.marked": (event) => this.#marked(event),
  };
  #closed = false;

  constructor(ports: ReadStatePorts) {
    this.#ports = ports;
    this.#own = new OwnChannels(ports, (error) => this.#failed(error));
    this.#marks = new ReadMarks(ports);
    const { clock, store, hub } = ports;
    this.notices = new Notices({
      clock,
      store,
      hub,
      states: ports.states,
      lists: this.#lists,
      marks: this.#marks,
      readStates: this.#states,
      lastDelivered: ports.lastDelivered,
      hasCounts: (connection) => this.#entered.has(connection),
      tell: (world, user) => this.tell(world, user),
    });
  }

  /** Number of marks that have not been written yet. */
  get pending(): number {
    return this.#marks.pending;
  }

  /**
   * Reads the chat's part of a login response, after pushes have started. Loads the user's unread
   * state, unless another connection already has.
   */
  async enter(connection: Connection, user: UserRecord, view: View): Promise<Entrance> {
    const { world } = connection;
    const known = this.#states.get(user.id);
    const reader = known ?? new ReadState(this.#ports.clock, world, user.id);
    this.#states.set(user.id, reader);
    try {
      const reading = this.#ports.store.chat.memberships(world, user.id);
      if (!known) reader.loaded = this.#load(reader, reading);
      const [memberships] = await Promise.all([reading, reader.loaded]);
      const channels = await this.#own.of(memberships, view);
      reader.push(channels);
      // From here on, notifications are pushed; earlier notifications are in the counts.
      this.#entered.add(connection);
      return {
        "chat.channels": channels,
        "chat.read_pointers": reader.pointers(),
        "chat.notification_counts": reader.counts((room) => view.reads(room)),
      };
    } finally {
      if (connection.ended) this.leave(connection);
    }
  }

  async #load(reader: ReadState, reading: Promise<ChannelMembership[]>): Promise<void> {
    const { world, user } = reader;
    this.#lists.load(reader);
    try {
      // Copied first, because these marks may be written while the store is being read, and the
      // read may miss them.
      const unwritten = [...this.#marks.of(user)];
      const [memberships, unread] = await Promise.all([
        reading,
        this.#ports.store.chat.unread(world, user),
      ]);
      if (this.#states.get(user) !== reader) return;
      const direct = memberships.filter((channel) => channel.direct);
      const ids = new Set(direct.map(({ id }) => id));
      reader.load(unread, unwritten, (channel) => ids.has(channel));
      this.#lists.open(reader);
      reader.start();
    } catch (error) {
      if (this.#states.get(user) === reader) this.#states.delete(user);
      this.#lists.close(reader);
      throw error;
    }
  }

  /** Drops the read state of a user whose last connection has left the world and the hub. */
  leave({ world, login }: Connection): void {
    if (!login || this.#ports.hub.of(world, login.user).size > 0) return;
    const reader = this.#states.get(login.user);
    if (!reader) return;
    this.#states.delete(login.user);
    this.#lists.close(reader);
  }

  /**
   * Records that a user has read a channel up to an event, and notifies the user's connections.
   * @throws {LiveError} if too many marks are pending, because writes to the store fail.
   */
  async mark(
    { connection, me, channel, room, world: present }: ChannelContext,
    pointer: number,
  ): Promise<void> {
    const { world } = connection;
    const { states } = this.#ports;
    const state = states.of(present) ?? (await states.get(world));
    if (!state) throw unknownWorld();
    const listed = room ? this.#listedAt(world, channel, pointer) : null;
    const mark = { world, user: me.id, channel, pointer, listed };
    this.#marks.add(mark);
    const reader = this.#states.get(me.id);
    if (!reader) return;
    reader.mark(mark);
    if (listed !== null) this.#lists.add(reader, channel, listed);
    this.#pushOf(reader, state, connection);
  }

  /**
   * Returns the event up to which a user who marks a channel now needs no notices: notices up to
   * that event have already been sent, or the user read the event while its notices were in flight.
   */
  #listedAt(world: string, channel: string, pointer: number): number {
    const { lastNoticed, reached } = this.#ports;
    const noticed = lastNoticed(world, channel);
    // A client may mark an event that does not exist yet.
    return Math.max(noticed, Math.min(pointer, reached(world)));
  }

  /** Applies written marks. ReadMarks that were made in this process have already been applied. */
  #marked({ world, marks }: EventOf<"chat.marked">): void {
    if (marks.length === 0) this.#readMarks(world);
    for (const mark of marks) this.#apply(mark);
  }

  #apply(mark: StoredReadMark): void {
    const reader = this.#states.get(mark.user);
    reader?.do(() => {
      if (!reader.mark(mark)) return;
      const { channel, listed } = mark;
      if (listed !== null) this.#lists.add(reader, channel, listed);
      this.#try(async () => {
        const state = await this.#ports.states.get(reader.world);
        if (state) this.#pushOf(reader, state);
        if (listed === null || this.#ports.lastNoticed(reader.world, channel) <= listed) return;
        await this.notices.catchUp(reader, channel, listed);
      });
    });
  }

  /** Re-reads the marks of all users in this process, because an entry arrived without its marks. */
  #readMarks(world: string): void {
    if (this.#unread.has(world)) return;
    this.#unread.add(world);
    const read = async () => {
      await nextTurn(this.#ports.clock);
      this.#unread.delete(world);
      const users = [...this.#states.values()].flatMap((reader) =>
        reader.world === world ? reader.user : [],
      );
      for (let i = 0; i < users.length; i += USERS_PER_READ) {
        const slice = users.slice(i, i + USERS_PER_READ);
        for (const mark of await this.#ports.store.chat.marks(world, slice)) this.#apply(mark);
      }
    };
    this.#try(() => this.#ports.outboxes.persist(read));
  }

  /**
   * Notifies a user's connections of how far the user has read.
   * @param me the connection over which the mark was made. That connection receives only the
   * counts.
   */
  #pushOf(reader: ReadState, state: LiveWorldState, me?: Connection): void {
    const ports = this.#ports;
    let pointers: Buffer | undefined;
    for (const connection of ports.hub.of(reader.world, reader.user)) {
      if (connection !== me) {
        pointers ??= pushFrame("chat.read_pointers", reader.pointers());
        connection.push(pointers);
      }
      connection.push(
        reader.notified === 0 ? noCounts : countsFrame(reader, connection.viewOf(state)),
      );
    }
  }

  #moved({ world, channel, users, by, seq }: EventOf<"chat.memberships">): void {
    for (const user of users) {
      const reader = this.#states.get(user);
      if (!reader) continue;
      // If the user still has the channel, the next list includes it.
      reader.forget(channel);
      // The client that made the change knows about it from the response, unless a stale list
      // follows.
      const notified = [...this.#ports.hub.of(world, user)].filter(
        (connection) =>
          connection.id !== by.connection || this.#own.mayLag(reader, connection, seq),
      );
      this.#try(() => this.#own.push(reader, notified));
      const check = () => this.notices.left(reader, channel);
      const isOver = () => this.#states.get(user) !== reader;
      this.#try(() => this.#ports.outboxes.persist(check, { isOver }));
    }
  }

  /** Records that a user knows about a direct channel that was not pushed to the user. */
  knows(user: string, channel: string): void {
    this.#states.get(user)?.pushOf(channel);
  }

  /**
   * Re-sends a user's channels to the user's connections, as `chat.channels`.
   * @param except the id of a connection to skip.
   * @returns a promise that never rejects, and resolves once the channels have been sent.
   */
  async tell(world: string, user: string, except?: string): Promise<void> {
    const reader = this.#states.get(user);
    if (!reader) return;
    const connections = [...this.#ports.hub.of(world, user)];
    await this.#own.push(
      reader,
      connections.filter(({ id }) => id !== except),
    );
  }

  /** Like {@link tell}, but for a single connection. */
  async pushOne(connection: Connection): Promise<void> {
    const reader = this.#states.get(connection.login!.user);
    if (reader) await this.#own.push(reader, [connection]);
  }

  /**
   * Like {@link tell}, but for connections that have regained the right to read some rooms, one
   * connection at a time.
   */
  async listAgain(connections: readonly Connection[]): Promise<void> {
    for (const connection of connections) {
      if (connection.ended || !connection.login) continue;
      detach(this.pushOne(connection));
      await nextTurn(this.#ports.clock);
    }
  }

  #try(act: () => Promise<void>): void {
    act().catch((error: unknown) => this.#failed(error));
  }

  #failed(error: unknown): void {
    if (!this.#closed) this.#ports.log.error(error);
  }

  /** Writes the marks that are held only in memory. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#own.close();
    await this.#marks.close();
  }
}
