import type { Clock } from "../../../db/runtime.js";
import type { SentRoom } from "../../../schemas/live/index.js";
import type { Outboxes } from "../../delivery/outbox.js";
import type { FrameFor, Piece, Pushes } from "../../delivery/push.js";
import type { Hub } from "../../people/hub.js";
import type { Counting, SentCrowds } from "../../rules/shapes.js";
import type { View } from "../../rules/world-state.js";
import { pushFrame } from "../../socket/frame.js";
import { TokenBucket } from "../../socket/pace.js";

type Crowd = SentRoom["users"];

/** Up to this number of people are few. */
const MAX_FEW_PEOPLE = 10;

/** Below this number of people, their count is exact. */
const EXACT_BELOW_PEOPLE = 100;

/** The crowds of a world are sent together, at most once in this time, in milliseconds. */
const PUSH_INTERVAL_MS = 250;

const wordFor = (count: number): Crowd =>
  count < 1 ? "none" : count <= MAX_FEW_PEOPLE ? "few" : "many";

/** A count that many people do not change with each step: of two digits. */
const roundedCount = (count: number): number =>
  count < EXACT_BELOW_PEOPLE ? count : Number(count.toPrecision(2));

/** The crowds of one world. */
interface Known {
  readonly words: CrowdBoard<Crowd>;
  readonly counts: CrowdBoard<number>;
  /** How many looks found nothing to send. */
  quiet: number;
  /** Numbers for the sent states; see {@link SentCrowds.changes}. */
  readonly changes: Record<Counting, number>;
  /** Whether crowds that become due are looked at anyway. */
  isLookedAt: boolean;
}

/** The ports of crowds. */
interface CrowdPorts {
  readonly clock: Clock;
  readonly hub: Hub;
  readonly outboxes: Outboxes;
  readonly pushes: Pushes;
  /** How many users are in a room of a world. */
  readonly countIn: (world: string, room: string) => number;
}

/** Pushes to the people of a world how many people its rooms have. */
export class Crowds {
  readonly #ports: CrowdPorts;
  readonly #worlds = new Map<string, Known>();
  #changes = 0;

  constructor(ports: CrowdPorts) {
    this.#ports = ports;
  }

  /** The crowds of a world. */
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

  /** A user entered or left a room. */
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
    if (!known.isLookedAt) this.#lookAt(world, known);
  }

  #lookAt(world: string, known: Known): void {
    known.isLookedAt = true;
    const look = () => this.#look(world, known);
    this.#ports.outboxes.at(world).later("crowds", look, { interval: PUSH_INTERVAL_MS });
  }

  /** Sends the crowds that are due, and looks again later. */
  #look(world: string, known: Known): void {
    const { words, counts, changes } = known;
    const countIn = (room: string) => this.#ports.countIn(world, room);
    const newWords = new Set(words.take(countIn));
    const newCounts = new Set([...counts.take(countIn), ...newWords]);
    // A word always comes with the count that belongs to it.
    for (const room of newWords) counts.set(room, countIn(room));
    if (newCounts.size > 0) {
      changes.counts = ++this.#changes;
      if (newWords.size > 0) changes.words = this.#changes;
      known.quiet = 0;
      this.#tell(world, known, newWords, newCounts);
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
    this.#lookAt(world, known);
  }

  #tell(
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

/** The frames for each connection as one piece, however many rooms changed. */
function piecesOf(
  frames: readonly ({ room: string } & Record<Counting, Buffer | undefined>)[],
): FrameFor {
  type Pieces = Map<View, Piece>;
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

/** How often the crowd of a room may change in a second, and how often at once. */
const CHANGES_PER_SECOND = 1;
const CHANGE_BURST = 4;

/** After how many milliseconds without a change every rate is full again. */
const FORGOTTEN = (CHANGE_BURST / CHANGES_PER_SECOND) * 1000;

/** The crowds that the rooms of a world show. A rate limits the changes of each room. */
class CrowdBoard<T> {
  /** The crowd that was sent last for each room. Empty rooms are not kept. */
  readonly #sent = new Map<string, T>();
  /** The rooms that show something else than was sent. */
  readonly #due = new Set<string>();
  /** How often each room may still change. */
  readonly #rates = new Map<string, TokenBucket>();
  readonly #clock: Clock;
  readonly #shownFor: (count: number) => T;

  /** @param shownFor gives the value to show for a number of people. */
  constructor(clock: Clock, shownFor: (count: number) => T) {
    this.#clock = clock;
    this.#shownFor = shownFor;
  }

  /** Whether nothing waits to be sent. */
  get isSettled(): boolean {
    return this.#due.size === 0;
  }

  /** Whether every room was empty when it was sent last. */
  get isEmpty(): boolean {
    return this.#sent.size === 0;
  }

  /** The crowd that was sent last for a room. */
  of(room: string): T {
    return this.#sent.get(room) ?? this.#shownFor(0);
  }

  /** So many people are in a room now. @returns whether something has to be sent. */
  changed(room: string, count: number): boolean {
    const isDue = this.#shownFor(count) !== this.of(room);
    if (isDue) this.#due.add(room);
    else this.#due.delete(room);
    return isDue;
  }

  /**
   * Takes the rooms for which something is sent now.
   * @param countIn how many people are in a room.
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

  /** So many people are sent for a room. */
  set(room: string, count: number): void {
    this.#due.delete(room);
    if (count < 1) this.#sent.delete(room);
    else this.#sent.set(room, this.#shownFor(count));
  }

  /** Every rate is full again. */
  forgetRates(): void {
    this.#rates.clear();
  }
}
