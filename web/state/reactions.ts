import { type Readable, writable } from "svelte/store";
import type { Live } from "../../client/index.js";
import type { reactions as known } from "../../schemas/live/rooms.js";
import { t } from "../i18n/index.js";
import { messageOf, type Session } from "./session.js";
import { sharing } from "./viewers.js";

export type Reaction = (typeof known)[number];

/** The reactions, in the order of the buttons. */
export const reactions = ["👏", "❤️", "👍", "🤣", "😮"] as const satisfies readonly Reaction[];

/** A floating reaction. */
export interface Particle {
  readonly id: number;
  readonly reaction: Reaction;
  /** Horizontal position, from 0 to 1. */
  readonly x: number;
  /** Start delay, in milliseconds, so that the reactions of one second do not rise in unison. */
  readonly delay: number;
}

/** Maximum number of floating reactions, so that a full hall does not slow down browsers. */
const MAX_PARTICLES = 30;

/** Duration for which a reaction floats, in milliseconds. */
export const FLOAT_MS = 2600;

/** Time over which a batch of reactions is spread, in milliseconds. The server sends a batch every second. */
const SPREAD_MS = 900;

/** Interval during which the server counts the same reaction by a user only once, in milliseconds. */
const REACTION_INTERVAL_MS = 2000;

/** Duration for which a count is shown, in milliseconds. */
const COUNT_MS = 6000;

/** A room's reactions: everyone's, and the user's own. */
export class Reactions {
  readonly #live: Live;
  readonly #room: string;
  readonly #particles = writable<readonly Particle[]>([]);
  readonly #counts = writable<ReadonlyMap<Reaction, number>>(new Map());
  readonly #resting = writable<ReadonlySet<Reaction>>(new Set());
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  /** The user's reactions that are already shown, and that the server will include in its counts. */
  readonly #own = new Map<Reaction, number>();
  readonly #end: () => void;
  #last = 0;

  readonly particles: Readable<readonly Particle[]> = this.#particles;
  /** Counts of the last few seconds, for users who prefer reduced motion. */
  readonly counts: Readable<ReadonlyMap<Reaction, number>> = this.#counts;
  /** The user's recent reactions, which the server would not count a second time yet. */
  readonly resting: Readable<ReadonlySet<Reaction>> = this.#resting;

  constructor(live: Live, room: string) {
    this.#live = live;
    this.#room = room;
    this.#end = live.on("room.reaction", (data) => {
      if (data.room === room) this.#pushed(data.reactions);
    });
  }

  /**
   * Sends a reaction, and shows it to the user immediately.
   * @throws {LiveError} if the server refuses the reaction.
   */
  async react(reaction: Reaction): Promise<void> {
    let isResting = false;
    this.#resting.subscribe((all) => (isResting = all.has(reaction)))();
    if (isResting) return;
    this.#resting.update((all) => new Set(all).add(reaction));
    this.#later(REACTION_INTERVAL_MS, () =>
      this.#resting.update((all) => {
        const others = new Set(all);
        others.delete(reaction);
        return others;
      }),
    );
    this.#change(this.#own, reaction, 1);
    this.#show(reaction, 1, 0);
    try {
      const payload = { room: this.#room, reaction };
      await this.#live.call("room.react", payload);
    } catch (error) {
      this.#own.delete(reaction);
      throw error;
    }
  }

  close(): void {
    this.#end();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #pushed(counts: Readonly<Record<string, number>>): void {
    for (const reaction of reactions) {
      const count = counts[reaction];
      if (typeof count !== "number" || !(count > 0)) continue;
      const own = Math.min(this.#own.get(reaction) ?? 0, count);
      if (own > 0) this.#change(this.#own, reaction, -own);
      if (count > own) this.#show(reaction, count - own, SPREAD_MS);
    }
  }

  #show(reaction: Reaction, count: number, spread: number): void {
    this.#count(reaction, count);
    this.#particles.update((now) => {
      const free = MAX_PARTICLES - now.length;
      // Leave half of the free slots for other reactions of the same second.
      const some = Math.min(count, Math.ceil(free / 2));
      const added = Array.from({ length: some }, () => ({
        id: ++this.#last,
        reaction,
        x: Math.random(),
        delay: Math.random() * spread,
      }));
      for (const { id, delay } of added) {
        this.#later(delay + FLOAT_MS, () =>
          this.#particles.update((all) => all.filter((it) => it.id !== id)),
        );
      }
      return [...now, ...added];
    });
  }

  #count(reaction: Reaction, count: number): void {
    const add = (n: number) =>
      this.#counts.update((before) => {
        const all = new Map(before);
        this.#change(all, reaction, n);
        return all;
      });
    add(count);
    this.#later(COUNT_MS, () => add(-count));
  }

  #change(counts: Map<Reaction, number>, reaction: Reaction, n: number): void {
    const count = (counts.get(reaction) ?? 0) + n;
    if (count > 0) counts.set(reaction, count);
    else counts.delete(reaction);
  }

  #later(delay: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, delay);
    this.#timers.add(timer);
  }
}

/** A room's reactions, shared by the reaction bar, the button and the animation. */
export const reactionsIn = sharing(
  (live, room) => new Reactions(live, room),
  (hall) => hall.close(),
);

/**
 * Sends a reaction for a button, and shows a refusal as a notice.
 * @returns the text to read aloud, or undefined if the server refused the reaction.
 */
export async function react(
  { notices }: Pick<Session, "notices">,
  hall: Reactions,
  reaction: Reaction,
): Promise<string | undefined> {
  try {
    await hall.react(reaction);
    return t("stage.reacted", { reaction });
  } catch (error) {
    notices.error(t("common.failed", { reason: messageOf(error) }));
    return undefined;
  }
}
