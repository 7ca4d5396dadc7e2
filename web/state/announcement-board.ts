import { writable, type Readable } from "svelte/store";
import type { Live, SentAnnouncement } from "../../client/index.js";
import { messageOf } from "./session.js";

/** The state of the list of announcements. */
export interface Board {
  /** Newest first; undefined while loading. */
  readonly all: readonly SentAnnouncement[] | undefined;
  /** Why loading failed, or undefined if it did not fail. */
  readonly problem: string | undefined;
}

type State = SentAnnouncement["state"];

/** State transitions, which are one-way. */
const NEXT: Record<State, State | undefined> = {
  draft: "active",
  active: "archived",
  archived: undefined,
};

/** Returns an announcement's next state, or undefined if the current state is final. */
export const nextState = ({ state }: SentAnnouncement): State | undefined => NEXT[state];

/** A world's announcements, for editors. */
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

  /** Reloads the list. Responses on a connection arrive in order, so the last response is the newest. */
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
   * @param until when the announcement expires, in ISO 8601, or null if it never expires.
   */
  async create(text: string, until: string | null, state: "draft" | "active"): Promise<void> {
    await this.#live.call("announcement.create", { text, show_until: until, state });
    await this.refresh();
  }

  /** Updates an announcement. An announcement's state can only move forward. */
  async update(
    id: string,
    changes: { text?: string; show_until?: string | null; state?: State },
  ): Promise<void> {
    await this.#live.call("announcement.update", { id, ...changes });
    await this.refresh();
  }
}
