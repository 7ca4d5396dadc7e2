import type { Pushes } from "../../delivery/push.js";
import { nothingSent, Throttle } from "../../delivery/throttle.js";
import type { FastifyBaseLogger } from "fastify";
import type { Passes } from "../../delivery/passes.js";
import type { Replica } from "../../people/replica/replica.js";
import type { Clock } from "../../../db/log/clock.js";
import { isCount, isMapOf } from "../../../schemas/plain/shapes.js";
import { pushFrame } from "../../socket/frame.js";
import type { Topic } from "../../people/replica/topic.js";

/** How long reactions are collected before they are sent, in milliseconds. */
const TICK = 1000;

/** How long other processes can get reactions, in milliseconds. */
const KEPT = 2000;

/** A user counts once in this time for a room and an emoji, in milliseconds. */
const ONCE_IN = 2000;

/** The ports of reactions. */
export interface ReactionPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly replica: Replica;
  readonly passes: Passes;
  readonly pushes: Pushes;
}

/** How many of each reaction there were. */
type Counts = Record<string, number>;

/** Collects the reactions in each room, and sends them once a second. */
export class Reactions {
  readonly #ports: ReactionPorts;
  /** The last reactions in each room, for the other processes. */
  readonly #sent: Topic<Counts>;
  readonly #last = new Map<string, Counts>();
  readonly #collected = new Map<string, Map<string, number>>();
  readonly #ticks: Throttle;
  /** When each user last counted, by user, room and emoji. The oldest come first. */
  readonly #counted = new Map<string, number>();

  constructor(ports: ReactionPorts) {
    this.#ports = ports;
    this.#ticks = new Throttle(ports, { interval: TICK, collects: true });
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
    let counts = this.#collected.get(room);
    if (!counts) {
      this.#collected.set(room, (counts = new Map<string, number>()));
      const send = () => {
        this.#send(world, room);
        return nothingSent;
      };
      this.#ticks.add(room, room, { send });
    }
    counts.set(emoji, (counts.get(emoji) ?? 0) + 1);
  }

  #forget(now: number): void {
    for (const [key, at] of this.#counted) {
      if (now - at < ONCE_IN) return;
      this.#counted.delete(key);
    }
  }

  #send(world: string, room: string): void {
    const counts = this.#collected.get(room)!;
    this.#collected.delete(room);
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
    const frame = pushFrame("room.reaction", { room, reactions });
    // Reactions are over in a moment: they go with a pass, and are not repeated.
    this.#ports.pushes.push(
      { world, room },
      (send) => send((_, view) => (view.sees(room) ? frame : undefined)),
      { pace: "pass" },
    );
  }

  close(): void {
    this.#ticks.close();
  }
}
