import { LRUCache } from "lru-cache";
import type { Program, ProgramStore } from "../../../db/contract/program-store.js";
import {
  programVersion,
  type Reader,
  seenProgram,
  viewKey,
} from "../../../db/rules/program-views.js";
import type { Clock } from "../../../db/runtime.js";
import { isTimezone } from "../../../schemas/plain/times.js";
import type { World } from "../../../schemas/worlds.js";
import type { Authors, Outboxes } from "../../delivery/outbox.js";
import type { Pushes, Send } from "../../delivery/push.js";
import type { EntryHandlers } from "../../module.js";
import type { Hub } from "../../people/hub.js";
import { mayInWorld } from "../../rules/rights.js";
import { objectIn } from "../../rules/shapes.js";
import { oncePer } from "../../rules/shared-reads.js";
import {
  nextStage,
  type Stages,
  stagesOf,
  type View,
  type WorldStates,
} from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import { pushFrame } from "../../socket/frame.js";

/** Changes are sent together, at most once in this time, in milliseconds. */
const PUSH_INTERVAL_MS = 300;

/** The ports of pushes about the program. */
export interface ProgramPushPorts {
  readonly outboxes: Outboxes;
  readonly clock: Clock;
  readonly hub: Hub;
  readonly store: { readonly program: ProgramStore };
  readonly states: WorldStates;
  readonly pushes: Pushes;
}

/** Tells users that they see another program, and of their favorites. */
export class ProgramPushes {
  readonly #ports: ProgramPushPorts;
  /** The version that each connection got last. */
  readonly #told = new WeakMap<Connection, string>();

  /** What it does with each entry. */
  readonly handlers: EntryHandlers;

  /** @param onChange is called after each entry that may change what rooms show. */
  constructor(ports: ProgramPushPorts, onChange: (world: string) => void) {
    this.#ports = ports;
    const changed = ({ world }: { world: string }) => {
      onChange(world);
      this.#changed(world);
    };
    // Rules, moderation and dates of the event count for versions, and not for stages.
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
   * Notes the version of what a connection sees.
   * @returns whether it is another one than the connection knows.
   */
  note(connection: Connection, view: View, program: Program): boolean {
    const version = reads(view) ? versionFor(view, program) : "";
    if (this.#told.get(connection) === version) return false;
    this.#told.set(connection, version);
    return version !== "";
  }

  #changed(world: string): void {
    const { outboxes, pushes } = this.#ports;
    const push = () => pushes.push({ world }, (send) => this.#tell(world, send));
    outboxes.at(world).later("program", push, { interval: PUSH_INTERVAL_MS, collects: true });
  }

  async #tell(world: string, send: Send): Promise<void> {
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

  /** @param by the connection that changed them, which knows. */
  #favored(world: string, user: string, by: string | undefined): void {
    const { hub, pushes } = this.#ports;
    const connections = [...hub.of(world, user)];
    if (connections.every(({ id }) => id === by)) return;
    pushes.push(
      { world, user },
      (send, authors) => this.#tellFavorites(world, user, authors, send),
      { queue: world, key: `favorites ${user}`, authors: [by ?? ""] },
    );
  }

  async #tellFavorites(world: string, user: string, authors: Authors, send: Send): Promise<void> {
    const { program: store } = this.#ports.store;
    const program = await store.get(world);
    const marked = await store.favorites(world, user);
    // A single author knows the list. Several have each changed what the others know.
    const isKnown = (id: string) => authors.size === 1 && authors.has(id);
    await send((connection, view) => {
      if (isKnown(connection.id) || !reads(view)) return undefined;
      const seen = sessionsFor(view, program);
      const favorites = marked.filter((id) => seen.has(id));
      return pushFrame("program.favorites", { favorites });
    });
  }
}

/** How many views of a program have their JSON kept. Each may be large. */
const KEPT_VIEWS = 16;

/** What the users of a view may see of a program. */
const readerOf = oncePer((view: View): Reader => ({
  edits: mayInWorld(view.who, "program.update", view.state.world.value),
  seesRoom: (id) => view.sees(id),
}));

/** Whether the users of a view may read the program. */
export const reads = (view: View): boolean =>
  mayInWorld(view.who, "program.read", view.state.world.value);

