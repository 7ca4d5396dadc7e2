import type { FastifyBaseLogger } from "fastify";
import type { UserStore, WorldStore } from "../../../db/contract/store.js";
import { kindOf } from "../../../db/rules/user-rows.js";
import { type Clock, detach } from "../../../db/runtime.js";
import type { Outboxes } from "../../delivery/outbox.js";
import type { PushPipeline, PushTask } from "../../delivery/push.js";
import type { Hub } from "../../people/hub.js";
import type { CrowdListener, KnownConnection } from "../../people/presence.js";
import { mayInWorld } from "../../rules/rights.js";
import { connectionLimit, publicUser } from "../../rules/shapes.js";
import { replace } from "../../socket/endings.js";
import { pushFrame } from "../../socket/frame.js";
import type { Crowds } from "./crowds.js";

/** Ports for watching rooms. */
export interface WatchPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly store: { readonly users: UserStore; readonly worlds: WorldStore };
  readonly hub: Hub;
  readonly outboxes: Outboxes;
  readonly pushes: PushPipeline;
  readonly crowds: Crowds;
  /** Returns a user's connections in all processes, newest first. */
  readonly connectionsOf: (world: string, user: string) => KnownConnection[];
  /** Whether a user is in a room. */
  readonly isIn: (world: string, room: string, user: string) => boolean;
  /**
   * Sends the list of a user's channels to the user's connections.
   * @param by the id of a connection to skip.
   */
  readonly pushToChannels: (world: string, user: string, by: string | undefined) => Promise<void>;
}

/** Pushes presence changes to the users who may see them. */
export class RoomWatch implements CrowdListener {
  readonly #ports: WatchPorts;

  constructor(ports: WatchPorts) {
    this.#ports = ports;
  }

  /** Ends a user's oldest connections if the user has more connections than the world allows. */
  opened(world: string, user: string): void {
    const ports = this.#ports;
    const own = ports.hub.of(world, user);
    if (own.size === 0) return;
    const replaceOldest = async () => {
      const found = await ports.store.worlds.get(world);
      const limit = found && connectionLimit(found.value.config);
      if (!found || limit === undefined) return;
      const known = ports.connectionsOf(world, user);
      const tooMany = new Set(known.slice(limit).map(({ connection }) => connection));
      for (const connection of [...own]) {
        const isExempt = () => mayInWorld(connection.login!, "world.connections", found.value);
        if (tooMany.has(connection.id) && !isExempt()) replace(connection);
      }
    };
    detach(ports.outboxes.persist(replaceOldest, { isOver: () => own.size === 0 }));
  }

  counted(world: string, room: string): void {
    this.#ports.crowds.changed(world, room);
  }

  entered(world: string, room: string, user: string, by: string | undefined, again: boolean): void {
    const { clock, store } = this.#ports;
    this.#toViewers(world, room, async (send) => {
      const added = await store.users.get(world, user);
      if (!added || added.deleted || kindOf(added) !== "person") return;
      const frames: Partial<Record<"admins" | "others", Buffer>> = {};
      await send((connection, view) => {
        if (!view.watches(room)) return undefined;
        if (!again && connection.id === by) return undefined;
        const admin = view.managesUsers;
        const { value } = view.state.world;
        return (frames[admin ? "admins" : "others"] ??= pushFrame("room.viewer.added", {
          user: publicUser(added, value, clock.date(), admin),
        }));
      });
    });
  }

  left(world: string, room: string, user: string): void {
    const { isIn } = this.#ports;
    const frame = pushFrame("room.viewer.removed", { user_id: user });
    this.#toViewers(world, room, (send) =>
      send((_, view) => {
        // Checked for each connection, because the connection's list of viewers may be newer than
        // this push.
        if (isIn(world, room, user)) return undefined;
        return view.watches(room) ? frame : undefined;
      }),
    );
  }

  /**
   * Sends the list of a user's channels to the user's other connections. If the user has no
   * connection in this process, another process sends the list: that process may learn earlier that
   * the membership continues.
   */
  attended(world: string, user: string, by: string | undefined): void {
    const { pushToChannels, hub, log } = this.#ports;
    if (hub.of(world, user).size === 0) return;
    pushToChannels(world, user, by).catch((error) => log.error(error));
  }

  #toViewers(world: string, room: string, tell: PushTask): void {
    if (this.#ports.hub.watching(world, room).size === 0) return;
    const audience = { world, room, watching: true };
    this.#ports.pushes.push(audience, tell, { queue: world });
  }
}
