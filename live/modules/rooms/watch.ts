import type { Effects } from "../../delivery/effects.js";
import type { Hub } from "../../people/hub.js";
import type { WorldStates } from "../../rules/world-state.js";
import type { KnownConnection } from "../../people/whereabouts.js";
import type { FastifyBaseLogger } from "fastify";
import type { UserStore, WorldStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/log/clock.js";
import type { Crowds } from "./crowds.js";
import type { Connection } from "../../socket/connection.js";
import { replace } from "../../socket/endings.js";
import { broadcast } from "../../people/hub.js";
import { mayInRoom, mayInWorld } from "../../rules/rights.js";
import { publicUser } from "../../rules/shapes.js";
import type { CrowdListener } from "../../people/presence.js";
import type { WorldState } from "../../rules/world-state.js";

/** What watching rooms needs. */
export interface WatchPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly store: { readonly users: UserStore; readonly worlds: WorldStore };
  readonly hub: Hub;
  readonly states: WorldStates;
  readonly effects: Effects;
  readonly crowds: Crowds;
  /** The connections of a user in all processes, the newest first. */
  readonly connectionsOf: (world: string, user: string) => KnownConnection[];
  /** Sends a user their channels. @param by the connection that gets none. */
  readonly tellChannels: (
    world: string,
    user: string,
    by: string,
  ) => Promise<void>;
}

/** Sends what changes in presence to those who may know it. */
export class RoomWatch implements CrowdListener {
  readonly #live: WatchPorts;

  constructor(live: WatchPorts) {
    this.#live = live;
  }

  /** Ends the oldest connections of a user above the limit of the world. */
  opened(world: string, user: string): void {
    const live = this.#live;
    const own = live.hub.of(world, user);
    if (own.size === 0) return;
    const replaceOldest = async () => {
      const found = await live.store.worlds.get(world);
      const limit = Number(found?.value.config.connection_limit ?? 0);
      if (!found || !(limit > 0)) return;
      const known = live.connectionsOf(world, user);
      const tooMany = new Set(
        known.slice(limit).map(({ connection }) => connection),
      );
      for (const connection of [...own]) {
        const isExempt = () =>
          mayInWorld(connection.login!, "world.connections", found.value);
        if (tooMany.has(connection.id) && !isExempt()) replace(connection);
      }
    };
    live.effects
      .persist(replaceOldest, { isOver: () => own.size === 0 })
      .catch((error) => live.log.error(error));
  }

  counted(world: string, room: string): void {
    this.#live.crowds.changed(world, room);
  }

  isWatched(world: string, room: string): boolean {
    return this.#live.hub.watching(world, room).size > 0;
  }

  entered(
    world: string,
    room: string,
    user: string,
    by: string | undefined,
    again: boolean,
  ): void {
    const live = this.#live;
    this.#toViewers(world, room, async (watching, state) => {
      const added = await live.store.users.get(world, user);
      if (!added || added.deleted) return;
      for (const admin of [true, false]) {
        broadcast(
          watching,
          "room.viewer.added",
          {
            user: publicUser(
              added,
              state.world.value,
              live.clock.date(),
              admin,
            ),
          },
          (connection) =>
            (again || connection.id !== by) &&
            managesUsers(connection, state) === admin,
        );
      }
    });
  }

  left(world: string, room: string, user: string): void {
    this.#toViewers(world, room, async (watching) => {
      broadcast(watching, "room.viewer.removed", { user_id: user });
    });
  }

  /**
   * Sends the other connections of a user the list of their channels. Another process does so for
   * a user who has none here. It may know earlier that the membership goes on.
   */
  attended(world: string, user: string, by: string): void {
    const { tellChannels, hub, log } = this.#live;
    if (hub.of(world, user).size === 0) return;
    tellChannels(world, user, by).catch((error) => log.error(error));
  }

  /** Finds those in a room who may know who else is. */
  #toViewers(
    world: string,
    room: string,
    send: (watching: Connection[], state: WorldState) => Promise<void>,
  ): void {
    const live = this.#live;
    if (live.hub.watching(world, room).size === 0) return;
    live.effects.inOrder(world, async () => {
      const state = await live.states.get(world);
      const where = state?.room(room);
      if (!state || !where) return;
      const watching = [...live.hub.watching(world, room)].filter(({ login }) =>
        mayInRoom(login!, "room.viewers", state.world.value, where),
      );
      if (watching.length > 0) await send(watching, state);
    });
  }
}

const managesUsers = ({ login }: Connection, state: WorldState): boolean =>
  mayInWorld(login!, "user.manage", state.world.value);
