import { rateLimited } from "../../rules/problems.js";
import type { Connection } from "../../socket/connection.js";
import { Audience, Listener, Subscription } from "./audience.js";

/** How many channels a connection may subscribe to. */
const MAX_CHANNELS = 200;

/** Which connections of this process listen to which channels. */
export class Subscriptions {
  readonly #audiences = new Map<string, Audience>();
  readonly #listeners = new Map<Connection, Listener>();
  #count = 0;

  /** How many there are. */
  get count(): number {
    return this.#count;
  }

  /** The subscribers of a channel; undefined without any. */
  of(channel: string): Audience | undefined {
    return this.#audiences.get(channel);
  }

  /** The channels of a connection. */
  channelsOf(connection: Connection): string[] {
    return [...(this.#listeners.get(connection)?.channels ?? [])];
  }

  /** A connection with its subscriptions. */
  listener(connection: Connection): Listener {
    let listener = this.#listeners.get(connection);
    if (!listener) {
      listener = new Listener(connection);
      if (!connection.ended) this.#listeners.set(connection, listener);
    }
    return listener;
  }

  /**
   * Subscribes a connection to a channel, or begins its subscription again. Pushes
   * wait until it is started.
   * @returns the subscription, and whether it is a new one.
   * @throws {LiveError} if the connection has too many.
   */
  add(
    connection: Connection,
    channel: string,
    isDirect: boolean,
  ): { subscription: Subscription; isNew: boolean } {
    const listener = this.listener(connection);
    let audience = this.#audiences.get(channel);
    const present = audience?.subscriptions.get(connection);
    if (!present && listener.channels.size >= MAX_CHANNELS) throw rateLimited();
    listener.forget();
    if (present) {
      present.hold();
      return { subscription: present, isNew: false };
    }
    const subscription = new Subscription(listener);
    if (connection.ended) return { subscription, isNew: false };
    if (!audience) {
      audience = new Audience(channel, isDirect);
      this.#audiences.set(channel, audience);
    }
    audience.subscriptions.set(connection, subscription);
    listener.channels.add(channel);
    this.#count++;
    return { subscription, isNew: true };
  }

  /** Ends a subscription. @returns whether there was one. */
  remove(connection: Connection, channel: string): boolean {
    const audience = this.#audiences.get(channel);
    if (!audience?.subscriptions.delete(connection)) return false;
    if (audience.subscriptions.size === 0) this.#audiences.delete(channel);
    const listener = this.listener(connection);
    listener.channels.delete(channel);
    this.#count--;
    return true;
  }

  /** Ends all subscriptions of a connection that has ended. */
  leave(connection: Connection): void {
    for (const channel of this.channelsOf(connection)) {
      this.remove(connection, channel);
    }
    this.#listeners.delete(connection);
  }
}
