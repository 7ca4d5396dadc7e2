import type { Clock } from "../../../db/log/clock.js";
import type { Piece as Given, Pushes } from "../../delivery/push.js";
import { nothingSent, type Sent } from "../../delivery/outbox.js";
import type { WorldState } from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import type { Pump } from "../../socket/socket-writer.js";
import { type Batch, batchesOf, type Framed, type Piece, type Pushed } from "./batch.js";

/** The ports of an audience. */
export interface AudiencePorts {
  readonly clock: Clock;
  readonly limits: { readonly maxUnsent: number };
  readonly pump: Pump;
  readonly pushes: Pushes;
}

/** How many users of a channel are remembered as sent. */
const MAX_INVOLVED = 5000;

/** How many users of pages are remembered for one connection, and of how many pages. */
const MAX_TOLD = 2000;
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
  #told = noReaders;

  constructor(readonly connection: Connection) {}

  /** From now on, no user counts as sent. */
  forget(): void {
    this.#since = ++moment;
    this.#told = noReaders;
  }

  /** An answer carries these users. The set must not change any more. */
  tell(users: ReadonlySet<string>): void {
    if (users.size === 0) return;
    const known = this.#told.reduce((sum, { size }) => sum + size, 0);
    const isFull = known > MAX_TOLD || this.#told.length === MAX_PAGES;
    this.#told = isFull ? [users] : [...this.#told, users];
  }

  /** @param pushed the moment of the last push of a user to all subscribers of a channel; -1 for never. */
  knows(user: string, pushed: number): boolean {
    return pushed > this.#since || this.#told.some((users) => users.has(user));
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
  readonly #told = new Map<string, number>();

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
      if (sent.total > 0) await ports.pump.drained();
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
    const before = involved.map((user) => this.#told.get(user) ?? -1);
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
  toldOf(user: string, by: Connection): number {
    const at = this.subscriptions.has(by) ? this.#told.get(user) : undefined;
    return at ?? -1;
  }

  #note(users: readonly string[], at: number): void {
    for (const user of users) {
      this.#told.delete(user);
      this.#told.set(user, at);
    }
    for (const user of this.#told.keys()) {
      if (this.#told.size <= MAX_INVOLVED) break;
      this.#told.delete(user);
    }
  }
}
