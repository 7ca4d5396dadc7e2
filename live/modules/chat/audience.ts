import type { ChatEvent } from "../../../db/contract/chat-store.js";
import type { UserRecord } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { PublicUser, SentEvent } from "../../../schemas/live/index.js";
import type { World } from "../../../schemas/worlds.js";
import { nothingSent, type SentCounts } from "../../delivery/outbox.js";
import type { SocketChunk as Given, PushPipeline } from "../../delivery/push.js";
import { Json, jsonOf, type Sendable } from "../../rules/encoding.js";
import type { LiveWorldState } from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import { textFrame } from "../../socket/frame.js";
import type { FlushQueue } from "../../socket/outgoing.js";
import { absentUser, sharedUser } from "../../rules/sent-users.js";

/** Ports of an audience. */
export interface AudiencePorts {
  readonly clock: Clock;
  readonly limits: { readonly maxUnsent: number };
  readonly flushQueue: FlushQueue;
  readonly pushes: PushPipeline;
}

/** Maximum number of users per channel for whom the last push is remembered. */
const MAX_INVOLVED = 5000;

/** Maximum number of users, and of responses with users, that are remembered as sent to one connection. */
const MAX_SENT_USERS = 2000;
const MAX_PAGES = 32;

const noReaders: readonly ReadonlySet<string>[] = [];

/** A logical clock: advances with each push or response that carries user data. */
let moment = 0;

/** A connection and its subscriptions. */
export class ChatSubscriber {
  /** The ids of the subscribed channels. */
  readonly channels = new Set<string>();
  /** Users pushed before this moment count as unknown. */
  #since = 0;
  /** Users sent in responses since the moment `#since`. The sets are shared with other subscribers. */
  #sent = noReaders;

  constructor(readonly connection: Connection) {}

  /** Makes every user count as unknown. */
  forget(): void {
    this.#since = ++moment;
    this.#sent = noReaders;
  }

  /** Records the users that a response carries. The set must not be modified afterwards. */
  markSent(users: ReadonlySet<string>): void {
    if (users.size === 0) return;
    const known = this.#sent.reduce((sum, { size }) => sum + size, 0);
    const isFull = known > MAX_SENT_USERS || this.#sent.length === MAX_PAGES;
    this.#sent = isFull ? [users] : [...this.#sent, users];
  }

  /** @param pushed the moment at which the user was last pushed to all subscribers of a channel; -1 for never. */
  knows(user: string, pushed: number): boolean {
    return pushed > this.#since || this.#sent.some((users) => users.has(user));
  }

  /** @param pushed the earliest moment in which any of several users was last pushed; Infinity for no users. */
  knowsAll(pushed: number): boolean {
    return pushed > this.#since;
  }
}

/** A connection's subscription to a channel. */
export class Subscription {
  /**
   * Events that arrived while the response to the subscription was being prepared; undefined if
   * pushes are not held.
   */
  #waiting: Framed[] | undefined = [];
  /** Only events with a higher id are pushed. */
  #since = 0;

  constructor(readonly listener: ChatSubscriber) {}

  /** Whether pushes are held. Held events may end up not being pushed at all. */
  get isHeld(): boolean {
    return this.#waiting !== undefined;
  }

  /** Holds pushes until the next {@link start}. */
  hold(): void {
    this.#waiting ??= [];
  }

  /** Pushes the held events that follow a given event, and stops holding later events. */
  start(since = this.#since): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    this.#since = since;
    waiting.sort((a, b) => a.id - b.id);
    for (const { id, frame } of waiting) {
      if (id > since) this.listener.connection.push(frame);
    }
  }

