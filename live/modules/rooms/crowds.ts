import type { Clock } from "../../../db/runtime.js";
import type { SentRoom } from "../../../schemas/live/index.js";
import type { Outboxes } from "../../delivery/outbox.js";
import type { FrameFor, SocketChunk, PushPipeline } from "../../delivery/push.js";
import type { Hub } from "../../people/hub.js";
import type { Counting, SentCrowds } from "../../rules/shapes.js";
import type { View } from "../../rules/world-state.js";
import { pushFrame } from "../../socket/frame.js";
import { TokenBucket } from "../../socket/pace.js";

type Crowd = SentRoom["users"];

/** Maximum number of people shown as `few`. */
const MAX_FEW_PEOPLE = 10;

/** Counts below this number are exact. */
const EXACT_BELOW_PEOPLE = 100;

/** Minimum interval between pushes of a world's crowds, in milliseconds. */
const PUSH_INTERVAL_MS = 250;

const wordFor = (count: number): Crowd =>
  count < 1 ? "none" : count <= MAX_FEW_PEOPLE ? "few" : "many";

/** Rounds large counts to two digits, so that they don't change with every single person. */
const roundedCount = (count: number): number =>
  count < EXACT_BELOW_PEOPLE ? count : Number(count.toPrecision(2));

/** The crowds of one world. */
interface Known {
  readonly words: CrowdBoard<Crowd>;
  readonly counts: CrowdBoard<number>;
  /** Number of consecutive checks that found nothing to send. */
  quiet: number;
  /** Change numbers of the sent states; see {@link SentCrowds.changes}. */
  readonly changes: Record<Counting, number>;
  /** Whether a check is already scheduled. */
  isLookedAt: boolean;
}

/** The ports of crowds. */
interface CrowdPorts {
  readonly clock: Clock;
  readonly hub: Hub;
  readonly outboxes: Outboxes;
  readonly pushes: PushPipeline;
  /** Returns the number of users in a room. */
  readonly countIn: (world: string, room: string) => number;
}

/** Pushes the number of people in each room to the people in a world. */
export class Crowds {
  readonly #ports: CrowdPorts;
  readonly #worlds = new Map<string, Known>();
  #changes = 0;

  constructor(ports: CrowdPorts) {
    this.#ports = ports;
  }

  /** Returns the crowds of a world. */
  in(world: string, counting: Counting): SentCrowds {
    const known = this.#worlds.get(world);
    return {
      counting,
      changes: known?.changes[counting] ?? 0,
      jsonOf: (room) => {
        const word = `"users":"${known?.words.of(room) ?? "none"}"`;
        return counting === "words" ? word : `${word},"count":${known?.counts.of(room) ?? 0}`;
      },
    };
  }

  /** Updates the crowd of a room that a user has entered or left. */
  changed(world: string, room: string): void {
    const { clock } = this.#ports;
    const known = this.#worlds.get(world) ?? {
      words: new CrowdBoard(clock, wordFor),
      counts: new CrowdBoard(clock, roundedCount),
      quiet: 0,
      changes: { words: 0, counts: 0 },
      isLookedAt: false,
    };
    const count = this.#ports.countIn(world, room);
    const isOtherWord = known.words.changed(room, count);
    const isOtherCount = known.counts.changed(room, count);
    if (!isOtherWord && !isOtherCount) return;
    this.#worlds.set(world, known);
    if (!known.isLookedAt) this.#inspect(world, known);
  }

  #inspect(world: string, known: Known): void {
    known.isLookedAt = true;
    const look = () => this.#look(world, known);
    this.#ports.outboxes.at(world).later("crowds", look, { interval: PUSH_INTERVAL_MS });
  }

  /** Sends the crowds that are due, and schedules the next check. */
  #look(world: string, known: Known): void {
    const { words, counts, changes } = known;
    const countIn = (room: string) => this.#ports.countIn(world, room);
    const newWords = new Set(words.take(countIn));
    const newCounts = new Set([...counts.take(countIn), ...newWords]);
    // A word is always sent with the matching count.
    for (const room of newWords) counts.set(room, countIn(room));
    if (newCounts.size > 0) {
      changes.counts = ++this.#changes;
      if (newWords.size > 0) changes.words = this.#changes;
      known.quiet = 0;
      this.#push(world, known, newWords, newCounts);
    } else if (
      words.isSettled &&
      counts.isSettled &&
      ++known.quiet >= FORGOTTEN / PUSH_INTERVAL_MS
    ) {
      known.isLookedAt = false;
      words.forgetRates();
      counts.forgetRates();
      if (words.isEmpty && counts.isEmpty) this.#worlds.delete(world);
      return;
    }
    this.#inspect(world, known);
  }

  #push(
    world: string,
    { words, counts }: Known,
    newWords: ReadonlySet<string>,
    newCounts: ReadonlySet<string>,
  ): void {
    const ports = this.#ports;
    if (ports.hub.in(world).size === 0) return;
    const frames = [...newCounts].map((room) => {
      const users = words.of(room);
      const count = counts.of(room);
      const frameOf = (data: object) => pushFrame("world.user_count_change", data);
      return {
        room,
        counts: frameOf({ room, users, count }),
        words: newWords.has(room) ? frameOf({ room, users }) : undefined,
      };
    });
    ports.pushes.push({ world }, (send) => send(piecesOf(frames)));
  }
}

