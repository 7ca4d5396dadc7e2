import type { Program } from "../../db/contract/program-store.js";
import type { RoomValue, Store, Versioned } from "../../db/contract/store.js";
import type { Clock } from "../../db/runtime.js";
import type { PermissionKey } from "../../schemas/plain/permissions.js";
import { byRoom, nextChange, onStage } from "../../schemas/plain/program.js";
import type { World } from "../../schemas/worlds.js";
import {
  addTraits,
  type Bearer,
  hasModule,
  mayInRoom,
  mayInWorld,
  stringsInRoom,
  stringsInWorld,
} from "./rights.js";
import { jsonOfSeen, LessenedView, Losses, type Seen, SentState } from "./sent-state.js";
import { type SentCrowds, StateJson } from "./shapes.js";
import { oncePer } from "./shared-reads.js";

/** A world as users with the same rights see it. It is made once for all of them. */
export class View implements Seen {
  readonly permissions: readonly string[];
  /** Whether they may update the world or a room. */
  readonly mayUpdate: boolean;
  /** Whether they see the fields for managers of users. */
  readonly managesUsers: boolean;
  /** The permissions on each room that they see, as JSON, in the order of the rooms. */
  readonly #rooms = new Map<string, string>();
  #sentState: SentState | undefined;
  readonly #watched = new Set<string>();
  /** The rooms that were asked for. */
  readonly #chats = new Map<string, { reads: boolean; joins: boolean }>();
  /** Their rights in the rooms that were asked for, by key, then by room. */
  readonly #may = new Map<PermissionKey, Map<string, boolean>>();
  /** Its losses since earlier views; null for none. */
  readonly #losses = new WeakMap<View, Losses | null>();
  readonly #lessened = new WeakMap<Losses, LessenedView>();

  constructor(
    readonly who: Bearer,
    readonly state: WorldState,
  ) {
    const world = state.world.value;
    this.permissions = stringsInWorld(who, world);
    let mayUpdate = mayInWorld(who, "world.update", world) || mayInWorld(who, "room.update", world);
    for (const { value } of state.rooms) {
      if (!mayInRoom(who, "room.view", world, value)) continue;
      mayUpdate ||= mayInRoom(who, "room.update", world, value);
      if (mayInRoom(who, "room.viewers", world, value)) {
        this.#watched.add(value.id);
      }
      this.#rooms.set(value.id, state.json.shared(stringsInRoom(who, world, value)));
    }
    this.mayUpdate = mayUpdate;
    this.managesUsers = mayInWorld(who, "user.manage", world);
  }

