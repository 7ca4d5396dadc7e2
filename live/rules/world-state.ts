import type { Program } from "../../db/contract/program-store.js";
import type { RoomValue, Store, Versioned } from "../../db/contract/store.js";
import type { Clock } from "../../db/runtime.js";
import type { PermissionKey } from "../../schemas/plain/permissions.js";
import { byRoom, nextChange, nowAndNext } from "../../schemas/plain/program.js";
import type { World } from "../../schemas/worlds.js";
import {
  addTraits,
  type Bearer,
  hasModule,
  mayInRoom,
  maySeeViewers,
  mayInWorld,
  stringsInRoom,
  stringsInWorld,
} from "./rights.js";
import { jsonOfSeen, ReducedView, Losses, type Seen, SentState } from "./sent-state.js";
import { type SentCrowds, StateJson } from "./shapes.js";
import { oncePer } from "./shared-reads.js";

/** A world as seen by users with the same rights, who all share this view. */
export class View implements Seen {
  readonly permissions: readonly string[];
  /** Whether the view's users may update the world or a room. */
  readonly mayUpdate: boolean;
  /** Whether the view's users may see the fields that are only for managers of users. */
  readonly managesUsers: boolean;
  /** The permissions on each room in the view, as JSON, in room order. */
  readonly #rooms = new Map<string, string>();
  #sentState: SentState | undefined;
  readonly #watched = new Set<string>();
  /** Cached rights in the rooms' chats, by room. */
  readonly #chats = new Map<string, { reads: boolean; joins: boolean }>();
  /** Cached rights in rooms, by key, then by room. */
  readonly #may = new Map<PermissionKey, Map<string, boolean>>();
  /** The rights lost since earlier views; null if none were lost. */
  readonly #losses = new WeakMap<View, Losses | null>();
  readonly #lessened = new WeakMap<Losses, ReducedView>();

  constructor(
    readonly who: Bearer,
    readonly state: LiveWorldState,
  ) {
    const world = state.world.value;
    this.permissions = stringsInWorld(who, world);
    let mayUpdate = mayInWorld(who, "world.update", world) || mayInWorld(who, "room.update", world);
    for (const { value } of state.rooms) {
      if (!mayInRoom(who, "room.view", world, value)) continue;
      mayUpdate ||= mayInRoom(who, "room.update", world, value);
      if (maySeeViewers(who, world, value)) {
        this.#watched.add(value.id);
      }
      this.#rooms.set(value.id, state.json.shared(stringsInRoom(who, world, value)));
    }
    this.mayUpdate = mayUpdate;
    this.managesUsers = mayInWorld(who, "user.manage", world);
  }

  /** The rooms in the view, in order. */
  get rooms(): readonly string[] {
    return [...this.#rooms.keys()];
  }

  /** The state of a client that has received the whole view. */
  get sentState(): SentState {
    return (this.#sentState ??= new SentState(this));
  }

  /** Whether a room is in the view. */
  sees(room: string): boolean {
    return this.#rooms.has(room);
  }

  /** Whether the view's users may see the viewers of a room. */
  watches(room: string): boolean {
    return this.#watched.has(room);
  }

  /** Whether the view's users have a key in a room. */
  may(key: PermissionKey, room: string): boolean {
    let rooms = this.#may.get(key);
    if (!rooms) this.#may.set(key, (rooms = new Map<string, boolean>()));
    let may = rooms.get(room);
    if (may === undefined) {
      const value = this.state.room(room);
      may = value !== undefined && mayInRoom(this.who, key, this.state.world.value, value);
      rooms.set(room, may);
    }
    return may;
  }

  /** Whether a room has a chat that the view's users may read. */
  reads(room: string): boolean {
    return this.#chatOf(room).reads;
  }

  /** Whether a room has a chat that the view's users may join. */
  joins(room: string): boolean {
    return this.#chatOf(room).joins;
  }

  /**
   * Whether the view's users may now read the chat of a room that existed in an earlier view, but
   * whose chat they could not read at that time.
   */
  regains(before: View): boolean {
    return this.rooms.some((id) => this.reads(id) && before.state.room(id) && !before.reads(id));
  }

  #chatOf(id: string): { reads: boolean; joins: boolean } {
    let chat = this.#chats.get(id);
    if (!chat) {
      const room = this.state.room(id);
      const may = (key: "chat.read" | "chat.join") =>
        room !== undefined && hasModule(room, "chat.native") && this.may(key, id);
      chat = { reads: may("chat.read"), joins: may("chat.join") };
      this.#chats.set(id, chat);
    }
    return chat;
  }

  /** Returns a room in the view as JSON without its crowd, or undefined if the room is not in the view. */
  room(id: string): string | undefined {
    const permissions = this.#rooms.get(id);
    return permissions && `${this.roomJson(id, permissions)}}`;
  }

  roomJson(id: string, rights: string): string {
    const isAnonymous = this.who.scope?.kind === "anonymous";
    return this.state.json.room(this.state.room(id)!, rights, isAnonymous);
  }

  /**
   * Returns a room in the view as JSON.
   * @param crowd the JSON fields about the room's crowd.
   */
  roomWith(id: string, crowd: string): string {
    return `${this.roomJson(id, this.#rooms.get(id)!)},${crowd}}`;
  }

  rightsIn(room: string): string | undefined {
    return this.#rooms.get(room);
  }

  /** Returns the rights lost since an earlier view, or undefined if none were lost. */
  lossesSince(before: View): Losses | undefined {
    const known = this.#losses.get(before);
    if (known !== undefined) return known ?? undefined;
    const losses = Losses.between(before, this);
    this.#losses.set(before, losses ?? null);
    return losses;
  }

  /** Returns this view without the given rights, or undefined if the view contains none of them. */
  without(losses: Losses): ReducedView | undefined {
    if (!losses.areIn(this)) return undefined;
    let lessened = this.#lessened.get(losses);
    if (!lessened) {
      lessened = new ReducedView(this, losses);
      this.#lessened.set(losses, lessened);
    }
    return lessened;
  }

  /**
   * Returns the world, the permissions and the rooms as JSON in UTF-8. All of the view's users
   * share the buffer: do not modify it.
   */
  json(crowds: SentCrowds): Buffer {
    return this.state.json.of(this, crowds, () => jsonOfSeen(this, crowds));
  }
}

/** A world with all its rooms, at one moment. */
export class LiveWorldState {
  readonly rooms: readonly Versioned<RoomValue>[];
  readonly json: StateJson;
  readonly #byId: ReadonlyMap<string, Versioned<RoomValue>>;
  /** The traits that any rule refers to. Other traits make no difference. */
  readonly #relevant = new Set<string>();
  readonly #views = new Map<string, View>();
  #forced: readonly RoomValue[] | undefined;

