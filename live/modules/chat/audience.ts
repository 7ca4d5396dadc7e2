import type { ChatEvent } from "../../../db/contract/chat-store.js";
import type { UserRecord } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { PublicUser, SentEvent } from "../../../schemas/live/index.js";
import type { World } from "../../../schemas/worlds.js";
import { nothingSent, type Sent } from "../../delivery/outbox.js";
import type { Piece as Given, Pushes } from "../../delivery/push.js";
import { Json, jsonOf, type Sendable } from "../../rules/encoding.js";
import type { WorldState } from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import { textFrame } from "../../socket/frame.js";
import type { FlushQueue } from "../../socket/outgoing.js";
import { absentUser, sharedUser } from "./chat-users.js";

/** The ports of an audience. */
export interface AudiencePorts {
  readonly clock: Clock;
  readonly limits: { readonly maxUnsent: number };
  readonly flushQueue: FlushQueue;
  readonly pushes: Pushes;
}

/** How many users of a channel are remembered as sent. */
const MAX_INVOLVED = 5000;

/** How many users of pages are remembered for one connection, and of how many pages. */
const MAX_SENT_USERS = 2000;
const MAX_PAGES = 32;

const noReaders: readonly ReadonlySet<string>[] = [];

/** A logical clock: advances with each push or answer that carries user data. */
let moment = 0;

/** A connection with its subscriptions. */
export class Listener {
  /** The ids of the channels. */
  readonly channels = new Set<string>();
  /** The moment before which it counts as having no users. */
  #since = 0;
  /** The users that it got in answers since. Others share the sets. */
  #sent = noReaders;

  constructor(readonly connection: Connection) {}

  /** From now on, no user counts as sent. */
  forget(): void {
    this.#since = ++moment;
    this.#sent = noReaders;
  }

  /** An answer carries these users. The set must not change any more. */
  markSent(users: ReadonlySet<string>): void {
    if (users.size === 0) return;
    const known = this.#sent.reduce((sum, { size }) => sum + size, 0);
    const isFull = known > MAX_SENT_USERS || this.#sent.length === MAX_PAGES;
    this.#sent = isFull ? [users] : [...this.#sent, users];
  }

  /** @param pushed the moment of the last push of a user to all subscribers of a channel; -1 for never. */
  knows(user: string, pushed: number): boolean {
    return pushed > this.#since || this.#sent.some((users) => users.has(user));
  }

  /** @param pushed the earliest of the moments for several users; Infinity for no users. */
  knowsAll(pushed: number): boolean {
    return pushed > this.#since;
  }
}

/** A connection that listens to a channel. */
export class Subscription {
  /** The events that came while the answer to the subscription was made. */
  #waiting: Framed[] | undefined = [];
  /** The id of the last event that is not pushed. */
  #since = 0;

  constructor(readonly listener: Listener) {}

  /** Whether pushes wait. Some of them may then not be pushed at all. */
  get isHeld(): boolean {
    return this.#waiting !== undefined;
  }

  /** Begins again: pushes wait until {@link start}. */
  hold(): void {
    this.#waiting ??= [];
  }

