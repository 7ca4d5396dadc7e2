import type { ChatStore, ChannelMembership } from "../../../../db/contract/chat-store.js";
import { sleep } from "../../../../db/runtime.js";
import type { Outboxes } from "../../../delivery/outbox.js";
import type { View, WorldStates } from "../../../rules/world-state.js";
import type { Connection } from "../../../socket/connection.js";
import { pushFrame } from "../../../socket/frame.js";
import { channelsOf, type ListedChannel, type ListPorts, type ReadState } from "./read-state.js";

/** Minimum cost charged for a list, in bytes: each user's list requires a separate read. */
const MIN_LIST_COST_BYTES = 16 * 1024;

/** The ports of channel lists. */
export interface OwnChannelPorts extends ListPorts {
  readonly store: ListPorts["store"] & { readonly chat: ChatStore };
  readonly states: WorldStates;
  readonly outboxes: Outboxes;
  /** Returns the number of the last entry in a world's log that this process has applied. */
  readonly reached: (world: string) => number;
}

/** The last list pushed to a connection, if that list was held until a response was sent. */
interface HeldList {
  /** The number of the message that was being handled when the list was pushed. */
  readonly message: number;
  /** The number of the log entry up to which the list is guaranteed to be complete. */
  readonly seq: number;
}

/**
 * Sends users the list of their channels when it changes. If a user has been sent too many lists,
 * the next list waits and is batched with later changes; otherwise, it is sent immediately. The
 * last list always shows the current state.
 */
export class OwnChannels {
  readonly #ports: OwnChannelPorts;
  readonly #onFault: (error: unknown) => void;
  readonly #held = new WeakMap<Connection, HeldList>();
  #closed = false;

  constructor(ports: OwnChannelPorts, onFault: (error: unknown) => void) {
    this.#ports = ports;
    this.#onFault = onFault;
  }

  /** Stops sending lists, including lists that are waiting. */
  close(): void {
    this.#closed = true;
  }

  /** Builds the list for a user. */
  of(memberships: readonly ChannelMembership[], view: View): Promise<ListedChannel[]> {
    const world = view.state.world.value;
    return channelsOf(this.#ports, world, memberships, (room) => view.reads(room));
  }

  /**
   * Whether a client may receive a stale list after the response to one of its own messages: a list
   * that was read before the message changed something. The change's entry may arrive after the
   * response, but before the next message has been handled.
   * @param seq the number of the change's entry.
   */
  mayLag(reader: ReadState, connection: Connection, seq: number): boolean {
    if (reader.pushing) return true;
    const held = this.#held.get(connection);
    if (!held) return false;
    return held.message >= connection.loop.begun - 1 && held.seq < seq;
  }

  /** Sends the list to a reader's connections. Requests that arrive during a read share the next read. */
  async push(reader: ReadState, connections: readonly Connection[]): Promise<void> {
    for (const connection of connections) reader.due.add(connection);
    if (reader.due.size === 0) return;
    reader.pushing ??= this.#pushDue(reader);
    await reader.pushing;
  }

  async #pushDue(reader: ReadState): Promise<void> {
    const { due } = reader;
    try {
      while (due.size > 0) {
        await this.#wait(reader);
        if (this.#closed) return;
        const connections = [...due];
        due.clear();
        const present = () => connections.filter(({ ended, login }) => !ended && login);
        reader.sending = this.#ports.outboxes.persist(() => this.#send(reader, present()), {
          isOver: () => present().length === 0,
        });
        await reader.sending;
      }
    } catch (error) {
      due.clear();
      this.#onFault(error);
    } finally {
      reader.pushing = undefined;
      reader.sending = undefined;
    }
  }

  /** Waits until the rate limit allows another list for a user. */
  async #wait({ lists }: ReadState): Promise<void> {
    const { wait } = lists;
    if (wait <= 0) return;
    await sleep(this.#ports.clock, Math.ceil(wait));
  }

  async #send(reader: ReadState, connections: readonly Connection[]): Promise<void> {
    const { states, store } = this.#ports;
    const { world, user } = reader;
    const state = await states.get(world);
    if (!state) return;
    const seq = this.#ports.reached(world);
    const memberships = await store.chat.memberships(world, user);
    const frames = new Map<View, Buffer>();
    const due: [Connection, Buffer][] = [];
    const shown: ListedChannel[] = [];
    let size = 0;
    for (const connection of connections) {
      // The connection's login may have failed while the store was read.
      if (connection.ended || !connection.login) continue;
      const view = connection.viewOf(state);
      let frame = frames.get(view);
      if (!frame) {
        const channels = await this.of(memberships, view);
        frame = pushFrame("chat.channels", { channels });
        frames.set(view, frame);
        size = Math.max(size, frame.length);
        shown.push(...channels);
      }
      due.push([connection, frame]);
    }
    // All pushed in the same turn, so that no notice of a message is sent before every connection
    // has the list.
    for (const [connection, frame] of due) {
      const message = connection.loop.present;
      if (message === undefined) this.#held.delete(connection);
      else this.#held.set(connection, { message, seq });
      connection.push(frame);
    }
    reader.push(shown);
    reader.lists.spend(Math.max(MIN_LIST_COST_BYTES, size));
  }
}
