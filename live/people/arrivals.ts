import type { FastifyBaseLogger } from "fastify";
import type { Events } from "../../db/contract/events.js";
import { StoreError } from "../../db/contract/store.js";
import type { Clock } from "../../db/runtime.js";
import type { WorldStates } from "../rules/world-state.js";
import type { Connection } from "../socket/connection.js";
import { reload } from "../socket/endings.js";
import type { Login } from "../socket/login-state.js";
import type { Hub } from "./hub.js";
import type { Presence } from "./presence.js";
import type { Snapshots } from "./snapshots.js";

/** How long a login waits until the log of its world can be read, in milliseconds. */
const FOLLOW_TIMEOUT_MS = 2000;

/** What admitting connections needs. */
export interface ArrivalPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly events: Events;
  readonly snapshots: Snapshots;
  readonly hub: Hub;
  readonly presence: Presence;
  readonly states: WorldStates;
  /** The modules' handlers for people who come and go, as in `LiveModule`. */
  readonly modules: {
    enter(world: string): Promise<void>;
    leave(connection: Connection): void;
    forget(world: string): void;
  };
}

/** Lets connections into worlds and rooms, and out of them. */
export class Arrivals {
  readonly #ports: ArrivalPorts;
  /** The connections for which this process follows their worlds. */
  readonly #following = new Set<Connection>();

  constructor(ports: ArrivalPorts) {
    this.#ports = ports;
  }

  /** Takes a connection that has logged in. It gets pushes from now on. */
  async enterWorld(connection: Connection, login: Login): Promise<void> {
    connection.login = login;
    // The client may have gone while its user was written: then nothing would remove it.
    if (connection.ended) return;
    await this.#follow(connection);
    if (connection.ended) return this.#unfollow(connection);
    const { hub, modules } = this.#ports;
    const { world } = connection;
    // What was read before the world was followed may lack a change.
    this.#forgetIfEmpty(world);
    hub.add(connection, login.user);
    await modules.enter(world);
    // All connections may have ended meanwhile.
    this.#forgetIfEmpty(world);
  }

  /** @throws {StoreError} `unusable` if the log cannot be read for some time. */
  async #follow(connection: Connection): Promise<void> {
    const { clock, events, snapshots } = this.#ports;
    const { world } = connection;
    this.#following.add(connection);
    let stop = () => {};
    const late = new Promise<never>((_, reject) => {
      stop = clock.after(FOLLOW_TIMEOUT_MS, () =>
        reject(new StoreError("unusable", "The log cannot be read.")),
      );
    });
    const followed = Promise.all([events.follow(world), snapshots.follow(world)]);
    await Promise.race([followed, late]).finally(() => stop());
  }

  #unfollow(connection: Connection): void {
    if (!this.#following.delete(connection)) return;
    this.#ports.events.unfollow(connection.world);
    this.#ports.snapshots.unfollow(connection.world);
  }

  /** A login that failed after all. */
  forgetLogin(connection: Connection): void {
    const { hub, modules } = this.#ports;
    hub.remove(connection);
    modules.leave(connection);
    connection.outgoing.forget();
    connection.login = undefined;
    this.#unfollow(connection);
    this.#forgetIfEmpty(connection.world);
  }

  /** A connection has got the answer to its login. */
  opened({ ended, world, id, login }: Connection): void {
    if (ended) return;
    const { user } = login!;
    const { log, clock, presence } = this.#ports;
    log.debug({ connection: id, user }, "websocket logged in");
    // With fractions, as the order of logins counts.
    const at = clock.origin + clock.now();
    presence.note(world, { do: "open", connection: id, user, at });
  }

  /**
   * Lets a connection into a room.
   * @param watches whether it gets pushes about other viewers.
   * @param told whether watchers of the room get a push if it was there before.
   */
  enterRoom(connection: Connection, room: string, watches: boolean, told = true): void {
    if (connection.ended) return;
    const { hub, presence } = this.#ports;
    const again = connection.rooms.has(room);
    hub.enter(connection, room, watches);
    if (again && !told) return;
    const { world, id } = connection;
    presence.note(world, { do: "enter", connection: id, room });
  }

  leaveRoom(connection: Connection, room: string): void {
    if (!connection.rooms.has(room)) return;
    const { hub, presence } = this.#ports;
    hub.leave(connection, room);
    const { world, id } = connection;
    presence.note(world, { do: "leave", connection: id, room });
  }

  /** A connection ended, or will end and gets nothing any more. */
  leaveWorld(connection: Connection): void {
    const { world, id, login } = connection;
    if (!login) return;
    const { hub, modules, presence } = this.#ports;
    hub.remove(connection);
    modules.leave(connection);
    presence.note(world, { do: "close", connection: id });
    this.#unfollow(connection);
    this.#forgetIfEmpty(world);
  }

  /**
   * The database has lost its history: users log in again, and fetch the present state. That
   * ends the gathering of the world, and with it all that waits for its people.
   */
  reset(world: string): void {
    const { log, hub } = this.#ports;
    log.warn({ world }, "the log of a world went back");
    for (const connection of [...hub.in(world)]) reload(connection);
    this.#forgetIfEmpty(world);
  }

  /** Without people, nothing that was read of a world is kept, and nothing that waits is sent. */
  #forgetIfEmpty(world: string): void {
    const { hub, states, modules } = this.#ports;
    if (hub.in(world).size > 0) return;
    states.forget(world);
    modules.forget(world);
  }
}
