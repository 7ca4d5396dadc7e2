import { LRUCache } from "lru-cache";
import type { MovedFavorite, Program, ProgramStore } from "../../../db/contract/program-store.js";
import {
  programVersion,
  type ProgramReader,
  seenProgram,
  viewKey,
} from "../../../db/rules/program-views.js";
import type { Clock } from "../../../db/runtime.js";
import type { SentProgram } from "../../../schemas/live/index.js";
import { overrunOf } from "../../../schemas/plain/program.js";
import { isTimezone } from "../../../schemas/plain/times.js";
import type { World } from "../../../schemas/worlds.js";
import type { Authors, Outboxes } from "../../delivery/outbox.js";
import type { PushPipeline, Send } from "../../delivery/push.js";
import type { EntryHandlers } from "../../module.js";
import type { Hub } from "../../people/hub.js";
import { mayInWorld } from "../../rules/rights.js";
import { objectIn } from "../../rules/shapes.js";
import { oncePer } from "../../rules/shared-reads.js";
import {
  nextSessionChange,
  type CurrentSessions,
  currentSessionsOf,
  type View,
  type WorldStates,
} from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import { pushFrame } from "../../socket/frame.js";

/** Minimum interval between pushes of program changes, in milliseconds. */
const PUSH_INTERVAL_MS = 300;

/** Ports of the program pushes. */
export interface ProgramPushPorts {
  readonly outboxes: Outboxes;
  readonly clock: Clock;
  readonly hub: Hub;
  readonly store: { readonly program: ProgramStore };
  readonly states: WorldStates;
  readonly pushes: PushPipeline;
}

/** Notifies users of changes to their favorites and to the parts of the program that they see. */
export class ProgramPushes {
  readonly #ports: ProgramPushPorts;
  /** The version last sent to each connection. */
  readonly #pushed = new WeakMap<Connection, string>();

  readonly handlers: EntryHandlers;

  /** @param onChange called after each entry that may change which sessions are current. */
  constructor(ports: ProgramPushPorts, onChange: (world: string) => void) {
    this.#ports = ports;
    const changed = ({ world }: { world: string }) => {
      onChange(world);
      this.#changed(world);
    };
    // Rules, moderation and event dates affect versions, but not which sessions are current.
    const seen = ({ world }: { world: string }) => this.#changed(world);
    this.handlers = {
      "session.created": changed,
      "session.updated": changed,
      "session.deleted": changed,
      "speaker.created": changed,
      "speaker.updated": changed,
      "speaker.deleted": changed,
      "program.imported": changed,
      "room.deleted": changed,
      "room.created": seen,
      "room.opened": seen,
      "room.updated": seen,
      "world.updated": seen,
      "user.moderated": seen,
      "user.erased": seen,
      "program.favored": ({ world, user, by }) => this.#favored(world, user, by.connection),
    };
  }

  /**
   * Records the version that a connection sees.
   * @returns whether the version differs from the version that the connection knows.
   */
  note(connection: Connection, view: View, program: Program): boolean {
    const version = reads(view) ? versionFor(view, program) : "";
    if (this.#pushed.get(connection) === version) return false;
    this.#pushed.set(connection, version);
    return version !== "";
  }

  #changed(world: string): void {
    const { outboxes, pushes } = this.#ports;
    const push = () => pushes.push({ world }, (send) => this.#push(world, send));
    outboxes.at(world).later("program", push, { interval: PUSH_INTERVAL_MS, collects: true });
  }

  async #push(world: string, send: Send): Promise<void> {
    const program = await this.#ports.store.program.get(world);
    const frames = new Map<string, Buffer>();
    await send((connection, view) => {
      if (!this.note(connection, view, program)) return undefined;
      const version = versionFor(view, program);
      let frame = frames.get(version);
      if (!frame) {
        frame = pushFrame("program.updated", { version });
        frames.set(version, frame);
      }
      return frame;
    });
  }

