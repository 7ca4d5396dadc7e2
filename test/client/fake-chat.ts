import type { Test } from "tap";
import type { SentEvent } from "../../client/index.js";
import {
  agree,
  startFake,
  welcome,
  type Answer,
  type FakeServer,
  type Peer,
} from "./fake-server.js";

export const ADA = welcome["user.config"].id;
export const BEN = "3e7f8f0a-3f57-4c0c-9f0e-0d6f1a3e8c1b";

/** A user as others see them. */
export const person = (id: string) => ({
  id,
  profile: { display_name: id },
  pretalx_id: null,
  deleted: false,
  badges: [],
  inactive: false,
});

interface Payload {
  channel?: string;
  after?: number;
  before_id?: number;
  after_id?: number;
  count?: number;
  content?: Record<string, unknown>;
  replaces?: number;
}

/** The chat of a fake server: it keeps events and pushes them, and fails on demand. */
export class FakeChat {
  readonly events: SentEvent[] = [];
  readonly #subscriptions = new Map<Peer, Set<string>>();
  /** Takes a frame before the chat does; true if the chat shall ignore it. */
  intercept: (
    peer: Peer,
    name: string,
    id: unknown,
    payload: Payload,
  ) => boolean = () => false;

  /** The server's {@link Answer}. */
  readonly answer: Answer = (peer, frame) => {
    const [name, id, payload = {}] = frame as [string, unknown, Payload?];
    if (this.intercept(peer, name, id, payload)) return;
    const execute = this.#commands[name];
    if (!execute) return agree(peer, frame);
    const result = execute(peer, payload);
    peer.send(["success", id, result.answer]);
    if (result.event) this.push(result.event);
  };

  readonly #commands: Record<
    string,
    (peer: Peer, payload: Payload) => { answer: object; event?: SentEvent }
  > = {
    "chat.subscribe": (peer, { channel = "", after }) => {
      const mine = this.#subscriptions.get(peer) ?? new Set();
      this.#subscriptions.set(peer, mine.add(channel));
      return {
        answer: {
          ...this.state(),
          ...(after !== undefined && {
            ...this.#page(this.#after(channel, after).slice(0, 1000), "events"),
          }),
        },
      };
    },
    "chat.join": (peer, { channel = "" }) => {
      const mine = this.#subscriptions.get(peer) ?? new Set();
      this.#subscriptions.set(peer, mine.add(channel));
      return { answer: this.state() };
    },
    "chat.unsubscribe": (peer, { channel = "" }) => {
      this.#subscriptions.get(peer)?.delete(channel);
      return { answer: {} };
    },
    "chat.leave": (peer, { channel = "" }) => {
      this.#subscriptions.get(peer)?.delete(channel);
      return { answer: {} };
    },
    "chat.fetch": (_, { channel = "", before_id, after_id, count = 0 }) => {
      const page =
        after_id === undefined
          ? this.#of(channel)
              .filter((it) => it.event_id < before_id!)
              .slice(-count)
          : this.#after(channel, after_id).slice(0, count);
      return { answer: this.#page(page, "results") };
    },
    "chat.send": (_, { channel = "", content, replaces }) => {
      const event = this.store(channel, content, ADA, replaces);
      return { answer: { event }, event };
    },
  };

  /** How many connections are subscribed to a channel. */
  subscribers(channel: string): number {
    return [...this.#subscriptions].filter(
      ([peer, channels]) => peer.isOpen && channels.has(channel),
    ).length;
  }

  /** What a subscription is answered with. */
  state(): object {
    const next_event_id = (this.events.at(-1)?.event_id ?? 0) + 1;
    return { state: null, next_event_id, unread_pointer: 0, members: [] };
  }

  /** Keeps an event without a push. */
  store(
    channel: string,
    content: Record<string, unknown> = { type: "text", body: "Hello." },
    sender = BEN,
    replaces: number | null = null,
  ): SentEvent {
    const event: SentEvent = {
      event_id: this.events.length + 1,
      channel,
      sender,
      timestamp: "2026-01-01T00:00:00.000Z",
      event_type: "channel.message",
      content,
      edited: null,
      replaces,
      reactions: {},
    };
    this.events.push(event);
    return event;
  }

  /** Pushes an event to all who are subscribed. */
  push(event: SentEvent): void {
    const users = { [event.sender!]: person(event.sender!) };
    for (const [peer, channels] of this.#subscriptions) {
      if (!peer.isOpen || !channels.has(event.channel)) continue;
      peer.send(["chat.event", { ...event, users }]);
    }
  }

  /** Another user sends so many messages. */
  add(channel: string, count = 1): void {
    for (let i = 0; i < count; i++) this.push(this.store(channel));
  }

  #of(channel: string): SentEvent[] {
    return this.events.filter((it) => it.channel === channel);
  }

  #after(channel: string, id: number): SentEvent[] {
    return this.#of(channel).filter((it) => it.event_id > id);
  }

  #page(events: SentEvent[], key: "events" | "results"): object {
    const senders = events.map(({ sender }) => [sender, person(sender!)]);
    return {
      [key]: events.map((it) => ({ ...it, type: "chat.event" })),
      users: Object.fromEntries(senders) as object,
    };
  }
}

/** Starts a fake server with a chat. */
export async function startChat(
  t: Test,
): Promise<{ server: FakeServer; chat: FakeChat }> {
  const chat = new FakeChat();
  return { server: await startFake(t, chat.answer), chat };
}

/** The next events of an iteration. */
export async function take(
  events: AsyncIterator<SentEvent>,
  count: number,
): Promise<SentEvent[]> {
  const taken: SentEvent[] = [];
  while (taken.length < count) {
    const next = await events.next();
    if (next.done) throw new Error("The iteration has ended.");
    taken.push(next.value);
  }
  return taken;
}

/** The ids of the next events of an iteration. */
export const takeIds = async (
  events: AsyncIterator<SentEvent>,
  count: number,
): Promise<number[]> =>
  (await take(events, count)).map(({ event_id }) => event_id);
