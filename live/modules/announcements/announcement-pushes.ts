import type { Announcement } from "../../../db/contract/announcement-store.js";
import type { AnnouncementStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Entry } from "../../../db/log/entries.js";
import { isVisible } from "../../../schemas/plain/announcements.js";
import type { Pushes, Send } from "../../delivery/push.js";
import type { EntryHandlers } from "../../module.js";
import { mayInWorld } from "../../rules/rights.js";
import { sentAnnouncement } from "../../rules/shapes.js";
import { pushFrame } from "../../socket/frame.js";

/**
 * The longest time that a timer waits, in milliseconds. The clock of the machine may be set
 * meanwhile, and a machine that sleeps stops timers.
 */
const MAX_TIMER_MS = 10 * 60_000;

/** The ports of pushes about announcements. */
export interface AnnouncementPushPorts {
  readonly clock: Clock;
  readonly store: { readonly announcements: AnnouncementStore };
  readonly pushes: Pushes;
}

/** An announcement was created or changed. */
type Saved = Extract<Entry, { announcement: string }>;

/** The announcements of a world with connections. */
interface ActiveAnnouncements {
  /** The visible ones by id, as they were pushed last. */
  readonly known: Map<string, Announcement>;
  /** Rejects if they could not be read. */
  loaded: Promise<void>;
  /** All that expired up to this time were pushed. */
  until: number;
  /** Runs until the next one expires. */
  stopTimer: () => void;
}

/** Pushes changes of announcements to the users of a world. */
export class AnnouncementPushes {
  readonly #ports: AnnouncementPushPorts;
  readonly #active = new Map<string, ActiveAnnouncements>();

  /** The handlers of entries. */
  readonly handlers: EntryHandlers = {
    "announcement.created": (event) => this.#changed(event),
    "announcement.updated": (event) => this.#changed(event),
  };

  constructor(ports: AnnouncementPushPorts) {
    this.#ports = ports;
  }

  close(): void {
    for (const { stopTimer } of this.#active.values()) stopTimer();
  }

  /** Watches a world with connections: its announcements expire. */
  async watch(world: string): Promise<void> {
    let active = this.#active.get(world);
    if (!active) {
      active = {
        known: new Map(),
        loaded: Promise.resolve(),
        until: this.#ports.clock.date(),
        stopTimer: () => {},
      };
      this.#active.set(world, active);
      active.loaded = this.#load(world, active);
    }
    await active.loaded;
  }

  async #load(world: string, active: ActiveAnnouncements): Promise<void> {
    try {
      for (const each of await this.#list(world)) {
        // A push in the meantime is newer.
        if (!this.#isVisible(each) || active.known.has(each.id)) continue;
        active.known.set(each.id, each);
      }
      this.#watch(world);
    } catch (error) {
      if (this.#active.get(world) === active) this.#active.delete(world);
      throw error;
    }
  }

  /**
   * Notes what a login shows. The entry of an announcement may come here after that, and
   * even after its end.
   */
  shown(world: string, visible: readonly Announcement[]): void {
    const active = this.#active.get(world);
    if (!active) return;
    const unknown = visible.filter(({ id }) => !active.known.has(id));
    if (unknown.length === 0) return;
    for (const each of unknown) active.known.set(each.id, each);
    this.#watch(world);
  }

  /** The last connection left a world. */
  unwatch(world: string): void {
    this.#active.get(world)?.stopTimer();
    this.#active.delete(world);
  }

  #changed({ world, announcement: id, wasVisible, hidden }: Saved): void {
    this.#ports.pushes.push({ world }, async (send) => {
      const all = await this.#list(world);
      const announcement = all.find((other) => other.id === id);
      if (announcement) {
        await this.#sendChange(send, world, announcement, wasVisible, hidden);
      }
      this.#watch(world);
    });
  }

  #list(world: string): Promise<readonly Announcement[]> {
    return this.#ports.store.announcements.list(world);
  }

  async #sendChange(
    send: Send,
    world: string,
    announcement: Announcement,
    wasVisible: boolean,
    hidden?: Announcement,
  ): Promise<void> {
    const { id } = announcement;
    const known = this.#active.get(world)?.known;
    const name = "announcement.created_or_updated";
    if (this.#isVisible(announcement)) {
      const { is_visible, ...rest } = this.#sent(announcement);
      const data = wasVisible ? { ...rest, is_visible } : rest;
      await send(pushFrame(name, data));
      known?.set(id, announcement);
      return;
    }
    const shown = known?.get(id) ?? hidden;
    if (!shown) return;
    const frameOf = (present: Announcement) => pushFrame(name, this.#sent(present));
    // Only users who make announcements get texts written into it from now on.
    const whole = frameOf(announcement);
    const last = frameOf({ ...announcement, text: shown.text });
    await send(({ login }, { state }) =>
      mayInWorld(login!, "world.announce", state.world.value) ? whole : last,
    );
    known?.delete(id);
  }

  #watch(world: string): void {
    const active = this.#active.get(world);
    if (!active) return;
    active.stopTimer();
    const { clock } = this.#ports;
    const now = clock.date();
    // The clock may have been set back.
    active.until = Math.min(active.until, now);
    const due = [...active.known.values()].flatMap(({ state, show_until }) =>
      state === "active" && show_until !== null && show_until > active.until ? [show_until] : [],
    );
    if (due.length === 0) return;
    const wait = Math.max(0, Math.min(...due) - now);
    active.stopTimer = clock.after(Math.min(wait, MAX_TIMER_MS), () => this.#expire(world));
  }

  #isVisible(announcement: Announcement): boolean {
    return isVisible(announcement, this.#ports.clock.date());
  }

  #sent(announcement: Announcement) {
    return sentAnnouncement(announcement, this.#ports.clock.date());
  }

  /** Pushes expired announcements. */
  #expire(world: string): void {
    this.#ports.pushes.push({ world }, async (send) => {
      const all = await this.#list(world);
      const active = this.#active.get(world);
      if (!active) return;
      const now = this.#ports.clock.date();
      for (const announcement of all) {
        const { state, show_until } = announcement;
        if (state !== "active" || show_until === null) continue;
        if (show_until > active.until && show_until <= now) {
          await this.#sendChange(send, world, announcement, true);
        }
      }
      active.until = now;
      this.#watch(world);
    });
  }
}
