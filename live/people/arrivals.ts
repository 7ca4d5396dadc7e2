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

/** Maximum time for which a login waits until its world's log can be read, in milliseconds. */
const FOLLOW_TIMEOUT_MS = 2000;

/** Ports for admitting connections. */
export interface ArrivalPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly events: Events;
  readonly snapshots: Snapshots;
  readonly hub: Hub;
  readonly presence: Presence;
  readonly states: WorldStates;
  /** The modules' handlers for people who enter and leave, as in `LiveModule`. */
  readonly modules: {
    enter(world: string): Promise<void>;
    leave(connection: Connection): void;
    forget(world: string): void;
  };
}

/** Admits connections to worlds and rooms, and removes them. */
export class Arrivals {
  readonly #ports: ArrivalPorts;
  /** The connections that make this process follow their worlds. */
  readonly #following = new Set<Connection>();

  constructor(ports: ArrivalPorts) {
    this.#ports = ports;
  }

  /** Admits a connection that has logged in. From now on, the connection receives pushes. */
  async enterWorld(connection: Connection, login: Login): Promise<void> {
    connection.login = login;
    // The client may have disconnected while its user was being written. Nothing would remove the
    // connection later.
    if (connection.ended) return;
    await this.#follow(connection);
    if (connection.ended) return this.#unfollow(connection);
    const { hub, modules } = this.#ports;
    const { world } = connection;
    // Anything read before the world was followed may lack a change.
    this.#forgetIfEmpty(world);
    hub.add(connection, login.user);
    await modules.enter(world);
    // All connections may have ended in the meantime.
    this.#forgetIfEmpty(world);
  }

  /** @throws {StoreError} `unusable` if the log cannot be read in time. */
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

  /** Undoes a login that has failed midway. */
  forgetLogin(connection: Connection): void {
    const { hub, modules } = this.#ports;
    hub.remove(connection);
    modules.leave(connection);
    connection.outgoing.forget();
    connection.login = undefined;
    this.#unfollow(connection);
    this.#forgetIfEmpty(connection.world);
  }

  /** Records that a connection has received its login response. */
  opened({ ended, world, id, login }: Connection): void {
    if (ended) return;
    const { user } = login!;
    const { log, clock, presence } = this.#ports;
    log.debug({ connection: id, user }, "websocket logged in");
    // Includes fractions, because the order of logins matters.
    const at = clock.origin + clock.now();
    presence.note(world, { do: "open", connection: id, user, at });
  }

  /**
   * Admits a connection to a room.
   * @param watches whether the connection receives pushes about other viewers.
   * @param told whether watchers of the room are notified even if the connection was already in the
   * room.
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

  /** Removes a connection that has ended, or that is about to end and receives nothing more. */
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
   * Handles a database that has lost its history: users log in again, and fetch the current state.
   * This ends the world's gathering, and with it everything waiting for the gathering's members.
   */
  reset(world: string): void {
    const { log, hub } = this.#ports;
    log.warn({ world }, "the log of a world went back");
    for (const connection of [...hub.in(world)]) reload(connection);
    this.#forgetIfEmpty(world);
  }

  /** If a world is empty, drops its cached data and its waiting pushes. */
  #forgetIfEmpty(world: string): void {
    const { hub, states, modules } = this.#ports;
    if (hub.in(world).size > 0) return;
    states.forget(world);
    modules.forget(world);
  }
}
