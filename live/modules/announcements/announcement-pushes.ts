import type { Announcement } from "../../../db/contract/announcement-store.js";
import type { AnnouncementStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Entry } from "../../../db/log/entries.js";
import { isVisible } from "../../../schemas/plain/announcements.js";
import type { PushPipeline, Send } from "../../delivery/push.js";
import type { EntryHandlers } from "../../module.js";
import { mayInWorld } from "../../rules/rights.js";
import { sentAnnouncement } from "../../rules/shapes.js";
import { pushFrame } from "../../socket/frame.js";

/**
 * Maximum duration of a timer, in milliseconds: the machine's clock may be changed while the timer
 * runs, and timers stop while the machine sleeps.
 */
const MAX_TIMER_MS = 10 * 60_000;

/** Ports of the announcement pushes. */
export interface AnnouncementPushPorts {
  readonly clock: Clock;
  readonly store: { readonly announcements: AnnouncementStore };
  readonly pushes: PushPipeline;
}

/** The entry of a created or changed announcement. */
type Saved = Extract<Entry, { announcement: string }>;

/** The announcements of a world that has connections. */
interface ActiveAnnouncements {
  /** The visible announcements by id, as last pushed. */
  readonly known: Map<string, Announcement>;
  /** Rejects if the announcements could not be read. */
  loaded: Promise<void>;
  /** Expiries up to this time have been pushed. */
  until: number;
  /** Stops the timer for the next expiry. */
  stopTimer: () => void;
}

/** Pushes announcement changes to the users in a world. */
export class AnnouncementPushes {
  readonly #ports: AnnouncementPushPorts;
  readonly #active = new Map<string, ActiveAnnouncements>();

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

  /** Starts watching a world that has connections, so that its announcements expire. */
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
        // An announcement that was pushed during the read is newer.
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
   * Records the announcements that a login shows. An announcement's entry may arrive only
   * afterwards, even after the announcement has expired.
   */
  shown(world: string, visible: readonly Announcement[]): void {
    const active = this.#active.get(world);
    if (!active) return;
    const unknown = visible.filter(({ id }) => !active.known.has(id));
    if (unknown.length === 0) return;
    for (const each of unknown) active.known.set(each.id, each);
    this.#watch(world);
  }

  /** Stops watching a world after its last connection has left. */
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
    // Text written after the announcement was hidden is only for users who may make announcements.
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