  /** @param by the id of the connection that made the change and therefore already knows the new list. */
  #favored(world: string, user: string, by: string | undefined): void {
    const { hub, pushes } = this.#ports;
    const connections = [...hub.of(world, user)];
    if (connections.every(({ id }) => id === by)) return;
    pushes.push(
      { world, user },
      (send, authors) => this.#pushFavorites(world, user, authors, send),
      { queue: world, key: `favorites ${user}`, authors: [by ?? ""] },
    );
  }

  async #pushFavorites(world: string, user: string, authors: Authors, send: Send): Promise<void> {
    const { program: store } = this.#ports.store;
    const program = await store.get(world);
    const marked = await store.favorites(world, user);
    // A single author already knows the list. If there are several authors, each has changed the
    // list that the other authors know.
    const isKnown = (id: string) => authors.size === 1 && authors.has(id);
    await send((connection, view) => {
      if (isKnown(connection.id) || !reads(view)) return undefined;
      const seen = sessionsFor(view, program);
      const favorites = marked.filter((id) => seen.has(id));
      return pushFrame("program.favorites", { favorites });
    });
  }
}

/** Returns the favorites that have moved, as a view's users see them. */
export function sentMoved(
  moved: readonly MovedFavorite[],
  view: View,
  seen: ReadonlySet<string>,
): NonNullable<SentProgram["moved"]> {
  return moved.flatMap(({ session, starts_at, room_id }) => {
    if (!seen.has(session)) return [];
    const room = room_id !== null && view.sees(room_id) ? room_id : null;
    return [{ session, starts_at: new Date(starts_at).toISOString(), room_id: room }];
  });
}

/** Number of cached encodings per program. Each encoding may be large. */
const KEPT_VIEWS = 16;

/** Returns the rights that a view's users have on a program. */
const readerOf = oncePer((view: View): ProgramReader => ({
  edits: mayInWorld(view.who, "program.update", view.state.world.value),
  seesRoom: (id) => view.sees(id),
}));

/** Whether a view's users may read the program. */
export const reads = (view: View): boolean =>
  mayInWorld(view.who, "program.read", view.state.world.value);

/** The event's dates and time zone, which are sent with every program. */
const eventOf = oncePer(({ config }: World) => ({
  event: objectIn(config, "event") ?? null,
  timezone: zoneOf(config),
  ...(overrunOf(config.overrun_minutes) !== overrunOf(undefined) && {
    overrun_minutes: config.overrun_minutes,
  }),
}));

function zoneOf({ timezone }: World["config"]): string {
  const isKnown = typeof timezone === "string" && isTimezone(timezone);
  return isKnown ? timezone : "UTC";
}

/** Cached program versions for a view's users, by program. */
const versionsOf = oncePer((_: View) => new WeakMap<Program, string>());

/** Returns the version of a program for a view's users. */
export function versionFor(view: View, program: Program): string {
  const known = versionsOf(view);
  let version = known.get(program);
  if (version === undefined) {
    const event = eventOf(view.state.world.value);
    version = programVersion(program, readerOf(view), event);
    known.set(program, version);
  }
  return version;
}

/** The cached ids of the sessions that a view's users see, by program. */
const sessionsOf = oncePer((_: View) => new WeakMap<Program, ReadonlySet<string>>());

/** Returns the ids of the sessions that a view's users see. */
export function sessionsFor(view: View, program: Program): ReadonlySet<string> {
  const known = sessionsOf(view);
  let ids = known.get(program);
  if (!ids) {
    const { sessions } = seenProgram(program, readerOf(view));
    ids = new Set(sessions.map(({ value }) => value.id));
    known.set(program, ids);
  }
  return ids;
}

/** Cached encodings of a program, by the part of the program that is visible. */
const encodedOf = oncePer((_: Program) => new LRUCache<string, Buffer>({ max: KEPT_VIEWS }));

/**
 * Returns the program as a view's users see it: the fields of a JSON object in UTF-8, without
 * braces. Users who see the same program share the buffer: do not modify it.
 */
export function encodedFor(view: View, program: Program): Buffer {
  const reader = readerOf(view);
  const event = eventOf(view.state.world.value);
  const key = `${JSON.stringify(event)} ${viewKey(program, reader)}`;
  const encoded = encodedOf(program);
  let bytes = encoded.get(key);
  if (!bytes) {
    const { sessions, speakers } = seenProgram(program, reader);
    const listOf = (list: readonly { json: string }[]) =>
      `[${list.map(({ json }) => json).join()}]`;
    bytes = Buffer.from(
      `${JSON.stringify(event).slice(1, -1)},"sessions":${listOf(sessions)},"speakers":${listOf(speakers)}`,
    );
    encoded.set(key, bytes);
  }
  return bytes;
}

/** Maximum duration of a timer, in milliseconds: the machine's clock may be changed while the timer runs. */
const MAX_TIMER_MS = 10 * 60 * 1000;

