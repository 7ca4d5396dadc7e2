import { setImmediate } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { AnyEvent } from "../db/events.js";
import type { Announcement } from "../db/store.js";
import type { Connection, Login } from "./connection.js";
import { applyModeration, reasonToEnd, throwOut } from "./endings.js";
import { textFrame } from "./frame.js";
import { broadcast } from "./hub.js";
import type { Live } from "./live.js";
import { objectIn, ownUser, publicUser, sentAnnouncement } from "./shapes.js";
import { inSlices } from "./slices.js";
import type { View, WorldState } from "./world-state.js";

/**
 * Changes of a world are sent together, at most once in this time, in milliseconds.
 * A second full of changes is told four times then, the last one included.
 */
const COALESCED = 300;

/** The longest time that a timer can wait, in milliseconds. */
const LONGEST_WAIT = 2 ** 31 - 1;

/** How many frames of views are kept while they are sent. Each may be large. */
const FRAMES = 16;

/** How many users are compared with the store at a time. */
const USERS = 200;

/** A change of a world that is not sent yet. */
interface Pending {
  /** Whether users and announcements may have changed, too. */
  everything: boolean;
}

/** A world that somebody is in. */
interface Told {
  /** Where the schedule is, as people were told last; as JSON. */
  pretalx: string;
  /** Until the next announcement becomes invisible by itself. */
  timer?: NodeJS.Timeout;
}

/**
 * Tells people what changed. Every change comes here as an event, whether it was
 * made by REST, by a command or over a websocket, in this process or in another.
 */
export class Notifier {
  readonly #live: Live;
  readonly #pending = new Map<string, Pending>();
  readonly #told = new Map<string, Told>();
  readonly #unsubscribe: () => void;

  constructor(live: Live) {
    this.#live = live;
    this.#unsubscribe = live.events.subscribe((event) => this.#receive(event));
  }

  close(): void {
    this.#unsubscribe();
    for (const { timer } of this.#told.values()) clearTimeout(timer);
  }

  #receive(event: AnyEvent): void {
    const { states, hub } = this.#live;
    if (event.type === "live" || event.type === "process.ended") return;
    const { world, by } = event;
    switch (event.type) {
      case "world.created":
      case "world.deleted":
      case "world.updated":
      case "world.touched":
      case "room.created":
      case "room.opened":
      case "room.updated":
      case "room.scheduled":
      case "room.deleted":
      case "rooms.reordered":
        states.forget(world);
    }
    if (hub.in(world).size === 0) return;
    switch (event.type) {
      case "world.deleted":
      case "world.created":
      case "world.updated":
      case "room.created":
      case "room.updated":
      case "rooms.reordered":
        this.#refresh(world);
        break;
      case "world.touched":
        this.#refresh(world, true);
        break;
      case "room.opened":
        this.#opened(world, event.room);
        break;
      case "room.scheduled":
        this.#scheduled(world, event.room);
        break;
      case "room.deleted":
        this.#deleted(world, event.room);
        if (by === undefined) this.#refresh(world);
        break;
      case "user.updated":
        this.#userUpdated(world, event.user, by);
        break;
      case "user.moderated":
      case "user.erased":
        this.#compare(world, [...hub.of(world, event.user)]);
        break;
      case "announcement.created":
      case "announcement.updated":
        this.#announced(world, event.announcement, event.wasVisible);
    }
  }

