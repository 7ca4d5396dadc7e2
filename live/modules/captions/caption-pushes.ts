import type { Store } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { PushPipeline } from "../../delivery/push.js";
import type { UserRateLimits } from "../../people/user-rate-limits.js";
import type { Connection } from "../../socket/connection.js";
import type { EventOf } from "../../module.js";
import { rateLimited } from "../../rules/problems.js";
import { pushFrame } from "../../socket/frame.js";

/** Ports of captions. */
export interface CaptionPorts {
  readonly clock: Clock;
  readonly store: { readonly captions: Store["captions"] };
  readonly pushes: PushPipeline;
  readonly rates: UserRateLimits;
}

/** Maximum number of rooms to whose captions a connection may subscribe. */
const MAX_ROOMS = 100;

/** A connection's subscription to the captions of one room. */
interface Subscription {
  readonly lang: string;
  /**
   * The number of the last final line that the connection has received. Infinite until the first
   * lines are sent.
   */
  since: number;
}

/** Sends captions to the connections that subscribe to them. */
export class CaptionSubscriptions {
  readonly #ports: CaptionPorts;
  /** The subscriptions of each connection, by room. */
  readonly #own = new Map<Connection, Map<string, Subscription>>();
  /** The subscribed connections, by room and language. */
  readonly #among = new Map<string, Set<Connection>>();

  constructor(ports: CaptionPorts) {
    this.#ports = ports;
  }

  /**
   * Replaces a connection's subscription to a room, and sends the current captions.
   * @param lang undefined ends the subscription.
   * @throws {LiveError} if the connection has too many subscriptions.
   */
  set(connection: Connection, room: string, lang: string | undefined): void {
    const { world } = connection;
    const own = this.#own.get(connection) ?? new Map<string, Subscription>();
    const before = own.get(room);
    if (before?.lang === lang) return;
    if (before) this.#remove(connection, room, before);
    own.delete(room);
    if (lang === undefined) return;
    if (own.size >= MAX_ROOMS) throw rateLimited();
    const subscription = { lang, since: Infinity };
    this.#own.set(connection, own.set(room, subscription));
    const key = keyOf(world, room, lang);
    const among = this.#among.get(key) ?? new Set();
    this.#among.set(key, among.add(connection));
    this.#begin(connection, room, subscription);
  }

  /** Ends all subscriptions of a connection. */
  end(connection: Connection): void {
    for (const [room, subscription] of this.#own.get(connection) ?? []) {
      this.#remove(connection, room, subscription);
    }
    this.#own.delete(connection);
  }

  /** Sends a final line. */
  added({ world, room, lang, caption }: EventOf<"caption.added">): void {
    const { store, pushes } = this.#ports;
    const among = this.#among.get(keyOf(world, room, lang));
    if (!among) return;
    pushes.push(
      { world, among },
      async (send) => {
        const line = await store.captions.get(world, caption);
        if (!line) return;
        const frame = frameOf(room, lang, line.text, true);
        await send((connection, view) => {
          const own = this.#own.get(connection)?.get(room);
          return own && own.since < caption && view.sees(room) ? frame : undefined;
        });
      },
      { queue: room },
    );
  }

  /** Sends the lines that are not final yet: the latest ones, as often as a frequent change is sent. */
  heard({ world, room, langs }: EventOf<"caption.heard">): void {
    for (const lang of langs) this.#heard(world, room, lang);
  }

  #heard(world: string, room: string, lang: string): void {
    const { clock, store, pushes } = this.#ports;
    const among = this.#among.get(keyOf(world, room, lang));
    if (!among) return;
    pushes.push(
      { world, among },
      async (send) => {
        const now = await store.captions.now(world, room, lang, clock.date());
        if (!now?.text) return;
        const frame = frameOf(room, lang, now.text, false);
        await send((connection, view) => {
          const own = this.#own.get(connection)?.get(room);
          return own && own.since < Infinity && view.sees(room) ? frame : undefined;
        });
      },
      { queue: room, key: `caption ${lang}` },
    );
  }

  /**
   * Sends a new subscriber the last final line and the unfinished line that follows it, in order
   * with the other pushes.
   */
  #begin(connection: Connection, room: string, subscription: Subscription): void {
    const { clock, store, pushes } = this.#ports;
    const { world } = connection;
    const { lang } = subscription;
    pushes.push(
      { world, among: new Set([connection]) },
      async (send) => {
        const now = await store.captions.now(world, room, lang, clock.date());
        // The subscription has been replaced or ended in the meantime.
        if (this.#own.get(connection)?.get(room) !== subscription) return;
        subscription.since = now?.number ?? 0;
        const lines = [
          ...(now?.last ? [frameOf(room, lang, now.last, true)] : []),
          ...(now?.text ? [frameOf(room, lang, now.text, false)] : []),
        ];
        if (lines.length === 0) return;
        const frames = { bytes: Buffer.concat(lines), frames: lines.length };
        await send((_, view) => (view.sees(room) ? frames : undefined));
      },
      { queue: room },
    );
  }

  #remove(connection: Connection, room: string, { lang }: Subscription): void {
    const key = keyOf(connection.world, room, lang);
    const among = this.#among.get(key);
    if (among?.delete(connection) && among.size === 0) this.#among.delete(key);
  }
}

const keyOf = (world: string, room: string, lang: string): string => `${world} ${room} ${lang}`;

const frameOf = (room: string, lang: string, text: string, final: boolean): Buffer =>
  pushFrame("room.caption", { room, lang, text, final });
