import type { ChannelState } from "../../schemas/live/index.js";
import type { ChannelContext } from "../commands.js";
import type { Connection } from "../connection.js";
import type { Live } from "../live.js";
import type { Readers } from "./readers.js";

/** Who listens to which channel, and the delivery of events to them in order. */
export class Channels {
  constructor(_live: Live, _readers: Readers) {}

  /**
   * Subscribes the connection of a context to its channel.
   * @param since the id of the last event that is not pushed, for a channel that was
   *   just created; what came after it is pushed, after the answer.
   * @returns the id of the last event that is not pushed; pass it to {@link stateOf}.
   * @throws {LiveError} `protocol.rate_limited` if it has too many subscriptions.
   */
  async subscribe(_context: ChannelContext, since?: number): Promise<number> {
    return since ?? 0;
  }

  /** Ends a subscription, if there is one. */
  unsubscribe(_connection: Connection, _channel: string): void {}

  /**
   * A channel as somebody who subscribes gets it.
   * @param last what {@link subscribe} returned.
   */
  async stateOf(_context: ChannelContext, last: number): Promise<ChannelState> {
    return {
      state: null,
      next_event_id: last + 1,
      unread_pointer: 0,
      members: [],
    };
  }

  /** The id of an event up to which this process has delivered all events of a channel. */
  lastDelivered(_channel: string): number {
    return 0;
  }

  /** Whether a user is a member of a channel for as long as they are subscribed to it. */
  isVolatileMember(_world: string, _channel: string, _user: string): boolean {
    return false;
  }

  close(): void {}
}
