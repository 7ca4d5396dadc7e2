import type { ChatEvent, ChatDelivery } from "../../../db/contract/chat-store.js";
import type { ChannelState } from "../../../schemas/live/index.js";
import { nothingSent, type SentCounts } from "../../delivery/outbox.js";
import type { ChannelContext, EntryHandlers, EventOf } from "../../module.js";
import type { Hub } from "../../people/hub.js";
import type { Presence } from "../../people/presence.js";
import type { Sendable } from "../../rules/encoding.js";
import { rateLimited } from "../../rules/problems.js";
import { hasModule, mayInRoom } from "../../rules/rights.js";
import type { View, LiveWorldState, WorldStates } from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import {
  ChatAudience,
  type AudiencePorts,
  ChatSubscriber,
  type Pushed,
  Subscription,
} from "./audience.js";
import { type MemberPorts, Members, usersIn } from "./chat-users.js";
import { fitting, readUsers } from "../../rules/sent-users.js";
import { Feed, type FeedPorts } from "./feed.js";

/** Maximum number of join events in a new direct channel. */
const MAX_CREATED = 200;

/** A channel's state as sent to a subscriber, with large values already encoded as JSON. */
type SentChannelState = { [K in keyof ChannelState]: Sendable<ChannelState[K]> };

/** The events that a returning subscriber missed, along with their users, and the ids of these users. */
interface Missed {
  readonly more: Partial<SentChannelState>;
  readonly sentUsers: ReadonlySet<string>;
}

/** The ports of channels. */
export interface ChannelPorts extends FeedPorts, AudiencePorts, MemberPorts {
  readonly store: FeedPorts["store"] & MemberPorts["store"];
  readonly limits: AudiencePorts["limits"];
  readonly hub: Hub;
  readonly presence: Presence;
  readonly states: WorldStates;
}

/** Receives each event in a channel once, in order, after the channel's subscribers have received it. */
interface Notices {
  delivered(state: LiveWorldState, delivery: ChatDelivery): Promise<void>;
}

/** The subscribers of channels, and the delivery of events to them in order. */
export class ChatChannels {
  readonly subscriptions = new Subscriptions();
  readonly #ports: ChannelPorts;
  readonly #notices: Notices;
  readonly feed: Feed;
  readonly #members: Members;
  /** Handles each entry after the feed has handled it. */
  readonly handlers: EntryHandlers;

  constructor(ports: ChannelPorts, notices: Notices) {
    this.#ports = ports;
    this.#notices = notices;
    this.feed = new Feed(ports, {
      prepare: (world, deliveries) => this.#prepare(world, deliveries),
      sizeOf: (channel) => this.sizeOf(channel),
    });
    this.#members = new Members(ports);
    const forgetMembers = () => this.#members.forget();
    this.handlers = {
      "chat.event": (event) => this.#left(event),
      "chat.reacted": (event) => this.#reacted(event),
      "room.deleted": ({ room }) => this.#empty(room),
      "chat.memberships": forgetMembers,
      "user.updated": forgetMembers,
      "user.moderated": forgetMembers,
      "user.erased": forgetMembers,
    };
  }

  /** Drops the state of a world that everyone has left, or whose history was lost. */
  forget(world: string): void {
    this.feed.forget(world);
    this.#members.forget();
  }