  /** The rooms that they see, in their order. */
  get rooms(): readonly string[] {
    return [...this.#rooms.keys()];
  }

  /** The state of a client that got all of this view. */
  get sentState(): SentState {
    return (this.#sentState ??= new SentState(this));
  }

  /** Whether they see a room. */
  sees(room: string): boolean {
    return this.#rooms.has(room);
  }

  /** Whether they may see the viewers of a room. */
  watches(room: string): boolean {
    return this.#watched.has(room);
  }

  /** Whether they have a key in a room. */
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

  /** Whether they may read the chat of a room, and there is one. */
  reads(room: string): boolean {
    return this.#chatOf(room).reads;
  }

  /** Whether they may join the chat of a room, and there is one. */
  joins(room: string): boolean {
    return this.#chatOf(room).joins;
  }

  /** Whether they may read the chat of a room again that existed before. */
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

  /** A room as they see it, as JSON without its crowd; undefined if they do not. */
  room(id: string): string | undefined {
    const permissions = this.#rooms.get(id);
    return permissions && `${this.roomJson(id, permissions)}}`;
  }

  roomJson(id: string, rights: string): string {
    const isAnonymous = this.who.scope?.kind === "anonymous";
    return this.state.json.room(this.state.room(id)!, rights, isAnonymous);
  }

  /** A room that they see, as JSON. @param crowd the fields about its crowd. */
  roomWith(id: string, crowd: string): string {
    return `${this.roomJson(id, this.#rooms.get(id)!)},${crowd}}`;
  }

  rightsIn(room: string): string | undefined {
    return this.#rooms.get(room);
  }

  /** The losses since an earlier view; undefined for none. */
  lossesSince(before: View): Losses | undefined {
    const known = this.#losses.get(before);
    if (known !== undefined) return known ?? undefined;
    const losses = Losses.between(before, this);
    this.#losses.set(before, losses ?? null);
    return losses;
  }

  /** This view without rights that are back; undefined if none of them is. */
  without(losses: Losses): LessenedView | undefined {
    if (!losses.areIn(this)) return undefined;
    let lessened = this.#lessened.get(losses);
    if (!lessened) {
      lessened = new LessenedView(this, losses);
      this.#lessened.set(losses, lessened);
    }
    return lessened;
  }

  /**
   * The world, the permissions and the rooms as JSON in UTF-8. All users of this view
   * share the buffer: do not change it.
   */
  json(crowds: SentCrowds): Buffer {
    return this.state.json.of(this, crowds, () => jsonOfSeen(this, crowds));
  }
}

/** A world with all its rooms, as it was at one moment. */
export class WorldState {
  readonly rooms: readonly Versioned<RoomValue>[];
  readonly json: StateJson;
  readonly #byId: ReadonlyMap<string, Versioned<RoomValue>>;
  /** The traits that any rule asks for. Others make no difference. */
  readonly #relevant = new Set<string>();
  readonly #views = new Map<string, View>();
  #forced: readonly RoomValue[] | undefined;

  /**
   * @param stages what the rooms show according to the program.
   * @param order a number that is larger for states whose reading began later.
   * @param before an earlier state, with which it shares unchanged rooms.
   * @param since when the first change came that the state before did not have, if that is known.
   */
  constructor(
    readonly world: Versioned<World>,
    rooms: readonly Versioned<RoomValue>[],
    readonly stages: Stages,
    readonly order: number,
    before?: WorldState,
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

  /** Whether a world and one of its rooms, as they were just read, are in this state. */
  holds(world: Versioned<World>, room: Versioned<RoomValue>): boolean {
    return (
      this.world.version === world.version &&
      this.#byId.get(room.value.id)?.version === room.version
    );
  }

  /** The rooms whose chat every permitted user joins. */
  get forced(): readonly RoomValue[] {
    return (this.#forced ??= this.rooms
      .map(({ value }) => value)
      .filter((room) => room.extras.force_join === true && hasModule(room, "chat.native")));
  }

  /** The view of a user. Users with the same rights share one. */
  view({ traits, state, scope }: Bearer): View {
    const held = [...traits].filter((trait) => this.#relevant.has(trait)).sort();
    // Traits have no spaces.
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

/** How many rooms are read at a time. */
const ROOMS_PER_READ = 500;

/** The states of the worlds with connections. */
export class WorldStates {
  readonly #clock: Clock;
  readonly #store: Store;
  readonly #isWatched: (world: string) => boolean;
  readonly #known = new Map<string, WorldState>();
  readonly #loading = new Map<string, Promise<WorldState | undefined>>();
  /** States that were changed since. */
  readonly #old = new Map<string, WorldState>();
  /** When these were first changed since their known state was read. */
  readonly #changedAt = new Map<string, number>();
  /** How many states were read, or begun to be. */
  #reads = 0;

  /** @param isWatched whether a world has connections. Only then its state is kept. */
  constructor(
    clock: Clock,
    store: Store,
    isWatched: (world: string) => boolean,
    /** The key of the server for push services; null without one. */
    readonly pushKey: string | null = null,
  ) {
    this.#clock = clock;
    this.#store = store;
    this.#isWatched = isWatched;
  }

  /** A world was changed, or its last connection left. */
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

  /** The state that was read last; undefined if the world was changed since. */
  present(world: string): WorldState | undefined {
    return this.#known.get(world);
  }

  /** The state with a world that was just read; undefined if it has to be read. */
  of({ value: { id }, version }: Versioned<World>): WorldState | undefined {
    const known = this.#known.get(id);
    return known?.world.version === version ? known : undefined;
  }

  /** The present state of a world; undefined if there is no such world. */
  async get(id: string): Promise<WorldState | undefined> {
    const world = await this.#store.worlds.get(id);
    const known = world && this.of(world);
    if (known) return known;
    const loading = this.#loading.get(id) ?? this.#load(id);
    this.#loading.set(id, loading);
    // If it is gone later, the world was changed meanwhile: the state is only for
    // earlier callers.
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

  async #load(id: string): Promise<WorldState | undefined> {
    const order = ++this.#reads;
    const rooms: Versioned<RoomValue>[] = [];
    let read: Versioned<RoomValue>[];
    let page = 1;
    do {
      read = await this.#store.rooms.all(id, { page: page++, pageSize: ROOMS_PER_READ });
      rooms.push(...read);
    } while (read.length === ROOMS_PER_READ);
    const program = await this.#store.program.get(id);
    const stages = stagesOf(program, this.#clock.date());
    const shown = withStages(rooms, stages);
    const world = await this.#store.worlds.get(id);
    const before = this.#old.get(id);
    const since = this.#changedAt.get(id);
    return world && new WorldState(world, shown, stages, order, before, this.pushKey, since);
  }
}

/** What the rooms of a world show now: the id of a session; null between sessions. */
export type Stages = ReadonlyMap<string, string | null>;

/** The sessions that everybody may see who sees their room, by room. */
const shownByRoom = oncePer(({ sessions }: Program) =>
  byRoom(sessions.flatMap(({ value }) => (value.state === "public" ? [value] : []))),
);

/**
 * What the rooms with sessions show. Rooms without sessions are not in it: their own settings
 * decide.
 * @param now in milliseconds since 1970.
 */
export const stagesOf = (program: Program, now: number): Stages =>
  new Map(
    [...shownByRoom(program)].map(([room, sessions]) => [
      room,
      onStage(sessions, now).now?.id ?? null,
    ]),
  );

/** When a room shows something else. @returns undefined if none does. */
export const nextStage = (program: Program, now: number): number | undefined =>
  nextChange([...shownByRoom(program).values()].flat(), now);

/** A room that shows a session, or none, in place of its own schedule data. */
function withSession(room: RoomValue, session: string | null): RoomValue {
  const schedule_data = JSON.stringify(session === null ? null : { session });
  const stored = { ...room.stored, schedule_data };
  // A copy would parse the large fields.
  return Object.create(room, { stored: { value: Object.freeze(stored) } }) as RoomValue;
}

/** Rooms as their sessions let them appear. Their versions stay, as these are of the store. */
const withStages = (
  rooms: readonly Versioned<RoomValue>[],
  stages: Stages,
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
