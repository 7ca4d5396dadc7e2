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
  /** Rejects if they could not be read. */
  loaded: Promise<void>;
  /** People were told of all that became invisible by itself up to this time. */
  until: number;
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
    let told = this.#told.get(world);
    if (!told) {
      told = { known: new Map(), loaded: Promise.resolve(), until: Date.now() };
      this.#told.set(world, told);
      told.loaded = this.#load(world, told);
    }
    await told.loaded;
  }

  async #load(world: string, told: Told): Promise<void> {
    try {
      for (const each of await this.#list(world)) {
        // What was told meanwhile is newer.
        if (!told.known.has(each.id)) told.known.set(each.id, each);
      }
      this.#watch(world);
    } catch (error) {
      if (this.#told.get(world) === told) this.#told.delete(world);
      throw error;
    }
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
      this.#watch(world);
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
    this.#watch(world);
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

  #watch(world: string): void {
    const told = this.#told.get(world);
    if (!told) return;
    clearTimeout(told.timer);
    delete told.timer;
    const due = [...told.known.values()].flatMap(({ state, show_until }) =>
      state === "active" && show_until !== null && show_until > told.until
        ? [show_until]
        : [],
    );
    if (due.length === 0) return;
    const wait = Math.max(0, Math.min(...due) - Date.now());
    told.timer = setTimeout(
      () => this.#expire(world),
      Math.min(wait, LONGEST_WAIT),
    ).unref();
  }

  /** Tells everybody that announcements are over. */
  #expire(world: string): void {
    this.#live.effects.inOrder(world, async () => {
      const all = await this.#list(world);
      const told = this.#told.get(world);
      if (!told) return;
      const now = Date.now();
      for (const announcement of all) {
        const { state, show_until } = announcement;
        if (state !== "active" || show_until === null) continue;
        if (show_until > told.until && show_until <= now) {
          this.#send(world, announcement, true);
        }
      }
      told.until = now;
      this.#watch(world);
    });
  }
}
