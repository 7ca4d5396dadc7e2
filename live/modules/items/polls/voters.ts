import { LRUCache } from "lru-cache";
import type { PollStore } from "../../../../db/contract/polls.js";

/** How many voters of all polls are remembered, and of how many polls. */
const MAX_VOTERS = 500_000;
const MAX_POLLS = 1000;

interface Known {
  readonly world: string;
  /** The last change of a ballot that is counted in. */
  readonly changed: number;
  /** The users who have a choice. */
  readonly users: Set<string>;
}

/** Who has voted in a poll. */
export interface Voted {
  /** The users who have a choice now. */
  readonly users: ReadonlySet<string>;
  /**
   * The users who voted or withdrew since the last time that somebody asked; all who ever did,
   * the first time.
   */
  readonly changed: ReadonlySet<string>;
}

const none: Voted = { users: new Set(), changed: new Set() };

/** Who has voted in which poll. Of a poll that was asked for before, only changes are read. */
export class Voters {
  readonly #store: PollStore;
  readonly #known = new LRUCache<string, Known>({
    max: MAX_POLLS,
    maxSize: MAX_VOTERS,
    // The largest poll is remembered in any case, instead of all others.
    sizeCalculation: ({ users }) => Math.min(users.size + 1, MAX_VOTERS),
  });

  constructor(store: PollStore) {
    this.#store = store;
  }

  /** Who has voted in a poll until now; nobody if there is no such poll. */
  async of(world: string, room: string, poll: string): Promise<Voted> {
    const known = this.#known.get(poll);
    const since = known?.changed ?? 0;
    const found = await this.#store.voters(world, room, poll, since);
    if (!found) {
      this.#known.delete(poll);
      return none;
    }
    const users = known?.users ?? new Set();
    for (const { id, voted } of found.users) {
      if (voted) users.add(id);
      else users.delete(id);
    }
    this.#known.set(poll, { world, changed: found.changed, users });
    return { users, changed: new Set(found.users.map(({ id }) => id)) };
  }

  /** The push that the last answer was for has failed, so the next one repeats it. */
  again(poll: string): void {
    this.#known.delete(poll);
  }

  /** Nobody is in a world any more. */
  forget(world: string): void {
    for (const [poll, known] of this.#known.entries()) {
      if (known.world === world) this.#known.delete(poll);
    }
  }
}