  /**
   * Subscribes a context's connection to the context's channel. A new subscriber is pushed every
   * event from `next_event_id` on, and no earlier event. A connection that is already subscribed
   * keeps receiving every event.
   * @param since the id of the last event that is not pushed; later events are pushed. By default,
   * pushes start now.
   * @param missed reads the events after the last one that the client has seen, up to `last`.
   * @throws {LiveError} `protocol.rate_limited` if the connection has too many subscriptions.
   */
  async subscribe(
    context: ChannelContext,
    since?: number,
    missed?: { after: number; read: (last: number) => Promise<Missed> },
  ): Promise<SentChannelState> {
    const { connection, channel, direct, room } = context;
    const { subscription, isNew } = this.subscriptions.add(
      connection,
      channel,
      direct !== undefined,
    );
    if (isNew && room) this.#note(connection, channel, "subscribe");
    // Events that this process delivers from here on wait until the subscription starts.
    const { world } = connection;
    const cursor = this.feed.cursorOf(world, channel);
    try {
      // Later entries have not been handled yet, so their events will still be delivered.
      const last = since ?? (await this.#lastOf(world, missed?.after));
      const state = await this.#stateOf(context, last);
      const found = await missed?.read(last);
      if (since !== undefined) {
        await this.#pushMissed(context, subscription, since, cursor);
      }
      const { listener } = subscription;
      listener.forget();
      if (found) listener.markSent(found.sentUsers);
      // An existing subscription must not miss any event, because its client need not fetch the
      // events that precede this response.
      subscription.start(isNew ? last : undefined);
      return { ...state, ...found?.more };
    } catch (error) {
      if (isNew) this.unsubscribe(connection, channel);
      else subscription.start();
      throw error;
    }
  }

  /**
   * Returns the id of the last event that this process has handled, or of the last one that the
   * client has seen, if another process has handled more and has pushed that event.
   */
  async #lastOf(world: string, seen = 0): Promise<number> {
    const last = this.feed.lastOf(world);
    if (seen <= last) return last;
    // After a restore, a client may have seen events that no longer exist.
    return seen <= (await this.#ports.store.chat.lastId(world)) ? seen : last;
  }

  /** Returns the number of connections in this process that are subscribed to a channel. */
  sizeOf(channel: string): number {
    return this.subscriptions.of(channel)?.subscriptions.size ?? 0;
  }

  async #stateOf(context: ChannelContext, last: number): Promise<SentChannelState> {
    const { connection, login, world, channel, room } = context;
    const state = { state: null, next_event_id: last + 1 };
    const reads = !room || mayInRoom(login, "chat.read", world.value, room.value);
    // A user may join a room without being allowed to read it.
    if (!reads) return { ...state, unread_pointer: 0, members: [] };
    const members = await this.#members.of(context);
    const found = await this.#ports.store.chat.channel(connection.world, channel);
    return { ...state, unread_pointer: found?.lastMessage ?? 0, members };
  }

