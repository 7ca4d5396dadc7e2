import type { Clock } from "../../../db/runtime.js";
import type { Outboxes } from "../../delivery/outbox.js";
import type { PushPipeline } from "../../delivery/push.js";
import type { Snapshots } from "../../people/snapshots.js";
import { pushFrame } from "../../socket/frame.js";

/** Interval at which collected reactions are sent, in milliseconds. */
const FLUSH_INTERVAL_MS = 1000;

/**
 * Minimum time between two counted reactions by the same user with the same emoji in the same room,
 * in milliseconds.
 */
const REPEAT_INTERVAL_MS = 2000;

/** The ports of reactions. */
export interface ReactionPorts {
  readonly clock: Clock;
  readonly snapshots: Snapshots;
  readonly outboxes: Outboxes;
  readonly pushes: PushPipeline;
}

/** Number of reactions per emoji. */
type Counts = Readonly<Record<string, number>>;

/** Collects the reactions in each room, and sends them once a second. */
export class Reactions {
  readonly #ports: ReactionPorts;
  /** The reactions in each room since the world's last snapshot, by world. */
  readonly #unpublished = new Map<string, Record<string, Counts>>();
  readonly #collected = new Map<string, Map<string, number>>();
  /** The time of each user's last counted reaction, by user, room and emoji. The oldest come first. */
  readonly #counted = new Map<string, number>();

  constructor(ports: ReactionPorts) {
    this.#ports = ports;
    ports.snapshots.add({
      describe: (world) => this.#publish(world),
      changed: (world, _before, now) => {
        for (const [room, counts] of Object.entries(now?.reactions ?? {})) {
          this.#deliver(world, room, counts);
        }
      },
    });
  }

  /** Counts a reaction, unless the user sent the same reaction in this room a moment ago. */
  add(world: string, room: string, user: string, emoji: string): void {
    const now = this.#ports.clock.now();
    this.#forget(now);
    const key = `${user} ${room} ${emoji}`;
    if (this.#counted.has(key)) return;
    this.#counted.set(key, now);
    let counts = this.#collected.get(room);
    if (!counts) {
      this.#collected.set(room, (counts = new Map<string, number>()));
      const send = () => this.#send(world, room);
      const options = { interval: FLUSH_INTERVAL_MS, collects: true };
      this.#ports.outboxes.at(room).later("reactions", send, options);
    }
    counts.set(emoji, (counts.get(emoji) ?? 0) + 1);
  }

  #forget(now: number): void {
    for (const [key, at] of this.#counted) {
      if (now - at < REPEAT_INTERVAL_MS) return;
      this.#counted.delete(key);
    }
  }

  #send(world: string, room: string): void {
    const counts = this.#collected.get(room)!;
    this.#collected.delete(room);
    const reactions = Object.fromEntries(counts);
    this.#deliver(world, room, reactions);
    const { snapshots } = this.#ports;
    if (snapshots.isAlone) return;
    const rooms = this.#unpublished.get(world) ?? {};
    this.#unpublished.set(world, { ...rooms, [room]: added(rooms[room], reactions) });
    snapshots.changed(world);
  }

  #publish(world: string): { reactions: Record<string, Counts> } {
    const reactions = this.#unpublished.get(world) ?? {};
    this.#unpublished.delete(world);
    return { reactions };
  }

  #deliver(world: string, room: string, reactions: Counts): void {
    const frame = pushFrame("room.reaction", { room, reactions });
    // Reactions are short-lived: they are sent with the next flush, and are not retried.
    this.#ports.pushes.push(
      { world, room },
      (send) => send((_, view) => (view.sees(room) ? frame : undefined)),
      { isBrief: true },
    );
  }
}

function added(one: Counts = {}, other: Counts): Counts {
  const sum = { ...one };
  for (const [emoji, count] of Object.entries(other)) sum[emoji] = (sum[emoji] ?? 0) + count;
  return sum;
}