  /**
   * Returns the number of leading events that must not be pushed.
   * @param ids in ascending order.
   */
  skipped(ids: readonly number[]): number {
    if (this.#waiting || ids[0]! > this.#since) return 0;
    const first = ids.findIndex((id) => id > this.#since);
    return first < 0 ? ids.length : first;
  }

  /**
   * Returns the part of a piece to push now, or undefined if the piece is held.
   * @param skipped number of leading events to leave out.
   */
  take(piece: FrameBatch, skipped: number): Given | undefined {
    if (!this.#waiting) return piece.after(skipped);
    this.#waiting.push(...piece.frames.slice(skipped));
    return undefined;
  }
}

/** The subscribers of a channel in this process. */
export class ChatAudience {
  readonly subscriptions = new Map<Connection, Subscription>();
  /** The moment of each user's last push to all subscribers, in ascending order. */
  readonly #sent = new Map<string, number>();

  constructor(
    readonly channel: string,
    readonly isDirect: boolean,
  ) {}

  /**
   * Pushes events to the subscribers who may read them now. Each subscriber also receives the users
   * that it does not have yet.
   * @param events in the order of their ids.
   * @param only the sole recipient, instead of all subscribers.
   */
  async push(
    ports: AudiencePorts,
    state: LiveWorldState,
    events: readonly Pushed[],
    only?: Subscription,
  ): Promise<SentCounts> {
    // Two batches in one turn must not turn a subscriber into a slow reader.
    const most = ports.limits.maxUnsent / 4;
    let sent = nothingSent;
    for (const batch of batchesOf(events, state.world.value, ports.clock.date(), most)) {
      if (sent.total > 0) await ports.flushQueue.drained();
      const to = only ? [only.listener.connection] : [...this.subscriptions.keys()];
      const began = ++moment;
      const { total, each } = await this.#push(ports, state, batch, to);
      sent = { total: sent.total + total, each: sent.each + each };
      if (!only) this.#note(batch.involved, began);
    }
    return sent;
  }

  async #push(
    ports: AudiencePorts,
    state: LiveWorldState,
    batch: Batch,
    to: readonly Connection[],
  ): Promise<SentCounts> {
    const { ids, involved } = batch;
    const before = involved.map((user) => this.#sent.get(user) ?? -1);
    const earliest = Math.min(...before);
    return ports.pushes.walk(state, to, (connection, view) => {
      // The subscription may have ended since the walk began. A new subscription receives only
      // later events.
      const subscription = this.subscriptions.get(connection);
      if (!subscription) return undefined;
      const { listener } = subscription;
      const skipped = subscription.skipped(ids);
      // A subscriber that receives only part of the batch does not count as having the batch's
      // users.
      if (skipped > 0) listener.forget();
      if (skipped === ids.length) return undefined;
      if (!this.isDirect && !view.reads(this.channel)) {
        listener.forget();
        return undefined;
      }
      const admin = view.managesUsers;
      const isPart = skipped > 0 || subscription.isHeld;
      const piece = isPart ? batch.wholePiece(admin) : batch.pieceFor(admin, unknownTo(listener));
      return subscription.take(piece, skipped);
    });

    function unknownTo(listener: ChatSubscriber): string {
      if (listener.knowsAll(earliest)) return "";
      let unknown = "";
      for (let i = 0; i < involved.length; i++) {
        if (!listener.knows(involved[i]!, before[i]!)) unknown += String.fromCharCode(i);
      }
      return unknown;
    }
  }

  /**
   * Returns the moment at which a user was last pushed to a subscriber, for {@link
   * ChatSubscriber.knows}; -1 for never.
   */
  sentAt(user: string, by: Connection): number {
    const at = this.subscriptions.has(by) ? this.#sent.get(user) : undefined;
    return at ?? -1;
  }

  #note(users: readonly string[], at: number): void {
    for (const user of users) {
      this.#sent.delete(user);
      this.#sent.set(user, at);
    }
    for (const user of this.#sent.keys()) {
      if (this.#sent.size <= MAX_INVOLVED) break;
      this.#sent.delete(user);
    }
  }
}

/** Maximum size of a batch, in bytes, unless its only event is larger. */
const MAX_SIZE = 256 * 1024;

/**
 * Maximum number of pieces built from the same events. At the maximum, subscribers receive the
 * piece with all users.
 */
const MAX_PIECES = 64;

/** An event to push. */
export interface Pushed {
  readonly name: "chat.event" | "chat.event.reaction";
  readonly event: ChatEvent;
  /** The users that the push carries, by id. */
  readonly users: ReadonlyMap<string, UserRecord>;
}

/** The frame of an event. */
interface Framed {
  /** The id of the event; Infinity for a push that is not ordered by id. */
  readonly id: number;
  readonly frame: Buffer;
}

/** The frames of several events, for recipients who lack the same users. */
export class FrameBatch {
  readonly #joined = new Map<number, Given>();

  constructor(readonly frames: readonly Framed[]) {}

  /** Returns the frames after the skipped frames as one buffer, which recipients share. */
  after(skipped: number): Given {
    let joined = this.#joined.get(skipped);
    if (!joined) {
      const own = this.frames.slice(skipped).map(({ frame }) => frame);
      const bytes = own.length === 1 ? own[0]! : Buffer.concat(own);
      joined = { bytes, frames: own.length };
      this.#joined.set(skipped, joined);
    }
    return joined;
  }
}

/** An event, and its frame's text without the users. */
interface Text {
  readonly pushed: Pushed;
  readonly text: string;
}

function textOf(pushed: Pushed, world: World, now: number): string {
  const sent = sentEvent(pushed.event, (id) => {
    const user = pushed.users.get(id);
    return user && sharedUser(user, world, now, false);
  });
  return `["${pushed.name}",${jsonOf(sent).slice(0, -1)},"users":{`;
}

/**
 * Splits events into batches.
 * @param now in milliseconds since 1970.
 * @param most maximum size of a batch, in bytes, unless its only event is larger.
 */
function batchesOf(events: readonly Pushed[], world: World, now: number, most: number): Batch[] {
  const batches: Text[][] = [];
  let left = 0;
  for (const pushed of events) {
    const text = textOf(pushed, world, now);
    left -= text.length;
    if (left < 0) {
      batches.push([]);
      left = Math.min(MAX_SIZE, most) - text.length;
    }
    batches.at(-1)!.push({ pushed, text });
  }
  return batches.map((texts) => new Batch(texts, world, now));
}

/** Events that are pushed together, with a piece for each set of users that a subscriber lacks. */
export class Batch {
  /** The ids of the events. */
  readonly ids: readonly number[];
  /** The ids of all users involved in the events. */
  readonly involved: readonly string[];
  /** The indices of all users, as characters. */
  readonly #all: string;
  readonly #made = { others: new Map<string, FrameBatch>(), admins: new Map<string, FrameBatch>() };
  readonly #whole: { others?: FrameBatch; admins?: FrameBatch } = {};

  constructor(
    readonly texts: readonly Text[],
    readonly world: World,
    readonly now: number,
  ) {
    this.ids = texts.map(({ pushed: { name, event } }) =>
      name === "chat.event" ? event.id : Infinity,
    );
    const users = new Set(texts.flatMap(({ pushed }) => [...pushed.users.keys()]));
    this.involved = [...users];
    this.#all = String.fromCharCode(...this.involved.keys());
  }

  /**
   * Returns the frames of all events, with each user in the first frame that involves the user.
   * @param unknown the indices of the users to include, each as a character.
   */
  pieceFor(admin: boolean, unknown: string): FrameBatch {
    const made = admin ? this.#made.admins : this.#made.others;
    let piece = made.get(unknown);
    if (piece) return piece;
    if (made.size >= MAX_PIECES && unknown !== this.#all) {
      return this.pieceFor(admin, this.#all);
    }
    const places = [...unknown].map((place) => place.charCodeAt(0));
    const left = new Set(places.map((place) => this.involved[place]!));
    piece = this.#pieceOf(admin, () => left);
    made.set(unknown, piece);
    return piece;
  }

  /**
   * Returns the frames of all events. Each frame carries all users of its event, because a
   * recipient may not receive the preceding frames.
   */
  wholePiece(admin: boolean): FrameBatch {
    return (this.#whole[admin ? "admins" : "others"] ??= this.#pieceOf(
      admin,
      ({ users }) => new Set(users.keys()),
    ));
  }

  #pieceOf(admin: boolean, left: (pushed: Pushed) => Set<string>): FrameBatch {
    return new FrameBatch(
      this.texts.map(({ pushed, text }, i) => ({
        id: this.ids[i]!,
        frame: textFrame(`${text}${this.#usersOf(pushed, left(pushed), admin)}}}]`),
      })),
    );
  }

  /**
   * Encodes an event's users as JSON.
   * @param left the users to send; users included in the result are removed from this set.
   */
  #usersOf(pushed: Pushed, left: Set<string>, admin: boolean): string {
    const users: string[] = [];
    for (const [id, user] of pushed.users) {
      if (!left.delete(id)) continue;
      users.push(`"${id}":${sharedUser(user, this.world, this.now, admin).text}`);
    }
    return users.join();
  }
}

type Content = SentEvent["content"];

/**
 * Converts an event to the form that clients receive. A member event shows the user's current data.
 * @param userOf finds the public form of a user, without fields that only administrators see.
 */
export function sentEvent(
  event: ChatEvent,
  userOf: (id: string) => Sendable<PublicUser> | undefined,
): { readonly [K in keyof SentEvent]: Sendable<SentEvent[K]> } {
  const { id, channel, sender, timestamp, type, content, edited } = event;
  return {
    event_id: id,
    channel,
    sender,
    timestamp: new Date(timestamp).toISOString(),
    event_type: type,
    content:
      type === "channel.member" && sender !== null
        ? { ...(JSON.parse(content) as Content), user: userOf(sender) ?? absentUser(sender) }
        : new Json<Content>(content),
    edited: edited === null ? null : new Date(edited).toISOString(),
    replaces: event.replaces,
    // Encoded with `JSON.stringify` instead of `jsonOf`, because an event may have a thousand
    // reactions.
    reactions: new Json<SentEvent["reactions"]>(JSON.stringify(event.reactions)),
  };
}