  /** Pushes events that belong to a subscription but were delivered before it began. */
  async #pushMissed(
    { connection: { world }, channel }: ChannelContext,
    subscription: Subscription,
    since: number,
    cursor: number,
  ): Promise<void> {
    const ports = this.#ports;
    const state = await ports.states.get(world);
    if (!state) return;
    const selection = { after: since, limit: MAX_CREATED };
    const found = await ports.store.chat.events(world, channel, selection);
    const missed = found.filter(({ id }) => id <= cursor);
    const pushed = await this.#pushed("chat.event", state, missed);
    const audience = this.subscriptions.of(channel);
    await audience?.push(ports, state, pushed, subscription);
  }

  isSubscribed(connection: Connection, channel: string): boolean {
    return this.subscriptions.of(channel)?.subscriptions.has(connection) ?? false;
  }

  /** Ends a subscription. @returns whether the connection was subscribed. */
  unsubscribe(connection: Connection, channel: string): boolean {
    this.subscriptions.listener(connection).forget();
    const isDirect = this.subscriptions.of(channel)?.isDirect ?? false;
    const ended = this.subscriptions.remove(connection, channel);
    if (ended && !isDirect) this.#note(connection, channel, "unsubscribe");
    return ended;
  }

  #note({ world, id }: Connection, channel: string, what: "subscribe" | "unsubscribe"): void {
    this.#ports.presence.note(world, { do: what, connection: id, channel });
  }

  /** Drops the subscriptions of a connection that has ended. Presence is notified of ended connections separately. */
  leave(connection: Connection): void {
    this.subscriptions.leave(connection);
  }

  /** Ends a connection's subscriptions to rooms that the user may no longer see, or that have no chat. */
  keepRights(connection: Connection, view: View): void {
    for (const channel of this.subscriptions.channelsOf(connection)) {
      if (this.subscriptions.of(channel)?.isDirect) continue;
      const room = view.state.room(channel);
      const keeps = room && view.sees(channel) && hasModule(room, "chat.native");
      if (!keeps) this.unsubscribe(connection, channel);
    }
  }

  #reacted({ world, channel, event }: EventOf<"chat.reacted">) {
    if (!this.subscriptions.of(channel)) return;
    const people = this.#ports.hub.gathering(world);
    this.#ports.outboxes.at(channel).latest(`reactions ${event}`, {
      authors: [],
      size: () => this.sizeOf(channel),
      isOver: () => people?.isOver ?? true,
      send: () => this.#pushReactions(world, channel, event),
    });
  }

  /**
   * Ends the subscription of the connection through which a user left: the leave event is for the
   * other subscribers.
   */
  #left({ channel, delivery: { event }, by }: EventOf<"chat.event">): void {
    if (event.type !== "channel.member" || by.connection === undefined) return;
    const { membership } = JSON.parse(event.content) as { membership: string };
    if (membership !== "leave") return;
    const { subscriptions } = this.subscriptions.of(channel) ?? {};
    for (const connection of subscriptions?.keys() ?? []) {
      if (connection.id !== by.connection) continue;
      this.unsubscribe(connection, channel);
      break;
    }
  }

  /** Ends all subscriptions to a deleted channel. */
  #empty(channel: string): void {
    const { subscriptions } = this.subscriptions.of(channel) ?? {};
    for (const connection of [...(subscriptions?.keys() ?? [])]) {
      this.unsubscribe(connection, channel);
    }
  }

  async #prepare(
    world: string,
    deliveries: readonly ChatDelivery[],
  ): Promise<(() => Promise<unknown>)[]> {
    const ports = this.#ports;
    if (ports.hub.in(world).size === 0) return [];
    const state = await ports.states.get(world);
    if (!state) return [];
    const events = deliveries.map(({ event }) => event);
    const pushed = await this.#pushed("chat.event", state, events);
    const { channel } = events[0]!;
    return [
      async () => this.subscriptions.of(channel)?.push(ports, state, pushed),
      ...deliveries.map((delivery) => () => {
        this.feed.notices(channel, delivery.event.id);
        return this.#notices.delivered(state, delivery);
      }),
    ];
  }

  async #pushed(
    name: Pushed["name"],
    { world: { value: world } }: LiveWorldState,
    events: readonly ChatEvent[],
  ): Promise<Pushed[]> {
    const involved = events.map(usersIn);
    const ids = [...new Set(involved.flat())];
    const found = await readUsers(this.#ports, world.id, ids);
    return events.map((event, i) => {
      const inOrder = involved[i]!.flatMap((id) => found.get(id) ?? []);
      // Users who are left out here count as not yet sent.
      const shown = fitting(inOrder, world, this.#ports.clock.date());
      const users = new Map(shown.map((user) => [user.id, user]));
      return { name, event, users };
    });
  }

  async #pushReactions(world: string, channel: string, id: number): Promise<SentCounts> {
    const ports = this.#ports;
    const audience = this.subscriptions.of(channel);
    const state = audience && (await ports.states.get(world));
    const event = state && (await ports.store.chat.event(world, channel, id));
    if (!event) return nothingSent;
    const pushed = await this.#pushed("chat.event.reaction", state, [event]);
    return audience.push(ports, state, pushed);
  }
}

/** Maximum number of subscriptions per connection. */
const MAX_CHANNELS = 200;

/** Tracks which connections of this process are subscribed to which channels. */
export class Subscriptions {
  readonly #audiences = new Map<string, ChatAudience>();
  readonly #listeners = new Map<Connection, ChatSubscriber>();
  #count = 0;

  /** Number of subscriptions. */
  get count(): number {
    return this.#count;
  }

  /** Returns the subscribers of a channel; undefined if there are none. */
  of(channel: string): ChatAudience | undefined {
    return this.#audiences.get(channel);
  }

  /** Returns the channels that a connection is subscribed to. */
  channelsOf(connection: Connection): string[] {
    return [...(this.#listeners.get(connection)?.channels ?? [])];
  }

  /** Returns a connection's listener, and creates it if necessary. */
  listener(connection: Connection): ChatSubscriber {
    let listener = this.#listeners.get(connection);
    if (!listener) {
      listener = new ChatSubscriber(connection);
      if (!connection.ended) this.#listeners.set(connection, listener);
    }
    return listener;
  }

  /**
   * Subscribes a connection to a channel, or restarts its subscription. Pushes are held until the
   * subscription is started.
   * @returns the subscription, and whether it is new.
   * @throws {LiveError} if the connection has too many subscriptions.
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
      audience = new ChatAudience(channel, isDirect);
      this.#audiences.set(channel, audience);
    }
    audience.subscriptions.set(connection, subscription);
    listener.channels.add(channel);
    this.#count++;
    return { subscription, isNew: true };
  }

  /** Ends a subscription. @returns whether the connection was subscribed. */
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
