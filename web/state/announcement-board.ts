import { writable, type Readable } from "svelte/store";
import type { Live, SentAnnouncement } from "../../client/index.js";
import { messageOf } from "./session.js";

/** The state of the list of announcements. */
export interface Board {
  /** The newest first; undefined while they are loaded. */
  readonly all: readonly SentAnnouncement[] | undefined;
  /** Why they cannot be read; undefined if they can. */
  readonly problem: string | undefined;
}

type State = SentAnnouncement["state"];

/** Which state follows which; there is no way back. */
const NEXT: Record<State, State | undefined> = {
  draft: "active",
  active: "archived",
  archived: undefined,
};

/** The state into which an announcement may be put next; undefined at the end. */
export const nextState = ({ state }: SentAnnouncement): State | undefined => NEXT[state];

/** All announcements of a world, for their editors. */
export class AnnouncementBoard implements Readable<Board> {
  readonly #live: Live;
  readonly #store = writable<Board>({ all: undefined, problem: undefined });
  readonly subscribe = this.#store.subscribe;
  readonly #ends: (() => void)[];

  constructor(live: Live) {
    this.#live = live;
    this.#ends = [
      live.on("announcement.created_or_updated", () => this.refresh()),
      live.on("authenticated", () => this.refresh()),
    ];
    void this.refresh();
  }

  close(): void {
    this.#ends.forEach((end) => end());
  }

  /** Reads them again. A connection answers in order, so the newest answer counts. */
  async refresh(): Promise<void> {
    try {
      const all = await this.#live.call("announcement.list");
      this.#store.set({ all: [...all].reverse(), problem: undefined });
    } catch (error) {
      this.#store.update(({ all }) => ({ all, problem: messageOf(error) }));
    }
  }

  /**
   * Creates an announcement.
   * @param until when it disappears, in ISO 8601; null for never.
   */
  async create(text: string, until: string | null, state: "draft" | "active"): Promise<void> {
    await this.#live.call("announcement.create", { text, show_until: until, state });
    await this.refresh();
  }

  /** Changes an announcement; a state only forward. */
  async update(
    id: string,
    changes: { text?: string; show_until?: string | null; state?: State },
  ): Promise<void> {
    await this.#live.call("announcement.update", { id, ...changes });
    await this.refresh();
  }
}
