import type { SentRoom } from "../schemas/live/index.js";
import { pushFrame } from "./frame.js";
import type { Live } from "./live.js";
import { inSlices } from "./slices.js";
import { TokenBucket } from "./token-bucket.js";
import type { View } from "./world-state.js";

type Crowd = SentRoom["users"];

/** Up to this number of people are few. */
const FEW = 10;

/** The words of a world are sent together, at most once in this time, in milliseconds. */
const INTERVAL = 250;

/** How often the word for a room may change in a second, and how often at once. */
const RATE = 1;
const BURST = 4;

/** After how many passes without a change every rate is full again. */
const FORGOTTEN = (BURST / RATE) * (1000 / INTERVAL);

const wordFor = (count: number): Crowd =>
  count < 1 ? "none" : count <= FEW ? "few" : "many";

/** The crowds of one world. */
interface Known {
  /** The words that were sent last. Empty rooms are not kept. */
  readonly words: Map<string, Crowd>;
  /** The rooms that have another word than the one that was sent. */
  readonly due: Set<string>;
  /** How often the word for each room may still change. */
  readonly rates: Map<string, TokenBucket>;
  /** How many passes had nothing to send. */
  quiet: number;
  /** What stands for the present words; see {@link Crowds.changes}. */
  changes: number;
  /** Until words may be sent again. */
  timer?: NodeJS.Timeout;
}

/** Tells the people of a world when a room gets empty, or few or many people. */
export class Crowds {
  readonly #live: Live;
  readonly #worlds = new Map<string, Known>();
  #changes = 0;

  constructor(live: Live) {
    this.#live = live;
  }

  /** A number that is another one whenever any word of a world has changed. */
  changes(world: string): number {
    return this.#worlds.get(world)?.changes ?? 0;
  }

  /** The word for a room, as it was sent last. */
  of(world: string, room: string): Crowd {
    return this.#worlds.get(world)?.words.get(room) ?? "none";
  }

  /** Somebody entered or left a room. */
  changed(world: string, room: string): void {
    const word = wordFor(this.#live.presence.countIn(world, room));
    let known = this.#worlds.get(world);
    if (word === this.of(world, room)) {
      known?.due.delete(room);
      return;
    }
    if (!known) {
      known = {
        words: new Map(),
        due: new Set(),
        rates: new Map(),
        quiet: 0,
        changes: 0,
      };
      this.#worlds.set(world, known);
    }
    known.due.add(room);
    if (!known.timer) this.#pass(world, known);
  }

  /** Sends the words that are due, and looks again later. */
  #pass(world: string, known: Known): void {
    const changed = this.#take(world, known);
    if (changed.size > 0) {
      known.changes = ++this.#changes;
      known.quiet = 0;
      this.#tell(world, changed);
    } else if (known.due.size === 0 && ++known.quiet >= FORGOTTEN) {
      delete known.timer;
      known.rates.clear();
      if (known.words.size === 0) this.#worlds.delete(world);
      return;
    }
    known.timer = setTimeout(() => this.#pass(world, known), INTERVAL).unref();
  }

  #take(world: string, { words, due, rates }: Known): Map<string, Crowd> {
    const changed = new Map<string, Crowd>();
    for (const room of due) {
      const rate = rates.get(room) ?? new TokenBucket(RATE, BURST);
      rates.set(room, rate);
      if (!rate.take()) continue;
      due.delete(room);
      const word = wordFor(this.#live.presence.countIn(world, room));
      if (word === "none") words.delete(room);
      else words.set(room, word);
      changed.set(room, word);
    }
    return changed;
  }

  #tell(world: string, changed: ReadonlyMap<string, Crowd>): void {
    const live = this.#live;
    if (live.hub.in(world).size === 0) return;
    live.effects.inOrder(world, async () => {
      const state = await live.states.get(world);
      if (!state) return;
      const frames = [...changed].map(([room, users]) => ({
        room,
        frame: pushFrame("world.user_count_change", { room, users }),
      }));
      // A connection gets all frames as one piece, however many rooms changed.
      const joined = new Map<View, { piece: Buffer; count: number }>();
      await inSlices([...live.hub.in(world)], (connection) => {
        if (connection.ended) return;
        const view = live.viewOf(connection, state);
        let seen = joined.get(view);
        if (!seen) {
          const own = frames.filter(({ room }) => view.sees(room));
          const piece = Buffer.concat(own.map(({ frame }) => frame));
          joined.set(view, (seen = { piece, count: own.length }));
        }
        if (seen.count > 0) connection.push(seen.piece, seen.count);
      });
    });
  }

  close(): void {
    for (const { timer } of this.#worlds.values()) clearTimeout(timer);
  }
}
