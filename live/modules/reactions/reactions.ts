import type { Effects } from "../../delivery/effects.js";
import type { Passes } from "../../delivery/passes.js";
import type { Hub } from "../../people/hub.js";
import type { WorldStates } from "../../rules/world-state.js";
import type { Replica } from "../../people/replica/replica.js";
import type { Clock } from "../../../db/log/clock.js";
import { isCount, isMapOf } from "../../../schemas/plain/shapes.js";
import { broadcast } from "../../people/hub.js";
import type { Topic } from "../../people/replica/topic.js";

/** How long reactions are collected before they are sent, in milliseconds. */
const TICK = 1000;

/** For how long other processes can learn of reactions, in milliseconds. */
const KEPT = 2000;

/** A user counts once in this time for a room and an emoji, in milliseconds. */
const ONCE_IN = 2000;

/** What reactions need. */
export interface ReactionPorts {
  readonly clock: Clock;
  readonly replica: Replica;
  readonly hub: Hub;
  readonly states: WorldStates;
  readonly effects: Effects;
  readonly passes: Passes;
}

/** How many of each reaction there were. */
type Counts = Record<string, number>;

interface Tick {
  readonly counts: Map<string, number>;
  readonly stop: () => void;
}

/** Collects the reactions in each room, and sends them once a second. */
export class Reactions {
  readonly #ports: ReactionPorts;
  /** The last reactions in each room, for the other processes. */
  readonly #sent: Topic<Counts>;
  readonly #last = new Map<string, Counts>();
  readonly #ticks = new Map<string, Tick>();
  /** When each user last counted, by user, room and emoji. The oldest come first. */
  readonly #counted = new Map<string, number>();

  constructor(ports: ReactionPorts) {
    this.#ports = ports;
    this.#sent = ports.replica.topic<Counts>({
      name: "reactions",
      delay: 0,
      isValue: isMapOf(isCount),
      put: ({ scope, key }, counts) => this.#deliver(scope, key, counts),
      gone: () => {},
    });
  }

  /** Counts a reaction, unless the same user sent the same one a moment ago. */
  add(world: string, room: string, user: string, emoji: string): void {
    const now = this.#ports.clock.now();
    this.#forget(now);
    const key = `${user} ${room} ${emoji}`;
    if (this.#counted.has(key)) return;
    this.#counted.set(key, now);
    let tick = this.#ticks.get(room);
    if (!tick) {
      const end = () => this.#end(world, room);
      tick = { counts: new Map(), stop: this.#ports.clock.after(TICK, end) };
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
    const reactions = Object.fromEntries(counts);
    this.#sent.put(world, room, reactions);
    this.#deliver(world, room, reactions);
    this.#last.set(room, reactions);
    this.#ports.clock.after(KEPT, () => {
      if (this.#last.get(room) !== reactions) return;
      this.#last.delete(room);
      this.#sent.delete(world, room);
    });
  }

  #deliver(world: string, room: string, reactions: Counts): void {
    const ports = this.#ports;
    const send = async () => {
      const connections = ports.hub.inRoom(world, room);
      if (connections.size === 0) return;
      await ports.passes.turn(room, connections.size);
      const state = await ports.states.get(world);
      if (!state?.room(room)) return;
      broadcast(
        connections,
        "room.reaction",
        { room, reactions },
        (connection) => connection.viewOf(state).sees(room),
      );
    };
    // Reactions are over in a moment, so a failed push is not repeated.
    ports.effects.inOrder(room, send, () => false);
  }

  close(): void {
    for (const { stop } of this.#ticks.values()) stop();
  }
}