/** Ports of the timer for current sessions. */
export interface StageTimerPorts {
  readonly clock: Clock;
  readonly store: { readonly program: ProgramStore };
  readonly pushes: PushPipeline;
  /** Notifies the people in a world that a room's current session has changed. */
  readonly scheduled: (world: string, room: string) => void;
}

/** A world that has connections. */
interface Watched {
  /** The program, as last read. */
  program: Program | undefined;
  /** Whether a check is pending. */
  looks: boolean;
  /** The current sessions of the world's rooms, as last pushed. */
  stages: CurrentSessions;
  /** The rooms for which a login showed a session that differs from the session last pushed. */
  readonly doubted: Set<string>;
  /** Rejects if the program could not be read. */
  loaded: Promise<void>;
  stopTimer: () => void;
}

/** Returns the rooms of all arguments, without duplicates. */
const roomsOf = (...all: { keys(): Iterable<string> }[]) =>
  new Set(all.flatMap((each) => [...each.keys()]));

/** Detects when sessions begin and end. Each world that has connections has one timer. */
export class SessionTimer {
  readonly #ports: StageTimerPorts;
  readonly #watched = new Map<string, Watched>();

  constructor(ports: StageTimerPorts) {
    this.#ports = ports;
  }

  close(): void {
    for (const { stopTimer } of this.#watched.values()) stopTimer();
  }

  /** Starts watching a world when its first connection logs in. */
  async watch(world: string): Promise<void> {
    let watched = this.#watched.get(world);
    if (!watched) {
      watched = {
        program: undefined,
        looks: false,
        stages: new Map(),
        doubted: new Set(),
        loaded: Promise.resolve(),
        stopTimer: () => {},
      };
      this.#watched.set(world, watched);
      watched.loaded = this.#load(world, watched);
    }
    await watched.loaded;
  }

  async #load(world: string, watched: Watched): Promise<void> {
    try {
      watched.stages = await this.#read(world, watched);
    } catch (error) {
      if (this.#watched.get(world) === watched) this.#watched.delete(world);
      throw error;
    }
  }

  /** Returns the program of a watched world, as last read. */
  programOf(world: string): Program | undefined {
    return this.#watched.get(world)?.program;
  }

  /**
   * Records the sessions that a login shows as current, and checks again if they differ from the
   * sessions last pushed. The login may show a session whose entry arrives only later, even after
   * the session has ended. Or the login may use a state that was read before a session ended, at a
   * time when no timer was running.
   */
  shown(world: string, stages: CurrentSessions): void {
    const watched = this.#watched.get(world);
    if (!watched) return;
    const different = [...roomsOf(watched.stages, stages)].filter(
      (room) => watched.stages.get(room) !== stages.get(room),
    );
    if (different.length === 0) return;
    for (const room of different) watched.doubted.add(room);
    this.look(world);
  }

  /** Stops watching a world after its last connection has left. */
  unwatch(world: string): void {
    this.#watched.get(world)?.stopTimer();
    this.#watched.delete(world);
  }

  /**
   * Checks which sessions are current, and notifies people of rooms whose current session has
   * changed. Call this after the program may have changed or time has passed.
   */
  look(world: string): void {
    const watched = this.#watched.get(world);
    // One check suffices for an import, which appends hundreds of entries.
    if (!watched || watched.looks) return;
    watched.looks = true;
    this.#ports.pushes.push({ world }, async () => {
      watched.looks = false;
      if (this.#watched.get(world) !== watched) return;
      await watched.loaded;
      const stages = await this.#read(world, watched);
      const before = watched.stages;
      watched.stages = stages;
      for (const room of roomsOf(before, stages, watched.doubted)) {
        const isSame = before.get(room) === stages.get(room);
        if (isSame && !watched.doubted.has(room)) continue;
        this.#ports.scheduled(world, room);
      }
      watched.doubted.clear();
    });
  }

  /** Reads the current sessions of all rooms, and starts the timer for the next change. */
  async #read(world: string, watched: Watched): Promise<CurrentSessions> {
    const { clock, store } = this.#ports;
    const program = await store.program.get(world);
    watched.program = program;
    const now = clock.date();
    const next = nextSessionChange(program, now);
    watched.stopTimer();
    if (next !== undefined && this.#watched.get(world) === watched) {
      const wait = Math.min(next - now, MAX_TIMER_MS);
      watched.stopTimer = clock.after(wait, () => this.look(world));
    }
    return currentSessionsOf(program, now);
  }
}
