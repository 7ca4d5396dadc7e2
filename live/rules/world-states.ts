import type { Clock } from "../../db/log/clock.js";
import type { RoomValue, Store, Versioned } from "../../db/contract/store.js";
import type { World } from "../../schemas/worlds.js";
import { stagesOf, withStages } from "./stages.js";
import { WorldState } from "./world-state.js";

/** How many rooms are read at a time. */
const PAGE = 500;

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
      read = await this.#store.rooms.all(id, { page: page++, pageSize: PAGE });
      rooms.push(...read);
    } while (read.length === PAGE);
    const program = await this.#store.program.get(id);
    const stages = stagesOf(program, this.#clock.date());
    const shown = withStages(rooms, stages);
    const world = await this.#store.worlds.get(id);
    const before = this.#old.get(id);
    const since = this.#changedAt.get(id);
    return world && new WorldState(world, shown, stages, order, before, this.pushKey, since);
  }
}