  /**
   * @param stages the current sessions, according to the program.
   * @param order a number that is larger for states whose reads began later.
   * @param before an earlier state, whose unchanged rooms are reused.
   * @param since the arrival time of the first change that the earlier state lacks, if known.
   */
  constructor(
    readonly world: Versioned<World>,
    rooms: readonly Versioned<RoomValue>[],
    readonly stages: CurrentSessions,
    readonly order: number,
    before?: LiveWorldState,
    pushKey: string | null = null,
    readonly since = Infinity,
  ) {
    this.json = new StateJson(world.value, pushKey, before?.json);
    const earlier = before ? before.#byId : new Map<string, never>();
    this.rooms = rooms.map((room) => {
      const known = earlier.get(room.value.id);
      const isSame =
        known?.version === room.version &&
        known.value.stored.schedule_data === room.value.stored.schedule_data;
      return isSame ? known : room;
    });
    this.#byId = new Map(this.rooms.map((room) => [room.value.id, room]));
    addTraits(world.value.permission_config, this.#relevant);
    for (const { value } of this.rooms) {
      addTraits(value.permission_config, this.#relevant);
    }
  }

  room(id: string): RoomValue | undefined {
    return this.#byId.get(id)?.value;
  }

  /** Whether this state contains a freshly read world and room in the same versions. */
  holds(world: Versioned<World>, room: Versioned<RoomValue>): boolean {
    return (
      this.world.version === world.version &&
      this.#byId.get(room.value.id)?.version === room.version
    );
  }

  /** The rooms whose chat every permitted user joins automatically. */
  get forced(): readonly RoomValue[] {
    return (this.#forced ??= this.rooms
      .map(({ value }) => value)
      .filter((room) => room.extras.force_join === true && hasModule(room, "chat.native")));
  }

  /** Returns a user's view. Users with the same rights share one view. */
  view({ traits, state, scope }: Bearer): View {
    const held = [...traits].filter((trait) => this.#relevant.has(trait)).sort();
    // Traits contain no spaces, so this string cannot equal a trait.
    const place = scope ? `${scope.kind} in ${scope.room ?? "all"}` : "";
    const key = [state, place, ...held].join("\n");
    let view = this.#views.get(key);
    if (!view) {
      view = new View({ traits: new Set(held), state, scope }, this);
      this.#views.set(key, view);
    }
    return view;
  }
}

/** Number of rooms per read. */
const ROOMS_PER_READ = 500;

/** The states of the worlds that have connections. */
export class WorldStates {
  readonly #clock: Clock;
  readonly #store: Store;
  readonly #isWatched: (world: string) => boolean;
  readonly #known = new Map<string, LiveWorldState>();
  readonly #loading = new Map<string, Promise<LiveWorldState | undefined>>();
  /** States that have become stale, whose unchanged rooms the next state reuses. */
  readonly #old = new Map<string, LiveWorldState>();
  /** When each world first changed after its cached state was read. */
  readonly #changedAt = new Map<string, number>();
  /** Number of reads begun so far. */
  #reads = 0;

  /** @param isWatched whether a world has connections. States of other worlds are not cached. */
  constructor(
    clock: Clock,
    store: Store,
    isWatched: (world: string) => boolean,
    /** The server's key for push services; null if it has none. */
    readonly pushKey: string | null = null,
  ) {
    this.#clock = clock;
    this.#store = store;
    this.#isWatched = isWatched;
  }

  /** Invalidates the state of a world that has changed, or whose last connection has left. */
  forget(world: string): void {
    const known = this.#known.get(world);
    if (known) this.#old.set(world, known);
    if (!this.#isWatched(world)) {
      this.#old.delete(world);
      this.#changedAt.delete(world);
    } else if (!this.#changedAt.has(world)) {
      this.#changedAt.set(world, this.#clock.now());
    }
    this.#known.delete(world);
    this.#loading.delete(world);
  }

  /** Returns the state that was read last, or undefined if the world has changed since that read. */
  present(world: string): LiveWorldState | undefined {
    return this.#known.get(world);
  }

  /** Returns the state that was read last, or undefined if that state has a different version of the world. */
  of({ value: { id }, version }: Versioned<World>): LiveWorldState | undefined {
    const known = this.#known.get(id);
    return known?.world.version === version ? known : undefined;
  }

  /** Returns the current state of a world, or undefined if the world does not exist. */
  async get(id: string): Promise<LiveWorldState | undefined> {
    const world = await this.#store.worlds.get(id);
    const known = world && this.of(world);
    if (known) return known;
    const loading = this.#loading.get(id) ?? this.#load(id);
    this.#loading.set(id, loading);
    // If this is no longer the registered load, the world has changed in the meantime. The state is
    // then only for callers that requested it before the change.
    const isPresent = () => this.#loading.get(id) === loading;
    try {
      const state = await loading;
      if (state && isPresent() && this.#isWatched(id)) {
        this.#known.set(id, state);
        this.#old.delete(id);
        this.#changedAt.delete(id);
      }
      return state;
    } finally {
      if (isPresent()) this.#loading.delete(id);
    }
  }

  async #load(id: string): Promise<LiveWorldState | undefined> {
    const order = ++this.#reads;
    const rooms: Versioned<RoomValue>[] = [];
    let read: Versioned<RoomValue>[];
    let page = 1;
    do {
      read = await this.#store.rooms.all(id, { page: page++, pageSize: ROOMS_PER_READ });
      rooms.push(...read);
    } while (read.length === ROOMS_PER_READ);
    const program = await this.#store.program.get(id);
    const stages = currentSessionsOf(program, this.#clock.date());
    const shown = withStages(rooms, stages);
    const world = await this.#store.worlds.get(id);
    const before = this.#old.get(id);
    const since = this.#changedAt.get(id);
    return world && new LiveWorldState(world, shown, stages, order, before, this.pushKey, since);
  }
}

/** The id of the session that each room of a world currently shows; null between sessions. */
export type CurrentSessions = ReadonlyMap<string, string | null>;

/** The public sessions of each room. Everyone who sees the room may see them. */
const shownByRoom = oncePer(({ sessions }: Program) =>
  byRoom(sessions.flatMap(({ value }) => (value.state === "public" ? [value] : []))),
);

/**
 * Returns the current session of each room that has sessions. Rooms without sessions are omitted,
 * because they show their own schedule data.
 * @param now in milliseconds since 1970.
 */
export const currentSessionsOf = (program: Program, now: number): CurrentSessions =>
  new Map(
    [...shownByRoom(program)].map(([room, sessions]) => [
      room,
      nowAndNext(sessions, now).now?.id ?? null,
    ]),
  );

/** Returns the next time at which a room's current session changes, or undefined if none will change. */
export const nextSessionChange = (program: Program, now: number): number | undefined =>
  nextChange([...shownByRoom(program).values()].flat(), now);

/** Returns a room with the given session, or no session, in place of its own schedule data. */
function withSession(room: RoomValue, session: string | null): RoomValue {
  const schedule_data = JSON.stringify(session === null ? null : { session });
  const stored = { ...room.stored, schedule_data };
  // Inherits from the room, because a copy would have to parse the large fields.
  return Object.create(room, { stored: { value: Object.freeze(stored) } }) as RoomValue;
}

/**
 * Returns rooms with their current sessions. The versions stay the same, because the stored rooms
 * have not changed.
 */
const withStages = (
  rooms: readonly Versioned<RoomValue>[],
  stages: CurrentSessions,
): Versioned<RoomValue>[] =>
  rooms.map((room) => {
    const session = stages.get(room.value.id);
    if (session === undefined) return room;
    const { version } = room;
    const value = withSession(room.value, session);
    return {
      version,
      value,
      get json() {
        return room.json;
      },
    };
  });
