import { isCount, isId, isMapOf, isRecord } from "../schemas/plain/shapes.js";
import { broadcast } from "./hub.js";
import type { Live } from "./live.js";

/** How long reactions are collected before they are sent, in milliseconds. */
const TICK = 1000;

/** A user counts once in this time for a room and an emoji, in milliseconds. */
const ONCE_IN = 2000;

interface Tick {
  readonly counts: Map<string, number>;
  readonly timer: NodeJS.Timeout;
}

/** What processes tell each other: the reactions of a tick. */
interface Sent {
  world: string;
  room: string;
  reactions: Record<string, number>;
}

const isSent = isRecord({
  world: isId,
  room: isId,
  reactions: isMapOf(isCount),
});

const TOPIC = "reaction";

/** Collects the reactions in each room, and sends them once a second. */
export class Reactions {
  readonly #live: Live;
  readonly #ticks = new Map<string, Tick>();
  /** When each user last counted, by user, room and emoji. The oldest come first. */
  readonly #counted = new Map<string, number>();
  readonly #unsubscribe: () => void;

  constructor(live: Live) {
    this.#live = live;
    this.#unsubscribe = live.events.subscribe((event) => {
      if (event.type === "live" && event.topic === TOPIC) {
        if (isSent(event.data)) this.#deliver(event.data as Sent);
      }
    });
  }

  /** Counts a reaction, unless the same user sent the same one a moment ago. */
  add(world: string, room: string, user: string, emoji: string): void {
    const now = performance.now();
    this.#forget(now);
    const key = `${user} ${room} ${emoji}`;
    if (this.#counted.has(key)) return;
    this.#counted.set(key, now);
    let tick = this.#ticks.get(room);
    if (!tick) {
      const timer = setTimeout(() => this.#end(world, room), TICK).unref();
      tick = { counts: new Map(), timer };
      this.#ticks.set(room, tick);
    }
    tick.counts.set(emoji, (tick.counts.get(emoji) ?? 0) + 1);
  }

  #forget(now: number): void {
    for (const [key, at] of this.#counted) {
      if (now - at < ONCE_IN) return;
      this.#counted.delete(key);
    }
  }

  #end(world: string, room: string): void {
    const { counts } = this.#ticks.get(room)!;
    this.#ticks.delete(room);
    const data: Sent = { world, room, reactions: Object.fromEntries(counts) };
    this.#live.events.publish({ type: "live", topic: TOPIC, world, data });
  }

  #deliver({ world, room, reactions }: Sent): void {
    const live = this.#live;
    const send = async () => {
      const connections = live.hub.inRoom(world, room);
      if (connections.size === 0) return;
      await live.passes.turn(room, connections.size);
      const state = await live.states.get(world);
      if (!state?.room(room)) return;
      broadcast(
        connections,
        "room.reaction",
        { room, reactions },
        (connection) => live.viewOf(connection, state).sees(room),
      );
    };
    // Reactions are over in a moment, so a failed push is not repeated.
    live.effects.inOrder(room, send, () => false);
  }

  close(): void {
    this.#unsubscribe();
    for (const { timer } of this.#ticks.values()) clearTimeout(timer);
  }
}
