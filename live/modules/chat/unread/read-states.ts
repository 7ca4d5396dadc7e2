// Read marks, and the notices about unread messages.
//
// **Marks.** A mark says how far a user has read a channel. The larger one wins, so a mark may be
// applied twice, late, and in any order. `chat.mark_read` applies it to the user in this process at
// once (`read-state.ts`, which all connections of the user share), and gives it to `marks.ts`, which
// writes the marks of all users together, about once a second. Each write appends an entry
// `chat.marked`, from which every process applies the marks to the users it serves: the process that
// made them changes nothing by that. A login reads the store, and then the marks that this process
// has not written.
//
// **Notices.** A room full of people reads every message, so a message writes no row for each of
// them. Two numbers decide whether it makes a push:
//
// - `listed`, of a user in a channel: the event with which the user came onto its unread
//   list, by joining or by marking the channel as read.
// - `previousMessage`, of a message: the one before it in its channel.
//
// A user whose `listed` is at least the previous message has not got a push about this
// channel since they marked it. They get one, `chat.unread_pointers`, and leave the list.
// All others have got one, and the message costs nothing for them.
//
// The counts of `chat.notification_counts` are those of stored notifications: messages of direct
// channels and mentions. A mark removes them up to its event.
//
// The parts: `read-states.ts` handles logins, marks, and changes of memberships. `unread-notices.ts` gets
// each event after its subscribers. It has, by channel, the connected users who are on its unread
// list, and sends the pushes about one new message. `own-channels.ts`
// sends users the list of their channels when it changes; a notice about a direct channel waits
// until the user has a list with that channel. `commands.ts` has the command.

import type { Mark, Membership } from "../../../../db/contract/chat-store.js";
import type { UserRecord } from "../../../../db/contract/store.js";
import { detach, nextTurn } from "../../../../db/runtime.js";
import type { Authenticated } from "../../../../schemas/live/index.js";
import type { ChannelContext, EntryHandlers, EventOf } from "../../../module.js";
import type { Hub } from "../../../people/hub.js";
import { unknownWorld } from "../../../rules/problems.js";
import type { View, WorldState } from "../../../rules/world-state.js";
import type { Connection } from "../../../socket/connection.js";
import { pushFrame } from "../../../socket/frame.js";
import { type MarkPorts, Marks } from "./marks.js";
import { type OwnChannelPorts, OwnChannels } from "./own-channels.js";
import { type ListedChannel, ReadState } from "./read-state.js";
import { type NoticeParts, Notices, UnreadLists } from "./unread-notices.js";

type Entrance = Pick<Authenticated, "chat.read_pointers" | "chat.notification_counts"> & {
  "chat.channels": readonly ListedChannel[];
};

/** The marks of how many users are read at a time. */
const USERS_PER_READ = 200;

const noCounts = pushFrame("chat.notification_counts", {});

const countsFrame = (reader: ReadState, view: View): Buffer =>
  pushFrame(
    "chat.notification_counts",
    reader.counts((room) => view.reads(room)),
  );

/** The ports of read states. */
export interface ReadStatePorts extends MarkPorts, OwnChannelPorts {
  readonly store: OwnChannelPorts["store"];
  readonly hub: Hub;
  readonly lastDelivered: NoticeParts["lastDelivered"];
  /** The id of an event up to which the notices of a channel were sent. */
  readonly lastNoticed: (world: string, channel: string) => number;
}

/** The read states of connected users, and the notices about unread messages. */
export class ReadStates {
  readonly #ports: ReadStatePorts;
  readonly #marks: Marks;
  /** By user. */
  readonly #states = new Map<string, ReadState>();
  readonly #lists = new UnreadLists();
  readonly #own: OwnChannels;
  /** The worlds whose marks are about to be read again. */
  readonly #unread = new Set<string>();
  /** The connections whose login has the unread counts. */
  readonly #entered = new WeakSet<Connection>();
  /** Gets each event of a channel once, in order, after its subscribers. */
  readonly notices: Notices;
  /** The handlers of entries. */
  readonly handlers: EntryHandlers = {
    "room.deleted": ({ room }) => this.#lists.forget(room),
    "chat.memberships": (event) => this.#moved(event),
    "chat.marked": (event) => this.#marked(event),
  };
  #closed = false;