/** Joins each connection's frames into one chunk, regardless of how many rooms changed. */
function piecesOf(
  frames: readonly ({ room: string } & Record<Counting, Buffer | undefined>)[],
): FrameFor {
  type Pieces = Map<View, SocketChunk>;
  const known = { words: new Map() as Pieces, counts: new Map() as Pieces };
  return ({ login }, view) => {
    const counting = login!.changes ? "counts" : "words";
    let seen = known[counting].get(view);
    if (!seen) {
      const own = frames.flatMap(({ room, [counting]: frame }) =>
        frame && view.sees(room) ? [frame] : [],
      );
      seen = { bytes: Buffer.concat(own), frames: own.length };
      known[counting].set(view, seen);
    }
    return seen.frames > 0 ? seen : undefined;
  };
}

/** Rate limit for changes to a room's crowd, per second, and its burst. */
const CHANGES_PER_SECOND = 1;
const CHANGE_BURST = 4;

/** Time without changes after which every rate limit has recovered, in milliseconds. */
const FORGOTTEN = (CHANGE_BURST / CHANGES_PER_SECOND) * 1000;

/** The crowd shown for each room in a world. Changes are rate-limited per room. */
class CrowdBoard<T> {
  /** The crowd last sent for each room. Empty rooms are not kept. */
  readonly #sent = new Map<string, T>();
  /** The rooms whose crowd has changed since it was last sent. */
  readonly #due = new Set<string>();
  /** The rate limit of each room. */
  readonly #rates = new Map<string, TokenBucket>();
  readonly #clock: Clock;
  readonly #shownFor: (count: number) => T;

  /** @param shownFor returns the value to show for a number of people. */
  constructor(clock: Clock, shownFor: (count: number) => T) {
    this.#clock = clock;
    this.#shownFor = shownFor;
  }

  /** Whether nothing is waiting to be sent. */
  get isSettled(): boolean {
    return this.#due.size === 0;
  }

  /** Whether every room was empty when its crowd was last sent. */
  get isEmpty(): boolean {
    return this.#sent.size === 0;
  }

  /** Returns the crowd last sent for a room. */
  of(room: string): T {
    return this.#sent.get(room) ?? this.#shownFor(0);
  }

  /**
   * Updates the number of people in a room.
   * @returns whether something has to be sent.
   */
  changed(room: string, count: number): boolean {
    const isDue = this.#shownFor(count) !== this.of(room);
    if (isDue) this.#due.add(room);
    else this.#due.delete(room);
    return isDue;
  }

  /**
   * Marks the due rooms that are within their rate limits as sent, and returns them.
   * @param countIn returns the number of people in a room.
   */
  take(countIn: (room: string) => number): string[] {
    return [...this.#due].filter((room) => {
      const rate =
        this.#rates.get(room) ?? new TokenBucket(CHANGES_PER_SECOND, CHANGE_BURST, this.#clock);
      this.#rates.set(room, rate);
      const isTaken = rate.take();
      if (isTaken) this.set(room, countIn(room));
      return isTaken;
    });
  }

  /** Records the number of people sent for a room. */
  set(room: string, count: number): void {
    this.#due.delete(room);
    if (count < 1) this.#sent.delete(room);
    else this.#sent.set(room, this.#shownFor(count));
  }

  /** Drops all rate limits. Call this only once all of them have recovered. */
  forgetRates(): void {
    this.#rates.clear();
  }
}
