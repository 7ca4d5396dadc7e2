import type { Membership } from "../../db/chat.js";
import type { SentChannel } from "../../schemas/live/index.js";
import type { Connection } from "../connection.js";
import { pushFrame } from "../frame.js";
import type { Live } from "../live.js";
import type { View } from "../world-state.js";
import { channelsOf } from "./channel-list.js";
import type { Reader } from "./reader.js";

/** Sends people the list of their channels when it has changed. */
export class OwnChannels {
  readonly #live: Live;
  readonly #onFault: (error: unknown) => void;

  constructor(live: Live, onFault: (error: unknown) => void) {
    this.#live = live;
    this.#onFault = onFault;
  }

  /** The list for somebody, who knows these direct channels from now on. */
  async of(
    reader: Reader,
    memberships: readonly Membership[],
    view: View,
  ): Promise<SentChannel[]> {
    const channels = await channelsOf(
      this.#live,
      view.state.world.value,
      memberships,
      (room) => view.reads(room),
    );
    for (const { id, members } of channels) {
      if (members) reader.direct.add(id);
    }
    return channels;
  }

  /**
   * Sends the list to connections of a reader. What is asked for meanwhile is sent
   * together, and read after it was asked for.
   */
  async tell(
    reader: Reader,
    connections: readonly Connection[],
  ): Promise<void> {
    for (const connection of connections) reader.due.add(connection);
    if (reader.due.size === 0) return;
    reader.telling ??= this.#tellDue(reader);
    await reader.telling;
  }

  async #tellDue(reader: Reader): Promise<void> {
    const { due } = reader;
    try {
      while (due.size > 0) {
        const connections = [...due];
        due.clear();
        await this.#send(reader, connections);
      }
    } catch (error) {
      due.clear();
      this.#onFault(error);
    } finally {
      reader.telling = undefined;
    }
  }

  async #send(
    reader: Reader,
    connections: readonly Connection[],
  ): Promise<void> {
    const { states, store } = this.#live;
    const { world, user } = reader;
    const state = await states.get(world);
    if (!state) return;
    const memberships = await store.chat.memberships(world, user);
    const frames = new Map<View, Buffer>();
    for (const connection of connections) {
      if (connection.ended) continue;
      const view = this.#live.viewOf(connection, state);
      let frame = frames.get(view);
      if (!frame) {
        const channels = await this.of(reader, memberships, view);
        frame = pushFrame("chat.channels", { channels });
        frames.set(view, frame);
      }
      connection.push(frame);
    }
  }
}