  /** Pushes the events after an event, and all later ones. */
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
   * How many of some events it does not get, which are the first of them.
   * @param ids in ascending order.
   */
  skipped(ids: readonly number[]): number {
    if (this.#waiting || ids[0]! > this.#since) return 0;
    const first = ids.findIndex((id) => id > this.#since);
    return first < 0 ? ids.length : first;
  }

  /**
   * The part of a piece that its connection gets now; undefined if it waits.
   * @param skipped how many events of the piece it does not get.
   */
  take(piece: Piece, skipped: number): Given | undefined {
    if (!this.#waiting) return piece.after(skipped);
    this.#waiting.push(...piece.frames.slice(skipped));
    return undefined;
  }
}

/** The subscribers of a channel in this process. */
export class Audience {
  readonly subscriptions = new Map<Connection, Subscription>();
  /** The moment of the last push of each user to all subscribers; the latest comes last. */
  readonly #sent = new Map<string, number>();

  constructor(
    readonly channel: string,
    readonly isDirect: boolean,
  ) {}

  /**
   * Pushes events to subscribers who may read them now, each with the users that the
   * subscriber does not have yet.
   * @param events in the order of their ids.
   * @param only the receivers, instead of all.
   */
  async push(
    ports: AudiencePorts,
    state: WorldState,
    events: readonly Pushed[],
    only?: Subscription,
  ): Promise<Sent> {
    // Two batches in one turn must not make a subscriber a slow reader.
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
    state: WorldState,
    batch: Batch,
    to: readonly Connection[],
  ): Promise<Sent> {
    const { ids, involved } = batch;
    const before = involved.map((user) => this.#sent.get(user) ?? -1);
    const earliest = Math.min(...before);
    return ports.pushes.walk(state, to, (connection, view) => {
      // It may have ended since the pass began. A successor gets only later events.
      const subscription = this.subscriptions.get(connection);
      if (!subscription) return undefined;
      const { listener } = subscription;
      const skipped = subscription.skipped(ids);
      // A subscriber that gets only a part does not count as having its users, as others do.
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

    function unknownTo(listener: Listener): string {
      if (listener.knowsAll(earliest)) return "";
      let unknown = "";
      for (let i = 0; i < involved.length; i++) {
        if (!listener.knows(involved[i]!, before[i]!)) unknown += String.fromCharCode(i);
      }
      return unknown;
    }
  }

  /** When a subscriber got a user, as {@link Listener.knows} takes it. */
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

/** How many bytes one batch has at most, unless its only event has more. */
const MAX_SIZE = 256 * 1024;

/** How many pieces are made of the same events. A subscriber that needs another one gets the longest. */
const MAX_PIECES = 64;

/** An event that is pushed. */
export interface Pushed {
  readonly name: "chat.event" | "chat.event.reaction";
  readonly event: ChatEvent;
  /** The users that it carries, by id. */
  readonly users: ReadonlyMap<string, UserRecord>;
}

/** The frame of an event. */
interface Framed {
  /** The id of the event; Infinity for a push outside their order. */
  readonly id: number;
  readonly frame: Buffer;
}

/** The frames of some events, as some people get them. */
export class Piece {
  readonly #joined = new Map<number, Given>();

  constructor(readonly frames: readonly Framed[]) {}

  /** The frames but for the first, as one that all share. */
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

/** An event, and its frame without the users. */
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
 * Events in batches.
 * @param now in milliseconds since 1970.
 * @param most how many bytes one has at most, unless its only event has more.
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

/** Events that are pushed together: a piece for each set of users that a subscriber lacks. */
export class Batch {
  /** The ids of the events. */
  readonly ids: readonly number[];
  /** The ids of the users of all events. */
  readonly involved: readonly string[];
  /** The places of all users. */
  readonly #all: string;
  readonly #made = { others: new Map<string, Piece>(), admins: new Map<string, Piece>() };
  readonly #whole: { others?: Piece; admins?: Piece } = {};

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
   * The frames of all events, with each user in the first of them that involves it.
   * @param unknown a text with the place of each user that it carries, as a character.
   */
  pieceFor(admin: boolean, unknown: string): Piece {
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

  /** The frames of all events, each with all its users: a receiver may not get the frames before. */
  wholePiece(admin: boolean): Piece {
    return (this.#whole[admin ? "admins" : "others"] ??= this.#pieceOf(
      admin,
      ({ users }) => new Set(users.keys()),
    ));
  }

  #pieceOf(admin: boolean, left: (pushed: Pushed) => Set<string>): Piece {
    return new Piece(
      this.texts.map(({ pushed, text }, i) => ({
        id: this.ids[i]!,
        frame: textFrame(`${text}${this.#usersOf(pushed, left(pushed), admin)}}}]`),
      })),
    );
  }

  /**
   * The users of an event as JSON.
   * @param left the users to send; the ones in the result are removed.
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
 * An event as clients get it. A member event shows the user as they are now.
 * @param userOf finds the public form of a user, without what only administrators see.
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
    // There may be a thousand.
    reactions: new Json<SentEvent["reactions"]>(JSON.stringify(event.reactions)),
  };
}
