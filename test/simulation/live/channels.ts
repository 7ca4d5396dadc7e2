import type { ChannelState, SentEvent } from "../../../schemas/live/index.js";
import type { Client } from "./client.js";

/** A channel that a connection listens to. */
export interface Listening {
  /** The first event that is pushed. */
  readonly from: number;
  /** The ids of the events that came. */
  readonly events: number[];
}

/** The channels that a client listens to, and what came there. */
export class Channels {
  readonly listening = new Map<string, Listening>();
  /** The id of the last event that was pushed in each channel on this connection. */
  readonly #last = new Map<string, number>();
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  loggedIn(): void {
    for (const channel of this.#client.wanted) {
      void this.#client.persist("chat.subscribe", { channel });
    }
  }

  disconnected(): void {
    this.listening.clear();
    this.#last.clear();
  }

  answered(name: string, payload: object, result: unknown): void {
    const { channel } = payload as { channel?: string };
    switch (name) {
      case "chat.subscribe":
      case "chat.join":
        this.#begin(channel!, result as ChannelState);
        break;
      case "chat.direct.create": {
        const state = result as ChannelState & { id: string };
        this.#begin(state.id, state);
        break;
      }
      case "chat.unsubscribe":
      case "chat.leave":
        this.listening.delete(channel!);
    }
  }

  pushed(name: string, data: unknown): void {
    if (name === "chat.event") this.#came(data as SentEvent);
    this.#keepRights();
  }

  /** Users who may not read a room expect nothing there. */
  #keepRights(): void {
    const { rooms, channels } = this.#client.state!;
    for (const id of this.listening.keys()) {
      const room = rooms.find((it) => it.id === id);
      const mayRead = room?.permissions.includes("room:chat.read");
      const hasChat = room?.modules.some(({ type }) => type === "chat.native");
      const isDirect = channels.some((it) => it.id === id && it.members);
      if (!(mayRead && hasChat) && !isDirect) this.listening.delete(id);
    }
  }

  #begin(channel: string, { next_event_id: from }: ChannelState): void {
    // One that goes on gets everything from its own beginning.
    if (this.listening.has(channel)) return;
    this.listening.set(channel, { from, events: [] });
    this.#keepRights();
  }

  #came({ channel, event_id: id }: SentEvent): void {
    const { house, name } = this.#client;
    const last = this.#last.get(channel) ?? 0;
    if (id <= last) {
      house.complain(`${name} got event ${id} of ${channel} after ${last}`);
    }
    this.#last.set(channel, id);
    const listening = this.listening.get(channel);
    if (!listening) return;
    if (id < listening.from) {
      house.complain(
        `${name} got event ${id} of ${channel}, though it listens from ${listening.from}`,
      );
    }
    listening.events.push(id);
  }
}
