import type { Announcement } from "../db/store.js";
import { broadcast } from "./hub.js";
import type { Live } from "./live.js";
import { sentAnnouncement } from "./shapes.js";

/** The longest time that a timer can wait, in milliseconds. */
const LONGEST_WAIT = 2 ** 31 - 1;

/** The announcements of a world that somebody is in. */
interface Told {
  /** As people were told of them last, by id. */
  readonly known: Map<string, Announcement>;
  /** Until the next one becomes invisible by itself. */
  timer?: NodeJS.Timeout;
}

/** Tells the people of a world what happens to its announcements. */
export class AnnouncementPushes {
  readonly #live: Live;
  readonly #told = new Map<string, Told>();

  constructor(live: Live) {
    this.#live = live;
  }

  close(): void {
    for (const { timer } of this.#told.values()) clearTimeout(timer);
  }

  /** Watches a world that somebody is in: its announcements become invisible by time. */
  async watch(world: string): Promise<void> {
    if (this.#told.has(world)) return;
    const told: Told = { known: new Map() };
    this.#told.set(world, told);
    const all = await this.#list(world);
    for (const each of all) told.known.set(each.id, each);
    this.#watch(world, all);
  }

  /** Nobody is in a world any more. */
  unwatch(world: string): void {
    clearTimeout(this.#told.get(world)?.timer);
    this.#told.delete(world);
  }

  /** An announcement was created or changed. */
  changed(world: string, id: string, wasVisible: boolean): void {
    this.#live.effects.inOrder(world, async () => {
      const all = await this.#list(world);
      const announcement = all.find((other) => other.id === id);
      if (announcement) this.#send(world, announcement, wasVisible);
      this.#watch(world, all);
    });
  }

  /** Tells people of announcements that are not as they were told last. */
  async compare(world: string): Promise<void> {
    const all = await this.#list(world);
    const known = this.#told.get(world)?.known;
    if (!known) return;
    for (const announcement of all) {
      const before = known.get(announcement.id);
      if (JSON.stringify(before) === JSON.stringify(announcement)) continue;
      this.#send(world, announcement, before?.state === "active");
    }
    this.#watch(world, all);
  }

  #list(world: string): Promise<Announcement[]> {
    return this.#live.store.announcements.list(world);
  }

  #send(world: string, announcement: Announcement, wasVisible: boolean): void {
    this.#told.get(world)?.known.set(announcement.id, announcement);
    const { is_visible, ...rest } = sentAnnouncement(announcement);
    if (!is_visible && !wasVisible) return;
    broadcast(
      this.#live.hub.in(world),
      "announcement.created_or_updated",
      wasVisible ? { ...rest, is_visible } : rest,
    );
  }

  #watch(world: string, all: readonly Announcement[]): void {
    const told = this.#told.get(world);
    if (!told) return;
    clearTimeout(told.timer);
    delete told.timer;
    const now = Date.now();
    const due = all.flatMap(({ state, show_until }) =>
      state === "active" && show_until !== null && show_until > now
        ? [show_until]
        : [],
    );
    if (due.length === 0) return;
    const next = Math.min(...due);
    told.timer = setTimeout(
      () => this.#expire(world, next),
      Math.min(next - now, LONGEST_WAIT),
    ).unref();
  }

  /** Tells everybody that announcements are over. */
  #expire(world: string, at: number): void {
    this.#live.effects.inOrder(world, async () => {
      const all = await this.#list(world);
      for (const announcement of all) {
        const { state, show_until } = announcement;
        if (state === "active" && show_until === at && at <= Date.now()) {
          this.#send(world, announcement, true);
        }
      }
      this.#watch(world, all);
    });
  }
}
