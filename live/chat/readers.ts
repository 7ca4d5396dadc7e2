import type { Delivery } from "../../db/chat.js";
import type { UserRecord } from "../../db/store.js";
import type { Authenticated } from "../../schemas/live/index.js";
import type { Connection } from "../connection.js";
import type { Live } from "../live.js";
import type { View, WorldState } from "../world-state.js";

/** What the people who are connected have read, and what they are told of. */
export class Readers {
  constructor(_live: Live) {}

  /**
   * A new event of a channel. It is called once for each event in the order of the
   * channel, after the subscribers got it, also for channels without any. It
   * tells those on the unread list and those who are notified.
   * @param state of the world.
   */
  async delivered(_state: WorldState, _delivery: Delivery): Promise<void> {}

  /**
   * What somebody who logs in gets, read after their pushes have begun.
   * It loads what the user has not read, if no other connection did.
   */
  async enter(
    _connection: Connection,
    _user: UserRecord,
    _view: View,
  ): Promise<
    Pick<
      Authenticated,
      "chat.channels" | "chat.read_pointers" | "chat.notification_counts"
    >
  > {
    return {
      "chat.channels": [],
      "chat.read_pointers": {},
      "chat.notification_counts": {},
    };
  }

  /**
   * Sends somebody their channels again, as `chat.channels`.
   * @param except the id of a connection that does not get them.
   */
  tell(_world: string, _user: string, _except?: string): void {}

  /** A connection has left its world. */
  leave(_connection: Connection): void {}

  /** Writes down what is only in memory. */
  async close(): Promise<void> {}
}