  /** Does something with a world as it is, after everything that was asked for before. */
  #with(world: string, act: (state: WorldState) => Promise<void> | void): void {
    const live = this.#live;
    live.effects.inOrder(world, async () => {
      const state = await live.states.get(world);
      if (state) await act(state);
    });
  }

  /** Tells everybody of a world that it has changed, soon. */
  #refresh(world: string, everything = false): void {
    const pending = this.#pending.get(world);
    if (pending) {
      pending.everything ||= everything;
      return;
    }
    const next: Pending = { everything };
    this.#pending.set(world, next);
    setTimeout(() => {
      this.#pending.delete(world);
      this.#live.effects.inOrder(world, () =>
        this.#tell(world, next.everything),
      );
    }, COALESCED).unref();
  }

  async #tell(world: string, everything: boolean): Promise<void> {
    const live = this.#live;
    const state = await live.states.get(world);
    const connections = [...live.hub.in(world)];
    await withEach(connections, (connection, { identity }) => {
      const reason = reasonToEnd(identity, state?.world);
      if (reason) throwOut(connection, reason);
    });
    if (!state) return;
    if (everything) await this.#compareAll(world, connections);
    const changes = live.crowds.changes(world);
    const frames = new LRUCache<View, { text: string; frame: Buffer }>({
      max: FRAMES,
    });
    await withEach(connections, (connection) => {
      // A change since then is told next; nobody loses a room that came with it.
      const present = live.states.present(world);
      const view = live.viewOf(connection, present ?? state);
      if (present) this.#keepRights(connection, view);
      const text = view.json(changes, (room) => live.crowds.of(world, room));
      let sent = frames.get(view);
      if (sent?.text !== text) {
        sent = { text, frame: textFrame(`["world.updated",${text}]`) };
        frames.set(view, sent);
      }
      connection.push(sent.frame);
    });
    this.#tellSchedule(world, state);
    if (everything) await this.watch(world, true);
  }

  /** Takes a connection out of rooms that it may not see any more. */
  #keepRights(connection: Connection, view: View): void {
    const { hub } = this.#live;
    for (const id of [...connection.rooms]) {
      if (!view.sees(id)) this.#live.leaveRoom(connection, id);
      else hub.enter(connection, id, view.watches(id));
    }
    this.#live.chat.channels.keepRights(connection, view);
  }

  #tellSchedule(world: string, state: WorldState): void {
    const schedule = objectIn(state.world.value.config, "pretalx") ?? {};
    const pretalx = JSON.stringify(schedule);
    const told = this.#told.get(world);
    if (!told || told.pretalx === pretalx) return;
    told.pretalx = pretalx;
    broadcast(this.#live.hub.in(world), "world.schedule.updated", schedule);
  }

  #opened(world: string, id: string): void {
    this.#with(world, (state) => {
      const frames = new Map<string, Buffer>();
      return withEach([...this.#live.hub.in(world)], (connection) => {
        const room = this.#live.viewOf(connection, state).room(id);
        if (room === undefined) return;
        let frame = frames.get(room);
        if (!frame) {
          frame = textFrame(`["room.create",${room}]`);
          frames.set(room, frame);
        }
        connection.push(frame);
      });
    });
  }

  #scheduled(world: string, id: string): void {
    this.#with(world, (state) => {
      const room = state.room(id);
      if (!room) return;
      broadcast(
        this.#live.hub.inRoom(world, id),
        "room.schedule",
        { room: id, schedule_data: room.extras.schedule_data },
        (connection) => this.#live.viewOf(connection, state).sees(id),
      );
    });
  }

  #deleted(world: string, id: string): void {
    this.#live.effects.inOrder(world, async () => {
      const { hub } = this.#live;
      for (const connection of [...hub.inRoom(world, id)]) {
        this.#live.leaveRoom(connection, id);
      }
      broadcast(hub.in(world), "room.delete", { id });
    });
  }

  #userUpdated(world: string, id: string, by: string | undefined): void {
    this.#with(world, async (state) => {
      const user = await this.#live.store.users.get(world, id);
      if (!user) return;
      broadcast(
        this.#live.hub.of(world, id),
        "user.updated",
        // Only the user itself writes its client state.
        by === undefined
          ? publicUser(user, state.world.value)
          : ownUser(user, state.world.value),
        (connection) => connection.id !== by,
      );
    });
  }

  /** Compares the users of connections with the store, in slices. */
  async #compareAll(world: string, connections: Connection[]): Promise<void> {
    for (let i = 0; i < connections.length; i += USERS) {
      await this.#compareNow(world, connections.slice(i, i + USERS));
      await setImmediate();
    }
  }

  #compare(world: string, connections: Connection[]): void {
    this.#live.effects.inOrder(world, () =>
      this.#compareNow(world, connections),
    );
  }

  /** Makes connections of users who were banned, silenced or erased load everything again. */
  async #compareNow(world: string, connections: Connection[]): Promise<void> {
    const ids = [...new Set(connections.map(({ login }) => login!.user))];
    const users = await this.#live.store.users.getMany(world, ids);
    const byId = new Map(users.map((user) => [user.id, user]));
    for (const connection of connections) {
      applyModeration(connection, byId.get(connection.login!.user));
    }
  }

  #announced(world: string, id: string, wasVisible: boolean): void {
    this.#live.effects.inOrder(world, async () => {
      const all = await this.#live.store.announcements.list(world);
      const announcement = all.find((other) => other.id === id);
      if (announcement) this.#send(world, announcement, wasVisible);
      this.#watch(world, all);
    });
  }

  #send(world: string, announcement: Announcement, wasVisible: boolean): void {
    const { is_visible, ...rest } = sentAnnouncement(announcement);
    if (!is_visible && !wasVisible) return;
    broadcast(
      this.#live.hub.in(world),
      "announcement.created_or_updated",
      wasVisible ? { ...rest, is_visible } : rest,
    );
  }

  /** Nobody is in a world any more. */
  unwatch(world: string): void {
    clearTimeout(this.#told.get(world)?.timer);
    this.#told.delete(world);
  }

  /**
   * Watches a world that somebody is in: its announcements become invisible by time.
   * @param again also if it is watched already.
   */
  async watch(world: string, again = false): Promise<void> {
    if (this.#told.has(world) && !again) return;
    const found = await this.#live.store.worlds.get(world);
    if (!found) return;
    if (!this.#told.has(world)) {
      const pretalx = objectIn(found.value.config, "pretalx") ?? {};
      this.#told.set(world, { pretalx: JSON.stringify(pretalx) });
    }
    this.#watch(world, await this.#live.store.announcements.list(world));
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
      const all = await this.#live.store.announcements.list(world);
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

/** Does something with connections that are still logged in, and lets requests be served meanwhile. */
const withEach = (
  connections: readonly Connection[],
  act: (connection: Connection, login: Login) => void,
): Promise<void> =>
  inSlices(connections, (connection) => {
    const { ended, login } = connection;
    if (!ended && login) act(connection, login);
  });