  constructor(ports: ReadStatePorts) {
    this.#ports = ports;
    this.#own = new OwnChannels(ports, (error) => this.#failed(error));
    this.#marks = new Marks(ports);
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

  /** How many marks are not written yet. */
  get pending(): number {
    return this.#marks.pending;
  }

  /**
   * The part of a login, read after its pushes have begun. It loads the unread state of
   * the user, unless another connection did.
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
      reader.tell(channels);
      // From here on notifications are pushed, and before they are counted.
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

  async #load(reader: ReadState, reading: Promise<Membership[]>): Promise<void> {
    const { world, user } = reader;
    this.#lists.load(reader);
    try {
      // They may be written during the read of the store, which need not see them.
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

  /** A connection has left its world. It is no longer in the hub. */
  leave({ world, login }: Connection): void {
    if (!login || this.#ports.hub.of(world, login.user).size > 0) return;
    const reader = this.#states.get(login.user);
    if (!reader) return;
    this.#states.delete(login.user);
    this.#lists.close(reader);
  }

  /**
   * Notes that a user has read a channel up to an event, and tells their connections.
   * @throws {LiveError} when the store takes no marks, and too many wait.
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
    this.#tellOf(reader, state, connection);
  }

  /**
   * The event up to which a user who marks a channel now gets no notices: the user has got
   * them, or has read the event while its notices were on their way.
   */
  #listedAt(world: string, channel: string, pointer: number): number {
    const { lastNoticed, reached } = this.#ports;
    const noticed = lastNoticed(world, channel);
    // A client may mark an event that does not exist yet.
    return Math.max(noticed, Math.min(pointer, reached(world)));
  }

  /** Marks are written. Those of this process were applied when they were made. */
  #marked({ world, marks }: EventOf<"chat.marked">): void {
    if (marks.length === 0) this.#readMarks(world);
    for (const mark of marks) this.#apply(mark);
  }

  #apply(mark: Mark): void {
    const reader = this.#states.get(mark.user);
    reader?.do(() => {
      if (!reader.mark(mark)) return;
      const { channel, listed } = mark;
      if (listed !== null) this.#lists.add(reader, channel, listed);
      this.#try(async () => {
        const state = await this.#ports.states.get(reader.world);
        if (state) this.#tellOf(reader, state);
        if (listed === null || this.#ports.lastNoticed(reader.world, channel) <= listed) return;
        await this.notices.catchUp(reader, channel, listed);
      });
    });
  }

  /** The hint of an entry was lost: reads how far all users who are here have read. */
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
   * Tells the connections of a user how far they have read.
   * @param me the connection that made the mark: it only gets the counts.
   */
  #tellOf(reader: ReadState, state: WorldState, me?: Connection): void {
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
      // If it still exists, the next list has it.
      reader.forget(channel);
      // The client that moved knows that by its answer, unless an older list follows.
      const told = [...this.#ports.hub.of(world, user)].filter(
        (connection) =>
          connection.id !== by.connection || this.#own.mayLag(reader, connection, seq),
      );
      this.#try(() => this.#own.tell(reader, told));
      const check = () => this.notices.left(reader, channel);
      const isOver = () => this.#states.get(user) !== reader;
      this.#try(() => this.#ports.outboxes.persist(check, { isOver }));
    }
  }

  /** A user has a direct channel without a push. */
  knows(user: string, channel: string): void {
    this.#states.get(user)?.tellOf(channel);
  }

  /**
   * Sends a user their channels again, as `chat.channels`.
   * @param except the id of a connection that does not get them.
   * @returns a promise that never rejects, for when they are sent.
   */
  async tell(world: string, user: string, except?: string): Promise<void> {
    const reader = this.#states.get(user);
    if (!reader) return;
    const connections = [...this.#ports.hub.of(world, user)];
    await this.#own.tell(
      reader,
      connections.filter(({ id }) => id !== except),
    );
  }

  /** {@link tell} for one connection. */
  async tellOne(connection: Connection): Promise<void> {
    const reader = this.#states.get(connection.login!.user);
    if (reader) await this.#own.tell(reader, [connection]);
  }

  /** {@link tell} for connections that may read more rooms again, one after the other. */
  async listAgain(connections: readonly Connection[]): Promise<void> {
    for (const connection of connections) {
      if (connection.ended || !connection.login) continue;
      detach(this.tellOne(connection));
      await nextTurn(this.#ports.clock);
    }
  }

  #try(act: () => Promise<void>): void {
    act().catch((error: unknown) => this.#failed(error));
  }

  #failed(error: unknown): void {
    if (!this.#closed) this.#ports.log.error(error);
  }

  /** Writes the marks that are only in memory. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#own.close();
    await this.#marks.close();
  }
}