/** What comes with every program: when and where the event is. */
const eventOf = oncePer(({ config }: World) => ({
  event: objectIn(config, "event") ?? null,
  timezone: zoneOf(config),
}));

function zoneOf({ timezone }: World["config"]): string {
  const isKnown = typeof timezone === "string" && isTimezone(timezone);
  return isKnown ? timezone : "UTC";
}

/** The version of what the users of a view see, by program. */
const versionsOf = oncePer((_: View) => new WeakMap<Program, string>());

/** The version of what the users of a view see of a program. */
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

/** The sessions that the users of a view see, by program. */
const sessionsOf = oncePer((_: View) => new WeakMap<Program, ReadonlySet<string>>());

/** The ids of the sessions that the users of a view see. */
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

/** The encoded programs, by program and by what is seen of it. */
const encodedOf = oncePer((_: Program) => new LRUCache<string, Buffer>({ max: KEPT_VIEWS }));

/**
 * The program as the users of a view see it: fields of a JSON object in UTF-8, without braces.
 * All users who see the same share the buffer: do not change it.
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

/**
 * The longest time that a timer waits, in milliseconds. Someone may set the clock of the machine
 * meanwhile.
 */
const MAX_TIMER_MS = 10 * 60 * 1000;

/** The ports of the stages. */
export interface StageTimerPorts {
  readonly clock: Clock;
  readonly store: { readonly program: ProgramStore };
  readonly pushes: Pushes;
  /** A room shows something else now: tells the people of the world. */
  readonly scheduled: (world: string, room: string) => void;
}

/** A world with connections. */
interface Watched {
  /** The program as it was read last. */
  program: Program | undefined;
  /** Whether a look is due that has not begun yet. */
  looks: boolean;
  /** What its rooms show, as it was pushed last. */
  stages: Stages;
  /** The rooms of which a login showed something else. */
  readonly doubted: Set<string>;
  /** Rejects if that could not be read. */
  loaded: Promise<void>;
  stopTimer: () => void;
}

/** The rooms of all of these, each once. */
const roomsOf = (...all: { keys(): Iterable<string> }[]) =>
  new Set(all.flatMap((each) => [...each.keys()]));

/** Notices when sessions begin and end. Each world with connections has one timer. */
export class StageTimer {
  readonly #ports: StageTimerPorts;
  readonly #watched = new Map<string, Watched>();

  constructor(ports: StageTimerPorts) {
    this.#ports = ports;
  }

  close(): void {
    for (const { stopTimer } of this.#watched.values()) stopTimer();
  }

  /** The first connection comes into a world. */
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

  /** The program of a watched world as it was read last. */
  programOf(world: string): Program | undefined {
    return this.#watched.get(world)?.program;
  }

  /**
   * Notes what a login shows, and looks again if that is something else. The login may know
   * of a session whose entry comes here later, even after its end; or it goes by a state that
   * was read before a session ended, and no timer ran at the end.
   */
  shown(world: string, stages: Stages): void {
    const watched = this.#watched.get(world);
    if (!watched) return;
    const different = [...roomsOf(watched.stages, stages)].filter(
      (room) => watched.stages.get(room) !== stages.get(room),
    );
    if (different.length === 0) return;
    for (const room of different) watched.doubted.add(room);
    this.look(world);
  }

  /** The last connection left a world. */
  unwatch(world: string): void {
    this.#watched.get(world)?.stopTimer();
    this.#watched.delete(world);
  }

  /** The program may have changed, or time has passed: tells what is different. */
  look(world: string): void {
    const watched = this.#watched.get(world);
    // An import brings hundreds of entries at once.
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

  /** Reads what the rooms show now, and waits for the next change of that. */
  async #read(world: string, watched: Watched): Promise<Stages> {
    const { clock, store } = this.#ports;
    const program = await store.program.get(world);
    watched.program = program;
    const now = clock.date();
    const next = nextStage(program, now);
    watched.stopTimer();
    if (next !== undefined && this.#watched.get(world) === watched) {
      const wait = Math.min(next - now, MAX_TIMER_MS);
      watched.stopTimer = clock.after(wait, () => this.look(world));
    }
    return stagesOf(program, now);
  }
}
