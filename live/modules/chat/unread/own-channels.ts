import type { ChatStore, Membership } from "../../../../db/contract/chat-store.js";
import { sleep } from "../../../../db/runtime.js";
import type { Outboxes } from "../../../delivery/outbox.js";
import type { View, WorldStates } from "../../../rules/world-state.js";
import type { Connection } from "../../../socket/connection.js";
import { pushFrame } from "../../../socket/frame.js";
import { channelsOf, type ListedChannel, type ListPorts, type ReadState } from "./read-state.js";

/** The least cost of a list, in bytes: it is read separately for each user. */
const MIN_LIST_COST_BYTES = 16 * 1024;

/** The ports of these lists. */
export interface OwnChannelPorts extends ListPorts {
  readonly store: ListPorts["store"] & { readonly chat: ChatStore };
  readonly states: WorldStates;
  readonly outboxes: Outboxes;
  /** The number of the last entry of a world that was applied here. */
  readonly reached: (world: string) => number;
}

/** The last list of a connection, if it waited for an answer. */
interface HeldList {
  /** The number of the message that was being answered. */
  readonly message: number;
  /** The entry up to which the list is surely complete. */
  readonly seq: number;
}

/**
 * Sends people the list of their channels when it has changed: at once, or if there
 * were too many, together with later changes. The last one is as things are then.
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

  /** Sends nothing that still waits. */
  close(): void {
    this.#closed = true;
  }

  /** The list for a user. */
  of(memberships: readonly Membership[], view: View): Promise<ListedChannel[]> {
    const world = view.state.world.value;
    return channelsOf(this.#ports, world, memberships, (room) => view.reads(room));
  }

  /**
   * Whether a client may get a list after the answer to a message of its own that was read
   * before that message changed something. The entry of the change may come after the answer,
   * but before the next message is over.
   * @param seq the number of that entry.
   */
  mayLag(reader: ReadState, connection: Connection, seq: number): boolean {
    if (reader.telling) return true;
    const held = this.#held.get(connection);
    if (!held) return false;
    return held.message >= connection.loop.begun - 1 && held.seq < seq;
  }

  /**
   * Sends the list to connections of a reader. Requests that come meanwhile are answered
   * together, by a later read.
   */
  async tell(reader: ReadState, connections: readonly Connection[]): Promise<void> {
    for (const connection of connections) reader.due.add(connection);
    if (reader.due.size === 0) return;
    reader.telling ??= this.#tellDue(reader);
    await reader.telling;
  }

  async #tellDue(reader: ReadState): Promise<void> {
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
      reader.telling = undefined;
      reader.sending = undefined;
    }
  }

  /** Waits until a user may get a list again. */
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
      // Its login may have failed while the store was read.
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
    // No notice of a message leaves before all have the list.
    for (const [connection, frame] of due) {
      const message = connection.loop.present;
      if (message === undefined) this.#held.delete(connection);
      else this.#held.set(connection, { message, seq });
      connection.push(frame);
    }
    reader.tell(shown);
    reader.lists.spend(Math.max(MIN_LIST_COST_BYTES, size));
  }
}
